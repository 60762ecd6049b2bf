"""Volumes, looked up and counted from nothing for every pod and every node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mooring.model.objects import LabelSelector, Node, NodeSelector, Object, Pod
from mooring.model.quantity import parse_quantity
from oracle_domains import Scene, There, requirements, selects
from oracle_matching import term_holds

PV, PVC = "PersistentVolume", "PersistentVolumeClaim"
SELECTED, COMPLETED = "volume.kubernetes.io/selected-node", "pv.kubernetes.io/bind-completed"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
GCE_PLUGIN, GCE_DRIVER = "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"
ONE_POD = "ReadWriteOncePod"
ZONES = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
    "another pod"
)
CONFLICT, NOTHING = "node(s) didn't match PersistentVolume's node affinity", "node(s) didn't find available"
NOTHING += " persistent volumes to bind"
FULL, GONE = "node(s) did not have enough free storage", "node(s) unavailable due to one or more pvc(s) bound"
GONE += " to non-existent pv(s)"
IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"

Said = tuple[str, tuple[str, ...], bool]  # the plugin, its reasons, and whether evicting others is no help
FINE: Said = ("", (), False)


@dataclass(frozen=True)
class Assumed:
    """What was decided about an object and is not written yet; void once the object has another version."""

    by: str  # the uid of the pod it was decided for
    version: str
    value: Any  # of a volume: the key and uid of its claim; of a claim: its node


Assumptions = Mapping[tuple[str, str], Assumed]


@dataclass
class Choice:
    """What to do about claims that have no volume, or why nothing can be done."""

    bindings: list[tuple[Object, Object]] = field(default_factory=list)  # claims and volumes
    provisions: list[Object] = field(default_factory=list)
    reason: str = ""


# looking things up


def find(scene: Scene, kind: str, key: str) -> Object | None:
    return next((o for o in scene.objects if o.kind == kind and o.key == key), None)


def every(scene: Scene, kind: str) -> Iterator[Object]:
    return (o for o in scene.objects if o.kind == kind)


def spec(found: Object) -> dict[str, Any]:
    return dict(found.data.get("spec") or {})


def claims_of(pod: Pod) -> list[tuple[str, bool]]:
    """Names of the pod's claims, each once, and whether it is that of an ephemeral volume."""
    found = []
    for volume in pod.spec.volumes:
        if volume.get("persistentVolumeClaim"):
            found.append((volume["persistentVolumeClaim"]["claimName"], False))
        elif volume.get("ephemeral"):
            found.append((f"{pod.name}-{volume['name']}", True))
    return list(dict.fromkeys(found))


def named_claims(pod: Pod) -> list[str]:
    return [name for name, ephemeral in claims_of(pod) if not ephemeral]


def is_bound(claim: Object) -> bool:
    return bool(spec(claim).get("volumeName")) and COMPLETED in claim.metadata.annotations


def class_of(found: Object, scene: Scene) -> Object | None:
    return find(scene, "StorageClass", spec(found).get("storageClassName", ""))


def size_of(amounts: Mapping[str, Any] | None) -> int:
    return int(parse_quantity((amounts or {}).get("storage", 0)))


def wanted_size(claim: Object) -> int:
    return size_of(spec(claim).get("resources", {}).get("requests"))


def selected_node(claim: Object, scene: Scene) -> str | None:
    assumed = scene.assumed.get((PVC, claim.key))
    if assumed is not None and assumed.version == claim.metadata.resource_version:
        return str(assumed.value)
    return claim.metadata.annotations.get(SELECTED)


def owner_of(volume: Object, scene: Scene) -> tuple[str, str] | None:
    """The key and uid of the claim a volume is for."""
    assumed = scene.assumed.get((PV, volume.key))
    if assumed is not None and assumed.version == volume.metadata.resource_version:
        key, uid = assumed.value
        return key, uid
    ref = spec(volume).get("claimRef")
    return (f"{ref['namespace']}/{ref['name']}", ref.get("uid", "")) if ref else None


def reaches(volume: Object, node: Node) -> bool:
    affinity = spec(volume).get("nodeAffinity")
    if not affinity:
        return True
    required = msgspec.convert(affinity["required"], NodeSelector)
    return any(term_holds(term, node) for term in required.node_selector_terms)


def chosen_by(selector: Any, labels: Mapping[str, str]) -> bool:
    return selects(requirements(msgspec.convert(selector, LabelSelector)), labels)


# before any node is asked


