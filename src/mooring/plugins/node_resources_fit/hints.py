"""Which changes of pods and nodes give a pod that did not fit a reason to be tried again."""

from __future__ import annotations

from collections.abc import Iterable

from mooring.model.objects import Pod
from mooring.model.requests import Allocatable, bound_request

Amounts = Iterable[tuple[str, int]]  # resources by name


def room_freed(pod: Pod, needs: Amounts, old: Pod, new: Pod | None) -> bool:
    """A pod went or came to need less: the waiting pod itself, or one whose place it may need."""
    if new is None:
        return bool(old.spec.node_name or old.status.nominated_node_name)
    if new.uid == pod.uid:
        return True
    if not new.spec.node_name:
        return False
    before, after = bound_request(old), bound_request(new)
    return any(amount and before.amount(name) > after.amount(name) for name, amount in needs)


def would_fit(needs: Amounts, has: Allocatable) -> bool:
    """The pod would fit on the node if it were empty."""
    return has.pods > 0 and all(amount <= has.amount(name) for name, amount in needs)


def grew(needs: Amounts, old: Allocatable, new: Allocatable) -> bool:
    """The node has more than before of something the pod needs, or lets more pods in."""
    return new.pods > old.pods or any(new.amount(name) > old.amount(name) for name, _ in needs)
