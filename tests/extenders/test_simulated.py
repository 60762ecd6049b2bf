"""`mooring simulate` with extenders in its configuration and a real one on the loopback interface."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from extenders.server import Reply, says, serving
from mooring.app.simulating import simulate
from mooring.sim.result import Result

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- urlPrefix: {url}
  nodeCacheCapable: true
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {name: %s}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: main, image: app, resources: {requests: {cpu: "1"}}}]
"""


def run(folder: Path, reply: Reply, settings: str) -> tuple[Result, list[Any]]:
    cluster, config = folder / "cluster.yaml", folder / "config.yaml"
    cluster.write_text("".join(NODE % name for name in "abc") + POD)
    with serving(reply) as server:
        lines = "".join(f"  {line}\n" for line in settings.splitlines())
        config.write_text(CONFIG.format(url=server.url) + lines)
        return simulate([str(cluster)], config=config, scores=True), server.asked


def test_filter_and_prioritize(tmp_path: Path) -> None:
    def reply(path: str, body: Any) -> tuple[int, bytes]:
        if path == "/filter":
            left = [name for name in body["NodeNames"] if name != "a"]
            return 200, json.dumps({"NodeNames": left, "FailedNodes": {"a": "no"}}).encode()
        return 200, json.dumps([{"Host": "c", "Score": 10}]).encode()

    settings = "filterVerb: filter\nprioritizeVerb: prioritize\nweight: 2"
    result, asked = run(tmp_path, reply, settings)
    assert result.placements == {"default/web": "c"}
    assert [path for path, _, _ in asked] == ["/filter", "/prioritize"]
    assert result.scores is not None
    scores = result.scores["default/web"]
    assert scores["c"] - scores["b"] == 200


def test_nothing_left(tmp_path: Path) -> None:
    said = {"NodeNames": [], "FailedAndUnresolvableNodes": dict.fromkeys("abc", "out of devices")}
    result, _ = run(tmp_path, says(said), "filterVerb: filter")
    assert result.placements == {}
    waits = result.pending["default/web"]
    assert waits.message.startswith("0/3 nodes are available: 3 out of devices.")
    assert waits.plugins == ("Extender",)


def test_a_failing_extender(tmp_path: Path) -> None:
    result, asked = run(tmp_path, says({}, 500), "filterVerb: filter")
    assert asked
    assert result.pending["default/web"].message.endswith("/filter, code 500")


@pytest.mark.parametrize(
    ("said", "ignorable", "bound"),
    [
        pytest.param({"Error": ""}, False, True, id="bound"),
        pytest.param({"Error": "no"}, False, False, id="refused"),
        pytest.param({"Error": "no"}, True, True, id="refused and ignorable"),
    ],
)
def test_bind(tmp_path: Path, said: Any, ignorable: bool, bound: bool) -> None:
    settings = f"bindVerb: bind\nignorable: {str(ignorable).lower()}"
    result, asked = run(tmp_path, says(said), settings)
    assert ("default/web" in result.placements) is bound
    assert {path for path, _, _ in asked} == {"/bind"}
    if not bound:
        assert result.pending["default/web"].message.endswith(": no")


# preemption

FILLED = """
apiVersion: v1
kind: Node
metadata: {name: %(node)s}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: low-%(node)s, uid: uid-low-%(node)s}
spec:
  nodeName: %(node)s
  priority: 1
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: app, resources: {requests: {cpu: "4"}}}]
---
"""
URGENT = """
apiVersion: v1
kind: Pod
metadata: {name: urgent, annotations: {sim.mooring.io/arrives-at: 5s}}
spec:
  priority: 10
  containers: [{name: main, image: app, resources: {requests: {cpu: "2"}}}]
"""


def preempt(folder: Path, reply: Reply, settings: str, also: Reply | None = None) -> tuple[Result, list[Any]]:
    """Two full nodes and a pod that needs room. Extenders on servers of their own."""
    cluster, config = folder / "cluster.yaml", folder / "config.yaml"
    cluster.write_text("".join(FILLED % {"node": name} for name in "ab") + URGENT)
    lines = "".join(f"  {line}\n" for line in f"preemptVerb: preempt\n{settings}".splitlines())
    with serving(reply) as server, serving(also or says({})) as other:
        text = CONFIG.replace("  nodeCacheCapable: true\n", "").format(url=server.url) + lines
        if also is not None:
            text += f"- urlPrefix: {other.url}\n  preemptVerb: preempt\n  nodeCacheCapable: true\n"
        config.write_text(text)
        return simulate([str(cluster)], config=config), server.asked + other.asked


def keeping(*names: str) -> Reply:
    """Leaves these nodes, whichever way it is told of victims."""

    def reply(path: str, body: Any) -> tuple[int, bytes]:
        assert path == "/preempt"
        if (told := body["NodeNameToMetaVictims"]) is None:
            told = {
                name: {"Pods": [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]]}
                for name, victims in body["NodeNameToVictims"].items()
            }
        left = {name: victims for name, victims in told.items() if name in names}
        return 200, json.dumps({"NodeNameToMetaVictims": left}).encode()

    return reply


@pytest.mark.parametrize("kept", "ab")
@pytest.mark.parametrize("cached", [True, False], ids=["by uid", "in full"])
def test_an_extender_says_where_room_is_made(tmp_path: Path, kept: str, cached: bool) -> None:
    result, asked = preempt(tmp_path, keeping(kept), f"nodeCacheCapable: {str(cached).lower()}")
    assert result.placements["default/urgent"] == kept
    assert result.evicted == (f"default/low-{kept}",)
    ((_, _, body),) = asked
    assert (body["NodeNameToVictims"] is None) is cached
    assert (body["NodeNameToMetaVictims"] is None) is not cached


def test_two_extenders_in_turn(tmp_path: Path) -> None:
    result, asked = preempt(tmp_path, keeping("b"), "", keeping("a", "b"))
    assert result.evicted == ("default/low-b",)
    first, second = (body for _, _, body in asked)
    assert set(first["NodeNameToVictims"]) == {"a", "b"}
    assert second["NodeNameToMetaVictims"] == {"b": {"Pods": [{"UID": "uid-low-b"}], "NumPDBViolations": 0}}


@pytest.mark.parametrize("ignorable", [True, False])
def test_an_extender_that_fails_over_preemption(tmp_path: Path, ignorable: bool) -> None:
    result, asked = preempt(tmp_path, says({}, 500), f"ignorable: {str(ignorable).lower()}")
    assert asked
    assert bool(result.evicted) is ignorable
    if not ignorable:
        message = result.pending["default/urgent"].message
        assert " preemption: failed preempt with extender at URL " in message
        assert message.endswith("/preempt, code 500")


def test_an_extender_that_does_not_answer(tmp_path: Path) -> None:
    done = Event()

    def reply(path: str, body: Any) -> tuple[int, bytes]:
        done.wait()
        return 200, b"{}"

    try:
        result, _ = preempt(tmp_path, reply, "httpTimeout: 20ms\nignorable: true")
    finally:
        done.set()
    assert len(result.evicted) == 1


def test_nowhere(tmp_path: Path) -> None:
    result, _ = preempt(tmp_path, keeping(), "")
    assert result.evicted == ()
    message = result.pending["default/urgent"].message
    assert message.endswith(" preemption: no candidate node for preemption")