def volumes_refusal(pod: Pod, scene: Scene) -> tuple[str, str]:
    """The plugin that refuses the pod as a whole, and why; empty when none does."""
    for name in named_claims(pod):
        if find(scene, PVC, f"{pod.namespace}/{name}") is None:
            return "VolumeRestrictions", f'persistentvolumeclaim "{name}" not found'
    immediate = False
    for name, ephemeral in claims_of(pod):
        claim = find(scene, PVC, f"{pod.namespace}/{name}")
        if why := _unusable(pod, name, ephemeral, claim):
            return "VolumeBinding", why
        assert claim is not None
        found = class_of(claim, scene)
        waits = found is not None and found.data.get("volumeBindingMode") == "WaitForFirstConsumer"
        if not is_bound(claim) and not (waits and not spec(claim).get("volumeName")):
            immediate = True
    if immediate:
        return "VolumeBinding", IMMEDIATE
    for name in named_claims(pod):
        claim = find(scene, PVC, f"{pod.namespace}/{name}")
        volume = spec(claim).get("volumeName") if claim else ""
        if volume and find(scene, PV, volume) is None:
            return "VolumeZone", f'persistentvolume "{volume}" not found'
    return "", ""


def _unusable(pod: Pod, name: str, ephemeral: bool, claim: Object | None) -> str:
    if claim is None:
        awaited = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        return awaited if ephemeral else f'persistentvolumeclaim "{name}" not found'
    if (claim.data.get("status") or {}).get("phase") == "Lost":
        volume = spec(claim).get("volumeName", "")
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
    if claim.metadata.deletion_timestamp:
        return f'persistentvolumeclaim "{name}" is being deleted'
    owners = [owner.uid for owner in claim.metadata.owner_references if owner.controller]
    if ephemeral and pod.uid not in owners:
        return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"
    return ""


# of one node


def volumes_verdict(pod: Pod, node: Node, there: list[Pod], scene: Scene, coming: list[There]) -> Said:
    if not pod.spec.volumes:
        return FINE
    for plugin, reasons, hopeless in (
        ("VolumeRestrictions", _taken(pod, there, scene, coming), False),
        ("NodeVolumeLimits", _over_limit(pod, node, there, scene), False),
        ("VolumeBinding", _unbindable(pod, node, scene), True),
        ("VolumeZone", _other_zone(pod, node, scene), True),
    ):
        if reasons:
            return plugin, tuple(reasons), hopeless
    return FINE


def _taken(pod: Pod, there: list[Pod], scene: Scene, coming: list[There]) -> list[str]:
    """Disks that are mounted here, and claims of which another pod has the only use, wherever it is."""
    if any(_disks_clash(one, other) for one in _disks(pod) for p in there for other in _disks(p)):
        return ["node(s) had no available disk"]
    alone = set()
    for name in named_claims(pod):
        claim = find(scene, PVC, f"{pod.namespace}/{name}")
        if claim is not None and ONE_POD in spec(claim).get("accessModes", ()):
            alone.add(name)

    def in_use(pods: Iterable[There]) -> bool:
        return any(p.namespace == pod.namespace and alone & set(named_claims(p)) for p, _ in pods)

    if not _disks(pod) and not in_use(scene.before or scene.pods):
        return []  # nobody looks at such a pod, whoever is to come
    return [IN_USE] if in_use([*scene.pods, *coming]) else []


def _disks(pod: Pod) -> list[tuple[str, bool]]:
    disks = [volume["gcePersistentDisk"] for volume in pod.spec.volumes if volume.get("gcePersistentDisk")]
    return [(disk["pdName"], disk.get("readOnly", False)) for disk in disks]


def _disks_clash(one: tuple[str, bool], other: tuple[str, bool]) -> bool:
    return one[0] == other[0] and not (one[1] and other[1])


def _over_limit(pod: Pod, node: Node, there: list[Pod], scene: Scene) -> list[str]:
    csi_node = find(scene, "CSINode", node.name)
    if csi_node is None:
        return []
    attached = {pair for p in there for pair in _attachable(p, csi_node, scene)}
    for found in every(scene, "VolumeAttachment"):
        volume = find(scene, PV, spec(found)["source"]["persistentVolumeName"])
        if spec(found)["nodeName"] == node.name and volume is not None and spec(volume).get("csi"):
            attached.add((spec(found)["attacher"], spec(volume)["csi"]["volumeHandle"]))
    new = set(_attachable(pod, csi_node, scene)) - attached
    used, more = (Counter(driver for driver, _ in volumes) for volumes in (attached, new))
    for driver in spec(csi_node)["drivers"]:
        limit = driver.get("allocatable", {}).get("count")
        name = driver["name"]
        if limit is not None and more[name] and used[name] + more[name] > limit:
            return ["node(s) exceed max volume count"]
    return []


def _attachable(pod: Pod, csi_node: Object, scene: Scene) -> Iterator[tuple[str, str]]:
    """Drivers and handles of the volumes that some CSI driver attaches for the pod."""
    migrated = csi_node.metadata.annotations.get(MIGRATED, "").split(",")
    for name, _ in _disks(pod):
        if GCE_PLUGIN in migrated:
            yield GCE_DRIVER, f"disk {name}"
    for name, ephemeral in claims_of(pod):
        claim = find(scene, PVC, f"{pod.namespace}/{name}")
        if claim is None or (ephemeral and _unusable(pod, name, True, claim).startswith("PVC ")):
            continue
        volume = find(scene, PV, spec(claim).get("volumeName", ""))
        if volume is not None:
            if csi := spec(volume).get("csi"):
                yield csi["driver"], csi["volumeHandle"]
            continue
        found = class_of(claim, scene)
        if found is not None and found.data.get("provisioner"):
            yield found.data["provisioner"], f"claim {claim.key}"


