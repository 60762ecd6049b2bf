"""Answers no plugin ought to give: what a stranger would return, each made anew for every call."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from engine.stage import Stage, node, pod
from mooring.cluster.view import NodeView
from mooring.framework.api.answers import Mask, PostFilterResult, Rejections
from mooring.framework.api.grouping import Group, GroupWayOut, Plan
from mooring.framework.api.offers import Answered, Offer, Room
from mooring.framework.api.status import Code, Status, error, pending, skip, unresolvable, unschedulable, wait

NAN, INF = float("nan"), float("inf")
HUGE = 10**30


class Hostile:
    """Fails at whatever is done with it."""

    def _fail(self, *arguments: Any) -> Any:
        raise RuntimeError("do not touch me")

    __repr__ = __str__ = __eq__ = __ne__ = __bool__ = __hash__ = __iter__ = __len__ = __lt__ = __gt__ = _fail
    __le__ = __ge__ = __index__ = __int__ = __float__ = __add__ = __radd__ = __contains__ = __getitem__ = (
        _fail
    )
    __call__ = __format__ = __array__ = _fail


class Faceless:
    """Does not even tell its class."""

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("who asks?")


class Loud(str):
    """Text that raises where text is formatted."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("loud")

    __repr__ = __format__ = __hash__ = __str__  # type: ignore[assignment]


class Unequal:
    """Never the same as anything, itself included."""

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = object.__hash__


class Moody:
    """Hashable, and compares as it likes."""

    _rng = random.Random(7)

    def __lt__(self, other: object) -> bool:
        return self._rng.random() < 0.5


DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]


def around() -> Any:
    value: dict[str, Any] = {}
    value["metadata"] = value
    return value


async def _never() -> None:
    await asyncio.sleep(0)


def coroutine() -> Any:
    made = _never()
    made.close()  # nobody may ever await it
    return made


def lonely_view() -> NodeView:
    """A node of another cluster."""
    view = Stage().nodes("other", "n", "m").engine.view.node("m")
    assert view is not None
    return view


def read_only(values: Any) -> Any:
    values.flags.writeable = False
    return values


OTHER = pod("somebody-else")

