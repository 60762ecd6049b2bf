"""Sessions: hooks that plugins register when a round opens and that end with it, in KAI's manner.

Each kind of hook says how the answers of several plugins combine. A pod-at-a-time cycle is a session
of one job with one task; a round over all jobs is a session of many. Both use this table.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import msgspec

from mooring.cluster.view import ClusterView, NodeView
from mooring.framework.answers import raised
from mooring.framework.status import Code, Status
from mooring.model.objects import Pod


class Combine(Enum):
    """How the answers of several hooks of one kind become one."""

    FIRST_NON_ZERO = "first non-zero"  # comparisons: the first hook with an opinion decides
    ALL = "all"  # every hook must agree
    SUM = "sum"
    UNION = "union"
    FIRST = "first"  # the first hook registered decides alone
    NOTIFY = "notify"  # told, not asked


HOOKS: dict[str, Combine] = {
    "queue_order": Combine.FIRST_NON_ZERO,
    "job_order": Combine.FIRST_NON_ZERO,
    "task_order": Combine.FIRST_NON_ZERO,
    "pre_predicate": Combine.ALL,
    "predicate": Combine.ALL,
    "node_order": Combine.SUM,
    "gpu_order": Combine.SUM,
    "reclaimable": Combine.ALL,
    "preemptable": Combine.ALL,
    "victims": Combine.UNION,
    "solution": Combine.FIRST,
    "allocate": Combine.NOTIFY,
    "deallocate": Combine.NOTIFY,
}


class HookTable:
    """Registered hooks by kind, in the order they were registered."""

    def __init__(self) -> None:
        self._hooks: dict[str, list[Callable[..., Any]]] = {kind: [] for kind in HOOKS}

    def add(self, kind: str, hook: Callable[..., Any]) -> None:
        self._hooks[kind].append(hook)

    def has(self, kind: str) -> bool:
        return bool(self._hooks[kind])

    def ask(self, kind: str, *arguments: Any) -> Any:
        """The combined answer. Nobody registered: no opinion (0, yes, nothing)."""
        answers = (hook(*arguments) for hook in self._hooks[kind])
        match HOOKS[kind]:
            case Combine.FIRST_NON_ZERO:
                return next((answer for answer in answers if answer), 0)
            case Combine.ALL:
                return next((answer for answer in answers if not _agrees(answer)), None)
            case Combine.SUM:
                return sum(answers)
            case Combine.UNION:
                return set().union(*answers)
            case Combine.FIRST:
                return next(answers, None)
            case Combine.NOTIFY:
                self._tell(kind, arguments)
        return None

    def _tell(self, kind: str, arguments: tuple[Any, ...]) -> None:
        """Tells every hook. One that fails is logged: what it is told of has happened all the same."""
        for hook in self._hooks[kind]:
            try:
                hook(*arguments)
            except BaseException as error:
                raised("session", kind, error)


def _agrees(answer: Any) -> bool:
    if isinstance(answer, Status):
        return answer.code is Code.SUCCESS
    return answer is None or bool(answer)


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
    """One round, from open to close: what plugins register in it is gone with it."""

    def __init__(self, cluster: ClusterView, jobs: tuple[Job, ...], now: float) -> None:
        self.cluster = cluster
        self.jobs = jobs
        self.now = now
        self.hooks = HookTable()

    def add_queue_order(self, hook: Callable[[str, str], int]) -> None:
        self.hooks.add("queue_order", hook)

    def add_job_order(self, hook: Callable[[Job, Job], int]) -> None:
        self.hooks.add("job_order", hook)

    def add_task_order(self, hook: Callable[[Task, Task], int]) -> None:
        self.hooks.add("task_order", hook)

    def add_pre_predicate(self, hook: Callable[[Task, Job], Status | None]) -> None:
        self.hooks.add("pre_predicate", hook)

    def add_predicate(self, hook: Callable[[Task, Job, NodeView], Status | None]) -> None:
        self.hooks.add("predicate", hook)

    def add_node_order(self, hook: Callable[[Task, NodeView], int]) -> None:
        self.hooks.add("node_order", hook)

    def add_gpu_order(self, hook: Callable[[Task, NodeView, str], int]) -> None:
        self.hooks.add("gpu_order", hook)

    def add_reclaimable(self, hook: Callable[..., bool]) -> None:
        self.hooks.add("reclaimable", hook)

    def add_preemptable(self, hook: Callable[..., bool]) -> None:
        self.hooks.add("preemptable", hook)

    def add_event_handler(
        self, allocate: Callable[[Task], None] | None = None, deallocate: Callable[[Task], None] | None = None
    ) -> None:
        """Told of each task that takes or gives back a place, also while something is only tried."""
        if allocate:
            self.hooks.add("allocate", allocate)
        if deallocate:
            self.hooks.add("deallocate", deallocate)
