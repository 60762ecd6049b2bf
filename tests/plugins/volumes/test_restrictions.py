"""VolumeRestrictions."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import Code
from mooring.model.objects import Pod
from mooring.plugins.volumes.restrictions import CLAIM_TAKEN, DISK_TAKEN, VolumeRestrictions
from plugins.volumes.stage import EPHEMERAL, Stage, node, pod, pvc


def gce(name: str, read_only: bool = False) -> Pod:
    return pod({"gcePersistentDisk": {"pdName": name, "readOnly": read_only}})


def ebs(name: str, read_only: bool = False) -> Pod:
    return pod({"awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}})


def iscsi(name: str, read_only: bool = False) -> Pod:
    return pod({"iscsi": {"iqn": name, "readOnly": read_only}})


def rbd(monitors: str, pool: str = "p", image: str = "i", read_only: bool = False) -> Pod:
    source = {"monitors": monitors.split(), "pool": pool, "image": image, "readOnly": read_only}
    return pod({"rbd": source})


@pytest.mark.parametrize(
    ("wanted", "used", "clash"),
    [
        pytest.param(gce("x"), gce("x"), True, id="gce"),
        pytest.param(gce("x"), gce("y"), False, id="gce-other"),
        pytest.param(gce("x", True), gce("x", True), False, id="gce-both-read-only"),
        pytest.param(gce("x", True), gce("x"), True, id="gce-one-read-only"),
        pytest.param(ebs("x"), ebs("x"), True, id="ebs"),
        pytest.param(ebs("x", True), ebs("x", True), True, id="ebs-read-only"),
        pytest.param(ebs("x"), ebs("y"), False, id="ebs-other"),
        pytest.param(iscsi("x"), iscsi("x"), True, id="iscsi"),
        pytest.param(iscsi("x", True), iscsi("x", True), False, id="iscsi-both-read-only"),
        pytest.param(iscsi("x"), iscsi("y"), False, id="iscsi-other"),
        pytest.param(rbd("a b"), rbd("b c"), True, id="rbd-common-monitor"),
        pytest.param(rbd("a"), rbd("b"), False, id="rbd-other-monitors"),
        pytest.param(rbd("a"), rbd("a", image="j"), False, id="rbd-other-image"),
        pytest.param(rbd("a"), rbd("a", pool="q"), False, id="rbd-other-pool"),
        pytest.param(rbd("a", read_only=True), rbd("a", read_only=True), False, id="rbd-both-read-only"),
        pytest.param(gce("x"), ebs("x"), False, id="other-kind"),
    ],
)
def test_disks(wanted: Pod, used: Pod, clash: bool) -> None:
    stage = Stage([node("n"), node("idle")]).take(used, "n")
    found = stage.reasons(stage.make(VolumeRestrictions), wanted)  # type: ignore[attr-defined]
    assert found == {"n": f"UNSCHEDULABLE: {DISK_TAKEN}" if clash else "", "idle": ""}


ALONE = pvc("c", accessModes=["ReadWriteOncePod"])


def test_a_claim_for_one_pod_is_taken_everywhere() -> None:
    stage = Stage([node("n"), node("idle")], ALONE)
    stage.take(pod("c", name="first"), "n")
    found = stage.reasons(stage.make(VolumeRestrictions), pod("c"))
    assert found == dict.fromkeys(("n", "idle"), f"UNSCHEDULABLE: {CLAIM_TAKEN}")


def test_who_uses_a_claim_is_followed() -> None:
    stage = Stage([node("n"), node("idle")], ALONE)
    plugin = stage.make(VolumeRestrictions)
    assert stage.reasons(plugin, pod("c")) == {"*": "SKIP: "}
    stage.take(pod("c", name="first"), "n")
    stage.take(pod("c", name="second"), "idle")
    for user in list(stage.cluster.pods.by_uid):
        assert stage.reasons(plugin, pod("c"))["n"] == f"UNSCHEDULABLE: {CLAIM_TAKEN}"
        with stage.cluster.statement() as statement:
            statement.give_back(user)
    assert stage.reasons(plugin, pod("c")) == {"*": "SKIP: "}


@pytest.mark.parametrize(
    ("claim", "used"),
    [
        pytest.param(ALONE, pod("d"), id="used-by-nobody"),
        pytest.param(pvc("c"), pod("c"), id="may-be-shared"),
    ],
)
def test_nothing_to_say(claim: Any, used: Pod) -> None:
    stage = Stage([node("n")], claim)
    stage.take(used, "n")
    assert stage.reasons(stage.make(VolumeRestrictions), pod("c")) == {"*": "SKIP: "}


def test_a_missing_claim() -> None:
    stage = Stage([node("n")])
    found = stage.reasons(stage.make(VolumeRestrictions), pod("c"))
    assert found == {"*": 'UNSCHEDULABLE_AND_UNRESOLVABLE: persistentvolumeclaim "c" not found'}


def test_evicting_the_user_would_help() -> None:
    stage = Stage([node("n")], ALONE)
    user, wanted = pod("c", name="first"), pod("c")
    stage.take(user, "n")
    plugin, cycle = stage.make(VolumeRestrictions), Cycle("test", 0.0)
    stage.statuses(plugin, wanted, cycle)
    (here,) = stage.view.nodes
    trial = cycle.clone()
    plugin.remove_pod(trial, wanted, user, here)
    assert plugin.filter(trial, wanted, here) is None
    assert plugin.filter(cycle, wanted, here) is not None
    plugin.add_pod(trial, wanted, user, here)
    assert plugin.filter(trial, wanted, here).code is Code.UNSCHEDULABLE


def test_pods_without_restricted_volumes_cost_nothing() -> None:
    plugin = Stage().make(VolumeRestrictions)
    assert plugin.sign(pod(EPHEMERAL)) is None
    assert plugin.sign(pod({"emptyDir": {}})) is None
    plugin.add_pod(Cycle("test", 0.0), pod(), pod("c"), None)
    plugin.remove_pod(Cycle("test", 0.0), pod(), pod("c"), None)
