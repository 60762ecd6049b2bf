"""How long nobody is bound after each kind of failure: Mooring and kube-scheduler by turns, the same pods.

One leads and one stands by, both programs with their default lease. Pods come steadily. Then one thing fails,
and the longest time without a bind counts, from the failure on. Where the server itself was away, it counts
from when the server took pods again: until then there is nobody to bind.
"""

from __future__ import annotations

import http.client
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from chaos.changes import PODS, Change, Changes
from chaos.plan import APISERVER, CUT, ETCD, FORGET, FREEZE, KILL, OF_ALL, TERMINATE, Fault
from chaos.replicas import Replica
from chaos.run import chaos_plane
from chaos.schedulers import KUBE_SCHEDULER, MOORING, PLACES, USUAL, alike
from e2e.api import Api, Refused
from e2e.control_plane import ControlPlane
from e2e.nodes import node
from e2e.waiting import wait_for
from e2e.workloads import pod

NAMESPACE = "gaps"
PATH = f"/api/v1/namespaces/{NAMESPACE}/pods"
PAUSE_SECONDS = 0.1  # between two pods
LIVES_SECONDS = 20.0
STEADY_SECONDS = 3.0  # of binds before anything fails
AFTER_SECONDS = 3.0  # of binds, and all is well again
PATIENCE_SECONDS = 240.0
AWAY_SECONDS = 3.0  # the server, or etcd
KILLED_SECONDS = 0.5  # what is told later was made by the server that came after
AGAIN = (0.0, 0.0)  # so long, when that was too long for a machine that takes its time to start a server
LONG_SECONDS = USUAL.renew - USUAL.retry  # with less than that left, who leads is a matter of luck
FAILURES = (
    Fault(0.0, KILL),
    Fault(0.0, TERMINATE),
    Fault(0.0, FREEZE, seconds=USUAL.duration * 1.5),
    Fault(0.0, APISERVER, seconds=AWAY_SECONDS),
    Fault(0.0, ETCD, seconds=AWAY_SECONDS),
    Fault(0.0, CUT),
    Fault(0.0, FORGET),
)
SLACK, SLACK_SECONDS = 1.1, 0.5  # a machine that does other things as well
Say = Callable[[str], None]


@dataclass(frozen=True)
class Gap:
    program: str
    failure: str
    seconds: float


class Binds:
    """When pods were made and bound, from the changes themselves."""

    def __init__(self) -> None:
        self.made: list[float] = []
        self.bound: list[float] = []
        self.there: dict[str, bool] = {}  # by key: whether it has a node

    def take(self, change: Change) -> None:
        if change.kind != PODS:
            return
        if change.object is None:
            self.there.pop(change.key, None)
            return
        placed = bool(change.object["spec"].get("nodeName"))
        before = self.there.get(change.key)
        self.there[change.key] = placed
        if before is None:
            self.made.append(change.at)
        if placed and not before:
            self.bound.append(change.at)

    @property
    def waiting(self) -> int:
        return sum(not placed for placed in dict(self.there).values())


def longest_gap(binds: Sequence[float], since: float, until: float) -> float:
    """The longest time without a bind that ends after `since`; what was before it does not count."""
    moments = [since, *sorted(at for at in binds if since < at < until), until]
    return max(later - earlier for earlier, later in itertools.pairwise(moments))


