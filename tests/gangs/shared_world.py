"""A cluster with two profiles that give out the same things: volumes, and licences of a policy's book."""

from __future__ import annotations

from typing import Any, Self

import msgspec

from engine.stage import HEADER
from gangs.world import Gang, World
from mooring import Book, Handle, Plugin, Pod, unschedulable
from mooring.app.making import make_engine
from mooring.config.load import load_config
from mooring.engine.decisions import Bind, Decision
from mooring.engine.engine import Engine
from mooring.engine.events import NodeAdded, ObjectChanged, ObjectDeleted, PodAdded
from mooring.model.objects import Object
from mooring.plugins.catalogue import make_registry
from plugins.volumes.stage import pv, pvc, storage_class

PROFILES = ("default-scheduler", "other")
LICENCES, VOLUMES = 2, 3
PLUGINS = "plugins: {multiPoint: {enabled: [{name: Licensed}]}}"


class Licences(Book[str, int]):
    """The licence of each pod that has one."""

    def taken(self, pod: Pod, node_name: str) -> None:
        if "licence" in pod.labels:
            given = {number for _, number in self.items()}
            self.set(pod.uid, min(set(range(len(given) + 1)) - given))

    def given_back(self, pod: Pod, node_name: str) -> None:
        self.drop(pod.uid)

    def recalled(self, pod: Pod, node_name: str, before: Self) -> None:
        if pod.uid in before:
            self.set(pod.uid, before[pod.uid])


class Licensed(Plugin):
    """There are only so many licences."""

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._given = handle.book(Licences)

    def sign(self, pod: Pod) -> Any:
        return "licence" if "licence" in pod.labels else None

    def filter(self, cycle: Any, pod: Pod, node: Any) -> Any:
        return unschedulable("no licence is left") if len(self._given) >= LICENCES else None


REGISTRY = make_registry()
REGISTRY.add(Licensed, trusted=True)
CONFIG = load_config(
    HEADER + "profiles:\n" + "".join(f"- schedulerName: {name}\n  {PLUGINS}\n" for name in PROFILES),
    "config.yaml",
    REGISTRY,
)


class SharedWorld(World):
    """Objects go by kind and key; what the server has written it may tell later."""

    config = CONFIG

    def __init__(self, seed: int) -> None:
        self.objects: dict[tuple[str, str], Object] = {}
        self.untold: list[tuple[str, str]] = []
        self.chosen: dict[str, list[tuple[str, str]]] = {}  # claims and volumes of binds under way, by uid
        self.versions = 0
        for each in (storage_class(), *(pv(f"v{number}") for number in range(VOLUMES))):
            self._write(each)
        super().__init__(seed)

    def restart(self, lost: int) -> None:
        for bind in self.unanswered[lost:]:
            if bind.pod.uid in self.pods and bind.node in self.nodes:
                self._write_volumes(bind.pod.uid)
        self.chosen, self.untold = {}, []
        super().restart(lost)

    def tell_some(self, count: int) -> None:
        """The server tells of objects it has written."""
        for key in [self.untold.pop(0) for _ in range(min(count, len(self.untold)))]:
            if (found := self.objects.get(key)) is not None:
                self._tell(ObjectChanged(found))

    def delete(self, uid: str) -> None:
        """A pod goes, its claim with it, and its volume is anybody's again."""
        super().delete(uid)
        if ("PersistentVolumeClaim", f"default/c-{uid}") in self.objects:
            self._tell(ObjectDeleted(self.objects.pop(("PersistentVolumeClaim", f"default/c-{uid}"))))
            for (kind, _), found in list(self.objects.items()):
                if kind == "PersistentVolume" and owner_of(found) == f"c-{uid}":
                    self._write(pv(found.metadata.name), told=False)

    def check(self) -> None:
        super().check()
        licensed = [each for each in self._placed() if "licence" in each.labels]
        assert len(licensed) <= LICENCES, "a licence was given twice"
        numbers = [number for _, number in self.engine.cluster.books.by_name["Licences"].items()]
        assert len(set(numbers)) == len(numbers), "one number was given twice"

    def _nobody_is_stuck(self) -> None:
        """Whoever waits may wait for a volume or a licence."""

    def _start(self) -> Engine:
        engine = make_engine(self.config, REGISTRY, seed=self.random.randrange(1000))
        for found in self.objects.values():
            engine.handle(ObjectChanged(found), self.now)
        for each in self.nodes.values():
            engine.handle(NodeAdded(each), self.now)
        for known in sorted(self.pods.values(), key=lambda known: known.uid):
            engine.handle(PodAdded(known), self.now)
        return engine

    def _create(self, new: Pod) -> None:
        gang: Gang | None = self.gang_of.get(new.uid)
        which = self.random.randrange(2) if gang is None else len(gang.name) + gang.cpu
        spec: dict[str, Any] = {"scheduler_name": PROFILES[which % 2]}
        if self.random.random() < 0.4:
            claim = self._write(pvc(f"c-{new.uid}"))
            self._tell(ObjectChanged(claim))
            spec["volumes"] = ({"name": "v", "persistentVolumeClaim": {"claimName": claim.metadata.name}},)
        labels = {"licence": "yes"} if self.random.random() < 0.4 else {}
        meta = msgspec.structs.replace(new.metadata, labels=labels)
        spec_of = msgspec.structs.replace(new.spec, **spec)
        super()._create(msgspec.structs.replace(new, metadata=meta, spec=spec_of))

    def _take(self, decisions: list[Decision]) -> None:
        for decision in decisions:
            if isinstance(decision, Bind):
                self._note_volumes(decision)
        super()._take(decisions)

    def _note_volumes(self, bind: Bind) -> None:
        state = self.engine.binding_state(bind)
        claims = None if state is None else state.cycle.read("VolumeBinding", None)
        chosen = claims.chosen.bindings if claims is not None and claims.chosen is not None else ()
        under_way = {other.pod.uid for other in self.unanswered}
        taken = {volume for uid in under_way for _, volume in self.chosen.get(uid, ())}
        for claim, volume in chosen:
            assert volume.name not in taken, f"{volume.name} was given twice"
            assert owner_of(self.objects["PersistentVolume", volume.name]) in ("", claim.name), "not free"
            self.seen["volumes"] += 1
        self.chosen[bind.pod.uid] = [(claim.name, volume.name) for claim, volume in chosen]

    def _bound(self, bind: Bind) -> None:
        self._write_volumes(bind.pod.uid)
        super()._bound(bind)

    def _write_volumes(self, uid: str) -> None:
        for claim, volume in self.chosen.pop(uid, ()):
            ref = {"namespace": "default", "name": claim, "uid": f"uid-{claim}"}
            self._write(pv(volume, claimRef=ref, phase="Bound"), told=False)
            self._write(pvc(claim, to=volume), told=False)

    def _write(self, found: Object, *, told: bool = True) -> Object:
        self.versions += 1
        meta = msgspec.structs.replace(found.metadata, resource_version=str(self.versions))
        found = msgspec.structs.replace(found, metadata=meta)
        self.objects[found.kind, found.key] = found
        if not told:
            self.untold.append((found.kind, found.key))
        return found


def owner_of(volume: Object) -> str:
    """The name of the claim a volume belongs to."""
    return str(volume.data["spec"].get("claimRef", {}).get("name", ""))