VALUES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "true": lambda: True,
    "false": lambda: False,
    "zero": lambda: 0,
    "minus one": lambda: -1,
    "fraction": lambda: 1.5,
    "nan": lambda: NAN,
    "inf": lambda: INF,
    "minus inf": lambda: -INF,
    "huge": lambda: HUGE,
    "complex": lambda: 1j,
    "empty text": lambda: "",
    "text": lambda: "text",
    "node name": lambda: "n",
    "long text": lambda: "x" * 1_000_000,
    "surrogate": lambda: "\ud800",
    "bytes": lambda: b"",
    "loud text": lambda: Loud("n"),
    "list": list,
    "dict": dict,
    "set": set,
    "set of numbers": lambda: {1, 2.5, None},
    "set of hostile": lambda: frozenset({Moody(), "n"}),
    "set of unknown": lambda: {"nowhere"},
    "nested lists": lambda: [[1], ["n"]],
    "tuple of two": lambda: (1, 2),
    "number and text": lambda: (0.0, "g"),
    "text and number": lambda: ("g", 0.0),
    "nan and text": lambda: (NAN, "g"),
    "huge list": lambda: [0] * 200_000,
    "deep list": lambda: DEEP,
    "dict of itself": around,
    "object": object,
    "class": lambda: int,
    "status class": lambda: Status,
    "function": lambda: lambda *a: None,
    "coroutine": coroutine,
    "generator": lambda: (i for i in range(3)),
    "failing generator": lambda: (1 // 0 for _ in range(3)),
    "ellipsis": lambda: Ellipsis,
    "not implemented": lambda: NotImplemented,
    "exception": lambda: ValueError("returned, not raised"),
    "exception class": lambda: ValueError,
    "hostile": Hostile,
    "faceless": Faceless,
    "unequal": Unequal,
    "moody": Moody,
    "numpy int": lambda: np.int64(7),
    "numpy bool": lambda: np.True_,
    "numpy float": lambda: np.float64(0.5),
    "no array": lambda: np.zeros(0),
    "wrong shape": lambda: np.ones((2, 2), np.bool_),
    "wrong length": lambda: np.ones(7, np.bool_),
    "floats": lambda: np.array([0.0, NAN, 1.0]),
    "objects": lambda: np.array([Hostile(), None, "x"], object),
    "negative array": lambda: np.array([-1, -1, -1]),
    "unsigned array": lambda: np.array([2**64 - 1] * 3, np.uint64),
    "large array": lambda: np.array([2**62] * 3),
    "read only array": lambda: read_only(np.ones(3, np.bool_)),
    "all pass": lambda: np.ones(3, np.bool_),
    "none passes": lambda: np.zeros(3, np.bool_),
    "mask of text": lambda: Mask("no", unschedulable("x")),
    "mask without status": lambda: Mask(np.zeros(3, np.bool_), None),  # type: ignore[arg-type]
    "mask of success": lambda: Mask(np.zeros(3, np.bool_), Status()),
    "success": Status,
    "error": lambda: error("oops"),
    "skip": skip,
    "pending": lambda: pending("later"),
    "unschedulable": lambda: unschedulable("no"),
    "unresolvable": lambda: unresolvable("never"),
    "wait": lambda: wait(5),
    "wait zero": lambda: wait(0),
    "wait less": lambda: wait(-7),
    "wait nan": lambda: wait(NAN),
    "wait inf": lambda: wait(INF),
    "wait minus inf": lambda: wait(-INF),
    "wait huge": lambda: wait(HUGE),
    "wait text": lambda: wait("5"),  # type: ignore[arg-type]
    "wait true": lambda: wait(True),
    "status of number": lambda: Status(2),  # type: ignore[arg-type]
    "status of text": lambda: Status("UNSCHEDULABLE"),  # type: ignore[arg-type]
    "status of other": lambda: Status(99),  # type: ignore[arg-type]
    "status with text": lambda: Status(Code.UNSCHEDULABLE, "because"),  # type: ignore[arg-type]
    "status with list": lambda: Status(Code.UNSCHEDULABLE, ["because"]),  # type: ignore[arg-type]
    "status with numbers": lambda: Status(Code.UNSCHEDULABLE, (1, None)),  # type: ignore[arg-type]
    "status with loud text": lambda: Status(Code.UNSCHEDULABLE, (Loud("x"),)),
    "status with hostile": lambda: Status(Code.UNSCHEDULABLE, (Hostile(),)),  # type: ignore[arg-type]
    "status by number": lambda: Status(Code.UNSCHEDULABLE, ("x",), 7),  # type: ignore[arg-type]
    "status by other": lambda: Status(Code.UNSCHEDULABLE, ("x",), "NodeName"),
    "status with long text": lambda: unschedulable("x" * 1_000_000),
    "status with many reasons": lambda: unschedulable(*map(str, range(10_000))),
    "another pod": lambda: OTHER,
    "another pod and nodes": lambda: (OTHER, []),
    "no pod and nodes": lambda: (None, [None]),
    "another node": lambda: node("n"),
    "another cluster's node": lonely_view,
    "another cluster's nodes": lambda: (OTHER, [lonely_view()]),
    "struct": lambda: msgspec.UNSET,
    "post filter": lambda: PostFilterResult("nowhere"),
    "post filter of number": lambda: PostFilterResult(7),  # type: ignore[arg-type]
    "post filter of hostile": lambda: PostFilterResult(Hostile(), Hostile(), Hostile()),  # type: ignore[arg-type]
    "victims not there": lambda: PostFilterResult("n", (OTHER,)),
    "victims of text": lambda: PostFilterResult("n", ("x",)),  # type: ignore[arg-type]
    "victims of number": lambda: PostFilterResult("n", 7),  # type: ignore[arg-type]
    "result with text": lambda: PostFilterResult("n", (), "no"),  # type: ignore[arg-type]
    "result with success": lambda: PostFilterResult("n", (), Status()),
    "offer of nothing": lambda: Offer((), lambda *a: None),  # type: ignore[arg-type,return-value]
    "offer of text": lambda: Offer("x", "y"),  # type: ignore[arg-type]
    "offer not there": lambda: Offer((Room("nowhere", (OTHER,)),), lambda *a: Answered(())),  # type: ignore[arg-type,return-value]
    "rejections": lambda: Rejections((), np.zeros(0, np.intp)),
    "plan": lambda: Plan({}),
    "plan of nowhere": lambda: Plan({"bad-1": "nowhere", "bad-2": 7}),  # type: ignore[dict-item]
    "plan of text": lambda: Plan("x"),  # type: ignore[arg-type]
    "group of nobody": lambda: Group("g", "gang g", (), 1),
    "group of others": lambda: Group("g", "gang g", (OTHER,), 1),
    "group of text": lambda: Group("g", "gang g", ("x",), 1),  # type: ignore[arg-type]
    "group of hostile": lambda: Group(Hostile(), Hostile(), Hostile(), Hostile(), Hostile()),  # type: ignore[arg-type]
    "group twice": lambda: Group("g", "gang g", (OTHER, OTHER), "x"),  # type: ignore[arg-type]
    "way out": lambda: GroupWayOut((OTHER,), {"x": "y"}),
    "way out of text": lambda: GroupWayOut("x", "y", "z"),  # type: ignore[arg-type]
    "way out of hostile": lambda: GroupWayOut(Hostile(), Hostile(), Hostile(), Hostile()),  # type: ignore[arg-type]
}
