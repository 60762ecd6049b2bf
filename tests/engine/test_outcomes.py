"""What steps of an attempt come to, whatever plugins raise on the way."""

from __future__ import annotations

import gc
import logging
from typing import Any

import pytest

from engine.stage import Stage, made, pod
from mooring.engine.outcomes import PLACED, Failed, outcome_of
from mooring.errors import PluginFailed
from mooring.framework.api.status import unschedulable


def fail(error: BaseException, more: object) -> Any:
    raise error


def test_an_outcome_is_handed_on() -> None:
    assert outcome_of(lambda one, two: one, PLACED, None) is PLACED


def test_a_failed_plugin_is_an_outcome() -> None:
    end = outcome_of(fail, PluginFailed("Bad", "filter", "no"), None)
    assert isinstance(end, Failed)
    assert (end.message, end.plugin, end.error) == ("no", "Bad", None)


def test_what_nobody_foresaw_is_an_outcome_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    end = outcome_of(fail, error := ValueError("odd"), None)
    assert isinstance(end, Failed)
    assert (end.message, end.plugin) == ("deciding about the pod went wrong: ValueError: odd", "")
    with caplog.at_level(logging.ERROR):
        end.log("default/p")
    assert [record.exc_info and record.exc_info[1] for record in caplog.records] == [error]
    assert caplog.records[0].getMessage() == "deciding about default/p went wrong"


def test_what_ends_the_process_goes_on() -> None:
    with pytest.raises(KeyboardInterrupt):
        outcome_of(fail, KeyboardInterrupt(), None)


@pytest.mark.parametrize("point", ["pre_filter", "filter", "reserve", "permit"])
def test_a_pod_that_is_refused_leaves_nothing_for_the_collector(point: str) -> None:
    """An exception with its traceback would keep everything an attempt knows until cycles are looked for."""
    refuse = {point: lambda *arguments: unschedulable("no")}
    stage = Stage(made("Bad", **({"filter": lambda *a: None} | refuse))).nodes("n", "m")
    stage.wait(pod("first"))
    gc.collect()
    gc.disable()
    try:
        stage.add(pod("second"))
        assert isinstance(stage.engine.schedule(stage.now), list)
        assert gc.collect() == 0
    finally:
        gc.enable()
