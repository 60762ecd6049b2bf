"""Writes the volumes chosen for a pod to the API server, and waits until they are bound.

What is written names the version it was decided on, so a volume that somebody else took meanwhile is not
taken away from them: the API server refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.errors import ApiError
from mooring.framework.api.handle import Api
from mooring.model.objects import Object, Pod
from mooring.plugins.volumes import storage_objects as kinds
from mooring.plugins.volumes.pod_claims import Choice
from mooring.plugins.volumes.storage_objects import Claim, Volume, read_claim, read_volume

POLL_S = 1.0
NOT_FOUND = 404
TIMED_OUT = "binding volumes: context deadline exceeded"
FAILED = "binding volumes: {}"
POD_GONE = "pod does not exist any more: {}"
MOVED = 'pv "{}" node affinity doesn\'t match node "{}": no matching NodeSelectorTerms'
RESET = 'ClaimRef got reset for pv "{}"'
NOT_MADE = 'provisioning failed for PVC "{}"'


class Progress(msgspec.Struct, frozen=True):
    """How far binding has come: done, on its way, or failed with a problem."""

    done: bool = False
    problem: str = ""


ON_ITS_WAY = Progress()
DONE = Progress(done=True)


async def bind_volumes(
    api: Api, choice: Choice, pod: Pod, node_name: str, labels: Mapping[str, str], timeout_s: float
) -> str:
    """Has the volumes bound. Returns what went wrong; "" when nothing did."""
    await _write(api, choice, node_name)
    waited_s = 0.0
    while True:
        progress = await _progress(api, choice, node_name, labels)
        if progress.problem:
            return FAILED.format(progress.problem)
        if progress.done:
            return ""
        if waited_s >= timeout_s:
            return TIMED_OUT
        await api.sleep(POLL_S)
        waited_s += POLL_S
        if (gone := await _gone(api, pod)) is not None:
            return FAILED.format(POD_GONE.format(gone))


async def _write(api: Api, choice: Choice, node_name: str) -> None:
    for claim, volume in choice.bindings:
        if (patch := volume_patch(volume, claim)) is not None:
            await api.patch(kinds.PERSISTENT_VOLUME, volume.name, patch)
    for making in choice.provisions:
        if making.claim.object.metadata.annotations.get(kinds.SELECTED_NODE) != node_name:
            await api.patch(kinds.CLAIM, making.claim.key, claim_patch(making.claim, node_name))


def volume_patch(volume: Volume, claim: Claim) -> dict[str, Any] | None:
    """Makes a volume the claim's own; None when it is. A volume its owner meant for the claim says so."""
    of = read_volume(volume.object)
    if of.claim is not None and of.is_for(claim) and of.claim.uid:
        return None
    meta = _on_version(volume.object)
    if not of.is_for(claim):
        meta["annotations"] = {kinds.BOUND_BY_CONTROLLER: "yes"}
    return {"metadata": meta, "spec": {"claimRef": reference_to(claim)}}


def reference_to(claim: Claim) -> dict[str, str]:
    found = claim.object.metadata
    reference = {
        "apiVersion": "v1",
        "kind": kinds.CLAIM,
        "namespace": found.namespace,
        "name": found.name,
        "uid": found.uid,
        "resourceVersion": found.resource_version,
    }
    return {key: value for key, value in reference.items() if value}


def claim_patch(claim: Claim, node_name: str) -> dict[str, Any]:
    """Asks for a volume to be made for the claim, for a pod on the node.

    When another pod with the claim asks for the same, whoever writes first, nothing is overwritten.
    """
    version = {} if claim.selected_node == node_name else _on_version(claim.object)
    return {"metadata": {**version, "annotations": {kinds.SELECTED_NODE: node_name}}}


def _on_version(found: Object) -> dict[str, Any]:
    version = found.metadata.resource_version
    return {"resourceVersion": version} if version else {}


async def _progress(api: Api, choice: Choice, node_name: str, labels: Mapping[str, str]) -> Progress:
    for claim, volume in choice.bindings:
        now = read_volume(await api.get(kinds.PERSISTENT_VOLUME, volume.name))
        if not now.reachable(node_name, labels):
            return Progress(problem=MOVED.format(now.name, node_name))
        if now.claim is None or not now.claim.uid:
            return Progress(problem=RESET.format(now.name))
        if not read_claim(await api.get(kinds.CLAIM, claim.key)).bound:
            return ON_ITS_WAY
    for making in choice.provisions:
        made = await _made(api, making.claim, node_name, labels)
        if made is not DONE:
            return made
    return DONE


async def _made(api: Api, claim: Claim, node_name: str, labels: Mapping[str, str]) -> Progress:
    """Whether the volume of a claim has been made. Who cannot make it takes the node off the claim."""
    now = read_claim(await api.get(kinds.CLAIM, claim.key))
    if now.selected_node != node_name:
        return Progress(problem=NOT_MADE.format(now.name))
    if now.volume_name:
        try:
            volume = read_volume(await api.get(kinds.PERSISTENT_VOLUME, now.volume_name))
        except ApiError as refusal:
            if refusal.code != NOT_FOUND:
                raise
            return ON_ITS_WAY  # it is named before it is there
        if not volume.reachable(node_name, labels):
            return Progress(problem=MOVED.format(volume.name, node_name))
    return DONE if now.bound else ON_ITS_WAY


async def _gone(api: Api, pod: Pod) -> str | None:
    """The server's words when the pod is not there any more."""
    try:
        await api.get("Pod", pod.key)
    except ApiError as refusal:
        return str(refusal) if refusal.code == NOT_FOUND else None
    return None
