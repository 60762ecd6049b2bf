"""One run: a control plane, schedulers, pods that come and go, faults as planned, and what came of it."""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from chaos.changes import FLAGS, Changes
from chaos.fence import writes_without_lease
from chaos.ledger import Entry, Ledger
from chaos.plan import APISERVER, COSTS_NO_LEASE, ETCD, OF_ALL, Fault, Plan, Round
from chaos.replicas import Replica
from chaos.schedulers import let_ask_why, moorings
from chaos.settled import waiting_though_they_fit
from chaos.silence import waiting_in_silence
from chaos.tenants import NAMESPACE, Tenants
from chaos.workload import classes, nodes
from e2e.control_plane import ControlPlane
from e2e.process import Process

PLAIN = "--disable-admission-plugins=TaintNodesByCondition,ServiceAccount"  # nobody is there who undoes it
EVENTS = f"/api/v1/namespaces/{NAMESPACE}/events"
TICK_SECONDS = 0.05
TELL_SECONDS = 10.0
SETTLE_SECONDS = 120.0
Act = Callable[[], None]
Say = Callable[[str], None]


@dataclass
class Result:
    """What came of a run; it is good when `wrong` is empty."""

    seed: int
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    made: int = 0
    bound: int = 0
    starts: int = 0
    leases_lost: int = 0
    share: float = 0.0  # of the pods that went or were bound, those that were bound
    settled_seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def chaos_plane(folder: Path) -> ControlPlane:
    """etcd and the API server. Tenants do what kubelets would, and controllers have nothing to do here."""
    return ControlPlane(folder, {"kube-apiserver": (PLAIN, *FLAGS)}, bare=True)


def fill(plane: ControlPlane) -> None:
    plane.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for each in classes():
        plane.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", each)
    plane.api.create_all("/api/v1/nodes", nodes())
    let_ask_why(plane)


Start = Callable[[ControlPlane, int], AbstractContextManager[Sequence[Replica]]]


def run(plan: Plan, folder: Path, say: Say, start: Start = moorings) -> Result:
    ledger = Ledger()
    with (
        chaos_plane(folder) as plane,
        Changes(plane, ledger.take) as changes,
        start(plane, plan.replicas) as replicas,
    ):
        fill(plane)
        with Tenants(plane.api, ledger) as tenants:
            return Run(plan, plane, replicas, ledger, tenants, changes, say).whole()


