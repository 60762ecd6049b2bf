"""VolumeBinding: which nodes will do."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config.feature_gates import FeatureGates
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import Code
from mooring.model.objects import Object, Pod
from mooring.plugins.volumes.binding import VolumeBinding
from mooring.plugins.volumes.pod_claims import NO_ROOM, NO_SUCH_VOLUME, NONE_TO_BIND, OUT_OF_REACH
from plugins.volumes.stage import (
    EPHEMERAL,
    HOST,
    ZONE,
    Stage,
    node,
    obj,
    owned_by,
    pod,
    pv,
    pvc,
    storage_class,
)

UU = "UNSCHEDULABLE_AND_UNRESOLVABLE: "
MAKES = storage_class(provisioner="disk.example.com")


def asked(wanted: Pod, *found: Object, nodes: Any = None) -> dict[str, str]:
    stage = Stage(nodes or [node("n1", "a"), node("n2", "b")], *found)
    return stage.reasons(stage.make(VolumeBinding), wanted)


def test_pods_without_claims_cost_nothing() -> None:
    stage = Stage([node("n1")])
    plugin = stage.make(VolumeBinding)
    plain = pod({"emptyDir": {}})
    assert plugin.sign(plain) is None
    assert plugin.pre_filter(Cycle("test", 0.0), plain).code is Code.SKIP
    assert plugin.sign(pod("c")) is not None
    assert plugin.sign(pod(EPHEMERAL)) is not None


@pytest.mark.parametrize(
    ("wanted", "found", "message"),
    [
        pytest.param(pod("c"), [], 'persistentvolumeclaim "c" not found', id="missing"),
        pytest.param(
            pod("c"),
            [pvc("c", to="v", phase="Lost")],
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
            id="lost",
        ),
        pytest.param(
            pod("c"),
            [pvc("c", deletionTimestamp="2026-01-01T00:00:00Z")],
            'persistentvolumeclaim "c" is being deleted',
            id="deleting",
        ),
        pytest.param(
            pod(EPHEMERAL),
            [],
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v0"',
            id="ephemeral-not-made-yet",
        ),
        pytest.param(
            pod(EPHEMERAL),
            [pvc("p-v0", ownerReferences=owned_by("other"))],
            "PVC default/p-v0 was not created for pod default/p (pod is not owner)",
            id="ephemeral-of-somebody-else",
        ),
        pytest.param(
            pod("c"),
            [pvc("c"), storage_class(mode="Immediate")],
            "pod has unbound immediate PersistentVolumeClaims",
            id="immediate",
        ),
        pytest.param(
            pod("c"), [pvc("c")], "pod has unbound immediate PersistentVolumeClaims", id="class-missing"
        ),
        pytest.param(
            pod("c"),
            [pvc("c", volumeName="v"), storage_class()],
            "pod has unbound immediate PersistentVolumeClaims",
            id="volume-named-but-not-bound",
        ),
    ],
)
def test_claims_that_keep_the_pod_waiting(wanted: Pod, found: list[Object], message: str) -> None:
    assert asked(wanted, *found) == {"*": UU + message}


def test_a_class_without_binding_mode_is_an_error() -> None:
    found = asked(pod("c"), pvc("c"), storage_class(mode=None))
    assert found == {"*": 'ERROR: VolumeBindingMode not set for StorageClass "wait"'}


def test_bound_volumes_decide_by_their_affinity() -> None:
    found = asked(pod("c"), pvc("c", to="v"), pv("v", on={ZONE: "b"}, phase="Bound"))
    assert found == {"n1": UU + OUT_OF_REACH, "n2": ""}


def test_a_bound_volume_that_is_not_there() -> None:
    assert asked(pod("c"), pvc("c", to="v")) == dict.fromkeys(("n1", "n2"), UU + NO_SUCH_VOLUME)


def test_an_ephemeral_volume_is_found_by_its_owner() -> None:
    claim = pvc("p-v0", to="v", ownerReferences=owned_by("p"))
    assert asked(pod(EPHEMERAL), claim, pv("v", on={ZONE: "a"})) == {"n1": "", "n2": UU + OUT_OF_REACH}


def test_several_reasons_are_told_together() -> None:
    held = pv("v", on={ZONE: "b"}, phase="Bound")
    found = asked(pod("c", "d"), pvc("c", to="v"), held, pvc("d"), storage_class())
    assert found == {"n1": f"{UU}{OUT_OF_REACH}, {NONE_TO_BIND}", "n2": UU + NONE_TO_BIND}
    found = asked(pod("c", "d"), pvc("c", to="v"), pvc("d"), storage_class())
    assert found["n1"] == f"{UU}{NONE_TO_BIND}, {NO_SUCH_VOLUME}"


@pytest.mark.parametrize(
    ("claim", "volume", "fits"),
    [
        pytest.param(pvc("c"), pv("v"), True, id="plain"),
        pytest.param(pvc("c", "11Gi"), pv("v"), False, id="too-small"),
        pytest.param(pvc("c"), pv("v", cls="other"), False, id="other-class"),
        pytest.param(pvc("c"), pv("v", phase="Released"), False, id="not-available"),
        pytest.param(pvc("c"), pv("v", deletionTimestamp="2026-01-01T00:00:00Z"), False, id="deleting"),
        pytest.param(pvc("c"), pv("v", volumeMode="Block"), False, id="other-mode"),
        pytest.param(pvc("c", accessModes=["ReadWriteMany"]), pv("v"), False, id="access-mode"),
        pytest.param(pvc("c", volumeAttributesClassName="gold"), pv("v"), False, id="attributes-class"),
        pytest.param(pvc("c", selector={"matchLabels": {"k": "x"}}), pv("v"), False, id="selector"),
        pytest.param(
            pvc("c", selector={"matchLabels": {"k": "x"}}), pv("v", labels={"k": "x"}), True, id="selected"
        ),
        pytest.param(
            pvc("c"), pv("v", claimRef={"namespace": "default", "name": "d"}), False, id="somebody-elses"
        ),
        pytest.param(
            pvc("c"),
            pv("v", claimRef={"namespace": "default", "name": "c", "uid": "old"}, phase="Released"),
            False,
            id="of-a-claim-of-the-past",
        ),
        pytest.param(
            pvc("c", selector={"matchLabels": {"k": "x"}}),
            pv("v", claimRef={"namespace": "default", "name": "c"}, phase="Pending"),
            True,
            id="its-own-whatever-the-selector",
        ),
    ],
)
def test_volumes_that_exist(claim: Object, volume: Object, fits: bool) -> None:
    expected = "" if fits else UU + NONE_TO_BIND
    assert asked(pod("c"), claim, volume, storage_class(), nodes=[node("n1")]) == {"n1": expected}


def chosen(wanted: Pod, *found: Object) -> dict[str, str]:
    """The volume each claim gets on n1."""
    stage = Stage([node("n1")], *found)
    plugin, cycle = stage.make(VolumeBinding), Cycle("test", 0.0)
    assert stage.reasons(plugin, wanted, cycle) == {"n1": ""}
    choice, _ = cycle.read("VolumeBinding").choose(stage.view.node("n1"))
    return {claim.name: volume.name for claim, volume in choice.bindings}


def test_the_smallest_volume_that_will_do() -> None:
    volumes = [pv("big", "100Gi"), pv("small", "6Gi"), pv("tiny", "1Gi"), pv("middle", "10Gi")]
    assert chosen(pod("c"), pvc("c"), storage_class(), *volumes) == {"c": "small"}


def test_smaller_claims_choose_first_and_no_volume_twice() -> None:
    found = [pvc("large", "8Gi"), pvc("little", "2Gi"), storage_class(), pv("ten", "10Gi"), pv("nine", "9Gi")]
    assert chosen(pod("large", "little"), *found) == {"little": "nine", "large": "ten"}


def test_a_claim_that_is_mounted_twice_gets_one_volume() -> None:
    found = [pvc("c"), storage_class(), pv("ten", "10Gi"), pv("nine", "9Gi")]
    assert chosen(pod("c", "c"), *found) == {"c": "nine"}
    assert asked(pod("c", "c"), *found[:3])["n1"] == ""


def test_a_claims_own_volume_wins_over_smaller_ones() -> None:
    own = pv("own", "50Gi", claimRef={"namespace": "default", "name": "c", "uid": "uid-c"})
    assert chosen(pod("c"), pvc("c"), storage_class(), pv("small", "5Gi"), own) == {"c": "own"}


def test_a_claims_own_volume_out_of_reach_lets_no_other_in() -> None:
    own = pv("own", claimRef={"namespace": "default", "name": "c"}, on={HOST: "n2"})
    found = asked(pod("c"), pvc("c"), storage_class(), pv("free"), own)
    assert found == {"n1": UU + NONE_TO_BIND, "n2": ""}


def test_volumes_on_nodes() -> None:
    found = asked(pod("c"), pvc("c"), storage_class(), pv("here", on={HOST: "n2"}))
    assert found == {"n1": UU + NONE_TO_BIND, "n2": ""}


@pytest.mark.parametrize(
    ("claim", "cls", "expected"),
    [
        pytest.param(pvc("c"), MAKES, {"n1": "", "n2": ""}, id="anywhere"),
        pytest.param(
            pvc("c"),
            storage_class(
                provisioner="disk.example.com",
                allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["b", "c"]}]}],
            ),
            {"n1": UU + NONE_TO_BIND, "n2": ""},
            id="topology",
        ),
        pytest.param(
            pvc("c", annotations={"volume.kubernetes.io/selected-node": "n1"}),
            MAKES,
            {"n1": "", "n2": UU + NONE_TO_BIND},
            id="selected-node",
        ),
        pytest.param(
            pvc("c"),
            storage_class(provisioner=""),
            dict.fromkeys(("n1", "n2"), UU + NONE_TO_BIND),
            id="no-provisioner",
        ),
    ],
)
def test_volumes_to_be_made(claim: Object, cls: Object, expected: dict[str, str]) -> None:
    assert asked(pod("c"), claim, cls) == expected


DRIVER = obj("CSIDriver", "disk.example.com", {"spec": {"storageCapacity": True}})


def room(name: str, zone: str | None, **amounts: str) -> Object:
    data: dict[str, Any] = {"storageClassName": "wait", **amounts}
    if zone is not None:
        data["nodeTopology"] = {"matchLabels": {ZONE: zone}}
    return obj("CSIStorageCapacity", name, data)


@pytest.mark.parametrize(
    ("capacities", "fits"),
    [
        pytest.param([], False, id="nothing-told"),
        pytest.param([room("r", "a", capacity="5Gi")], True, id="enough"),
        pytest.param([room("r", "a", capacity="4Gi")], False, id="too-little"),
        pytest.param([room("r", "b", capacity="5Gi")], False, id="elsewhere"),
        pytest.param([room("r", None, capacity="5Gi")], False, id="nowhere"),
        pytest.param([room("r", "a")], False, id="unknown"),
        pytest.param([room("r", "a", capacity="100Gi", maximumVolumeSize="4Gi")], False, id="largest-volume"),
        pytest.param([room("r", "a", capacity="4Gi"), room("s", "a", capacity="9Gi")], True, id="any-of-two"),
    ],
)
def test_room_for_new_volumes(capacities: list[Object], fits: bool) -> None:
    found = asked(pod("c"), pvc("c"), MAKES, DRIVER, *capacities, nodes=[node("n1")])
    assert found == {"n1": "" if fits else UU + NO_ROOM}


def test_the_smaller_claim_is_bound_and_the_other_made() -> None:
    stage = Stage([node("n1")], pvc("c"), pvc("d", "20Gi"), MAKES, pv("v"))
    plugin, cycle = stage.make(VolumeBinding), Cycle("test", 0.0)
    assert stage.reasons(plugin, pod("d", "c"), cycle) == {"n1": ""}
    choice, _ = cycle.read("VolumeBinding").choose(stage.view.node("n1"))
    assert [(claim.name, volume.name) for claim, volume in choice.bindings] == [("c", "v")]
    assert [making.claim.name for making in choice.provisions] == ["d"]


def test_bind_timeout_is_not_negative() -> None:
    with pytest.raises(Exception, match="should not be a negative value"):
        Stage().make(VolumeBinding, bindTimeoutSeconds=-1)


def test_shape_needs_its_gate() -> None:
    with pytest.raises(ValueError, match="StorageCapacityScoring"):
        Stage().make(VolumeBinding, shape=[{"utilization": 0, "score": 0}])


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        pytest.param([], {"n1": 50, "n2": 95}, id="emptiest-first"),
        pytest.param(
            [{"utilization": 0}, {"utilization": 100, "score": 10}], {"n1": 50, "n2": 5}, id="fullest"
        ),
    ],
)
def test_score_by_how_full_storage_gets(shape: list[Any], expected: dict[str, int]) -> None:
    volumes = [pv("v1", "10Gi", on={HOST: "n1"}), pv("v2", "100Gi", on={HOST: "n2"})]
    stage = Stage(
        [node("n1"), node("n2")],
        pvc("c"),
        storage_class(),
        *volumes,
        gates=FeatureGates({"StorageCapacityScoring": True}),
    )
    plugin, cycle = stage.make(VolumeBinding, shape=shape), Cycle("test", 0.0)
    wanted = pod("c")
    assert stage.reasons(plugin, wanted, cycle) == {"n1": "", "n2": ""}
    assert plugin.pre_score(cycle, wanted, stage.view.nodes) is None
    assert {n.name: plugin.score(cycle, wanted, n) for n in stage.view.nodes} == expected


def test_no_score_without_the_gate() -> None:
    stage = Stage([node("n1")], pvc("c"), storage_class(), pv("v"))
    plugin, cycle = stage.make(VolumeBinding), Cycle("test", 0.0)
    stage.statuses(plugin, pod("c"), cycle)
    assert plugin.pre_score(cycle, pod("c"), stage.view.nodes).code is Code.SKIP
