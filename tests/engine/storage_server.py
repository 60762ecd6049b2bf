"""A small API server for storage objects, its controllers, and the binding cycles that wait for both."""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

import msgspec

from engine.storage_things import COMPLETED, FAST, HOST, PV, PVC, SELECTED, Data, reach, thing
from mooring.engine.decisions import Bind
from mooring.errors import Conflict, NotFound
from mooring.framework.running.binding import BindingFailed, BindingState, run_binding
from mooring.model.objects import Object, Pod
from oracle_volumes import Choice, is_bound, spec

Key = tuple[str, str]  # kind, and name or namespace/name


@types.coroutine
def until_told() -> Generator[None, None, None]:
    """Gives way to whoever runs the coroutine."""
    yield


class Server:
    """Objects by kind and key. Every change has a version of its own, and is told."""

    def __init__(self, tell: Callable[[Object, bool], None], pod: Callable[[str], Pod | None]) -> None:
        self._tell = tell
        self._pod = pod
        self.objects: dict[Key, Object] = {}
        self.version = 0
        self._made = 0

    def put(self, found: Object) -> None:
        self.version += 1
        meta = msgspec.structs.replace(found.metadata, resource_version=str(self.version))
        found = msgspec.structs.replace(found, metadata=meta)
        self.objects[found.kind, found.key] = found
        self._tell(found, False)

    def drop(self, kind: str, key: str) -> None:
        if (found := self.objects.pop((kind, key), None)) is not None:
            self._tell(found, True)

    def of(self, kind: str) -> list[Object]:
        return [found for found in self.objects.values() if found.kind == kind]

    # what binding plugins call

    async def bind(self, pod: Pod, node_name: str) -> None:
        if self._pod(pod.key) is None:
            raise NotFound(404, f'pods "{pod.name}" not found')

    async def patch(self, kind: str, key: str, patch: Data) -> None:
        found = self._get(kind, key)
        assert isinstance(found, Object)
        meta = patch.get("metadata", {})
        if meta.get("resourceVersion", found.metadata.resource_version) != found.metadata.resource_version:
            raise Conflict(409, f'Operation cannot be fulfilled on "{key}"')
        notes = found.metadata.annotations | meta.get("annotations", {})
        changed = msgspec.structs.replace(
            found,
            metadata=msgspec.structs.replace(found.metadata, annotations=notes),
            data=found.data | {"spec": spec(found) | patch.get("spec", {})},
        )
        self.put(changed)

    async def get(self, kind: str, key: str) -> Any:
        return self._get(kind, key)

    async def sleep(self, seconds: float) -> None:
        await until_told()

    def _get(self, kind: str, key: str) -> Object | Pod:
        found = self._pod(key) if kind == "Pod" else self.objects.get((kind, key))
        if found is None:
            raise NotFound(404, f'{kind} "{key}" not found')
        return found

    # what the controllers do

    def bind_claim(self, claim: Object) -> None:
        """Binds a claim to the volume that is its own, or has one made, if that is what it waits for."""
        if is_bound(claim) or spec(claim).get("volumeName"):
            return
        meta = claim.metadata
        for volume in self.of(PV):
            ref = spec(volume).get("claimRef") or {}
            if ref.get("name") == meta.name and ref.get("uid") == meta.uid:
                self._bind(claim, volume)
                return
        found = self.objects.get(("StorageClass", spec(claim)["storageClassName"]))
        provisioner = found.data["provisioner"] if found is not None else ""
        immediate = found is not None and found.data["volumeBindingMode"] == "Immediate"
        node_name = meta.annotations.get(SELECTED)
        if provisioner.startswith("csi-") and (node_name or immediate):
            self._bind(claim, self._make(claim, provisioner, node_name))

    def give_up(self, claim: Object) -> None:
        """No volume can be made where the claim's pod is to go."""
        meta = claim.metadata
        if SELECTED in meta.annotations and not is_bound(claim):
            notes = {key: value for key, value in meta.annotations.items() if key != SELECTED}
            fresh = msgspec.structs.replace(meta, annotations=notes)
            self.put(msgspec.structs.replace(claim, metadata=fresh))

    def _bind(self, claim: Object, volume: Object) -> None:
        notes = claim.metadata.annotations | {COMPLETED: "yes"}
        meta = msgspec.structs.replace(claim.metadata, annotations=notes)
        named = spec(claim) | {"volumeName": volume.metadata.name}
        self.put(msgspec.structs.replace(volume, data=volume.data | {"status": {"phase": "Bound"}}))
        data = claim.data | {"spec": named, "status": {"phase": "Bound"}}
        self.put(msgspec.structs.replace(claim, metadata=meta, data=data))

    def _make(self, claim: Object, provisioner: str, node_name: str | None) -> Object:
        self._made += 1
        name, meta, want = f"made{self._made}", claim.metadata, spec(claim)
        made = {
            "capacity": {"storage": want["resources"]["requests"]["storage"]},
            "storageClassName": want["storageClassName"],
            "accessModes": want["accessModes"],
            "claimRef": {"namespace": meta.namespace, "name": meta.name, "uid": meta.uid},
            "csi": {"driver": provisioner, "volumeHandle": name},
            **reach({HOST: node_name} if node_name and provisioner != FAST else None),
        }
        self.put(thing(PV, name, {"spec": made, "status": {"phase": "Bound"}}))
        return self.objects[PV, name]


class Binding:
    """A bind that is being carried out."""

    def __init__(self, bind: Bind, state: BindingState | None, choice: Choice, server: Server) -> None:
        self.bind = bind
        self._state = state
        self.choice = choice
        self._server = server
        self._course: Coroutine[None, None, None] | None = None

    def go_on(self) -> str | None:
        """One step: None when there is more to wait for, "" when the pod is bound, or what went wrong."""
        bind, first = self.bind, self._course is None
        if self._course is None:
            state = self._state
            assert state is not None
            self._course = run_binding(
                state.profile, state.cycle, bind.pod, bind.node, bind.patch, self._server
            )
        try:
            self._course.send(None)
        except StopIteration:
            self._course = None
            return ""
        except BindingFailed as failure:
            self._course = None
            return str(failure)
        if first:
            self._check_written()
        return None

    def abandon(self) -> None:
        if self._course is not None:
            self._course.close()

    def _check_written(self) -> None:
        """What was chosen is what the API server has been told."""
        objects = self._server.objects
        for claim, volume in self.choice.bindings:
            if (spec(volume).get("claimRef") or {}).get("uid") == claim.metadata.uid:
                continue  # written before; whoever put another volume in its place since is right
            ref = spec(objects[PV, volume.key])["claimRef"]
            assert (ref["namespace"], ref["name"], ref["uid"]) == (
                claim.metadata.namespace,
                claim.metadata.name,
                claim.metadata.uid,
            )
        for claim in self.choice.provisions:
            if claim.metadata.annotations.get(SELECTED) == self.bind.node:
                continue  # another pod had written it; whoever took it off since is right
            assert objects[PVC, claim.key].metadata.annotations[SELECTED] == self.bind.node
