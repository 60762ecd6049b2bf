"""Plugins known by name, looked over and rehearsed before they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.config.catalogue import PluginUse
from mooring.errors import PolicyError
from mooring.framework.api.plugin import Plugin
from mooring.framework.loading.discovery import plugins_in
from mooring.framework.loading.registry import Registry
from mooring.framework.running.inspection import place_of

Policy = Callable[[str], type[Plugin]]
Place = Callable[[Path, str], str]

SPOT = """
    class Spot(Plugin):
        class Args(PluginArgs):
            label: str = "spot"

        def filter(self, cycle, pod, node): ...
        def score_nodes(self, cycle, pod, nodes): return nodes.max_pods * 0
        def pre_bind_patch(self, cycle, pod, node_name): ...
        def on_session_open(self, ssn): ...
"""


def test_a_plugin_is_known_by_its_name(policy: Policy) -> None:
    registry, spot = Registry(), policy(SPOT)
    assert registry.add(spot) == "Spot"
    assert registry.get("Spot") is spot
    assert registry.names() == ["Spot"]


def test_names_are_sorted(policy: Policy) -> None:
    registry = Registry()
    for name in ("B", "C", "A"):
        registry.add(policy(f"class {name}(Plugin):\n    def filter(self, cycle, pod, node): ..."))
    assert registry.names() == ["A", "B", "C"]


def test_the_catalogue_says_where_a_plugin_can_be_enabled(policy: Policy) -> None:
    registry, spot = Registry(), policy(SPOT)
    registry.add(spot)
    assert registry.points("Spot") == {"filter", "score", "preBind"}
    assert registry.args_type("Spot") is spot.Args
    registry.add(policy("class Bare(Plugin):\n    def filter(self, cycle, pod, node): ..."))
    assert registry.args_type("Bare") is None


def test_adding_the_same_class_again_is_fine(policy: Policy) -> None:
    registry, spot = Registry(), policy(SPOT)
    assert registry.add(spot) == registry.add(spot)


def test_a_name_that_is_taken_is_refused(policy: Policy, write: Callable[..., Path], place: Place) -> None:
    registry, first = Registry(), policy(SPOT)
    registry.add(first)
    other = write(SPOT, "theirs/spot.py")
    (second,) = plugins_in(other.parent)
    with pytest.raises(PolicyError) as error:
        registry.add(second)
    assert str(error.value) == (
        f'{place(other, "class Spot")}: there is already a plugin named "Spot" '
        f"({place_of(first)}): give this one another `name`"
    )
    assert registry.get("Spot") is first


def test_a_new_version_of_a_file_replaces_the_old(policy: Policy) -> None:
    registry = Registry()
    registry.add(policy(SPOT))
    newer = policy(SPOT)
    registry.add(newer)
    assert registry.get("Spot") is newer


def test_a_mistake_keeps_a_plugin_out(policy: Policy) -> None:
    registry = Registry()
    with pytest.raises(PolicyError, match="implements no extension point"):
        registry.add(policy("class Empty(Plugin): ..."))
    assert registry.names() == []


FAILING = "class Failing(Plugin):\n    def score(self, cycle, pod, node): return 101"


def test_a_plugin_that_fails_its_rehearsal_is_kept_out(policy: Policy) -> None:
    registry = Registry()
    with pytest.raises(PolicyError, match="returns an invalid score 101"):
        registry.add(policy(FAILING))
    assert registry.names() == []


def test_a_trusted_plugin_is_not_rehearsed(policy: Policy) -> None:
    registry = Registry()
    assert registry.add(policy(FAILING), trusted=True) == "Failing"


def test_a_trusted_plugin_is_looked_over(policy: Policy) -> None:
    with pytest.raises(PolicyError, match="implements no extension point"):
        Registry().add(policy("class Empty(Plugin): ..."), trusted=True)


def test_defaults_are_those_that_there_are(policy: Policy) -> None:
    registry = Registry([PluginUse("Missing"), PluginUse("Spot", 3)])
    assert registry.default_multi_point() == []
    registry.add(policy(SPOT))
    assert registry.default_multi_point() == [PluginUse("Spot", 3)]


def test_a_reference_is_loaded_and_named() -> None:
    registry = Registry()
    assert registry.load("mooring.plugins.node_name:NodeName") == "NodeName"
    assert registry.points("NodeName") >= {"filter"}
