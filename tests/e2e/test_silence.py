"""No pod waits without a word: whatever holds it, a condition, an Event and `/why` say what."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.api import Object
from e2e.cluster import Cluster
from e2e.gangs import MARKS
from e2e.metrics import reader
from e2e.scheduler import StartScheduler
from e2e.waiting import wait_for
from e2e.workloads import pod

POLICIES = '''
import asyncio

from mooring import Plugin, unschedulable, wait


class Approval(Plugin):
    """Holds pods of a team back, has others wait for somebody, and takes its time before binding some."""

    def pre_enqueue(self, pod):
        return unschedulable("team-a has used up its quota") if pod.name == "quota" else None

    def permit(self, cycle, pod, node_name):
        return wait(60, "nobody has approved it") if pod.name == "permit" else None

    async def pre_bind(self, cycle, pod, node_name):
        if pod.name == "slow":
            await self.handle.api.sleep(60)
'''
PERMIT = (
    "has a place on node node-0 and waits for permission: plugin Approval holds it: nobody has approved it"
)
SLOW = "has a place on node node-0 and waits for what is to be done before it is bound, by Approval"
SHORT = "gang {}/train: needs 3 pods; 2 are there, 1 is missing"
GATED = "Scheduling is blocked due to non-empty scheduling gates"


Words = tuple[str, str, str]  # the reason of the condition and the Event, the message of one and of the other


def not_said(cluster: Cluster, expected: dict[str, Words]) -> dict[str, object]:
    """What pods say that do not say what is expected of them."""
    wrong: dict[str, object] = {}
    for name, (reason, message, note) in expected.items():
        there = cluster.pod(name)
        events = [(each["reason"], each["note"]) for each in cluster.events(name)]
        if (there.reason, there.message) != (reason, message) or (reason, note) not in events:
            wrong[name] = there.reason, there.message, events
    return wrong


def test_whatever_holds_a_pod_it_says_so(
    cluster: Cluster, start_mooring: StartScheduler, tmp_path: Path
) -> None:
    cluster.add_nodes(1)
    (tmp_path / "approval.py").write_text(POLICIES)
    running = start_mooring(policies=tmp_path)
    marks = MARKS["annotations"]("train", 3)
    gated: Object = pod("gated", schedulingGates=[{"name": "example.com/quota"}])
    alone = [pod(name) for name in ("permit", "quota", "slow")]
    short = SHORT.format(cluster.namespace)
    expected: dict[str, Words] = {
        "permit": ("WaitingAtPermit", PERMIT, PERMIT),
        "quota": ("HeldBack", "team-a has used up its quota", "team-a has used up its quota"),
        "slow": ("WaitingAtPreBind", SLOW, SLOW),
        "gated": ("SchedulingGated", GATED, "waiting for scheduling gates: [example.com/quota]"),
        "w0": ("HeldBack", short, short),
        "w1": ("HeldBack", short, short),
    }
    cluster.create_pods(*alone, gated, *(pod(name, **marks) for name in ("w0", "w1")))

    def said() -> bool:
        wrong = not_said(cluster, expected)
        assert not wrong, wrong
        return True

    wait_for(said, within=10, saying="every pod to say what it waits for", tail=running.tail)
    token = reader(cluster)
    for name, (_, _, note) in expected.items():
        why = json.loads(running.read(f"/apis/v1/pods/{cluster.namespace}/{name}/why", token))
        if name != "slow":
            assert (why["message"], why["node"]) == (note, ""), why
        else:
            assert (why["message"], why["node"]) == ("is being bound to node node-0", "node-0"), why
    assert "Pod is held; waiting" in running.output()
    cluster.create_pods(pod("w2", **marks))
    cluster.wait_bound(3, within=30)
