"""VolumeBinding: what is assumed, taken back, written and waited for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.errors import ApiError
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import POD, Hint
from mooring.framework.api.status import SKIP
from mooring.model.objects import Object, Pod
from mooring.plugins.volumes.binding import NO_API, VolumeBinding
from mooring.plugins.volumes.pod_claims import NONE_TO_BIND
from mooring.sim.world.merge_patches import patched_object
from plugins.volumes.stage import HOST, Stage, node, pod, pv, pvc, storage_class

MAKES = storage_class(provisioner="disk.example.com")
BOUND = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}


class Server:
    """An API server that does what it is told, and more with each second that passes."""

    def __init__(self, *found: Object) -> None:
        self.found = {(each.kind, each.key): each for each in found}
        self.patches: list[tuple[str, str, Any]] = []
        self.later: list[Any] = []  # done one at a time, as time passes
        self.slept = 0.0
        self.pod_there = True

    async def patch(self, kind: str, key: str, patch: Any) -> None:
        self.patches.append((kind, key, patch))
        self.change(kind, key, patch)

    def change(self, kind: str, key: str, patch: Any) -> None:
        self.found[kind, key] = patched_object(self.found[kind, key], patch)

    async def get(self, kind: str, key: str) -> Any:
        if (kind == "Pod" and not self.pod_there) or (kind != "Pod" and (kind, key) not in self.found):
            raise ApiError(404, f'{kind.lower()}s "{key}" not found')
        return None if kind == "Pod" else self.found[kind, key]

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds
        if self.later:
            self.later.pop(0)()


class Attempt:
    """A pod's way from pre_filter to pre_bind."""

    def __init__(self, stage: Stage, plugin: Any, wanted: Pod) -> None:
        self.stage, self.plugin, self.pod = stage, plugin, wanted
        self.cycle = Cycle("test", 0.0)
        self.reasons = stage.reasons(plugin, wanted, self.cycle)

    def reserve(self, name: str = "n1") -> Attempt:
        assert self.reasons[name] == ""
        assert self.plugin.reserve(self.cycle, self.pod, name) is None
        return self

    def unreserve(self, name: str = "n1") -> None:
        self.plugin.unreserve(self.cycle, self.pod, name)

    async def pre_bind(self, api: Server, name: str = "n1") -> str:
        self.stage.handle.api = api  # type: ignore[assignment]
        status = await self.plugin.pre_bind(self.cycle, self.pod, name)
        return "" if status is None else f"{status.code.name}: {status.message}"


def staged(*found: Object, **args: Any) -> tuple[Stage, Any]:
    stage = Stage([node("n1"), node("n2")], *found)
    return stage, stage.make(VolumeBinding, **args)


def test_a_volume_that_is_assumed_is_nobody_elses() -> None:
    stage, plugin = staged(pvc("c"), pvc("d"), storage_class(), pv("v"))
    first = Attempt(stage, plugin, pod("c")).reserve()
    assert NONE_TO_BIND in Attempt(stage, plugin, pod("d")).reasons["n1"]
    first.unreserve()
    first.unreserve()  # once more does no harm
    Attempt(stage, plugin, pod("d")).reserve()


def test_unreserve_without_reserve_does_nothing() -> None:
    stage, plugin = staged(pvc("c"), storage_class(), pv("v"))
    plugin.unreserve(Cycle("test", 0.0), pod("c"), "n1")
    Attempt(stage, plugin, pod("c")).unreserve()


def test_a_claim_that_is_assumed_goes_with_its_node() -> None:
    stage, plugin = staged(pvc("c"), MAKES)
    first = Attempt(stage, plugin, pod("c")).reserve("n2")
    second = Attempt(stage, plugin, pod("c", name="q"))
    assert second.reasons == {"n1": f"UNSCHEDULABLE_AND_UNRESOLVABLE: {NONE_TO_BIND}", "n2": ""}
    second.reserve("n2").unreserve("n2")  # the second takes back nothing of the first's
    assert NONE_TO_BIND in Attempt(stage, plugin, pod("c", name="r")).reasons["n1"]
    first.unreserve("n2")
    assert Attempt(stage, plugin, pod("c", name="r")).reasons["n1"] == ""


