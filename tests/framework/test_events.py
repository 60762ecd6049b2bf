"""Which events a plugin has asked for."""

from __future__ import annotations

import pytest

from mooring.framework.api.events import (
    ANY,
    ASSIGNED_POD,
    NODE,
    POD,
    UNSCHEDULABLE_POD,
    Action,
    ClusterEvent,
    Interest,
)


def test_update_is_every_update_and_all_is_everything() -> None:
    updates = [action for action in Action if action.name and action.name.startswith("UPDATE_")]
    assert len(updates) == 11
    assert sum(updates) == Action.UPDATE
    assert Action.ALL == Action.ADD | Action.DELETE | Action.UPDATE
    assert [a.bit_length() for a in (Action.ADD, Action.DELETE, *updates)] == list(range(1, 14))


WANTED = {
    "the same": (NODE, Action.ADD, NODE, Action.ADD),
    "one of several": (NODE, Action.ADD | Action.UPDATE_NODE_TAINT, NODE, Action.ADD),
    "a kind of update": (NODE, Action.UPDATE, NODE, Action.UPDATE_NODE_LABEL),
    "any resource": (ANY, Action.ADD, NODE, Action.ADD),
    "everything": (ANY, Action.ALL, "Anything", Action.UPDATE),
    "everything, of a wildcard": (ANY, Action.ALL, ANY, Action.ALL),
    "pods, of a bound one": (POD, Action.DELETE, ASSIGNED_POD, Action.DELETE),
    "pods, of a waiting one": (POD, Action.UPDATE_POD_LABEL, UNSCHEDULABLE_POD, Action.UPDATE_POD_LABEL),
    "pods, of a pod": (POD, Action.ADD, POD, Action.ADD),
    "overlapping, and numerically below": (
        NODE,
        Action.DELETE | Action.UPDATE_NODE_LABEL,
        NODE,
        Action.ADD | Action.DELETE,
    ),
}
UNWANTED = {
    "another resource": (NODE, Action.ADD, POD, Action.ADD),
    "another action": (NODE, Action.ADD, NODE, Action.DELETE),
    "another kind of update": (NODE, Action.UPDATE_NODE_LABEL, NODE, Action.UPDATE_NODE_TAINT),
    "a generic update, for one who wants a kind": (
        POD,
        Action.UPDATE_POD_LABEL,
        ASSIGNED_POD,
        Action.UPDATE,
    ),
    "any resource, another action": (ANY, Action.ADD, NODE, Action.DELETE),
    "a bound pod, for one who asks for waiting ones": (
        UNSCHEDULABLE_POD,
        Action.ALL,
        ASSIGNED_POD,
        Action.ADD,
    ),
    "a pod, for one who asks for bound ones": (ASSIGNED_POD, Action.ALL, POD, Action.ADD),
    "a wildcard, for one who asks for nodes": (NODE, Action.ALL, ANY, Action.ALL),
    "overlapping, but numerically above": (
        NODE,
        Action.ADD | Action.DELETE,
        NODE,
        Action.DELETE | Action.UPDATE_NODE_LABEL,
    ),
}


@pytest.mark.parametrize(("wants", "at", "resource", "action"), WANTED.values(), ids=WANTED)
def test_wanted(wants: str, at: Action, resource: str, action: Action) -> None:
    assert ClusterEvent(resource, action).wanted_by(Interest(wants, at))


@pytest.mark.parametrize(("wants", "at", "resource", "action"), UNWANTED.values(), ids=UNWANTED)
def test_not_wanted(wants: str, at: Action, resource: str, action: Action) -> None:
    assert not ClusterEvent(resource, action).wanted_by(Interest(wants, at))


def test_only_everything_of_anything_is_a_wildcard() -> None:
    assert ClusterEvent(ANY, Action.ALL).wildcard
    assert not ClusterEvent(ANY, Action.ADD).wildcard
    assert not ClusterEvent(NODE, Action.ALL).wildcard
