"""A world with storage, priorities and budgets: what can happen in it, step by step."""

from __future__ import annotations

import msgspec

from engine import storage_things as things
from engine.storage_judge import JudgedWorld, nominated
from engine.storage_server import Binding
from engine.storage_things import CLAIMS, NAMES, PV, PVC, Made
from mooring.engine.decisions import Wait
from mooring.engine.events import BindFailed, Bound, EvictFailed
from mooring.model.objects import Object, Pod, PodCondition
from oracle_volumes import claims_of

EVICTED = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
ANY = 60


class World(JudgedWorld):
    """Steps take small numbers, so that a sequence of them can be made simpler."""

    # pods

    def come(self, kind: int, priority: int, one: int, other: int) -> None:
        new = self._make(kind, one, other).priority(priority).build()
        self.waiting[new.uid] = new
        self.stage.add(new)
        self.schedule()

    def run(self, kind: int, priority: int, one: int, name: int) -> None:
        """A pod that somebody else put on a node, known or not."""
        made = self._make(kind, one, one).priority(priority).running_on(NAMES[name])
        new = self._started(made.build())
        if set(claims_of(new)) & {use for pod, _ in self.placed.values() for use in claims_of(pod)}:
            return  # two pods with a claim for one: nobody is right then
        self.placed[new.uid] = (new, NAMES[name])
        self.stage.add(new)
        self.schedule()

    def _make(self, kind: int, one: int, other: int) -> Made:
        self.made += 1
        return self.kinds[kind % len(self.kinds)](Made(f"p{self.made}"), CLAIMS[one], CLAIMS[other])

    def _started(self, pod: Pod) -> Pod:
        """Half of the pods started at a moment of their own, the others at the same."""
        moment = self.made if self.made % 2 else 0
        status = msgspec.structs.replace(
            pod.status, start_time=f"2026-01-01T00:{moment // 60:02}:{moment % 60:02}Z"
        )
        return msgspec.structs.replace(pod, status=status)

    def delete_placed(self, index: int) -> None:
        if self.placed:
            self._delete(list(self.placed)[index % len(self.placed)])
        self.schedule()

    def _delete(self, uid: str) -> None:
        gone, _ = self.placed.pop(uid)
        self.leaving.pop(uid, None)
        self.stage.delete(gone)

    def delete_waiting(self, index: int) -> None:
        if self.waiting:
            gone = self.waiting.pop(list(self.waiting)[index % len(self.waiting)])
            self.nominated.pop(gone.uid, None)
            self.stage.delete(gone)
        self.schedule()

    # victims

    def terminate(self, index: int) -> None:
        """The API server shows that an evicted pod terminates."""
        assumed = {each.bind.pod.uid for each in self.binding}
        if going := [uid for uid in self.leaving if uid not in assumed]:
            pod, name = self.placed[going[index % len(going)]]
            meta = msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-02T00:00:00Z")
            status = msgspec.structs.replace(pod.status, conditions=(EVICTED,))
            pod = msgspec.structs.replace(pod, metadata=meta, status=status)
            self.placed[pod.uid] = (pod, name)
            self.stage.change(pod)
        self.schedule()

    def go(self, index: int) -> None:
        if self.leaving:
            self._delete(list(self.leaving)[index % len(self.leaving)])
        self.schedule()

    def evict_fails(self, index: int) -> None:
        going = [uid for uid in self.leaving if not self.placed[uid][0].terminating]
        if going:
            uid = going[index % len(going)]
            pod, _ = self.placed[uid]
            self.engine.handle(EvictFailed(pod, self.leaving.pop(uid), "no"), self.stage.now)
        self.schedule()

    # binding

    def go_on(self, index: int) -> None:
        """A binding cycle writes, or looks whether it can go on."""
        if self.binding:
            each = self.binding[index % len(self.binding)]
            answer = each.go_on()
            if answer == "":
                self._bound(each)
            elif answer is not None:
                self._failed(each, answer)
        self.schedule()

    def fail_bind(self, index: int) -> None:
        if self.binding:
            each = self.binding[index % len(self.binding)]
            each.abandon()
            self._failed(each, "conflict")
        self.schedule()
        self.nobody_is_forgotten()

    def _bound(self, each: Binding) -> None:
        self.binding.remove(each)
        bind = each.bind
        self.engine.handle(Bound(bind.pod, bind.node), self.stage.now)
        if bind.pod.uid in self.placed:
            pod = self._started(nominated(bind.pod, "").on_node(bind.node))
            self.placed[pod.uid] = (pod, bind.node)
            self.stage.change(pod)

    def _failed(self, each: Binding, message: str) -> None:
        self.binding.remove(each)
        bind = each.bind
        pod = bind.pod
        self.assumed = {key: value for key, value in self.assumed.items() if value.by != pod.uid}
        decisions = self.engine.handle(BindFailed(pod, bind.node, message), self.stage.now)
        shown, _ = self.placed.pop(pod.uid, (None, ""))
        if shown is None:
            assert decisions == []  # deleted meanwhile
            return
        self.leaving.pop(pod.uid, None)
        (wait,) = decisions
        assert isinstance(wait, Wait)
        assert (wait.reason, wait.message, wait.plugins, wait.nominated) == (
            "SchedulerError",
            message,
            (),
            "",
        )
        self.waiting[pod.uid] = shown
        self._nominate(shown, "")

    # nodes

    def put_node(self, *fields: int) -> None:
        new = things.make_node(*fields)
        self.nodes[new.name] = new
        self.stage.change(new)
        if ("CSINode", new.name) not in self.server.objects:  # a node that joins tells of its drivers
            self.server.put(things.make_csi_node(fields[0], 0, 0))
        self.schedule()

    def drop_node(self, name: int) -> None:
        gone = self.nodes.pop(NAMES[name], None)
        if gone is not None:
            self.stage.delete(gone)
        self.schedule()

    # storage

    def put_claim(self, index: int, cls: int, size: int, more: int) -> None:
        """A claim that is in use changes only as controllers change it."""
        key = f"default/{CLAIMS[index]}"
        used = {f"default/{name}" for pod, _ in self.placed.values() for name, _ in claims_of(pod)}
        if key not in used:
            self.server.put(things.make_claim(index, cls, size, more, f"uid{self.server.version}"))
        self.schedule()

    def put_volume(self, *fields: int) -> None:
        new = things.make_volume(*fields)
        old = self.server.objects.get((PV, new.key))
        if old is None or old.data["status"]["phase"] != "Bound":
            self.server.put(new)
        self.schedule()

    def touch(self, index: int) -> None:
        """A change of no importance; whatever was assumed of the object before is void."""
        found = [self.server.objects[key] for key in self.assumed if key in self.server.objects]
        found = found or self.server.of(PV)
        if found:
            self.server.put(found[index % len(found)])
        self.schedule()

    def drop(self, kind: int, index: int) -> None:
        kinds = [PV, PVC, "VolumeAttachment", "StorageClass", "CSIStorageCapacity"]
        if found := self.server.of(kinds[kind]):
            gone = found[index % len(found)]
            self.server.drop(gone.kind, gone.key)
        self.schedule()

    def put_class(self, index: int, more: int) -> None:
        self._put(things.make_class(index, more))

    def put_capacity(self, index: int, size: int, where: int) -> None:
        self._put(things.make_capacity(index, size, where))

    def put_driver(self, checks: int) -> None:
        self._put(things.make_driver(bool(checks)))

    def put_csi_node(self, name: int, limit: int, sized: int) -> None:
        self._put(things.make_csi_node(name, limit, sized))

    def attach(self, name: int, volume: int) -> None:
        self._put(things.make_attachment(name, volume))

    def put_budget(self, index: int, allowed: int, disrupted: int) -> None:
        """Every third pod that is placed is known to be disrupted already, or none is."""
        names = [pod.name for pod, _ in self.placed.values()]
        self._put(things.make_budget(index, allowed, names[disrupted::3]))

    def _put(self, new: Object) -> None:
        self.server.put(new)
        self.schedule()

    def ephemeral(self, index: int, cls: int, wrong: int) -> None:
        """The claim of an ephemeral volume is made for its pod, or happens to be there already."""
        awaited = [(pod, name) for pod in self.waiting.values() for name, own in claims_of(pod) if own]
        if awaited:
            pod, name = awaited[index % len(awaited)]
            claim = things.make_claim(0, cls, 0, 0, f"uid{self.server.version}")
            owner = {"kind": "Pod", "uid": "other" if wrong == 1 else pod.uid, "controller": True}
            meta = {"uid": claim.metadata.uid, "ownerReferences": [owner]}
            self.server.put(things.thing(PVC, name, claim.data, **meta))
        self.schedule()

    def control(self, index: int) -> None:
        if found := self.server.of(PVC):
            self.server.bind_claim(found[index % len(found)])
        self.schedule()

    def give_up(self, index: int) -> None:
        if found := self.server.of(PVC):
            self.server.give_up(found[index % len(found)])
        self.schedule()

    def tick(self, seconds: int) -> None:
        self.stage.tick(self.stage.now + seconds)
        self.schedule()

    def finish(self) -> None:
        """Whatever is under way ends, one more pod of every kind comes, and everything is looked at."""
        for each in list(self.binding):
            each.abandon()
            self._failed(each, "conflict")
        self.nobody_is_forgotten()
        self.tick(1000)
        for kind in range(len(self.kinds)):
            self.come(kind, 2, kind % len(CLAIMS), 0)
        self.engine.placer.kept.check()
        assert {uid: name for uid, (_, name) in self.placed.items()} == {
            uid: placed.node for uid, placed in self.engine.cluster.pods.by_uid.items()
        }
