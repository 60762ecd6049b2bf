"""A recorded run on a real control plane, played again: with binds that fail and a leader that is killed, the
same decisions come out, byte for byte."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from e2e.arrivals import Arrivals
from e2e.audit import Audit
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.faulty_proxy import BIND, FaultyProxy, answer
from e2e.mooring_process import NAME, NAMESPACE
from e2e.scheduler import StartScheduler
from e2e.test_leaders import FLAGS, LEASE_S, SLACK_S, TURN_S, Replica
from e2e.waiting import wait_for
from e2e.workloads import pod
from mooring.engine.decisions import Bind
from mooring.engine.recording.entries import Told, Turn
from mooring.errors import ConfigError
from mooring.recordings.reading import Recording

NODES, PODS = 10, 120
BEFORE = 60  # pods that come before the first leader is killed
ENOUGH = 20  # binds of each leader: more than those that are refused
MARK = "gang.scheduling.koordinator.sh"
GANG = {f"{MARK}/name": "together", f"{MARK}/min-available": "8"}


def replayed(file: Path) -> dict[str, Any]:
    command = [Path(sys.executable).with_name("mooring"), "replay", file, "--json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout or "{}")
    assert done.returncode == 0, (done.stderr, found)
    return found


def binds_on_disk(file: Path) -> int:
    try:
        entries = Recording(file).entries()
    except ConfigError:  # its first second is not over
        return 0
    decided = (each.decided or () for each in entries if isinstance(each, Told | Turn))
    return sum(isinstance(decision, Bind) for decisions in decided for decision in decisions)


def test_a_run_that_is_played_again_decides_the_same(
    control_plane: ControlPlane, cluster: Cluster, start_mooring: StartScheduler, tmp_path: Path
) -> None:
    cluster.add_nodes(NODES, cpu=16)
    manifests = [pod(f"pod-{number}", cpu="1") for number in range(PODS)]
    manifests += [pod(f"member-{number}", cpu="2", annotations=GANG) for number in range(8)]
    one, other = tmp_path / "one.rec", tmp_path / "other.rec"
    with (
        FaultyProxy(control_plane, "first") as proxy,
        Audit(cluster) as audit,
        Arrivals(cluster, manifests, seed="recorded", pause=0.02, limit=0) as arrivals,
    ):
        control_plane.api.delete(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{NAME}")
        proxy.rule(BIND, answer(500, "not now"), times=12)
        flags = (*FLAGS, f"--record={one}")
        first = Replica(proxy, start_mooring(leader_elect=True, flags=flags, kubeconfig=proxy.kubeconfig))
        first.wait_leads(SLACK_S)
        second = start_mooring(leader_elect=True, flags=(*FLAGS, f"--record={other}"))
        arrivals.limit = BEFORE
        wait_for(lambda: binds_on_disk(one) > ENOUGH, saying="binds in the first recording")
        first.process.kill()
        arrivals.limit = None
        audit.check(arrivals.all(), within=LEASE_S + TURN_S + SLACK_S + 60)
        assert second.stop() == 0
    before, after = replayed(one), replayed(other)
    assert before["binds"] > ENOUGH
    assert after["binds"] > ENOUGH
    assert (before["cut"], after["cut"]) == (True, False)
