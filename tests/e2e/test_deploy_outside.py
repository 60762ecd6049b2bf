"""Mooring outside of a Deployment: in the place of kube-scheduler, and from a checkout."""

from __future__ import annotations

import sys
from pathlib import Path

from deploy.objects import ROOT, STATIC_POD, only, read
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.process import LOOPBACK, free_ports
from e2e.scheduler import Scheduler, StartScheduler
from e2e.waiting import wait_for
from e2e.workloads import pod

EXAMPLE = ROOT / "examples" / "deploy"


def test_the_static_pod_is_accepted(control_plane: ControlPlane) -> None:
    control_plane.kubectl("apply", "--validate=strict", "--dry-run=server", "-f", STATIC_POD)


def test_the_static_pod_s_words_serve_with_kube_scheduler_s_rights(
    control_plane: ControlPlane, cluster: Cluster
) -> None:
    (port,) = free_ports(1)
    here = {
        "--kubeconfig": str(control_plane.user("system:kube-scheduler")),
        "--secure-port": str(port),
        "--bind-address": LOOPBACK,
    }
    args = only("Pod", read(STATIC_POD))["spec"]["containers"][0]["args"]
    flags = [word.partition("=") for word in args]
    words = [f"{flag}={here[flag]}" if flag in here else flag + by + value for flag, by, value in flags]
    command = [Path(sys.executable).with_name("mooring"), *words]
    cluster.add_nodes(1)
    with Scheduler("static-pod", command, control_plane.folder, port) as running:
        cluster.create_pods(pod("web"), pod("huge", cpu="64"))
        cluster.wait_running(1)
        cluster.wait_unschedulable("huge")
        wait_for(lambda: len(cluster.events()) == 2, saying="both Events")
        lease = control_plane.api.get(
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
        )
        assert lease["spec"]["holderIdentity"]
        assert running.stop() == 0
        assert "forbidden" not in running.output()


def test_from_a_checkout(
    control_plane: ControlPlane, cluster: Cluster, start_mooring: StartScheduler
) -> None:
    """As whoever `~/.kube/config` names, beside the cluster's own scheduler."""
    cluster.add_nodes(1)
    start_mooring(EXAMPLE / "scheduler.yaml", kubeconfig=control_plane.kubeconfig)
    cluster.apply(EXAMPLE / "pod.yaml")
    cluster.create_pods(pod("other"))
    cluster.wait_running(1)
    assert not cluster.pod("other").node
