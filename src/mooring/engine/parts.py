"""What the rooms of an engine share. Each takes it instead of the engine, and nothing in it knows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from mooring.engine.attempt import Attempt
from mooring.engine.decisions import Bind, Decision
from mooring.engine.hook_table import HookTable
from mooring.engine.objects import Objects
from mooring.engine.outcomes import Outcome
from mooring.engine.permit_waiting import PermitWait, Reserved
from mooring.engine.placement.classes import ProfileClasses, Specs
from mooring.engine.placement.nominator import Nominator
from mooring.engine.placement.placing import Placer
from mooring.engine.placement.search import Search
from mooring.engine.pod_metrics import PodMetrics
from mooring.engine.pod_words import PodWords
from mooring.engine.queue.object_changes import event
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.engine.queue.scheduling_queue import SchedulingQueue
from mooring.engine.rounds.rounds import Rounds
from mooring.engine.story import Stories
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import ASSIGNED_POD, Action
from mooring.framework.api.offers import Offer
from mooring.framework.metrics.meter import Meter
from mooring.model.objects import Pod
from mooring.workloads.gang_places import GangPlaces
from mooring.workloads.gang_table import Gangs


class Outside(Protocol):
    """Extenders, as the other rooms see them."""

    def judge(self, pod: Pod) -> bool:
        """Whether some extender filters or prioritizes nodes for the pod."""

    def judge_preemption(self, pod: Pod) -> bool:
        """Whether some extender has a say in who makes room for the pod."""

    def begin(self, attempt: Attempt) -> Outcome:
        """Has extenders asked about a pod that is ready for the filters."""

    def offer(self, attempt: Attempt, plugin: str, offer: Offer, reasons: Sequence[str]) -> bool:
        """Has extenders asked about the room that could be made. False: there is nobody to ask."""

    def binding(self, bind: Bind) -> Bind:
        """The decision, left to the extender that binds such pods if there is one."""

    def asked_about(self, uid: str) -> str:
        """What the pod waits to hear of an extender, in words; "" when it does not."""

    def forget(self, uid: str) -> None:
        """The pod is gone, or has its place: answers that still come are for nobody."""

    def start_over(self) -> None:
        """Has every pod that waits for an answer tried anew: other plugins are in force."""


class Parts:
    """The state of one scheduler, and the parts that hold it."""

    hooks: HookTable  # the one in force
    queue: SchedulingQueue

    def __init__(self, placer: Placer, nominator: Nominator, meter: Meter | None) -> None:
        self.meter = meter
        self.pod_metrics = None if meter is None else PodMetrics(meter)
        self.cluster = placer.cluster
        self.view = placer.view
        self.placer = placer
        self.nominator = nominator
        self.rounds = Rounds(self.cluster, self.view, lambda: self.attempts if self.deciding else None)
        self.objects = Objects()
        self.gang_places = self._gang_places()
        self.gangs = self.gang_places.gangs
        self.cluster.books.place(self.gang_places)
        self.specs = Specs()
        self.stories = Stories(self.cluster)
        self.outside: Outside | None = None
        self.pending: dict[str, Pod] = {}  # pods of our profiles that the API server shows unbound
        self.others: dict[str, Pod] = {}  # pods that want no place of us: of other schedulers, or finished
        self.waiting: dict[str, PermitWait] = {}
        self.words = PodWords(self.pending, self.waiting)
        self.binding: dict[str, Reserved] = {}
        self.scores: dict[str, dict[str, int]] = {}
        self.decided: list[Decision] = []  # by what is going on
        self.attempts = 0  # so far: each has its number
        self.deciding = False  # a pod is being tried, or given up
        self.tells_expectations = False
        self.now = 0.0

    def attempt(self, queued: QueuedPod) -> Attempt:
        """An attempt at a pod begins, with a number of its own."""
        self.attempts = number = self.attempts + 1
        pod = queued.pod
        profile = self.hooks.profiles[pod.spec.scheduler_name]
        cycle = Cycle(profile.name, self.now, number)
        return Attempt(cycle, pod, queued=queued, profile=profile)

    def attempt_together(self, queued: QueuedPod) -> Attempt:
        """An attempt at a pod together with others."""
        attempt = self.attempt(queued)
        attempt.together = True
        return attempt

    def search(self, cycle: Cycle, pod: Pod) -> Search:
        """A search for a node that a plugin wants to know about."""
        return Search(cycle, pod, self.classes(cycle.profile).of(pod))

    def classes(self, profile: str) -> ProfileClasses:
        """The classes of a profile, as judged now: in a round whose session judges nodes, by that as well."""
        found = self.rounds.open.get(profile)
        kinds = () if found is None else found.judges_by
        return self.hooks.session_classes[profile, kinds] if kinds else self.hooks.classes[profile]

    def pods(self) -> list[Pod]:
        """Every pod there is, as the API server shows it as far as we know."""
        placed = (each.pod for uid, each in self.cluster.pods.by_uid.items() if uid not in self.pending)
        return [*placed, *self.pending.values(), *self.others.values()]

    def gangs_anew(self) -> Gangs:
        """The gangs as they follow from the pods and objects that are there."""
        gangs = self._gang_places().gangs
        gangs.abide_by(self.hooks.gang_rules)
        for found in self.objects.all():
            gangs.object_seen(None, found)
        for pod in self.pods():
            gangs.pod_seen(pod)
        return gangs

    def _gang_places(self) -> GangPlaces:
        places, objects = self.cluster.pods.by_uid, self.objects.of
        return GangPlaces(places, objects, lambda: self.now, self._is_under_way)

    def _is_under_way(self, uid: str) -> bool:
        return uid in self.waiting or uid in self.binding

    def activate(self, pods: Iterable[Pod], *, deciding: bool = False) -> None:
        self.queue.activate(pods, self.now, deciding=deciding)

    def place_freed(self, pod: Pod, node_name: str, *, but: str = "", given_back: bool = False) -> None:
        """A pod gave its place on a node back: others may fit now. `given_back`: it was never there."""
        if not pod.spec.node_name:
            pod = pod.on_node(node_name)  # it was only assumed there; hints look for a pod with a node
        freed = event(ASSIGNED_POD, Action.DELETE, pod, None, given_back=given_back)
        self.queue.move_all(freed, self.now, but=but)
