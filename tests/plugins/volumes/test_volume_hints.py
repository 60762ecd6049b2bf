"""Which events give a pod that waits for volumes another try."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.engine.queue.object_changes import object_event
from mooring.framework.api.events import NODE, POD, Action, Hint
from mooring.framework.api.plugin import Plugin
from mooring.model.objects import Object, Pod
from mooring.plugins.volumes import NodeVolumeLimits, VolumeBinding, VolumeRestrictions, VolumeZone
from plugins.volumes.stage import EPHEMERAL, ZONE, Stage, csi_node, obj, pod, pv, pvc, storage_class

CHANGED = Action.ADD | Action.UPDATE
LABELS = Action.ADD | Action.UPDATE_NODE_LABEL


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        (
            VolumeBinding,
            {
                ("StorageClass", CHANGED),
                ("PersistentVolumeClaim", CHANGED),
                ("PersistentVolume", CHANGED),
                (NODE, LABELS),
                ("CSINode", CHANGED),
                ("CSIDriver", Action.UPDATE),
                ("CSIStorageCapacity", CHANGED),
                (POD, Action.DELETE),
            },
        ),
        (
            VolumeZone,
            {
                ("StorageClass", Action.ADD),
                (NODE, LABELS),
                ("PersistentVolumeClaim", CHANGED),
                ("PersistentVolume", CHANGED),
            },
        ),
        (
            VolumeRestrictions,
            {(POD, Action.DELETE), (NODE, Action.ADD), ("PersistentVolumeClaim", Action.ADD)},
        ),
        (
            NodeVolumeLimits,
            {
                ("CSINode", CHANGED),
                (POD, Action.DELETE),
                ("PersistentVolumeClaim", Action.ADD),
                ("VolumeAttachment", Action.DELETE),
            },
        ),
    ],
)
def test_events(plugin: type[Plugin], expected: set[tuple[str, Action]]) -> None:
    assert {(each.resource, each.action) for each in Stage().make(plugin).events()} == expected


def queues(plugin: type[Plugin], waiting: Pod, old: Object | None, new: Object | None) -> bool:
    """What the plugin's interests say of an object that came, changed or went."""
    action = Action.ADD if old is None else Action.DELETE if new is None else Action.UPDATE
    event = object_event(action, old, new)
    wanting = [each for each in Stage().make(plugin).events() if event.wanted_by(each)]
    return any(each.hint is None or each.hint(waiting, old, new) is Hint.QUEUE for each in wanting)


def capacity(**amounts: str) -> Object:
    return obj("CSIStorageCapacity", "r", amounts)


def driver(checks: bool) -> Object:
    return obj("CSIDriver", "d", {"spec": {"storageCapacity": checks}})


def attached(driver_name: str) -> Object:
    return obj("VolumeAttachment", "x", {"spec": {"attacher": driver_name, "nodeName": "n"}})


EBS = pod({"awsElasticBlockStore": {"volumeID": "x"}})
B = VolumeBinding


