"""`mooring simulate` with extenders in its configuration and a real one on the loopback interface."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from extenders.server import Reply, says, serving
from mooring.app import simulate
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
        assert result.pending["default/web"].message == "no"