class Component:
    """A part of the control plane, started again whenever it has ended: also for want of another part."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._start_at = 0.0

    def kill(self, away_seconds: float) -> None:
        self._start_at = time.monotonic() + away_seconds
        self._process.kill()

    def look(self) -> None:
        if not self._process.is_running() and time.monotonic() >= self._start_at:
            self._process.start()


class Run:
    def __init__(
        self,
        plan: Plan,
        plane: ControlPlane,
        replicas: Sequence[Replica],
        ledger: Ledger,
        tenants: Tenants,
        changes: Changes,
        say: Say,
    ) -> None:
        self.plan = plan
        self.plane = plane
        self.replicas = replicas
        self.ledger = ledger
        self.tenants = tenants
        self.changes = changes
        self.say = say
        self.components = {
            APISERVER: Component(plane.processes["kube-apiserver"]),
            ETCD: Component(plane.processes["etcd"]),
        }
        self.result = Result(plan.seed)
        self._due: list[tuple[float, int, Act]] = []
        self._number = count()
        self._started = time.monotonic()
        self._told = 0.0
        self._told_wrong: set[str] = set()

    def whole(self) -> Result:
        for number, each in enumerate(self.plan.rounds):
            self.say(f"round {number + 1} of {len(self.plan.rounds)}: {len(each.faults)} faults")
            self._round(each)
            self._settle()
        self._finish()
        return self.result

    def _round(self, each: Round) -> None:
        start = time.monotonic()
        for fault in each.faults:
            self._put(start + fault.at, lambda fault=fault: self._do(fault))
        self.tenants.begin(each.batches, start)
        while time.monotonic() < start + each.seconds or self._due:
            self._tick()
        self.tenants.pause()
        waiting = sum(not pod.node for pod in self.ledger.copy_of_pods().values())
        self.result.share = len(self.ledger.bound) / max(1, len(self.ledger.made) - waiting)

    def _settle(self) -> None:
        """Nothing happens any more: soon nobody waits who could have a place, and no gang is in parts."""
        start = time.monotonic()
        wrong: list[str] = ["nobody looked"]
        while wrong and time.monotonic() < start + SETTLE_SECONDS:
            look_again = time.monotonic() + 1.0
            while time.monotonic() < look_again:
                self._tick()
            wrong = self._restless()
        took = time.monotonic() - start
        self.result.settled_seconds.append(round(took, 1))
        self.result.wrong += [f"after {took:.0f} s of quiet: {each}" for each in wrong]
        self.say(
            f"at rest after {took:.0f} s" if not wrong else f"never came to rest: {len(wrong)} things wrong"
        )
        self.result.wrong += writes_without_lease([each.requests() for each in self.replicas])
        for each in self.replicas:
            each.rest()

    def _restless(self) -> list[str]:
        ledger = self.ledger
        pods = ledger.copy_of_pods()
        return [
            *waiting_though_they_fit(ledger.nodes.values(), pods.values(), ledger.gangs),
            *ledger.gangs_below(self.tenants.removed),
            *(self._silent(pods.values()) if any(each.says_why for each in self.replicas) else ()),
        ]

    def _silent(self, pods: Iterable[Entry]) -> list[str]:
        def has_event(pod: Entry) -> bool:
            return bool(self.plane.api.items(EVENTS, fieldSelector=f"involvedObject.uid={pod.uid}"))

        def why(pod: Entry) -> str:
            return next((said for each in self.replicas if (said := each.why(pod.key))), "")

        return list(waiting_in_silence(pods, has_event, why))

    def _finish(self) -> None:
        result, ledger = self.result, self.ledger
        result.seconds = round(time.monotonic() - self._started, 1)
        result.made, result.bound = len(ledger.made), len(ledger.bound)
        held = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": pod["spec"].get("nodeName", "")
                for pod in self.plane.api.items("/api/v1/pods")}  # fmt: skip
        seen = {key: each.node for key, each in ledger.copy_of_pods().items()}
        if held != seen:
            result.wrong.append(
                f"the API server and the changes differ: {set(held.items()) ^ set(seen.items())}"
            )
        for each in self.replicas:
            result.starts += each.starts
            result.leases_lost += each.ended_by_itself
            if not each.process.is_running():
                result.wrong.append(f"{each} does not run at the end")
            result.wrong += [*each.wrong, *each.logged_tracebacks()]
        result.wrong += [*ledger.wrong, *filter(None, (self.tenants.failed, self.changes.failed))]

    def _tick(self) -> None:
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            heapq.heappop(self._due)[2]()
        for each in (*self.components.values(), *self.replicas):
            each.look()
        if now - self._told >= TELL_SECONDS:
            self._told = now
            self._tell(now)
        self._tell_wrong()
        time.sleep(TICK_SECONDS)

    def _tell_wrong(self) -> None:
        """At once: the logs of that moment are what helps."""
        wrong = [*self.ledger.wrong, *(said for each in self.replicas for said in each.wrong)]
        for said in wrong:
            if said not in self._told_wrong:
                self._told_wrong.add(said)
                self.say(f"{time.monotonic() - self._started:5.0f} s: WRONG: {said}")

    def _tell(self, now: float) -> None:
        pods = self.ledger.copy_of_pods().values()
        waiting = sum(not each.node for each in pods)
        faults = ", ".join(f"{count} {kind}" for kind, count in sorted(self.result.faults.items()))
        self.say(
            f"{now - self._started:5.0f} s: {len(self.ledger.made)} pods made, "
            f"{len(self.ledger.bound)} bound, {waiting} of {len(pods)} wait; {faults or 'no faults yet'}"
        )

    def _put(self, at: float, act: Act) -> None:
        heapq.heappush(self._due, (at, next(self._number), act))

    def _later(self, seconds: float, act: Act) -> None:
        self._put(time.monotonic() + seconds, act)

    def _do(self, fault: Fault) -> None:
        """Begins it, and sees to its end."""
        self.result.faults[fault.kind] += 1
        hit = self.replicas if fault.kind in OF_ALL else [self.replicas[fault.target]]
        if fault.kind not in COSTS_NO_LEASE:
            for each in hit:
                each.excuse(time.monotonic() + fault.seconds)
        if fault.kind in OF_ALL:
            self._kill_component(fault)
        else:
            hit[0].suffer(fault, self._later)

    def _kill_component(self, fault: Fault) -> None:
        self.components[fault.kind].kill(fault.seconds)
        self.plane.api.close()
