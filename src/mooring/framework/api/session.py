"""Sessions: hooks that plugins register when a round opens and that end with it, in KAI's manner.

Each kind of hook says what it may be answered, and how the answers of several plugins combine. Where a pod is
decided at a time, jobs join the session as they are tried; a round over all jobs has them from the start.
Both use this table. Whatever a hook does wrong is its plugin's failure.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from mooring.cluster.view import ClusterView, NodeView
from mooring.errors import OverBudget
from mooring.framework.api import answers
from mooring.framework.api.status import REJECTIONS, Status, unschedulable
from mooring.model.objects import Pod

LARGEST = 2**62  # of a number: what is far out of range must not upset the sum
COLLECTIONS = (list, tuple, set, frozenset)
Number = int | float
Timed = Callable[[str, str, Callable[..., Any]], Callable[..., Any]]  # a plugin's hook of a kind, timed


class Combine(Enum):
    """How the answers of several hooks of one kind become one."""

    FIRST_NON_ZERO = "first non-zero"  # comparisons: the first hook with an opinion decides
    ALL = "all"  # every hook must agree: the first that does not says why
    SUM = "sum"
    UNION = "union"
    FIRST = "first"  # the first hook registered decides alone
    NOTIFY = "notify"  # told, not asked


class Kind(NamedTuple):
    """One kind of hook: how its answers combine, and the reason of one that says no without any."""

    combine: Combine
    no: str = ""


HOOKS: dict[str, Kind] = {
    "queue_order": Kind(Combine.FIRST_NON_ZERO),
    "job_order": Kind(Combine.FIRST_NON_ZERO),
    "task_order": Kind(Combine.FIRST_NON_ZERO),
    "pre_predicate": Kind(Combine.ALL, "rejected by a session"),
    "predicate": Kind(Combine.ALL, "node(s) were rejected by a session predicate"),
    "node_order": Kind(Combine.SUM),
    "gpu_order": Kind(Combine.SUM),
    "reclaimable": Kind(Combine.ALL, "pod(s) may not be reclaimed"),
    "preemptable": Kind(Combine.ALL, "pod(s) may not be preempted"),
    "victims": Kind(Combine.UNION),
    "solution": Kind(Combine.FIRST),
    "allocate": Kind(Combine.NOTIFY),
    "deallocate": Kind(Combine.NOTIFY),
}


HANDLERS = ("allocate", "deallocate")
ASKED = frozenset({"pre_predicate", "predicate", "node_order", *HANDLERS})  # a pod at a time
NOBODY_ASKS = (
    "add_{kind} registers a hook that nobody asks: pods are decided one at a time, and rounds over queues "
    "and jobs do not exist yet"
)


def _number(plugin: str, kind: str, answer: Any) -> Number:
    """An integer or a fraction, finite and not far out of range."""
    if not (answers.is_number(answer) and isfinite(answer) and -LARGEST <= answer <= LARGEST):
        raise answers.failed(plugin, kind, f"returned {answers.shown(answer)}, which is no number")
    return float(answer) if issubclass(type(answer), float) else int(answer)


def _refusal(plugin: str, kind: str, answer: Any) -> Status | None:
    """None for a yes. Words and exceptions are why it is a no, as errors are in Go."""
    if issubclass(type(answer), str):
        answer = unschedulable(str.__str__(answer) or HOOKS[kind].no)
    elif issubclass(type(answer), BaseException):
        answer = unschedulable(answers.words_of(answer))
    elif answer is not None and not issubclass(type(answer), Status):
        answer = None if answers.yes(plugin, kind, answer) else unschedulable(HOOKS[kind].no)
    return answers.status(plugin, kind, answer, REJECTIONS)


def _collection(plugin: str, kind: str, answer: Any) -> set[Any]:
    if type(answer) not in COLLECTIONS:
        raise answers.failed(plugin, kind, f"returned {answers.shown(answer)}, which is no collection")
    return set(answer)


def _anything(plugin: str, kind: str, answer: Any) -> Any:
    return answer


READERS: dict[Combine, Callable[[str, str, Any], Any]] = {  # what answers that combine so must be
    Combine.FIRST_NON_ZERO: _number,
    Combine.ALL: _refusal,
    Combine.SUM: _number,
    Combine.UNION: _collection,
    Combine.FIRST: _anything,
    Combine.NOTIFY: _anything,
}


def _untimed(plugin: str, kind: str, hook: Callable[..., Any]) -> Callable[..., Any]:
    return hook


class Registered(NamedTuple):
    plugin: str
    hook: Callable[..., Any]


class HookTable:
    """Registered hooks by kind, in the order they were registered."""

    def __init__(self) -> None:
        self._hooks: dict[str, list[Registered]] = {kind: [] for kind in HOOKS}
        self.missed: dict[str, OverBudget] = {}  # plugins without the time to be told something, and why

    def add(self, kind: str, hook: Callable[..., Any], plugin: str = "") -> None:
        if not callable(hook):
            raise TypeError(f"{answers.shown(hook)} is no hook: it cannot be called")
        self._hooks[kind].append(Registered(plugin, hook))

    def has(self, kind: str) -> bool:
        return bool(self._hooks[kind])

    def handling(self) -> set[str]:
        """The plugins that are told of places."""
        return {plugin for kind in HANDLERS for plugin, _ in self._hooks[kind]}

    def ask(self, kind: str, *arguments: Any) -> Any:
        """The combined answer. Nobody registered: no opinion (0, yes, nothing)."""
        combine = HOOKS[kind].combine
        if combine is Combine.NOTIFY:
            self._tell(kind, arguments)
            return None
        given = self._given(kind, READERS[combine], arguments)
        match combine:
            case Combine.FIRST_NON_ZERO:
                return next((answer for answer in given if answer), 0)
            case Combine.ALL:
                return next((answer for answer in given if answer is not None), None)
            case Combine.SUM:
                return max(-LARGEST, min(LARGEST, sum(given)))
            case Combine.UNION:
                return set().union(*given)
        return next(given, None)

    def _given(
        self, kind: str, read: Callable[[str, str, Any], Any], arguments: tuple[Any, ...]
    ) -> Iterator[Any]:
        for plugin, hook in self._hooks[kind]:
            if self.missed and plugin in self.missed:
                raise self.missed[plugin].with_traceback(None)  # what it knows does not add up any more
            answer = answers.call(plugin, kind, hook, *arguments)
            yield answers.call(plugin, kind, read, plugin, kind, answer)

    def _tell(self, kind: str, arguments: tuple[Any, ...]) -> None:
        """Tells every hook. One that fails is logged: what it is told of has happened all the same. A plugin
        that has no time for it is told nothing more."""
        for plugin, hook in self._hooks[kind]:
            if plugin in self.missed:
                continue
            try:
                hook(*arguments)
            except OverBudget as over:
                self.missed[plugin] = over
            except BaseException as error:
                answers.raised(plugin, kind, error)


class Task(msgspec.Struct, frozen=True):
    """One pod of a job."""

    pod: Pod
    node_name: str = ""


class Job(msgspec.Struct, frozen=True):
    """Pods that are decided together."""

    name: str
    tasks: tuple[Task, ...]
    queue: str = ""


class Session:
    """One round, from open to close: what plugins register in it is gone with it.

    `now` is when it was opened. `asked` are the kinds of hooks that will be asked in it; another one would be
    registered in vain.
    """

    def __init__(
        self, cluster: ClusterView, jobs: Iterable[Job], now: float, asked: Container[str] = HOOKS
    ) -> None:
        self._asked = asked
        self.cluster = cluster
        self.now = now
        self.hooks = HookTable()
        self._registering = ""
        self._timed: Timed = _untimed
        self._job_by_uid: dict[str, Job] = {}  # of the pods that joined
        for job in jobs:
            self.join(job)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Those tried so far; a pod that is tried again is in its last one."""
        return tuple({id(job): job for job in self._job_by_uid.values()}.values())

    def join(self, job: Job) -> None:
        """A job is about to be tried."""
        self._job_by_uid.update((task.pod.metadata.uid, job) for task in job.tasks)

    def job_of(self, pod: Pod) -> Job:
        """The job a pod is tried in."""
        return self._job_by_uid.get(pod.metadata.uid) or alone(pod)

    @contextmanager
    def registering(self, plugin: str, timed: Timed | None = None) -> Iterator[None]:
        """Hooks that are added meanwhile are a plugin's, and have the time it has."""
        self._registering, self._timed = plugin, timed or _untimed
        try:
            yield
        finally:
            self._registering = ""

    def _add(self, kind: str, hook: Callable[..., Any]) -> None:
        if not self._registering:
            raise RuntimeError("hooks are registered when a session opens")
        if kind not in self._asked:
            raise ValueError(NOBODY_ASKS.format(kind=kind))
        if callable(hook):
            hook = self._timed(self._registering, kind, hook)
        self.hooks.add(kind, hook, self._registering)

    def add_queue_order(self, hook: Callable[[str, str], Number]) -> None:
        self._add("queue_order", hook)

    def add_job_order(self, hook: Callable[[Job, Job], Number]) -> None:
        self._add("job_order", hook)

    def add_task_order(self, hook: Callable[[Task, Task], Number]) -> None:
        self._add("task_order", hook)

    def add_pre_predicate(self, hook: Callable[[Task, Job], Status | None]) -> None:
        self._add("pre_predicate", hook)

    def add_predicate(self, hook: Callable[[Task, Job, NodeView], Status | None]) -> None:
        self._add("predicate", hook)

    def add_node_order(self, hook: Callable[[Task, NodeView], Number]) -> None:
        self._add("node_order", hook)

    def add_gpu_order(self, hook: Callable[[Task, NodeView, str], Number]) -> None:
        self._add("gpu_order", hook)

    def add_reclaimable(self, hook: Callable[..., bool]) -> None:
        self._add("reclaimable", hook)

    def add_preemptable(self, hook: Callable[..., bool]) -> None:
        self._add("preemptable", hook)

    def add_event_handler(
        self, allocate: Callable[[Task], None] | None = None, deallocate: Callable[[Task], None] | None = None
    ) -> None:
        """Told of each task that takes or gives back a place, also while something is only tried."""
        if allocate is not None:
            self._add("allocate", allocate)
        if deallocate is not None:
            self._add("deallocate", deallocate)


def alone(pod: Pod) -> Job:
    """A pod that is decided by itself is a job of one task."""
    return Job(pod.key, (Task(pod),))


def session_of(view: ClusterView, job: Job, now: float) -> Session:
    """The session of a round that decides a pod, or a gang, at a time, opened for the first of them."""
    return Session(view, (job,), now, ASKED)