def _other_zone(pod: Pod, node: Node, scene: Scene) -> list[str]:
    if not any(key in node.labels for key in ZONES):
        return []
    for name in named_claims(pod):
        claim = find(scene, PVC, f"{pod.namespace}/{name}")
        volume = find(scene, PV, spec(claim).get("volumeName", "")) if claim else None
        for key, value in (volume.metadata.labels if volume else {}).items():
            if key in ZONES:
                here = node.labels.get(key, node.labels.get(ZONES[key]))
                if here not in value.split("__"):
                    return ["node(s) had no available volume zone"]
    return []


def _unbindable(pod: Pod, node: Node, scene: Scene) -> list[str]:
    reasons = []
    for name, _ in claims_of(pod):
        claim = find(scene, PVC, f"{pod.namespace}/{name}")
        assert claim is not None
        if is_bound(claim):
            volume = find(scene, PV, spec(claim)["volumeName"])
            if volume is None or not reaches(volume, node):
                reasons.append(GONE if volume is None else CONFLICT)
                break
    if why_not := choose(pod, node, scene).reason:
        reasons.append(why_not)
    return reasons


def choose(pod: Pod, node: Node, scene: Scene) -> Choice:
    """Volumes for claims that have none: one there is, or one to be made. The smaller claims go first."""
    claims = [find(scene, PVC, f"{pod.namespace}/{name}") for name, _ in claims_of(pod)]
    waiting = [claim for claim in claims if claim is not None and not is_bound(claim)]
    waiting.sort(key=wanted_size)
    choice = Choice()
    for claim in waiting:
        if selected_node(claim, scene) not in (None, node.name):
            return Choice(reason=NOTHING)
    choice.provisions = [claim for claim in waiting if selected_node(claim, scene) is not None]
    for claim in waiting:
        if selected_node(claim, scene) is not None:
            continue
        taken = {volume.key for _, volume in choice.bindings}
        volume = _volume_for(claim, node, taken, scene)
        if volume is None:
            choice.provisions.append(claim)
        else:
            choice.bindings.append((claim, volume))
    for claim in choice.provisions:
        if why_not := _not_makeable(claim, node, scene):
            return Choice(reason=why_not)
    return choice


def _volume_for(claim: Object, node: Node, taken: set[str], scene: Scene) -> Object | None:
    best: Object | None = None
    for volume in every(scene, PV):
        owner, want = owner_of(volume, scene), spec(claim)
        mine = owner is not None and owner[0] == claim.key and owner[1] in ("", claim.metadata.uid)
        if (
            spec(volume).get("storageClassName", "") != want.get("storageClassName", "")
            or volume.metadata.deletion_timestamp
            or volume.key in taken
            or size_of(spec(volume)["capacity"]) < wanted_size(claim)
            or spec(volume).get("volumeMode", "Filesystem") != want.get("volumeMode", "Filesystem")
            or spec(volume).get("volumeAttributesClassName") != want.get("volumeAttributesClassName")
        ):
            continue
        if mine:
            return volume if reaches(volume, node) else None
        free = (
            owner is None
            and (volume.data.get("status") or {}).get("phase") == "Available"
            and set(want["accessModes"]) <= set(spec(volume)["accessModes"])
            and ("selector" not in want or chosen_by(want["selector"], volume.metadata.labels))
            and reaches(volume, node)
        )
        if free and (best is None or size_of(spec(volume)["capacity"]) < size_of(spec(best)["capacity"])):
            best = volume
    return best


def _not_makeable(claim: Object, node: Node, scene: Scene) -> str:
    found = class_of(claim, scene)
    assert found is not None
    provisioner = found.data.get("provisioner", "")
    if provisioner in ("", "kubernetes.io/no-provisioner"):
        return NOTHING
    topologies = found.data.get("allowedTopologies") or []
    if topologies and not any(_in_topology(each, node) for each in topologies):
        return NOTHING
    driver = find(scene, "CSIDriver", provisioner)
    if driver is None or not spec(driver).get("storageCapacity"):
        return ""
    for capacity in every(scene, "CSIStorageCapacity"):
        data = capacity.data
        limit = data.get("maximumVolumeSize", data.get("capacity"))
        if (
            data.get("storageClassName") == found.metadata.name
            and limit is not None
            and int(parse_quantity(limit)) >= wanted_size(claim)
            and data.get("nodeTopology") is not None
            and chosen_by(data["nodeTopology"], node.labels)
        ):
            return ""
    return FULL


def _in_topology(term: Mapping[str, Any], node: Node) -> bool:
    return all(node.labels.get(each["key"]) in each["values"] for each in term["matchLabelExpressions"])