@pytest.mark.parametrize(
    ("plugin", "waiting", "old", "new", "expected"),
    [
        pytest.param(B, pod("c"), None, storage_class(), True, id="binding-class-added"),
        pytest.param(B, pod("c"), storage_class(), storage_class(), False, id="binding-class-same"),
        pytest.param(
            B, pod("c"), storage_class(), storage_class(allowedTopologies=[{}]), True, id="binding-topology"
        ),
        pytest.param(B, pod("c"), None, pvc("c"), True, id="binding-claim-added"),
        pytest.param(B, pod("c"), pvc("c"), pvc("c"), True, id="binding-claim-changed"),
        pytest.param(B, pod("c"), None, pvc("d"), False, id="binding-other-claim"),
        pytest.param(B, pod(EPHEMERAL), None, pvc("p-v0"), True, id="binding-ephemeral-claim"),
        pytest.param(B, pod("c"), pv("v"), pv("v"), True, id="binding-any-volume"),
        pytest.param(B, pod("c"), None, csi_node("n", {}), True, id="binding-csi-node"),
        pytest.param(B, pod("c"), csi_node("n", {}), csi_node("n", {}), False, id="binding-csi-node-same"),
        pytest.param(B, pod("c"), csi_node("n", {}), csi_node("n", {}, "x"), True, id="binding-migrated"),
        pytest.param(B, pod("c"), driver(True), driver(False), True, id="binding-driver-stops-checking"),
        pytest.param(B, pod("c"), driver(False), driver(True), False, id="binding-driver-starts-checking"),
        pytest.param(B, pod("c"), None, capacity(capacity="1"), True, id="binding-capacity-added"),
        pytest.param(
            B, pod("c"), capacity(capacity="1"), capacity(capacity="2"), True, id="binding-room-grew"
        ),
        pytest.param(
            B, pod("c"), capacity(capacity="2"), capacity(capacity="1"), False, id="binding-room-shrank"
        ),
        pytest.param(
            B,
            pod("c"),
            capacity(capacity="1", maximumVolumeSize="1"),
            capacity(capacity="2", maximumVolumeSize="1"),
            False,
            id="binding-largest-volume-same",
        ),
        pytest.param(VolumeZone, pod("c"), None, storage_class(), True, id="zone-class-waits"),
        pytest.param(VolumeZone, pod("c"), None, storage_class(mode="Immediate"), False, id="zone-immediate"),
        pytest.param(VolumeZone, pod("c"), pvc("c"), pvc("c"), True, id="zone-claim"),
        pytest.param(VolumeZone, pod("c"), None, pvc("d"), False, id="zone-other-claim"),
        pytest.param(VolumeZone, pod("c"), None, pv("v"), True, id="zone-volume-added"),
        pytest.param(VolumeZone, pod("c"), pv("v"), pv("v"), False, id="zone-volume-same"),
        pytest.param(VolumeZone, pod("c"), pv("v"), pv("v", labels={ZONE: "a"}), True, id="zone-moved"),
        pytest.param(VolumeRestrictions, pod("c"), None, pvc("c"), True, id="restrictions-claim"),
        pytest.param(VolumeRestrictions, pod("c"), None, pvc("d"), False, id="restrictions-other-claim"),
        pytest.param(VolumeRestrictions, pod("c"), pvc("c"), pvc("c"), False, id="restrictions-no-update"),
        pytest.param(NodeVolumeLimits, pod("c"), None, csi_node("n", {}), True, id="limits-csi-node"),
        pytest.param(
            NodeVolumeLimits,
            pod("c"),
            csi_node("n", {"d": 1}),
            csi_node("n", {"d": 2}),
            True,
            id="limits-rose",
        ),
        pytest.param(
            NodeVolumeLimits,
            pod("c"),
            csi_node("n", {"d": 2}),
            csi_node("n", {"d": 1}),
            False,
            id="limits-fell",
        ),
        pytest.param(
            NodeVolumeLimits,
            pod("c"),
            csi_node("n", {"d": 2}),
            csi_node("n", {"d": None}),
            True,
            id="limits-off",
        ),
        pytest.param(
            NodeVolumeLimits,
            EBS,
            csi_node("n", {"d": 2}, "kubernetes.io/aws-ebs"),
            csi_node("n", {"d": 2}),
            True,
            id="limits-fewer-migrated",
        ),
        pytest.param(NodeVolumeLimits, pod(EPHEMERAL), None, pvc("p-v0"), True, id="limits-claim"),
        pytest.param(NodeVolumeLimits, pod("c"), None, pvc("d"), False, id="limits-other-claim"),
        pytest.param(NodeVolumeLimits, pod("c"), attached("d"), None, True, id="limits-detached"),
        pytest.param(NodeVolumeLimits, EBS, attached("ebs.csi.aws.com"), None, True, id="limits-same-driver"),
        pytest.param(NodeVolumeLimits, EBS, attached("d"), None, False, id="limits-other-driver"),
    ],
)
def test_objects(plugin: Any, waiting: Pod, old: Object | None, new: Object | None, expected: bool) -> None:
    assert queues(plugin, waiting, old, new) is expected


def gone(plugin: type[Plugin], waiting: Pod, old: Pod) -> bool:
    (interest,) = [each for each in Stage().make(plugin).events() if each.resource == POD]
    return interest.hint(waiting, old, None) is Hint.QUEUE


@pytest.mark.parametrize(
    ("plugin", "waiting", "old", "expected"),
    [
        pytest.param(VolumeRestrictions, EBS, EBS.on_node("n"), True, id="restrictions-disk"),
        pytest.param(VolumeRestrictions, pod("c"), pod("c").on_node("n"), True, id="restrictions-claim"),
        pytest.param(VolumeRestrictions, pod("c"), pod("d").on_node("n"), False, id="restrictions-other"),
        pytest.param(NodeVolumeLimits, pod("c"), pod("d").on_node("n"), True, id="limits-any-claim"),
        pytest.param(NodeVolumeLimits, pod("c"), EBS.on_node("n"), True, id="limits-inline"),
        pytest.param(NodeVolumeLimits, pod("c"), pod("d"), False, id="limits-had-no-place"),
        pytest.param(NodeVolumeLimits, pod("c"), pod().on_node("n"), False, id="limits-no-volumes"),
    ],
)
def test_pods(plugin: Any, waiting: Pod, old: Pod, expected: bool) -> None:
    assert gone(plugin, waiting, old) is expected
