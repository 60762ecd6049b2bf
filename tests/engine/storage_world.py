"""A world with storage, priorities and budgets, played against the engine step by step.

It knows what the API server would say, kept apart from what the engine says, and holds every decision
against the slow and obvious scheduler: the feasible nodes with their totals, the message, the victims,
the nominations, and the volumes a pod takes with it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from engine import storage_things as things
from engine.stage import BUILT_IN, Stage
from engine.storage_server import Binding, Server
from engine.storage_things import CLAIMS, NAMES, PV, PVC, Kind, Made
from mooring.engine.decisions import Bind, Decision, Evict, Nominate, Wait
from mooring.engine.events import BindFailed, Bound, EvictFailed, ObjectChanged, ObjectDeleted
from mooring.engine.fit_error import FitError
from mooring.engine.placing import Choice as Place
from mooring.engine.queued import Where
from mooring.model.objects import Node, Object, Pod, PodCondition
from mooring.plugins.preemption import DefaultPreemption
from mooring.plugins.topology.interpod import InterPodAffinity
from mooring.plugins.topology.spread import PodTopologySpread
from mooring.plugins.volumes import NodeVolumeLimits, VolumeBinding, VolumeRestrictions, VolumeZone
from oracle import Outcome, Question
from oracle_preemption import Plan, Rescue, rescue
from oracle_volumes import Assumed, Choice, choose, claims_of, owner_of, selected_node

MORE = (
    PodTopologySpread,
    InterPodAffinity,
    VolumeRestrictions,
    NodeVolumeLimits,
    VolumeBinding,
    VolumeZone,
    DefaultPreemption,
)
EVICTED = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
ANY = 60


class World:
    """Steps take small numbers, so that a sequence of them can be made simpler."""

    def __init__(self, kinds: list[Kind]) -> None:
        self.kinds = kinds
        self.stage = Stage(*MORE, base=BUILT_IN, keep_scores=True)
        self.engine = self.stage.engine
        placer = self.engine.placer
        placer.kept.worth = lambda pod_class: pod_class.keeps and pod_class.shared
        self._place = placer.place
        placer.place = self._place_twice
        self.server = Server(self._tell, self._pod_of)
        self.engine.attach(self.server)
        self.nodes: dict[str, Node] = {}
        self.placed: dict[str, tuple[Pod, str]] = {}
        self.waiting: dict[str, Pod] = {}
        self.nominated: dict[str, tuple[Pod, str]] = {}
        self.binding: list[Binding] = []
        self.assumed: dict[tuple[str, str], Assumed] = {}
        self.leaving: dict[str, str] = {}  # pods on their way out, and the key of the pod they make room for
        self.made = 0
        self.seen = {"bind": 0, "wait": 0, "preempt": 0, "volumes": 0, "give way": 0}

    def _place_twice(self, pod_class: Any, cycle: Any, wanted: Pod, *more: Any) -> Place | FitError:
        """Afresh first, then by what is kept, with the same luck; both must say the same."""
        placer, rng = self.engine.placer, self.engine._rng
        luck, placer.keep_evaluations = rng.getstate(), False
        fresh = self._place(pod_class, cycle.clone(), wanted, *more)
        placer.keep_evaluations = True
        rng.setstate(luck)
        kept = self._place(pod_class, cycle, wanted, *more)
        assert type(fresh) is type(kept)
        if isinstance(fresh, FitError):
            assert fresh.message() == kept.message()  # type: ignore[union-attr]
        else:
            assert fresh.totals == kept.totals  # type: ignore[union-attr]
        return kept

    def _tell(self, found: Object, gone: bool) -> None:
        self.engine.handle((ObjectDeleted if gone else ObjectChanged)(found), self.stage.now)

    def _pod_of(self, key: str) -> Pod | None:
        pods = (*self.waiting.values(), *(pod for pod, _ in self.placed.values()))
        return next((pod for pod in pods if pod.key == key), None)

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

    def _bound(self, each: Binding) -> None:
        self.binding.remove(each)
        bind = each.bind
        self.engine.handle(Bound(bind.pod, bind.node), self.stage.now)
        if bind.pod.uid in self.placed:
            pod = self._started(bind.pod.on_node(bind.node))
            self.placed[pod.uid] = (pod, bind.node)
            self.stage.change(pod)

    def _failed(self, each: Binding, message: str) -> None:
        self.binding.remove(each)
        bind = each.bind
        pod = bind.pod
        self.assumed = {key: value for key, value in self.assumed.items() if value.by != pod.uid}
        decisions = self.engine.handle(BindFailed(pod, bind.node, message), self.stage.now)
        if self.placed.pop(pod.uid, None) is None:
            assert decisions == []  # deleted meanwhile
            return
        self.leaving.pop(pod.uid, None)
        (wait,) = decisions
        assert isinstance(wait, Wait)
        assert (wait.reason, wait.message, wait.plugins) == ("SchedulerError", message, ())
        self.waiting[pod.uid] = pod
        self._nominate(pod, "")

    # nodes

    def put_node(self, *fields: int) -> None:
        new = things.make_node(*fields)
        self.nodes[new.name] = new
        self.stage.change(new)
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
        names = [pod.name for pod, _ in self.placed.values()]
        known = [names[disrupted % len(names)]] if names and disrupted % 2 else []
        self._put(things.make_budget(index, allowed, known))

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

    # looking

    def schedule(self) -> None:
        """Every pod that is ready is decided once; pods popped early from back-off stop the round."""
        seen: set[str] = set()
        while (decisions := self.engine.schedule(self.stage.now)) is not None:
            if not decisions:
                continue
            uid = decisions[-1].pod.uid  # type: ignore[union-attr]
            self._compare(decisions)
            if uid in seen:
                break
            seen.add(uid)
        self.engine.check()
        nominator = self.engine.nominator
        assert {uid: name for uid, (_, name) in self.nominated.items()} == dict(nominator._node_of)

    def question(self, pod: Pod) -> Question:
        nominated = list(self.nominated.values())
        objects = self.server.objects.values()
        return Question(self.nodes.values(), self.placed.values(), nominated, pod, objects, self.assumed)

    def _compare(self, decisions: list[Decision]) -> None:
        last = decisions[-1]
        assert isinstance(last, Bind | Wait)
        question = self.question(self.waiting[last.pod.uid])
        right = question.outcome()
        if isinstance(last, Bind):
            assert decisions == [last]
            self._compare_bind(last, question, right)
        else:
            self._compare_wait(last, decisions[:-1], question, right)

    def _compare_bind(self, bind: Bind, question: Question, right: Outcome) -> None:
        pod = bind.pod
        assert self.engine.scores.pop(pod.key) == right.totals, pod
        assert bind.node in right.best
        scene = question.scene()
        choice = choose(pod, self.nodes[bind.node], scene)
        assert not choice.reason
        self.seen["bind"] += 1
        self.seen["volumes"] += bool(choice.bindings or choice.provisions)
        self._assume(bind, choice, question)
        del self.waiting[pod.uid]
        self.nominated.pop(pod.uid, None)
        self.placed[pod.uid] = (pod, bind.node)
        self.binding.append(Binding(bind, choice, self.server))

    def _assume(self, bind: Bind, choice: Choice, question: Question) -> None:
        """From now on what was chosen counts as done, unless it is done already."""
        uid, scene = bind.pod.uid, question.scene()
        for claim, volume in choice.bindings:
            owner = (claim.key, claim.metadata.uid)
            if owner_of(volume, scene) != owner:
                version = volume.metadata.resource_version
                self.assumed[PV, volume.key] = Assumed(uid, version, owner)
        for claim in choice.provisions:
            if selected_node(claim, scene) != bind.node:
                self.assumed[PVC, claim.key] = Assumed(uid, claim.metadata.resource_version, bind.node)

    def _compare_wait(self, wait: Wait, more: list[Decision], question: Question, right: Outcome) -> None:
        assert not right.totals, wait
        self.seen["wait"] += 1
        if not right.nodes:
            assert (wait.message, wait.plugins, wait.nominated, more) == (right.message, (), "", [])
            self._nominate(self.waiting[wait.pod.uid], "")
            return
        found = rescue(question, right, self.leaving)
        assert wait.message == f"{right.message} {found.said}".rstrip()
        assert set(wait.plugins) == right.plugins
        if found.plans:
            self._compare_preemption(wait, more, found)
        else:
            assert more == []
            assert wait.nominated == found.nominated
        if wait.nominated is not None:
            self._nominate(self.waiting[wait.pod.uid], wait.nominated)

    def _compare_preemption(self, wait: Wait, more: list[Decision], found: Rescue) -> None:
        plan: Plan | None = next((plan for plan in found.plans if plan.node == wait.nominated), None)
        assert plan is not None, (wait.nominated, found.plans)
        self.seen["preempt"] += 1
        staying = [pod for pod in plan.victims if not pod.terminating and pod.uid not in self.leaving]
        evicted = [each for each in more if isinstance(each, Evict)]
        assert {each.pod.uid for each in evicted} == {pod.uid for pod in staying}
        self.leaving.update({each.pod.uid: each.by for each in evicted})
        mine = wait.pod.priority
        rivals = {
            uid for uid, (pod, name) in self.nominated.items() if name == plan.node and pod.priority < mine
        }
        nominations = {each.pod.uid: each.node for each in more if isinstance(each, Nominate)}
        assert nominations == dict.fromkeys(rivals, "")
        assert len(more) == len(evicted) + len(nominations)
        for uid in rivals:
            self.seen["give way"] += 1
            self._nominate(self.waiting[uid], "")

    def _nominate(self, pod: Pod, name: str) -> None:
        """The API server shows what was decided about a pod's nomination."""
        self.nominated.pop(pod.uid, None)
        status = msgspec.structs.replace(pod.status, nominated_node_name=name)
        fresh = msgspec.structs.replace(pod, status=status)
        self.waiting[pod.uid] = fresh
        if name:
            self.nominated[pod.uid] = (fresh, name)
        if status != pod.status:
            self.stage.change(fresh)

    def nobody_is_forgotten(self) -> None:
        """No pod that some node would take waits for an event that has passed already.

        Pods whose node has gone count nowhere, and will be deleted: only that wakes those they were in the
        way of.
        """
        if any(name not in self.nodes for _, name in self.placed.values()):
            return
        for pod in self.waiting.values():
            queued = self.engine.queue.get(pod.uid)
            assert queued is not None
            if queued.where is Where.UNSCHEDULABLE and not queued.gating_plugin:
                assert not self.question(pod).outcome().totals, pod

    def finish(self) -> None:
        """Whatever is under way ends, one more pod of every kind comes, and everything is looked at."""
        for each in list(self.binding):
            each.abandon()
            self._failed(each, "conflict")
        self.nobody_is_forgotten()
        self.tick(1000)
        for kind in range(len(self.kinds)):
            self.come(kind, 2, kind % len(CLAIMS), 0)
        for kept in self.engine.placer.kept:
            kept.buckets.check()
        assert {uid: name for uid, (_, name) in self.placed.items()} == {
            uid: placed.node for uid, placed in self.engine.cluster.pods.by_uid.items()
        }
