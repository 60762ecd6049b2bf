"""What the scheduler measures about itself, under kube-scheduler's names: the families, as data."""

from __future__ import annotations

from enum import Enum

import msgspec


class Kind(Enum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Family(msgspec.Struct, frozen=True, eq=False):
    """One metric: its series differ in their labels."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()  # of histograms: upper bounds, without the last, which has none
    stability: str = ""  # kube-scheduler's word; "" for what only Mooring has


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Bounds that grow by a factor, multiplied up as kube-scheduler's are, so that they are the same."""
    bounds, bound = [], start
    for _ in range(count):
        bounds.append(bound)
        bound *= factor
    return tuple(bounds)


MILLISECONDS_UP = exponential(0.001, 2, 15)
POINT_BOUNDS = exponential(0.0001, 2, 12)
PLUGIN_BOUNDS = exponential(0.00001, 1.5, 20)


def _counter(name: str, stability: str, help_: str, *labels: str) -> Family:
    return Family(name, Kind.COUNTER, help_, labels, (), stability)


def _gauge(name: str, stability: str, help_: str, *labels: str) -> Family:
    return Family(name, Kind.GAUGE, help_, labels, (), stability)


def _histogram(name: str, stability: str, bounds: tuple[float, ...], help_: str, *labels: str) -> Family:
    return Family(name, Kind.HISTOGRAM, help_, labels, bounds, stability)


ATTEMPTS = _counter(
    "scheduler_schedule_attempts_total", "STABLE",
    "Attempts to schedule pods by result: 'unschedulable' found no place, 'error' went wrong.",
    "result", "profile",
)  # fmt: skip
ATTEMPT_SECONDS = _histogram(
    "scheduler_scheduling_attempt_duration_seconds", "STABLE", MILLISECONDS_UP,
    "Time of an attempt from the queue to its end; with a place found, to the end of binding.",
    "result", "profile",
)  # fmt: skip
ALGORITHM_SECONDS = _histogram(
    "scheduler_scheduling_algorithm_duration_seconds", "ALPHA", MILLISECONDS_UP,
    "Time from the queue to the choice of a node, or to the end of the search for one.",
)  # fmt: skip
PREEMPTION_ATTEMPTS = _counter(
    "scheduler_preemption_attempts_total", "STABLE", "Times preemption was tried for a pod that fits nowhere."
)
PREEMPTION_VICTIMS = _histogram(
    "scheduler_preemption_victims", "STABLE", exponential(1, 2, 7), "Pods evicted for one pod."
)
PENDING_PODS = _gauge(
    "scheduler_pending_pods", "STABLE",
    "Pods without a place by the part of the queue they wait in; 'gated' ones were never tried.",
    "queue",
)  # fmt: skip
POD_ATTEMPTS = _histogram(
    "scheduler_pod_scheduling_attempts", "STABLE", exponential(1, 2, 5), "Attempts until a pod was scheduled."
)
POD_SLI_SECONDS = _histogram(
    "scheduler_pod_scheduling_sli_duration_seconds", "BETA", exponential(0.01, 2, 20),
    "Time from the moment a pod was first ready to be tried until it was bound, over all its attempts.",
    "attempts",
)  # fmt: skip
POINT_SECONDS = _histogram(
    "scheduler_framework_extension_point_duration_seconds", "STABLE", POINT_BOUNDS,
    "Time of all plugins of an extension point.",
    "extension_point", "status", "profile",
)  # fmt: skip
PLUGIN_SECONDS = _histogram(
    "scheduler_plugin_execution_duration_seconds", "ALPHA", PLUGIN_BOUNDS,
    "Time of one call of a plugin at an extension point, in about a tenth of the cycles.",
    "plugin", "extension_point", "status",
)  # fmt: skip
PLUGIN_EVALUATIONS = _counter(
    "scheduler_plugin_evaluation_total", "BETA",
    "Calls of a plugin at PreFilter, Filter, PreScore or Score; one call may be about one node or about all.",
    "plugin", "extension_point", "profile",
)  # fmt: skip
INCOMING_PODS = _counter(
    "scheduler_queue_incoming_pods_total", "STABLE",
    "Pods that entered a part of the queue, by the event that brought them there.",
    "queue", "event",
)  # fmt: skip
GOROUTINES = _gauge(
    "scheduler_goroutines", "BETA", "Concurrent tasks by the work they do, such as binding.", "operation"
)
PERMIT_WAIT_SECONDS = _histogram(
    "scheduler_permit_wait_duration_seconds", "BETA", MILLISECONDS_UP,
    "Time pods waited at permit, by what came of it.",
    "result",
)  # fmt: skip
UNSCHEDULABLE_PODS = _gauge(
    "scheduler_unschedulable_pods", "BETA",
    "Waiting pods by the plugin that keeps them waiting; a pod counts once for each such plugin.",
    "plugin", "profile",
)  # fmt: skip
CACHE_SIZE = _gauge(
    "scheduler_cache_size", "ALPHA", "Nodes, pods with a place, and pods whose place is only assumed.", "type"
)
EVENT_SECONDS = _histogram(
    "scheduler_event_handling_duration_seconds", "ALPHA", POINT_BOUNDS,
    "Time to take one event of the API server in.",
    "event",
)  # fmt: skip
HINT_SECONDS = _histogram(
    "scheduler_queueing_hint_execution_duration_seconds", "ALPHA", PLUGIN_BOUNDS,
    "Time of one queueing hint of a plugin.",
    "plugin", "event", "hint",
)  # fmt: skip
INFLIGHT_EVENTS = _gauge(
    "scheduler_inflight_events", "ALPHA", "Events kept for pods that are being decided.", "event"
)
AFTER_FLUSH = _counter(
    "scheduler_pod_scheduled_after_flush_total", "ALPHA",
    "Pods that were scheduled after they had been tried again only because they had waited too long.",
)  # fmt: skip
GROUP_ATTEMPTS = _counter(
    "scheduler_podgroup_schedule_attempts_total", "ALPHA",
    "Attempts to schedule groups of pods by result; 'waiting_on_preemption' starts when others are gone.",
    "result", "profile",
)  # fmt: skip
GROUP_ATTEMPT_SECONDS = _histogram(
    "scheduler_podgroup_scheduling_attempt_duration_seconds", "ALPHA", MILLISECONDS_UP,
    "Time of an attempt at a group of pods, from the queue to the decision about all of them.",
    "result", "profile",
)  # fmt: skip
GROUP_ALGORITHM_SECONDS = _histogram(
    "scheduler_podgroup_scheduling_algorithm_duration_seconds", "ALPHA", MILLISECONDS_UP,
    "Time to look for the places of a group of pods, without what follows from them.",
)  # fmt: skip
GANG_CYCLE_SECONDS = _histogram(
    "scheduler_gang_schedule_cycle_duration_seconds", "", MILLISECONDS_UP,
    "Time of an attempt at a gang, under Koordinator's name for it.",
)  # fmt: skip
WAITING_GANG_GROUPS = _gauge(
    "scheduler_waiting_gang_group_number", "",
    "Gangs, or groups of gangs, that have all the pods they need and have not started.",
)  # fmt: skip
GANG_START_SECONDS = _histogram(
    "mooring_gang_start_duration_seconds", "", exponential(0.01, 2, 20),
    "Time from the moment a gang had all the pods it needs until they were let go together.",
)  # fmt: skip
GANGS_TIMED_OUT = _counter(
    "mooring_gangs_timed_out_total", "",
    "Gangs that had all the pods they need and did not start within their waiting time.",
)  # fmt: skip
NOT_TAKEN_IN = _counter(
    "mooring_objects_not_taken_in_total", "",
    "Times that an object of the API server could not be read or taken in, by kind.",
    "kind",
)  # fmt: skip
OVER_BUDGET = _counter(
    "mooring_plugin_over_budget_total", "",
    "Attempts at a pod in which a policy took longer than it may, by the point at which its time was over.",
    "plugin", "extension_point", "profile",
)  # fmt: skip
SET_ASIDE = _counter(
    "mooring_plugin_set_aside_total", "",
    "Times a policy was not asked, since it goes on taking longer than it may.",
    "plugin", "extension_point", "profile",
)  # fmt: skip
FULL_EVALUATIONS = _counter(
    "mooring_full_evaluations_total", "",
    "Searches that asked the filters about every node, not only about what changed since a pod like it.",
    "profile",
)  # fmt: skip

FAMILIES: tuple[Family, ...] = tuple(found for found in list(globals().values()) if isinstance(found, Family))