class Stream:
    """Pods that come steadily, and go again a while later. Use it as a context manager."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._flow, name="stream", daemon=True)

    def __enter__(self) -> Stream:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _flow(self) -> None:
        numbers = itertools.count()
        there: list[tuple[float, str]] = []
        while not self._over.wait(PAUSE_SECONDS):
            name = f"pod-{next(numbers)}"
            if self._tried(lambda name=name: self._api.create(PATH, pod(name, cpu="10m"))):
                there.append((time.monotonic(), name))
            if there and there[0][0] < time.monotonic() - LIVES_SECONDS:
                gone = there.pop(0)[1]
                self._tried(lambda gone=gone: self._api.delete(f"{PATH}/{gone}", grace_seconds=0))

    def _tried(self, act: Callable[[], object]) -> bool:
        try:
            act()
        except (Refused, OSError, http.client.HTTPException):
            return False
        return True


@dataclass
class Turn:
    """One failure of one program's leader, and of the server both have."""

    plane: ControlPlane
    binds: Binds
    replicas: list[Replica]
    program: str

    def run(self, fault: Fault) -> float | None:
        """Seconds; None when the server was away for so long that a leader had to give up meanwhile."""
        self._start()
        with Stream(self.plane.api):
            self._wait_steady(time.monotonic(), STEADY_SECONDS)
            began = time.monotonic()
            self._fail(fault)
            self._wait_steady(began + fault.seconds, AFTER_SECONDS)
            ended = time.monotonic()
        since = began
        if fault.kind in OF_ALL:
            since = next(at for at in self.binds.made if at > began + max(fault.seconds, KILLED_SECONDS))
            if since - began > LONG_SECONDS:
                return None
        return longest_gap(self.binds.bound, since, ended)

    def _start(self) -> None:
        """The first one leads; the second one is ready to."""
        namespace, name = PLACES[self.program]
        lease = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
        self.plane.api.delete(lease)
        first, second = self.replicas
        first.look()
        self._wait(lambda: self.plane.api.exists(lease), "the lease to be taken")
        second.look()
        self._wait(lambda: second.process.status("/readyz") == 200, "the second to be ready")

    def _fail(self, fault: Fault) -> None:
        if fault.kind in OF_ALL:
            process = self.plane.processes["kube-apiserver" if fault.kind == APISERVER else "etcd"]
            process.kill()
            self.plane.api.close()
            threading.Timer(fault.seconds, process.start).start()
        else:
            later = lambda seconds, act: threading.Timer(seconds, act).start()  # noqa: E731
            self.replicas[0].suffer(fault, later)

    def _wait_steady(self, since: float, seconds: float) -> None:
        """Until pods have been bound for so long without a break, and none is left over."""
        start = since

        def steady() -> bool:
            nonlocal start
            recent = [at for at in self.binds.bound[-50:] if at > start]
            if longest_gap(recent, start, time.monotonic()) > 1.0:
                start = time.monotonic() if not recent else max(start, recent[-1])
            return time.monotonic() - start >= seconds and self.binds.waiting <= 5

        self._wait(steady, "a steady stream of binds")

    def _wait(self, what: Callable[[], bool], saying: str) -> None:
        def looked() -> bool:
            for each in self.replicas:
                if each.starts:
                    each.look()
            try:
                return what()
            except (Refused, OSError, http.client.HTTPException):
                return False

        wait_for(looked, within=PATIENCE_SECONDS, every=0.05, saying=saying,
                 tail=lambda: "\n".join(each.process.tail() for each in self.replicas))  # fmt: skip


@contextmanager
def gaps_plane(folder: Path) -> Iterator[tuple[ControlPlane, Binds]]:
    binds = Binds()
    with chaos_plane(folder) as plane, Changes(plane, binds.take):
        plane.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        plane.api.create_all("/api/v1/nodes", (node(f"node-{each}", cpu=64, pods=5000) for each in range(20)))
        yield plane, binds


def measure(folder: Path, rounds: int, kinds: Sequence[str], say: Say) -> list[Gap]:
    chosen = [fault for fault in FAILURES if not kinds or fault.kind in kinds]
    found = []
    with gaps_plane(folder) as (plane, binds):
        for _, fault, program in itertools.product(range(rounds), chosen, (KUBE_SCHEDULER, MOORING)):
            for away in (fault.seconds, *AGAIN) if fault.kind in OF_ALL else (fault.seconds,):
                seconds = one_turn(plane, binds, program, replace(fault, seconds=away))
                if seconds is not None:
                    found.append(Gap(program, fault.kind, round(seconds, 2)))
                    say(f"{fault.kind}, {program}: {seconds:.1f} s without a bind")
                    break
                say(f"{fault.kind}, {program}: this machine took too long to start the server; not counted")
    return found


def one_turn(plane: ControlPlane, binds: Binds, program: str, fault: Fault) -> float | None:
    with ExitStack() as stack:
        stack.callback(clear, plane, binds)
        replicas = stack.enter_context(alike(program, USUAL, plane, 2))
        return Turn(plane, binds, replicas, program).run(fault)


def clear(plane: ControlPlane, binds: Binds) -> None:
    """No pod is left for the next turn."""

    def gone() -> bool:
        try:
            plane.api.send("DELETE", PATH, {"gracePeriodSeconds": 0})
            return not plane.api.items(PATH)
        except (Refused, OSError, http.client.HTTPException):
            return False

    wait_for(gone, within=60, saying="the pods to be gone")
    wait_for(lambda: not binds.there, within=60, saying="the changes to be heard")
    binds.made.clear()
    binds.bound.clear()


@dataclass(frozen=True)
class Row:
    failure: str
    theirs: float
    ours: float
    theirs_worst: float
    ours_worst: float

    @property
    def is_fine(self) -> bool:
        return self.ours <= self.theirs * SLACK + SLACK_SECONDS


def is_fine(gaps: Sequence[Gap], kinds: Sequence[str]) -> bool:
    """Nothing is too long, and nothing was left out."""
    found = rows(gaps)
    wanted = set(kinds) or {fault.kind for fault in FAILURES}
    return all(row.is_fine for row in found) and wanted == {row.failure for row in found}


def rows(gaps: Sequence[Gap]) -> list[Row]:
    """Medians and worst, by failure."""
    found = []
    for failure in dict.fromkeys(each.failure for each in gaps):
        theirs, ours = (
            [each.seconds for each in gaps if (each.failure, each.program) == (failure, program)]
            for program in (KUBE_SCHEDULER, MOORING)
        )
        if theirs and ours:
            found.append(Row(failure, median(theirs), median(ours), max(theirs), max(ours)))
    return found
