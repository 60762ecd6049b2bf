"""What the API server would say, kept apart from what the engine says, and how the engine is judged by it.

Every decision is held against the slow and obvious scheduler: the feasible nodes with their totals, the
message, the victims, the nominations, and the volumes a pod takes with it.
"""

from __future__ import annotations

import msgspec

from engine.stage import BUILT_IN, Stage
from engine.storage_server import Binding, Server
from engine.storage_things import PV, PVC, Kind
from engine.twice import place_twice
from mooring.engine.decisions import Bind, Decision, Evict, Nominate, Wait
from mooring.engine.events import ObjectChanged, ObjectDeleted
from mooring.engine.queue.queued_pod import Where
from mooring.model.objects import Node, Object, Pod
from mooring.plugins.preemption import DefaultPreemption
from mooring.plugins.topology.interpod import InterPodAffinity
from mooring.plugins.topology.spread import PodTopologySpread
from mooring.plugins.volumes import NodeVolumeLimits, VolumeBinding, VolumeRestrictions, VolumeZone
from oracle import Outcome, Question
from oracle_preemption import Plan, Rescue, rescue
from oracle_volumes import Assumed, Choice, choose, owner_of, selected_node

MORE = (
    PodTopologySpread,
    InterPodAffinity,
    VolumeRestrictions,
    NodeVolumeLimits,
    VolumeBinding,
    VolumeZone,
    DefaultPreemption,
)


class JudgedWorld:
    """Everything there is, and an engine that is told of it."""

    def __init__(self, kinds: list[Kind]) -> None:
        self.kinds = kinds
        self.stage = Stage(*MORE, base=BUILT_IN, keep_scores=True)
        self.engine = self.stage.engine
        place_twice(self.engine)
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

    def _tell(self, found: Object, gone: bool) -> None:
        self.engine.handle((ObjectDeleted if gone else ObjectChanged)(found), self.stage.now)

    def _pod_of(self, key: str) -> Pod | None:
        pods = (*self.waiting.values(), *(pod for pod, _ in self.placed.values()))
        return next((pod for pod in pods if pod.key == key), None)

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
        assert {uid: name for uid, (_, name) in self.nominated.items()} == dict(nominator.node_by_uid)

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
            self._compare_bind(last, decisions[:-1], question, right)
        else:
            self._compare_wait(last, decisions[:-1], question, right)

    def _compare_bind(self, bind: Bind, more: list[Decision], question: Question, right: Outcome) -> None:
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
        takes_long = bool(choice.bindings or choice.provisions)
        is_known = pod.status.nominated_node_name == bind.node
        assert more == ([Nominate(pod, bind.node)] if takes_long and not is_known else [])
        self.binding.append(Binding(bind, self.stage.engine.binding_state(bind), choice, self.server))
        if more:  # the API server shows it; being bound, the pod holds no second place for all that
            shown = nominated(pod, bind.node)
            self.placed[pod.uid] = (shown, bind.node)
            self.stage.change(shown)

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
        fresh = nominated(pod, name)
        self.waiting[pod.uid] = fresh
        if name:
            self.nominated[pod.uid] = (fresh, name)
        if fresh != pod:
            self.stage.change(fresh)

    def nobody_is_forgotten(self) -> None:
        """No pod that some node would take waits for an event that has passed already.

        Pods whose node has gone count nowhere, and will be deleted: only that wakes those they were in the
        way of. Pods that are being bound wake those who want to be near them when they are bound.
        """
        if any(name not in self.nodes for _, name in self.placed.values()):
            return
        for pod in self.waiting.values():
            queued = self.engine.queue.get(pod.uid)
            assert queued is not None
            if queued.where is not Where.UNSCHEDULABLE or queued.gating_plugin:
                continue
            if self.binding and queued.rejectors & {"InterPodAffinity", "PodTopologySpread"}:
                continue
            assert not self.question(pod).outcome().totals, pod


def nominated(pod: Pod, name: str) -> Pod:
    status = msgspec.structs.replace(pod.status, nominated_node_name=name)
    return msgspec.structs.replace(pod, status=status)
