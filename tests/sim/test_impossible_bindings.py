"""What no API server would take, and what never ends, keeps a pod from being bound here as well."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from engine.stage import Stage, made, pod
from mooring.engine.decisions import Wait
from mooring.errors import ApiError
from mooring.framework.api.answers import shown
from mooring.framework.running.binding import seconds_of_sleep
from mooring.model.objects import Pod, PodSpec, Toleration
from mooring.model.updates import unchangeable
from mooring.sim.world.binding_api import WorldApi, run_to_end
from mooring.sim.world.merge_patches import patched
from mooring.testing import node

REFUSED = [
    ({"metadata": {"name": "zz"}}, "metadata.name"),
    ({"metadata": {"name": None}}, "metadata.name"),
    ({"metadata": {"namespace": "other"}}, "metadata.namespace"),
    ({"metadata": {"uid": "x"}}, "metadata.uid"),
    ({"metadata": "x"}, "metadata"),
    ({"spec": {"nodeName": "n7"}}, "spec.nodeName"),
    ({"spec": {"schedulerName": "other"}}, "spec.schedulerName"),
    ({"spec": {"priority": 7}}, "spec.priority"),
    ({"spec": {"nodeSelector": {"a": "b"}}}, "spec.nodeSelector"),
    ({"spec": {"containers": []}}, "spec.containers"),
    ({"spec": {"tolerations": []}}, "spec.tolerations"),
    ({"spec": {"serviceAccountName": "root"}}, "spec.serviceAccountName"),
    ({"spec": None}, "spec"),
]
TAKEN: list[dict[str, Any]] = [
    {"metadata": {"name": "p", "namespace": "default", "labels": {"a": "b"}, "annotations": None}},
    {"spec": {"tolerations": [{"key": "a"}, {"key": "b"}]}},
    {"spec": {"activeDeadlineSeconds": 7, "nodeName": ""}},
    {"status": {"phase": "Running"}},
]


def a_pod() -> Pod:
    plain = pod("p")
    return msgspec.structs.replace(
        plain, spec=msgspec.structs.replace(plain.spec, tolerations=(Toleration(key="a"),))
    )


@pytest.mark.parametrize(("patch", "field"), REFUSED)
def test_what_nobody_may_change(patch: dict[str, Any], field: str) -> None:
    """Whoever asks for it is named; the simulated API server refuses it too."""
    assert unchangeable(a_pod(), patch) == field
    with pytest.raises(ApiError, match=f'Pod "p" is invalid: {field}: '):
        patched(a_pod(), patch)
    wants = made("Wants", pre_bind_patch=lambda self, cycle, pod, node_name: patch)
    wait = Stage(wants).nodes("n").try_pod(a_pod())
    assert isinstance(wait, Wait)
    assert f'plugin "Wants": wants to change {field}, which the API server lets nobody' in wait.message


@pytest.mark.parametrize("patch", TAKEN)
def test_what_may_change(patch: dict[str, Any]) -> None:
    assert unchangeable(a_pod(), patch) == ""
    patched(a_pod(), patch)


def test_images_may_change_and_nothing_else_of_containers() -> None:
    spec = msgspec.to_builtins(msgspec.convert({"containers": [{"name": "c", "image": "a"}]}, PodSpec))
    one = msgspec.structs.replace(pod("p"), spec=msgspec.convert(spec, PodSpec))
    (container,) = msgspec.to_builtins(one.spec)["containers"]
    assert not unchangeable(one, {"spec": {"containers": [{**container, "image": "b"}]}})
    assert unchangeable(one, {"spec": {"containers": [{**container, "name": "b"}]}})


def test_a_node_stays_the_node_it_is() -> None:
    one = node("n").build()
    with pytest.raises(ApiError, match="metadata.name: Forbidden"):
        patched(one, {"metadata": {"name": "m"}})
    assert patched(one, {"spec": {"unschedulable": True}}).spec.unschedulable


def test_a_patch_that_is_no_object_any_more() -> None:
    with pytest.raises(ApiError, match='Pod "p" is invalid: metadata: Invalid value: Expected `str`'):
        patched(a_pod(), {"metadata": {"labels": {"a": 1}}})


@pytest.mark.parametrize("seconds", [math.inf, 900, 10**400, 1e300])
def test_who_sleeps_longer_than_bindings_last_is_given_up(seconds: float) -> None:
    api = WorldApi(None)  # type: ignore[arg-type]
    with pytest.raises(ApiError, match="not done after 900 s"):
        run_to_end(api.sleep(seconds))


def test_many_short_sleeps_are_a_long_one() -> None:
    api = WorldApi(None)  # type: ignore[arg-type]
    for _ in range(899):
        run_to_end(api.sleep(1))
    with pytest.raises(ApiError, match="not done after 900 s"):
        run_to_end(api.sleep(1))


@pytest.mark.parametrize("seconds", [math.nan, "x", None, True])
def test_what_is_no_number_of_seconds(seconds: Any) -> None:
    with pytest.raises(ValueError, match="is no number of seconds"):
        seconds_of_sleep(seconds)


class Endless(set[str]):
    def __iter__(self) -> Any:
        while True:
            yield "n"

    def __repr__(self) -> str:
        return "".join(self)


@pytest.mark.parametrize("value", [Endless({"n"}), [Endless({"n"})], {"a": Endless({"n"})}])
def test_values_that_never_end_are_named_after_what_they_are(value: Any) -> None:
    assert "<Endless>" in shown(value)
    answers = made("Answers", pre_filter=lambda self, cycle, pod: value)
    assert "<Endless>" in Stage(answers).nodes("n").wait(pod("p")).message
