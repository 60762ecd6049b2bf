"""Pods that are tried together: what the engine asks of a plugin that has such pods.

A plugin says at `group` with whom a pod is to be tried. The engine then takes all of them out of the
queue, tries one after the other, and either keeps every place found or gives all of them back: the group
starts when `permit` of the same plugin lets one of its pods go on without waiting. On the way it asks the
plugin, where it has these points, at `plan_group` which node each is to be tried on, and at
`post_filter_group` for a way out when too few have found a place.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from typing import Any, Protocol, Self

import msgspec

from mooring.cluster.view import NodeView
from mooring.framework.api import answers
from mooring.framework.api.node_trial import Demand
from mooring.framework.api.status import REJECTIONS, Status
from mooring.model.objects import Pod


class Group(msgspec.Struct, frozen=True):
    """Pods to be tried together, in this order. `title` is what messages call them: `gang default/train`.

    `needed` is how many of them have to find a place for the group to start, as far as that is one number:
    it is what messages count against. When a member whose uid is in `strict` finds no place before the group
    may start, it does not start, however many others there are.
    """

    key: str
    title: str
    members: tuple[Pod, ...]
    needed: int
    strict: frozenset[str] = frozenset()


def checked_group(plugin: str, answer: Any) -> Group | Status | None:
    """The pods one is tried with, if it is; a status refuses it."""
    if type(answer) is not Group:
        return answers.status(plugin, "group", answer, REJECTIONS)
    words = type(answer.key) is str and type(answer.title) is str and type(answer.needed) is int
    strict = type(answer.strict) is frozenset and all(type(uid) is str for uid in answer.strict)
    if not (words and strict and answers.are_pods(answer.members)):
        what = f"returned {answers.shown(answer)}, which is no group of pods"
        raise answers.failed(plugin, "group", what)
    return answer


class Room(Protocol):
    """The room that nodes have for the members of a group that could be tried, as things are."""

    @property
    def members(self) -> tuple[Pod, ...]: ...

    def nodes(self) -> list[NodeView]:
        """Every node, in the order they joined."""

    def offers(self) -> dict[str, int]:
        """How many members each node takes if they come to it one after the other, in their order, up to the
        first that it does not take. Nodes that take none are left out."""

    def reasons(self) -> str:
        """Why nodes take no more members than they do: `nodes take no more: 8 Insufficient cpu`."""


class Plan(msgspec.Struct, frozen=True):
    """The node each member is to be tried on, by uid. Members that are not in it find no place."""

    nodes: dict[str, str]


def checked_plan(plugin: str, answer: Any) -> Plan | Status | None:
    if type(answer) is not Plan:
        return answers.status(plugin, "plan_group", answer, REJECTIONS)
    if not _are_names(answer.nodes):
        what = f"returned {answers.shown(answer)}, which names no nodes by uid"
        raise answers.failed(plugin, "plan_group", what)
    return answer


def _are_names(answer: Any) -> bool:
    return type(answer) is dict and all(type(key) is type(name) is str for key, name in answer.items())


class GroupTrial(Protocol):
    """Trying a group with some pods gone. On leaving the `with` block everything is as it was."""

    @property
    def group(self) -> Group: ...

    @property
    def nominated(self) -> Mapping[str, str]:
        """The nodes members were to come to before, by uid. In the trial nobody is held to them."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def remove(self, uid: str) -> None:
        """Takes a placed pod off its node."""

    def put_back(self, uid: str) -> None:
        """Puts a pod that was taken off back where it was."""

    def demand(self, uid: str) -> Demand | Status | None:
        """What a member needs to be free. A status when it is refused before any node is asked; None when
        other filters that look at pods come first."""

    def room(self, members: Collection[str] | None = None) -> Room:
        """The room there is now, for all members or for some of them."""

    def place(self, plan: Mapping[str, str] | None = None) -> dict[str, str]:
        """Places the members one after the other, on the nodes of the plan if there is one, and returns the
        nodes of those that found a place, by uid. Places of an earlier call are given back first."""

    def seat(self, uid: str, nodes: Iterable[str]) -> str:
        """Places one member on the first of these nodes that takes it, besides those placed already. Returns
        the node, "" when there is none."""

    def still_fits(self, node_name: str) -> bool:
        """Whether the members placed on a node still pass its filters, coming one after the other, after
        pods were put back."""


class GroupWayOut(msgspec.Struct, frozen=True):
    """The pods to evict so that the group fits, and the node each member is to get, by uid.

    With a `status` that rejects it is none: it only says why, and `nominated` are nominations to be kept.
    `message` is what members are told of a way out.
    """

    victims: tuple[Pod, ...] = ()
    nominated: dict[str, str] = {}
    status: Status | None = None
    message: str = ""

    @property
    def told(self) -> str:
        return self.message if self.status is None else self.status.message


def checked_way_out(plugin: str, answer: Any, nodes: Container[str]) -> GroupWayOut | None:
    """A way out of a group: pods to evict, and nodes that are there."""
    point = "post_filter_group"
    if type(answer) is not GroupWayOut:
        status = answers.status(plugin, point, answer, REJECTIONS)
        return None if status is None else GroupWayOut(status=status)
    sound = answers.are_pods(answer.victims) and _are_names(answer.nominated) and type(answer.message) is str
    if not sound or not all(name in nodes for name in answer.nominated.values()):
        what = f"returned {answers.shown(answer)}, which names no pods and nodes"
        raise answers.failed(plugin, point, what)
    if answer.status is not None and answers.status(plugin, point, answer.status, REJECTIONS) is None:
        return msgspec.structs.replace(answer, status=None)
    return answer