def test_what_the_server_tells_outweighs_what_was_assumed() -> None:
    stage, plugin = staged(pvc("c"), pvc("d"), storage_class(), pv("v"))
    Attempt(stage, plugin, pod("c")).reserve()
    stage.tell(pv("v", labels={"touched": "yes"}))
    assert Attempt(stage, plugin, pod("d")).reasons["n1"] == ""


def test_what_another_has_assumed_since_is_not_taken_back() -> None:
    stage, plugin = staged(pvc("c"), pvc("d"), pvc("e"), storage_class(), pv("v"))
    first = Attempt(stage, plugin, pod("c")).reserve()
    stage.tell(pv("v", labels={"touched": "yes"}))
    Attempt(stage, plugin, pod("d", name="q")).reserve()
    first.unreserve()
    assert NONE_TO_BIND in Attempt(stage, plugin, pod("e", name="r")).reasons["n1"]


def test_only_a_pod_that_lets_volumes_go_wakes_those_who_wait_for_them() -> None:
    stage, plugin = staged(pvc("c"), pvc("d"), storage_class(), pv("v"))
    first = Attempt(stage, plugin, pod("c", name="first", uid="first")).reserve()
    waiting = pod("d", name="waiting", uid="waiting")
    (interest,) = (each for each in plugin.events() if each.resource == POD)
    assert interest.hint(waiting, first.pod.on_node("n1"), None) is Hint.SKIP
    first.unreserve()
    assert interest.hint(waiting, first.pod.on_node("n1"), None) is Hint.QUEUE
    assert interest.hint(waiting, pod("c", name="other", uid="other"), None) is Hint.SKIP


def test_a_pre_flight_says_whether_volumes_are_to_be_bound() -> None:
    stage, plugin = staged(pvc("c"), pvc("b", to="w"), storage_class(), pv("v"), pv("w"))
    unbound = Attempt(stage, plugin, pod("c")).reserve()
    bound = Attempt(stage, plugin, pod("b")).reserve()
    assert plugin.pre_bind_pre_flight(unbound.cycle, unbound.pod, "n1") is None
    assert plugin.pre_bind_pre_flight(bound.cycle, bound.pod, "n1") is SKIP


def test_the_same_version_told_again_changes_nothing() -> None:
    volume = pv("v")
    volume = msgspec.structs.replace(
        volume, metadata=msgspec.structs.replace(volume.metadata, resource_version="7")
    )
    stage, plugin = staged(pvc("c"), pvc("d"), storage_class(), volume)
    Attempt(stage, plugin, pod("c")).reserve()
    stage.tell(msgspec.structs.replace(volume))
    assert NONE_TO_BIND in Attempt(stage, plugin, pod("d")).reasons["n1"]


async def test_a_volume_is_given_to_its_claim() -> None:
    claim, volume = pvc("c"), pv("v")
    stage, plugin = staged(claim, storage_class(), volume)
    api = Server(claim, volume)
    api.later = [
        lambda: api.change("PersistentVolumeClaim", "default/c", BOUND | {"spec": {"volumeName": "v"}})
    ]
    assert await Attempt(stage, plugin, pod("c")).reserve().pre_bind(api) == ""
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": "c",
        "uid": "uid-c",
    }
    notes = {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}
    assert api.patches == [("PersistentVolume", "v", {"metadata": notes, "spec": {"claimRef": reference}})]
    assert api.slept == 1.0


async def test_a_volume_meant_for_the_claim_is_not_marked_as_bound_by_a_controller() -> None:
    claim, volume = pvc("c"), pv("v", claimRef={"namespace": "default", "name": "c"})
    stage, plugin = staged(claim, storage_class(), volume)
    api = Server(pvc("c", to="v"), volume)
    assert await Attempt(stage, plugin, pod("c")).reserve().pre_bind(api) == ""
    ((_, _, patch),) = api.patches
    assert "annotations" not in patch["metadata"]
    assert patch["spec"]["claimRef"]["uid"] == "uid-c"


