"""From changed objects to cluster events: which properties that plugins ask about are different now."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from mooring.framework.api.events import ASSIGNED_POD, NODE, UNSCHEDULABLE_POD, Action, ClusterEvent
from mooring.model.objects import Node, Object, Pod
from mooring.model.requests import Request

LABELS = {
    action: name.title().replace("_", "") for name, action in Action.__members__.items()
}  # UpdateNodeLabel


def event(
    resource: str, action: Action, old: object = None, new: object = None, *, given_back: bool = False
) -> ClusterEvent:
    return ClusterEvent(resource, action, f"{resource}{LABELS[action]}", old, new, given_back)


def node_update_events(old: Node, new: Node) -> list[ClusterEvent]:
    """One event per property that changed; none for a heartbeat."""
    return [event(NODE, action, old, new) for action in _node_actions(old, new)]


def _node_actions(old: Node, new: Node) -> Iterator[Action]:
    if old.status.allocatable != new.status.allocatable:
        yield Action.UPDATE_NODE_ALLOCATABLE
    if old.labels != new.labels:
        yield Action.UPDATE_NODE_LABEL
    uncordoned = old.spec.unschedulable and not new.spec.unschedulable
    if old.spec.taints != new.spec.taints or uncordoned:
        yield Action.UPDATE_NODE_TAINT
    if _conditions(old) != _conditions(new):
        yield Action.UPDATE_NODE_CONDITION
    if old.metadata.annotations != new.metadata.annotations:
        yield Action.UPDATE_NODE_ANNOTATION
    if old.status.declared_features != new.status.declared_features:
        yield Action.UPDATE_NODE_DECLARED_FEATURE


def _conditions(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}


def pod_update_events(old: Pod, new: Pod, *, assigned: bool) -> list[ClusterEvent]:
    """One event per property that changed; a generic one when none of those did.

    None when a waiting pod differs in its status alone: that is what the scheduler itself writes there.
    """
    resource = ASSIGNED_POD if assigned else UNSCHEDULABLE_POD
    actions = list(_pod_actions(old, new))
    if not actions and (assigned or not _same_but_for_status(old, new)):
        actions = [Action.UPDATE]
    return [event(resource, action, old, new) for action in actions]


def _pod_actions(old: Pod, new: Pod) -> Iterator[Action]:
    if old.labels != new.labels:
        yield Action.UPDATE_POD_LABEL
    if _lowered(old.request, new.request):
        yield Action.UPDATE_POD_SCALE_DOWN
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        yield Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    if len(old.spec.tolerations) != len(new.spec.tolerations):
        yield Action.UPDATE_POD_TOLERATION


def _same_but_for_status(old: Pod, new: Pod) -> bool:
    one, other = old.metadata, new.metadata
    return old.spec == new.spec and one == replace(other, resource_version=one.resource_version)


def _lowered(old: Request, new: Request) -> bool:
    if old is new:
        return False
    names = ["cpu", "memory", "ephemeral-storage", *(name for name, _ in old.scalars)]
    return any(new.amount(name) < old.amount(name) for name in names)


def object_event(action: Action, old: Object | None, new: Object | None) -> ClusterEvent:
    found = new or old
    assert found is not None
    return event(found.kind, action, old, new)
