"""The debug API: nodes, pods, plugins, flags, configuration."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from engine.stage import made, node, pod
from mooring import logs
from mooring.framework.api.endpoints import EndpointRequest
from mooring.logs.decisions import DecisionLog
from mooring.model.objects import ContainerPort
from web.shown import get, metered, parsed, serving, talk


@pytest.fixture(autouse=True)
def _levels() -> Iterator[None]:
    logger = logging.getLogger("mooring")
    before = logger.level
    yield
    logger.setLevel(before)


async def asked(stage: Any, path: str, **shown: Any) -> tuple[int, Any]:
    async with talk(serving(stage, **shown)) as client:
        code, text = await get(client, path)
        return code, json.loads(text) if text else None


def gang(self: Any, question: EndpointRequest) -> Any:
    return (
        {"name": question.path["name"], "tree": question.query.get("tree")}
        if question.path["name"] != "x"
        else None
    )


GANGS = made(
    "Gangs",
    pre_enqueue=lambda self, pod: None,
    endpoints=lambda self: {
        "gangs": lambda asked: ["a"],
        "gang/:namespace/:name": self.gang,
        "bad": self.bad,
    },
    gang=gang,
    bad=lambda self, question: 1 / 0,
)


async def test_catalogue() -> None:
    stage, _ = metered(GANGS)
    code, found = await asked(stage, "/apis/v1/__services__")
    assert code == 200
    assert found == {
        "GET": [
            "/apis/v1/__services__",
            "/apis/v1/nodes/:nodeName",
            "/apis/v1/plugins/Gangs/bad",
            "/apis/v1/plugins/Gangs/gang/:namespace/:name",
            "/apis/v1/plugins/Gangs/gangs",
            "/apis/v1/pods/:namespace/:name/why",
        ]
    }


async def test_plugins_answer() -> None:
    stage, _ = metered(GANGS)
    assert await asked(stage, "/apis/v1/plugins/Gangs/gangs") == (200, ["a"])
    path = "/apis/v1/plugins/Gangs/gang/default"
    assert await asked(stage, f"{path}/g?tree=t") == (200, {"name": "g", "tree": "t"})
    assert (await asked(stage, f"{path}/x"))[0] == 404
    code, found = await asked(stage, "/apis/v1/plugins/Gangs/bad")
    assert (code, found) == (500, {"message": "ZeroDivisionError: division by zero"})


async def test_who_does_not_lead_does_not_answer() -> None:
    stage, _ = metered(GANGS)
    for path in ("__services__", "nodes/a", "plugins/Gangs/gangs"):
        answer = await asked(stage, f"/apis/v1/{path}", leads=lambda: False)
        assert answer == (503, {"message": "the instance is not leader"})


async def test_a_node() -> None:
    stage, _ = metered()
    stage.nodes(node("a", cpu="4", memory="8Gi", extra={"example.com/gpu": 2}))
    port = ContainerPort(host_port=80, protocol="TCP")
    stage.running(pod("web", cpu="1500m", memory="1Gi", ports=(port,), extra={"example.com/gpu": 1}), "a")
    code, found = await asked(stage, "/apis/v1/nodes/a")
    assert code == 200
    assert found["node"]["metadata"]["name"] == "a"
    assert [one["metadata"]["name"] for one in found["pods"]] == ["web"]
    assert found["podsWithAffinity"] == []
    assert found["usedPorts"] == {"0.0.0.0": ["TCP/80"]}
    assert found["requested"] == {"cpu": 1500, "memory": 2**30, "example.com/gpu": 1, "pods": 1}
    assert found["nonZeroRequested"] == {"cpu": 1500, "memory": 2**30}
    assert found["remaining"] == {"cpu": 2500, "memory": 7 * 2**30, "example.com/gpu": 1, "pods": 109}
    assert found["allocatable"]["cpu"] == 4000
    assert (await asked(stage, "/apis/v1/nodes/b"))[0] == 404


async def test_why() -> None:
    stage, _ = metered()
    stage.nodes(node("a", cpu="1"))
    stage.wait(pod("big", cpu="2"))
    code, found = await asked(stage, "/apis/v1/pods/default/big/why")
    assert code == 200
    assert found["rejections"] == [{"plugin": "NodeResourcesFit", "reason": "Insufficient cpu", "nodes": 1}]
    assert (await asked(stage, "/apis/v1/pods/default/none/why"))[0] == 404


async def test_flags() -> None:
    stage, _ = metered()
    decisions = DecisionLog(stage.engine)
    async with talk(serving(stage, decisions=decisions)) as client:

        async def put(name: str, value: bytes) -> tuple[int, str]:
            async with client.put(f"/debug/flags/{name}", data=value) as answer:
                return answer.status, await answer.text()

        assert await put("v", b"5") == (200, "successfully set klog.logging.verbosity to 5")
        assert logs.verbosity() == 5
        assert await put("s", b"100") == (200, "successfully set debugTopNScores to 100")
        assert decisions.top_scores == 100
        assert await put("f", b"true") == (200, "successfully set debugFilterFailure to true")
        assert decisions.dump_filters
        assert (await put("v", b"lots"))[0] == 400
        assert (await put("v", b"11"))[0] == 400
        assert (await put("f", b"maybe"))[0] == 400
        assert (await put("z", b"1"))[0] == 404
        assert logs.verbosity() == 5


async def test_no_flags_without_profiling() -> None:
    stage, _ = metered()
    async with (
        talk(serving(stage, profiling=False)) as client,
        client.put("/debug/flags/v", data=b"5") as answer,
    ):
        assert answer.status == 404


async def test_configz() -> None:
    stage, _ = metered()
    code, found = await asked(stage, "/configz")
    inner = found["kubescheduler.config.k8s.io"]
    assert code == 200
    assert inner["kind"] == "KubeSchedulerConfiguration"
    assert inner["leaderElection"]["leaseDuration"] == "15s"
    assert inner["podMaxBackoffSeconds"] == 10
    (profile,) = inner["profiles"]
    assert profile["schedulerName"] == "default-scheduler"
    assert {"name": "NodeResourcesFit", "weight": 1} in profile["plugins"]["score"]["enabled"]
    assert profile["plugins"]["queueSort"]["enabled"] == [{"name": "PrioritySort"}]


async def test_pages() -> None:
    stage, _ = metered()
    async with talk(serving(stage)) as client:
        assert "mooring statusz" in (await get(client, "/statusz"))[1]
        assert "mooring flagz" in (await get(client, "/flagz"))[1]


async def test_metrics_are_complete_and_leader_only_where_they_should() -> None:
    stage, _ = metered()
    stage.nodes("a").place(pod("web", cpu="500m", memory="1Gi", priority=7))
    stage.add(pod("waiting", cpu="250m"))
    async with talk(serving(stage)) as client:
        found = parsed((await get(client, "/metrics"))[1])
        assert found['leader_election_master_status{name="kube-scheduler"}'] == 1
        assert any(name.startswith("process_") for name in found)
        resources = parsed((await get(client, "/metrics/resources"))[1])
    labels = (
        'namespace="default",node="a",pod="web",priority="7",resource="cpu",scheduler="default-scheduler"'
    )
    assert resources[f'kube_pod_resource_request{{{labels},unit="cores"}}'] == 0.5
    assert sum(name.startswith("kube_pod_resource_request") for name in resources) == 3
    assert not any(name.startswith("kube_pod_resource_limit") for name in resources)
    async with talk(serving(stage, leads=lambda: False)) as client:
        assert await get(client, "/metrics/resources") == (200, "")