async def test_a_volume_is_asked_for() -> None:
    claim = pvc("c")
    stage, plugin = staged(claim, MAKES)
    api = Server(claim, pv("made", on={HOST: "n2"}))
    made = BOUND | {"spec": {"volumeName": "made"}}
    api.later = [lambda: None, lambda: api.change("PersistentVolumeClaim", "default/c", made)]
    assert await Attempt(stage, plugin, pod("c")).reserve("n2").pre_bind(api, "n2") == ""
    patch = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n2"}}}
    assert api.patches == [("PersistentVolumeClaim", "default/c", patch)]
    assert api.slept == 2.0


async def test_patches_are_for_the_version_that_was_decided_on() -> None:
    claim = pvc("c")
    claim = msgspec.structs.replace(
        claim, metadata=msgspec.structs.replace(claim.metadata, resource_version="12")
    )
    stage, plugin = staged(claim, MAKES, bindTimeoutSeconds=0)
    api = Server(claim)
    await Attempt(stage, plugin, pod("c")).reserve().pre_bind(api)
    assert api.patches[0][2]["metadata"]["resourceVersion"] == "12"


async def test_bound_claims_need_no_server() -> None:
    stage, plugin = staged(pvc("c", to="v"), pv("v"))
    assert await Attempt(stage, plugin, pod("c")).reserve().pre_bind(None) == ""  # type: ignore[arg-type]
    assert await plugin.pre_bind(Cycle("test", 0.0), pod(), "n1") is None


async def test_no_server() -> None:
    stage, plugin = staged(pvc("c"), MAKES)
    attempt = Attempt(stage, plugin, pod("c")).reserve()
    assert await attempt.pre_bind(None) == f"ERROR: {NO_API}"  # type: ignore[arg-type]


async def test_the_wait_has_an_end() -> None:
    claim = pvc("c")
    stage, plugin = staged(claim, MAKES, bindTimeoutSeconds=3)
    api = Server(claim)
    said = await Attempt(stage, plugin, pod("c")).reserve().pre_bind(api)
    assert said == "ERROR: binding volumes: context deadline exceeded"
    assert api.slept == 3.0


UNSELECT = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": None}}}
ELSEWHERE = {"spec": {"volumeName": "far"}}


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        pytest.param(UNSELECT, 'provisioning failed for PVC "c"', id="provisioner-gave-up"),
        pytest.param(
            ELSEWHERE,
            'pv "far" node affinity doesn\'t match node "n1": no matching NodeSelectorTerms',
            id="made-elsewhere",
        ),
    ],
)
async def test_volumes_that_are_not_made(patch: Any, said: str) -> None:
    claim = pvc("c")
    stage, plugin = staged(claim, MAKES)
    api = Server(claim, pv("far", on={HOST: "n2"}))
    api.later = [lambda: api.change("PersistentVolumeClaim", "default/c", patch)]
    assert await Attempt(stage, plugin, pod("c")).reserve().pre_bind(api) == f"ERROR: binding volumes: {said}"


async def test_a_volume_that_is_taken_away_again() -> None:
    claim, volume = pvc("c"), pv("v")
    stage, plugin = staged(claim, storage_class(), volume)
    api = Server(claim, volume)
    api.later = [lambda: api.change("PersistentVolume", "v", {"spec": {"claimRef": None}})]
    said = await Attempt(stage, plugin, pod("c")).reserve().pre_bind(api)
    assert said == 'ERROR: binding volumes: ClaimRef got reset for pv "v"'


async def test_a_pod_that_is_gone_waits_no_longer() -> None:
    claim = pvc("c")
    stage, plugin = staged(claim, MAKES)
    api = Server(claim)
    api.pod_there = False
    said = await Attempt(stage, plugin, pod("c")).reserve().pre_bind(api)
    assert said == 'ERROR: binding volumes: pod does not exist any more: pods "default/p" not found'
