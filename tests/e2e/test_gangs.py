"""Gangs start together or not at all, however they are declared; their PodGroups say what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.api import Object, Refused
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.gangs import (
    KAI,
    KUBERNETES,
    MARKS,
    SIGS,
    VOLCANO,
    X_K8S,
    install,
    members,
    path_of,
    plane_with_gangs,
    pod_group,
)
from e2e.scheduler import StartScheduler
from e2e.waiting import holds, wait_for

STATIC_POD = Path(__file__).parents[2] / "deploy" / "static-pod" / "gangs.yaml"


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A module's own, with PodGroups of every kind."""
    with plane_with_gangs(tmp_path_factory.mktemp("gangs")) as plane:
        install(plane)
        yield plane


def found(cluster: Cluster, api_version: str, name: str = "train") -> Object | None:
    try:
        return cluster.api.get(path_of(api_version, cluster.namespace, name))
    except Refused as refused:
        if refused.code != 404:
            raise
        return None


def phase(cluster: Cluster, api_version: str) -> str:
    there = found(cluster, api_version)
    return "" if there is None else str(there.get("status", {}).get("phase", ""))


def wait_phase(cluster: Cluster, wanted: str, api_version: str = SIGS) -> Object:
    wait_for(lambda: phase(cluster, api_version) == wanted, saying=f"the phase {wanted}")
    there = found(cluster, api_version)
    assert there is not None
    return there


def declare(cluster: Cluster, form: str, least: int) -> None:
    if form != "annotations":
        cluster.api.create(path_of(form, cluster.namespace), pod_group(form, "train", least))


def create(cluster: Cluster, form: str, *numbers: int, least: int, **words: Any) -> None:
    cluster.create_pods(*members(form, "train", numbers, least, **words))


@pytest.mark.parametrize("form", list(MARKS))
def test_a_gang_starts_together_or_not_at_all(
    cluster: Cluster, start_mooring: StartScheduler, form: str
) -> None:
    cluster.add_nodes(2, cpu=1.2)
    start_mooring()
    declare(cluster, form, 3)
    create(cluster, form, 0, 1, least=3)
    holds(lambda: not any(pod.node for pod in cluster.pods()), during=1, saying="no pod has a node")
    create(cluster, form, 2, least=3)  # now there are enough, and too little room
    wait_for(lambda: any(pod.reason == "Unschedulable" for pod in cluster.pods()), saying="being told")
    holds(lambda: not any(pod.node for pod in cluster.pods()), during=1, saying="no pod has a node")
    cluster.add_nodes(1, "more", cpu=1.2)
    cluster.wait_running(3)
    cluster.state().check_no_overcommit()


