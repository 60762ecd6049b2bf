"""Preemption from manifests to placements, in the embedded cluster."""

from __future__ import annotations

from pathlib import Path

from mooring.app.simulating import simulate

EXAMPLE = Path(__file__).parents[3] / "examples" / "preemption"


def test_the_example() -> None:
    result = simulate([str(EXAMPLE)])
    node = result.placements["default/urgent"]
    assert len(result.evicted) == 3
    assert all(key.startswith("default/filler") for key in result.evicted)
    assert not set(result.evicted) & set(result.placements)
    waiting = {key: pending.message.partition(" preemption: ")[2] for key, pending in result.pending.items()}
    assert waiting.pop("default/patient") == "not eligible due to preemptionPolicy=Never."
    assert set(waiting.values()) == {
        "0/2 nodes are available: 2 No preemption victims found for incoming pod."
    }
    assert len(waiting) == 3  # made anew by the ReplicaSet
    events = [event for event in result.events if event.reason == "Preempted"]
    assert {event.key for event in events} == set(result.evicted)
    assert all(event.message.startswith("Preempted by pod ") for event in events)
    assert all(event.message.endswith(f" on node {node}") for event in events)
    bound = [
        event.time for event in result.events if event.key == "default/urgent" and event.reason == "Scheduled"
    ]
    assert bound == [70.0]  # a minute, and the ten seconds the victims have


def test_running_pods_without_a_grace_period_go_at_once(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(
        """
apiVersion: v1
kind: Node
metadata: {name: n}
status: {allocatable: {cpu: "2", memory: 1Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: low, labels: {app: low}}
spec:
  nodeName: n
  priority: 1
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: low}
spec: {selector: {matchLabels: {app: low}}, maxUnavailable: 0}
status: {disruptionsAllowed: 0}
---
apiVersion: v1
kind: Pod
metadata: {name: high, annotations: {sim.mooring.io/arrives-at: 5s}}
spec:
  priority: 2
  containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]
"""
    )
    result = simulate([str(tmp_path)])
    assert result.placements == {"default/high": "n"}
    assert result.evicted == ("default/low",)
    assert result.pending == {}


HOLDS = """
from mooring import Plugin, wait


class Holds(Plugin):
    def permit(self, cycle, pod, node_name):
        return wait(600) if pod.labels.get("hold") else None
"""


def test_a_victim_that_waits_at_permit_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "holds.py").write_text(HOLDS)
    (tmp_path / "all.yaml").write_text(
        """
apiVersion: v1
kind: Node
metadata: {name: n}
status: {allocatable: {cpu: "2", memory: 1Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: low, labels: {hold: "1"}}
spec: {priority: 1, containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: high, uid: high-uid, annotations: {sim.mooring.io/arrives-at: 5s}}
spec: {priority: 10, containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}
"""
    )
    result = simulate([str(tmp_path / "all.yaml")], policies=tmp_path / "policies")
    assert result.placements == {"default/high": "n"}
    assert result.evicted == ()
    assert "default/low" in result.pending
    (event,) = (event for event in result.events if event.reason == "Preempted")
    assert event.key == "default/low"
    assert event.message.startswith("Preempted by pod ")
    assert event.message.endswith(" on node n (in kube-scheduler memory).")
