"""Watches a policy at work: what it is asked, what it answers, what it may not do.

A watched policy is a class of the same name whose points go by the watch. It answers what the policy answers.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import msgspec
import numpy as np

from mooring.cluster.books.hook_calls import HookCalls
from mooring.cluster.view import StaticNode
from mooring.errors import PluginFailed
from mooring.framework.api.answers import Mask, Rejections
from mooring.framework.api.domain import DomainPlugin
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.points import POINTS
from mooring.framework.api.session import Session
from mooring.framework.api.status import REJECTIONS, Code, Status
from mooring.framework.running.inspection import signs_itself
from mooring.model.objects import Pod
from mooring.testing.conformance import findings
from mooring.testing.conformance.findings import Broken, Finding
from mooring.testing.conformance.outside import Listener
from mooring.testing.conformance.vocabulary import Vocabulary

AWAITS = frozenset({"pre_bind", "bind", "post_bind"})  # may look at clocks and do I/O
LOOKED_AT_CLOSELY = 40  # calls of each point in a case: looking closely takes time
MISSES = ("KeyError", "TypeError", "AttributeError", "IndexError", "ValueError")
HOLDS = ("reserve", "permit")
FORMS_OF = {"filter_nodes": "filter", "score_nodes": "score"}
NO = REJECTIONS | {Code.WAIT}


class Watch:
    """What one policy did. `found` is the first promise that it broke."""

    def __init__(self, policy: type[Plugin], vocabulary: Vocabulary) -> None:
        self.policy = policy
        self.vocabulary = vocabulary
        self.calls: Counter[str] = Counter()
        self.yes: Counter[str] = Counter()
        self.no: Counter[str] = Counter()
        self.found: Finding | None = None
        self.held: dict[tuple[str, str], bool] = {}  # whether a point that holds a place refused it, by node
        self._asking = False
        self._point = ""  # of the last call
        self._asked: tuple[Any, ...] = ()  # what the last call was about
        self._last: Any = None
        self._close: Counter[str] = Counter()

    def begin(self) -> None:
        """A case begins."""
        self.found = None
        self._close.clear()
        self.vocabulary.changed.clear()

    def tell(self, kind: str, point: str, what: str, advice: str, about: str = "") -> None:
        if self.found is None:
            self.found = Finding(kind, point, what, advice, about)

    def end(self) -> None:
        """Raises Broken if anything was found."""
        if self.found is not None:
            raise Broken(self.found)

    def call(self, point: str, method: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Has the policy asked, and looks at what it does."""
        self.calls[point] += 1
        self._close[point] += 1
        if self._asking:  # it asks itself
            return method(*arguments)
        self._asking, self._asked, self._point = True, arguments, point
        try:
            answer = self._called(point, method, arguments)
        finally:
            self._asking = False
        if inspect.isawaitable(answer):
            return self._awaited(point, answer)
        if point in HOLDS:
            self.held[point, arguments[2]] = isinstance(answer, Status) and answer.code in REJECTIONS
        return self._answered(point, answer)

    def _called(self, point: str, method: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if self._close[point] > LOOKED_AT_CLOSELY:
            return method(*arguments)
        before = _as_bytes(arguments)
        listener = Listener(self.vocabulary.is_of_policy)
        with listener:
            answer = method(*arguments)
        about = about_of(arguments)
        if listener.heard and point not in AWAITS:
            self.tell("outside", point, f"calls {listener.heard}", findings.CLOCK, about)
        if self.vocabulary.changed or _as_bytes(arguments) != before:
            what = (self.vocabulary.changed or ["what it is given is changed"])[0]
            self.tell("mutates", point, what, findings.MUTATES, about)
        return answer

    async def _awaited(self, point: str, answer: Any) -> Any:
        return self._answered(point, await answer)

    def _answered(self, point: str, answer: Any) -> Any:
        self._last = answer
        yes, no = _says(answer)
        self.yes[FORMS_OF.get(point, point)] += yes
        self.no[FORMS_OF.get(point, point)] += no
        return answer

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hears of every failure of the policy and of its books, whoever makes up for it."""
        heard, make, log = self._failed, PluginFailed.__init__, HookCalls._log

        def failed(failure: PluginFailed, plugin: str, point: str, what: str, **more: Any) -> None:
            make(failure, plugin, point, what, **more)
            heard(plugin, point, what)

        def book_failed(calls: HookCalls, book: Any, hook: str, error: BaseException) -> None:
            log(calls, book, hook, error)
            if type(book).__module__ == self.policy.__module__ or not type(book).__module__.startswith(
                "mooring."
            ):
                what = f"raises {type(error).__name__}: {error}"
                self.tell("book", f"{book.name}.{hook}", what, findings.BOOKS)

        with (
            mock.patch.object(PluginFailed, "__init__", failed),
            mock.patch.object(HookCalls, "_log", book_failed),
        ):
            yield

    def _failed(self, plugin: str, point: str, what: str) -> None:
        if plugin != self.policy.name:
            return
        last = self._last
        if isinstance(last, Status) and last.message in what and (last.code is Code.ERROR or point in AWAITS):
            return  # it says itself that something went wrong
        if point == "following":  # what the API server says
            point = self._point
        if point == "object_seen" and any(word in what for word in MISSES):
            return  # objects that are made up have nothing in them
        about = about_of(self._asked)
        self.tell("fails", point, f"fails: {what}", _advice(what), about)

    def wrapped(self, point: str, hook: Callable[..., Any]) -> Callable[..., Any]:
        """A hook of a session, a hint: watched as points are."""
        return lambda *arguments: self.call(point, hook, arguments)


def watched(policy: type[Plugin], watch: Watch) -> type[Plugin]:
    """The policy, with every point it has watched."""
    body: dict[str, Any] = {point: _point(policy, point, watch) for point in points_of(policy)}
    if "on_session_open" in body:
        body["on_session_open"] = _opening(policy, watch)
    if "events" in body:
        body["events"] = _events(policy, watch)
    if signs_itself(policy):
        body["sign"] = _point(policy, "sign", watch)
    names = {name: getattr(policy, name) for name in ("__module__", "__qualname__", "__doc__", "name")}
    return type(policy.__name__, (policy,), {**body, **names})


def points_of(policy: type[Plugin]) -> list[str]:
    """The points that a policy has methods of its own for."""
    bases = (Plugin, DomainPlugin)
    return [
        point
        for point in POINTS
        if callable(found := getattr(policy, point, None))
        and not any(found is getattr(base, point, None) for base in bases)
        and not getattr(found, "nothing_to_do", False)
    ]


def _point(policy: type[Plugin], point: str, watch: Watch) -> Callable[..., Any]:
    plain = inspect.getattr_static(policy, point)
    of_values = (
        inspect.isfunction(plain) and point == "normalize" and len(inspect.signature(plain).parameters) == 1
    )
    method = getattr(policy, point)

    @functools.wraps(method)
    def call(self: Plugin, *arguments: Any) -> Any:
        bound = plain if of_values else getattr(super(type(self), self), point)
        return watch.call(point, bound, arguments)

    if point == "normalize":
        del call.__wrapped__  # it takes the plugin as well now
    return call


def _opening(policy: type[Plugin], watch: Watch) -> Callable[..., Any]:
    """Hooks that are registered in a session are watched."""
    opens: Any = policy.on_session_open

    @functools.wraps(opens)
    def on_session_open(self: Plugin, ssn: Session) -> None:
        add = ssn._add
        hear = lambda kind, hook: add(kind, watch.wrapped(kind, hook) if callable(hook) else hook)  # noqa: E731
        with mock.patch.object(ssn, "_add", hear):
            watch.call("on_session_open", functools.partial(opens, self), (ssn,))

    return on_session_open


def _events(policy: type[Plugin], watch: Watch) -> Callable[..., Any]:
    """Hints are watched."""
    asks: Any = policy.events

    @functools.wraps(asks)
    def events(self: Plugin) -> Any:
        answer = watch.call("events", functools.partial(asks, self), ())
        return tuple(
            msgspec.structs.replace(each, hint=watch.wrapped("hint", each.hint))
            if callable(getattr(each, "hint", None))
            else each
            for each in answer
        )

    return events


def about_of(arguments: tuple[Any, ...]) -> str:
    """The pod and the node of a call, by name."""
    pods = [f"pod {each.key}" for each in arguments if isinstance(each, Pod)]
    nodes = [f"node {each.name}" for each in arguments if isinstance(each, StaticNode)]
    words = [f"node {each}" for each in arguments[2:] if isinstance(each, str)]
    return ", ".join((*pods[:1], *nodes, *words))


def _as_bytes(arguments: tuple[Any, ...]) -> list[bytes]:
    objects = (each.object if isinstance(each, StaticNode) else each for each in arguments)
    return [
        msgspec.json.encode(each)
        if isinstance(each, msgspec.Struct) and not hasattr(each, "written")
        else b""
        for each in objects
    ]


def _says(answer: Any) -> tuple[bool, bool]:
    """Whether there is a yes in an answer, and a no; an error is neither."""
    match answer:
        case None | True:
            return True, False
        case False:
            return False, True
        case Status(code=code):
            return code not in NO and code is not Code.ERROR, code in NO
        case Mask(ok=ok):
            return _says(ok)
        case np.ndarray() if answer.dtype == np.bool_:
            return bool(answer.any()), not answer.all()
        case Rejections(numbers=numbers):
            return not len(numbers), len(numbers) > 0
    return False, False


def _advice(what: str) -> str:
    if "disagree" in what:
        return findings.FORMS
    if "does not declare" in what or "override sign" in what:
        return findings.SCOPE
    return findings.ANSWER if "returned" in what or "invalid score" in what else findings.RAISES