def test_a_gang_of_annotations_has_a_podgroup_for_as_long_as_it_lives(
    cluster: Cluster, start_mooring: StartScheduler
) -> None:
    start_mooring()
    slow = {"e2e/start-after": "4s"}
    create(cluster, "annotations", 0, least=2, annotations=slow)
    made = wait_phase(cluster, "Pending")
    assert made["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "mooring"}
    assert made["spec"] == {"minMember": 2}
    create(cluster, "annotations", 1, least=2, annotations=slow)
    assert wait_phase(cluster, "Scheduling")["status"]["scheduleStartTime"]
    cluster.add_nodes(2, cpu=2)
    assert wait_phase(cluster, "Scheduled")["status"]["scheduled"] == 2
    status = wait_phase(cluster, "Running")["status"]
    assert (status["scheduled"], status["running"]) == (2, 2)
    cluster.api.delete(f"{cluster.pods_path}/train-0")
    wait_phase(cluster, "Scheduling")
    cluster.api.delete(f"{cluster.pods_path}/train-1")
    wait_for(lambda: found(cluster, SIGS) is None, saying="the PodGroup to be gone")


def test_a_podgroup_that_was_left_behind_is_removed(cluster: Cluster, start_mooring: StartScheduler) -> None:
    """Its pods went while no scheduler was there."""
    cluster.add_nodes(2, cpu=2)
    first = start_mooring()
    create(cluster, "annotations", 0, 1, least=2)
    wait_phase(cluster, "Running")
    declare(cluster, X_K8S, 1)
    first.stop()
    cluster.api.send("DELETE", cluster.pods_path, {"gracePeriodSeconds": 0})
    wait_for(lambda: not cluster.pods(), saying="pods to be gone")
    start_mooring()
    wait_for(lambda: found(cluster, SIGS) is None, saying="the PodGroup to be gone")
    assert found(cluster, X_K8S) is not None


@pytest.mark.parametrize("form", [SIGS, X_K8S])
def test_a_gang_that_ends_well_is_finished(
    cluster: Cluster, start_mooring: StartScheduler, form: str
) -> None:
    cluster.add_nodes(2, cpu=2)
    start_mooring()
    declare(cluster, form, 2)
    create(cluster, form, 0, least=2, annotations={"e2e/run-for": "1s"})
    create(cluster, form, 1, least=2, annotations={"e2e/run-for": "3s"})
    status = wait_phase(cluster, "Finished", form)["status"]
    assert (status["succeeded"], status.get("failed", 0)) == (2, 0)


def test_a_gang_that_fails_says_so(cluster: Cluster, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(2, cpu=2)
    start_mooring()
    declare(cluster, SIGS, 2)
    create(cluster, SIGS, 0, 1, least=2)
    wait_phase(cluster, "Running")
    failed = {"status": {"phase": "Failed", "reason": "OutOfPatience"}}
    cluster.api.patch(f"{cluster.pods_path}/train-0/status", failed)
    assert wait_phase(cluster, "Failed")["status"]["failed"] == 1


def test_what_another_scheduler_left_off_is_gone_on_with(
    cluster: Cluster, start_mooring: StartScheduler
) -> None:
    """Pods that finished before this one started are counted by what the PodGroup says."""
    cluster.add_nodes(2, cpu=2)
    first = start_mooring()
    declare(cluster, SIGS, 2)
    create(cluster, SIGS, 0, least=2, annotations={"e2e/run-for": "100ms"})
    create(cluster, SIGS, 1, least=2, annotations={"e2e/run-for": "8s"})
    wait_for(
        lambda: (found(cluster, SIGS) or {}).get("status", {}).get("succeeded") == 1,
        saying="the first to have ended",
    )
    first.stop()
    start_mooring()
    assert wait_phase(cluster, "Finished")["status"]["succeeded"] == 2


def test_a_group_of_kubernetes_says_whether_it_is_scheduled(
    cluster: Cluster, start_mooring: StartScheduler
) -> None:
    def condition() -> Object:
        there = found(cluster, KUBERNETES) or {}
        listed = there.get("status", {}).get("conditions", ())
        return next((each for each in listed if each["type"] == "PodGroupScheduled"), {})

    cluster.add_nodes(1, cpu=1.2)
    start_mooring()
    declare(cluster, KUBERNETES, 2)
    create(cluster, KUBERNETES, 0, 1, least=2)
    wait_for(lambda: condition().get("reason") == "Unschedulable", saying="being told that it does not fit")
    assert condition()["status"] == "False"
    cluster.add_nodes(1, "more", cpu=1.2)
    wait_for(lambda: condition().get("reason") == "Scheduled", saying="being told that it is scheduled")
    cluster.api.delete(f"{cluster.pods_path}/train-0")
    holds(lambda: condition()["status"] == "True", during=1)


@pytest.mark.parametrize("form", [KAI, VOLCANO])
def test_groups_with_controllers_of_their_own_are_left_to_them(
    cluster: Cluster, start_mooring: StartScheduler, form: str
) -> None:
    cluster.add_nodes(2, cpu=2)
    running = start_mooring()
    declare(cluster, form, 2)
    create(cluster, form, 0, 1, least=2)
    cluster.wait_running(2)
    there = found(cluster, form)
    assert there is not None
    assert "status" not in there
    assert "forbidden" not in running.output()


def test_in_the_place_of_kube_scheduler_it_has_the_rights_for_gangs(
    cluster: Cluster, start_mooring: StartScheduler
) -> None:
    """With kube-scheduler's own user, and what `deploy/static-pod` adds to it."""
    plane = cluster.control_plane
    plane.kubectl("apply", "-f", STATIC_POD)
    cluster.add_nodes(2, cpu=2)
    running = start_mooring(kubeconfig=plane.user("system:kube-scheduler"))
    create(cluster, "annotations", 0, 1, least=2)
    wait_phase(cluster, "Running")
    assert "forbidden" not in running.output()
    plane.kubectl("delete", "-f", STATIC_POD)
