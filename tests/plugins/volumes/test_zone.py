"""VolumeZone."""

from __future__ import annotations

import pytest

from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import Code
from mooring.model.objects import Node, Object, Pod
from mooring.plugins.volumes.zone import BETA_REGION, BETA_ZONE, OTHER_ZONE, REGION, ZONE, VolumeZone
from plugins.stage import node
from plugins.volumes.stage import EPHEMERAL, Stage, pod, pv, pvc, storage_class

UU = "UNSCHEDULABLE_AND_UNRESOLVABLE: "


def asked(wanted: Pod, found: list[Object], of: Node) -> str:
    stage = Stage([of], *found)
    (said,) = stage.reasons(stage.make(VolumeZone), wanted).values()
    return said


@pytest.mark.parametrize(
    ("volume", "labels", "passes"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, True, id="same"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, False, id="other"),
        pytest.param({ZONE: "a__b"}, {ZONE: "b"}, True, id="one-of-a-set"),
        pytest.param({ZONE: "a__b"}, {ZONE: "c"}, False, id="none-of-a-set"),
        pytest.param({ZONE: " a __ b"}, {ZONE: "b"}, True, id="blanks"),
        pytest.param({ZONE: "a__"}, {ZONE: "c"}, None, id="an-empty-zone-is-no-label"),
        pytest.param({ZONE: "a"}, {}, True, id="node-without-zones"),
        pytest.param({ZONE: "a"}, {REGION: "r"}, False, id="node-with-a-region-only"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "a"}, True, id="old-label-of-the-volume"),
        pytest.param({BETA_ZONE: "a"}, {BETA_ZONE: "a"}, True, id="both-old"),
        pytest.param({BETA_REGION: "r"}, {REGION: "s"}, False, id="old-region"),
        pytest.param({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, False, id="both-must-match"),
        pytest.param({}, {ZONE: "a"}, None, id="volume-without-labels"),
    ],
)
def test_zones(volume: dict[str, str], labels: dict[str, str], passes: bool | None) -> None:
    """None: the plugin has nothing to say."""
    found = [pvc("c", to="v"), pv("v", labels=volume)]
    expected = {True: "", False: UU + OTHER_ZONE, None: "SKIP: "}[passes]
    assert asked(pod("c"), found, node("n", labels=labels)) == expected


@pytest.mark.parametrize(
    ("wanted", "found", "message"),
    [
        pytest.param(pod(""), [], "PersistentVolumeClaim had no name", id="nameless"),
        pytest.param(pod("c"), [], 'persistentvolumeclaim "c" not found', id="no-claim"),
        pytest.param(
            pod("c"),
            [pvc("c", cls=None)],
            "PersistentVolumeClaim had no pv name and storageClass name",
            id="nothing-named",
        ),
        pytest.param(pod("c"), [pvc("c")], 'storageclass.storage.k8s.io "wait" not found', id="no-class"),
        pytest.param(
            pod("c"),
            [pvc("c"), storage_class(mode=None)],
            'VolumeBindingMode not set for StorageClass "wait"',
            id="no-binding-mode",
        ),
        pytest.param(
            pod("c"),
            [pvc("c"), storage_class(mode="Immediate")],
            "PersistentVolume had no name",
            id="immediate",
        ),
        pytest.param(pod("c"), [pvc("c", to="v")], 'persistentvolume "v" not found', id="no-volume"),
    ],
)
def test_messages(wanted: Pod, found: list[Object], message: str) -> None:
    assert asked(wanted, found, node("n")) == UU + message


def test_claims_that_wait_for_a_consumer_are_passed_over() -> None:
    assert asked(pod("c"), [pvc("c"), storage_class()], node("n")) == "SKIP: "


def test_only_claims_the_pod_names_concern_it() -> None:
    plugin = Stage().make(VolumeZone)
    assert plugin.sign(pod(EPHEMERAL)) is None
    assert plugin.sign(pod({"emptyDir": {}})) is None
    assert plugin.sign(pod("c")) is not None
    assert plugin.pre_filter(Cycle("test", 0.0), pod(EPHEMERAL)).code is Code.SKIP
