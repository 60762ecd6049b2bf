"""NodeVolumeLimits."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config.feature_gates import FeatureGates
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import Code
from mooring.model.objects import Object, Pod
from mooring.plugins.volumes.limits import TOO_MANY, NodeVolumeLimits
from plugins.volumes.stage import (
    EPHEMERAL,
    Stage,
    csi_node,
    node,
    obj,
    owned_by,
    pod,
    pv,
    pvc,
    storage_class,
)

DRIVER = "disk.example.com"
MAKES = storage_class(provisioner=DRIVER)
FULL = f"UNSCHEDULABLE: {TOO_MANY}"


def volume(name: str, handle: str = "", driver: str = DRIVER) -> Object:
    return pv(name, csi={"driver": driver, "volumeHandle": handle or name})


def bound(*names: str) -> list[Object]:
    """Claims with a volume each, c1 to v-c1."""
    claims = [pvc(name, to=f"v-{name}") for name in names]
    return [*claims, *(volume(f"v-{name}") for name in names)]


def asked(wanted: Pod, used: list[Pod], *found: Object, gates: FeatureGates | None = None) -> str:
    stage = Stage([node("n")], *found, gates=gates)
    for each in used:
        stage.take(each, "n")
    (said,) = stage.reasons(stage.make(NodeVolumeLimits), wanted).values()
    return said


@pytest.mark.parametrize(
    ("wanted", "used", "limit", "fits"),
    [
        pytest.param(pod("a"), [pod("b")], 2, True, id="room"),
        pytest.param(pod("a"), [pod("b")], 1, False, id="no-room"),
        pytest.param(pod("a", "b"), [], 1, False, id="two-at-once"),
        pytest.param(pod("a"), [pod("b"), pod("b", name="q")], 2, True, id="shared-counts-once"),
        pytest.param(pod("b"), [pod("b")], 1, True, id="there-already"),
        pytest.param(pod("a"), [pod("b")], None, True, id="no-limit"),
        pytest.param(pod("a"), [pod("gone"), pod("b")], 2, True, id="claim-of-a-placed-pod-is-gone"),
    ],
)
def test_limits(wanted: Pod, used: list[Pod], limit: int | None, fits: bool) -> None:
    said = asked(wanted, used, *bound("a", "b"), csi_node("n", {DRIVER: limit}))
    assert said == ("" if fits else FULL)


def test_two_volumes_of_one_handle_are_one() -> None:
    found = [pvc("a", to="va"), pvc("b", to="vb"), volume("va", "same"), volume("vb", "same")]
    assert asked(pod("a"), [pod("b")], *found, csi_node("n", {DRIVER: 1})) == ""


def test_without_a_csi_node_there_is_no_limit() -> None:
    assert asked(pod("a"), [pod("b")], *bound("a", "b")) == ""


def test_limits_are_per_driver() -> None:
    found = [pvc("a", to="va"), volume("va", driver="other.example.com"), *bound("b")]
    assert asked(pod("a"), [pod("b")], *found, csi_node("n", {DRIVER: 1, "other.example.com": 1})) == ""


def test_claims_without_a_volume_count_by_their_class() -> None:
    found = [pvc("a"), MAKES, *bound("b"), csi_node("n", {DRIVER: 1})]
    assert asked(pod("a"), [pod("b")], *found) == FULL
    assert asked(pod("a"), [], *found) == ""
    assert asked(pod("a"), [pod("a")], *found) == ""


def test_ephemeral_volumes_count() -> None:
    claim = pvc("p-v0", ownerReferences=owned_by("p"))
    assert asked(pod(EPHEMERAL), [pod("b")], claim, MAKES, *bound("b"), csi_node("n", {DRIVER: 1})) == FULL


def attachment(name: str, of: dict[str, Any], node_name: str = "n", driver: str = DRIVER) -> Object:
    spec = {"attacher": driver, "nodeName": node_name, "source": of}
    return obj("VolumeAttachment", name, {"spec": spec})


@pytest.mark.parametrize(
    ("found", "fits"),
    [
        pytest.param(attachment("x", {"persistentVolumeName": "v-b"}), False, id="attached"),
        pytest.param(attachment("x", {"persistentVolumeName": "v-a"}), True, id="the-pods-own"),
        pytest.param(attachment("x", {"persistentVolumeName": "v-b"}, "m"), True, id="to-another-node"),
        pytest.param(attachment("x", {"persistentVolumeName": "gone"}), True, id="volume-gone"),
        pytest.param(
            attachment("x", {"inlineVolumeSpec": {"csi": {"driver": DRIVER, "volumeHandle": "h"}}}),
            False,
            id="inline",
        ),
    ],
)
def test_attachments_count(found: Object, fits: bool) -> None:
    said = asked(pod("a"), [], *bound("a", "b"), csi_node("n", {DRIVER: 1}), found)
    assert said == ("" if fits else FULL)


def test_an_attachment_of_a_placed_pods_volume_counts_once() -> None:
    there = attachment("x", {"persistentVolumeName": "v-b"})
    assert asked(pod("a"), [pod("b")], *bound("a", "b"), csi_node("n", {DRIVER: 2}), there) == ""


EBS = "kubernetes.io/aws-ebs"


@pytest.mark.parametrize(
    ("migrated", "fits"), [pytest.param(EBS, False, id="migrated"), pytest.param("", True, id="not-migrated")]
)
def test_in_tree_volumes_count_where_a_driver_stands_in(migrated: str, fits: bool) -> None:
    here = csi_node("n", {"ebs.csi.aws.com": 1}, migrated)
    one = pod({"awsElasticBlockStore": {"volumeID": "aws://zone/vol-1"}})
    two = pod({"awsElasticBlockStore": {"volumeID": "vol-2"}})
    assert asked(one, [two], here) == ("" if fits else FULL)
    again = pv("v", awsElasticBlockStore={"volumeID": "vol-1"})
    assert asked(one, [pod("c")], here, pvc("c", to="v"), again) == ""
    assert asked(pod("d"), [two], here, pvc("d"), storage_class(provisioner=EBS)) == ("" if fits else FULL)


def test_messages() -> None:
    said = asked(pod("a"), [])
    assert said == (
        'UNSCHEDULABLE_AND_UNRESOLVABLE: looking up PVC default/a: persistentvolumeclaim "a" not found'
    )
    assert asked(pod(""), []) == "ERROR: PersistentVolumeClaim had no name"
    said = asked(pod(EPHEMERAL), [], pvc("p-v0"))
    assert said == "ERROR: PVC default/p-v0 was not created for pod default/p (pod is not owner)"


@pytest.mark.parametrize(
    ("gate", "must", "expected"),
    [
        pytest.param(
            True, True, f"UNSCHEDULABLE: {DRIVER} CSI driver is not installed on the node", id="must"
        ),
        pytest.param(True, False, "", id="need-not"),
        pytest.param(False, True, "", id="gate-off"),
    ],
)
def test_drivers_that_must_be_installed(gate: bool, must: bool, expected: str) -> None:
    driver = obj("CSIDriver", DRIVER, {"spec": {"preventPodSchedulingIfMissing": must}})
    gates = FeatureGates({"VolumeLimitScaling": gate})
    other = csi_node("n", {"other.example.com": 5})
    assert asked(pod("a"), [], *bound("a"), driver, other, gates=gates) == expected


def test_pods_without_such_volumes_cost_nothing() -> None:
    plugin = Stage().make(NodeVolumeLimits)
    plain = pod({"emptyDir": {}})
    assert plugin.sign(plain) is None
    assert plugin.pre_filter(Cycle("test", 0.0), plain).code is Code.SKIP
