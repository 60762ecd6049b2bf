"""Ways to make room for a pod, of which one is taken after extenders have had their say.

A post-filter that finds several returns an `Offer` instead of its choice. The pod then waits; when the
extenders have answered, `settle` chooses, on the cluster as it is by then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from mooring.framework.api.answers import PostFilterResult, Statuses, are_pods
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import Status
from mooring.model.objects import Pod


class Room(msgspec.Struct, frozen=True):
    """A node, and the pods that would have to go, the most important first."""

    node: str
    victims: tuple[Pod, ...]
    violations: int = 0  # of disruption budgets


class Answered(msgspec.Struct, frozen=True):
    """What extenders leave of an offer, in its order; or what went wrong with one that has to be heard."""

    offered: tuple[Room, ...]
    left: tuple[Room, ...] = ()
    failure: str = ""


Settle = Callable[[Cycle, Pod, Statuses, Answered], PostFilterResult | Status]


class Offer(msgspec.Struct, frozen=True):
    rooms: tuple[Room, ...]
    settle: Settle


def is_sound(offer: Offer) -> bool:
    """Whether it offers what it says: rooms with pods, and a way to settle on one."""
    return type(offer.rooms) is tuple and all(map(_is_room, offer.rooms)) and callable(offer.settle)


def _is_room(room: Any) -> bool:
    if type(room) is not Room or not are_pods(room.victims):
        return False
    return type(room.node) is str and type(room.violations) is int
