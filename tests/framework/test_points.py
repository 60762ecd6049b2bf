"""The extension points and their names in a configuration."""

from __future__ import annotations

import pytest

from mooring.config.catalogue import POINTS as CONFIG_POINTS
from mooring.framework.api.plugin import WHOLE_POD, Plugin
from mooring.framework.api.points import POINTS
from mooring.framework.api.scope import UNSIGNABLE, Scope


def test_every_point_is_enabled_by_one_that_a_configuration_knows() -> None:
    assert {point.config for point in POINTS.values()} - {""} <= set(CONFIG_POINTS)


@pytest.mark.parametrize("config", [name for name in CONFIG_POINTS if not name.startswith("placement")])
def test_every_point_of_a_configuration_has_a_method(config: str) -> None:
    assert [point for point in POINTS.values() if point.config == config]


def test_only_doing_may_await() -> None:
    assert {name for name, point in POINTS.items() if point.may_await} == {"pre_bind", "bind", "post_bind"}


def test_the_base_class_implements_no_point() -> None:
    assert not [name for name in POINTS if hasattr(Plugin, name)]


def test_answers_are_kept_for_nodes_and_rows_only() -> None:
    assert [scope for scope in Scope if scope.kept] == [Scope.STATIC, Scope.ROW]
    assert Plugin.scope is Scope.CLUSTER


def test_signatures_read_well() -> None:
    assert (repr(WHOLE_POD), repr(UNSIGNABLE)) == ("WHOLE_POD", "UNSIGNABLE")
