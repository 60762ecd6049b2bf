"""One turn: one scheduler, one workload, from the moment it may begin until it is at rest again.

The scheduler is started while somebody else holds its lease, so that it has read the cluster and all the
pods, and waits. Then the lease is given up. What is counted begins there: no start-up, no pods arriving.
"""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from e2e.control_plane import ControlPlane
from e2e.process import LOOPBACK
from e2e.scheduler import Scheduler
from e2e.waiting import wait_for

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
LEASE = "arena"
NAMESPACE = "arena"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
REST_S = 2.0  # without any work to speak of, a scheduler is at rest
IDLE_CPU_S = 0.05
SERVERS = ("kube-apiserver", "etcd")
PATIENCE_S = 120.0


class Figures(msgspec.Struct, frozen=True):
    """What one turn took."""

    scheduler: str
    workload: str
    pods: int
    first_bind_s: float  # since the lease was given up
    last_bind_s: float
    pods_per_s: float
    cpu_ms_per_pod: float
    rss_mb: float
    # From the first bind to the last:
    server_cores: float  # the API server and etcd kept busy
    own_cores: float  # the scheduler kept busy
    idle_cores: float  # nobody used
    # CPU of the scheduler, in ms:
    taking_over_ms: float  # from the lease to the first bind
    binding_ms: float  # from the first bind to the last
    afterwards_ms: float  # until it is at rest: Events, and watches that go on


class Spent(msgspec.Struct, frozen=True):
    """Processor seconds used so far."""

    at: float
    server: float
    own: float
    idle: float

    def cores_since(self, before: Spent) -> dict[str, float]:
        took = max(self.at - before.at, 1e-9)
        return {
            f"{who}_cores": (getattr(self, who) - getattr(before, who)) / took
            for who in ("server", "own", "idle")
        }


class Turn:
    """Runs one scheduler on one workload."""

    def __init__(self, plane: ControlPlane, scheduler: Scheduler, workload: str) -> None:
        self._plane = plane
        self._scheduler = scheduler
        self._workload = workload

    def run(self, pods: Iterable[dict[str, Any]]) -> Figures:
        wanted = list(pods)
        hold_lease(self._plane)
        with self._scheduler:
            self._plane.api.create_all(PODS, wanted)
            self._rest()
            with BoundPods(self._plane, len(wanted), self._spent) as bound:
                began = cpu_s(self._scheduler.pid)
                released = time.monotonic()
                give_up_lease(self._plane)
                wait_for(bound.all_there, within=PATIENCE_S, every=0.05, saying="all pods to be bound")
            self._rest()
            ended = cpu_s(self._scheduler.pid)
            rss = self._rss_mb()
        first, last = bound.moments[0] - released, bound.moments[-1] - released
        at_first, at_last = (spent.own for spent in bound.spent)
        return Figures(
            scheduler=self._scheduler.name,
            workload=self._workload,
            pods=len(wanted),
            first_bind_s=first,
            last_bind_s=last,
            pods_per_s=(len(wanted) - 1) / (last - first),
            cpu_ms_per_pod=1000 * (ended - began) / len(wanted),
            rss_mb=rss,
            taking_over_ms=1000 * (at_first - began),
            binding_ms=1000 * (at_last - at_first),
            afterwards_ms=1000 * (ended - at_last),
            **bound.spent[-1].cores_since(bound.spent[0]),
        )

    def _spent(self) -> Spent:
        servers = (self._plane.processes[name].pid for name in SERVERS)
        return Spent(time.monotonic(), sum(map(cpu_s, servers)), cpu_s(self._scheduler.pid), idle_s())

    def _rest(self) -> None:
        """Until it has nothing to do any more: every pod read, every Event written."""
        since, spent = time.monotonic(), cpu_s(self._scheduler.pid)

        def rested() -> bool:
            nonlocal since, spent
            now = cpu_s(self._scheduler.pid)
            if now - spent > IDLE_CPU_S:
                since, spent = time.monotonic(), now
            return time.monotonic() - since > REST_S

        wait_for(rested, within=PATIENCE_S, every=0.1, saying=f"{self._scheduler.name} to rest")

    def _rss_mb(self) -> float:
        lines = Path(f"/proc/{self._scheduler.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def cpu_s(pid: int) -> float:
    """CPU time of a process, in user mode and in the kernel, from the system's own count."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def idle_s() -> float:
    """What the processors of this machine did not use, all together. Waiting for a disk is idle, too."""
    _, _, _, _, idle, waiting, *_ = Path("/proc/stat").read_text().splitlines()[0].split()
    return (int(idle) + int(waiting)) / CLOCK_TICKS


class BoundPods:
    """Notes when each pod is bound, as the API server tells it, without reading what it tells. Looks at the
    first and at the last what was spent by then."""

    def __init__(self, plane: ControlPlane, count: int, look: Callable[[], Spent]) -> None:
        self.moments: list[float] = []
        self.spent: list[Spent] = []
        self._look = look
        self._plane = plane
        self._count = count
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._listening = threading.Event()

    def __enter__(self) -> BoundPods:
        self._thread.start()
        self._listening.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(timeout=5)

    def all_there(self) -> bool:
        return len(self.moments) >= self._count

    def _listen(self) -> None:
        """The server cuts a watch off whose reader falls behind: it goes on where it was."""
        version: str = self._plane.api.get(PODS, limit="1")["metadata"]["resourceVersion"]
        while not self.all_there():
            connection = http.client.HTTPSConnection(
                LOOPBACK, self._plane.ports["api"], timeout=PATIENCE_S, context=self._plane.api.tls
            )
            query = f"watch=true&fieldSelector=spec.nodeName%21%3D&resourceVersion={version}"
            connection.request("GET", f"{PODS}?{query}", headers={"Accept": "application/json"})
            answer = connection.getresponse()
            self._listening.set()
            while not self.all_there() and (line := answer.readline()):
                if line.startswith(b'{"type":"ADDED"'):  # to those that have a node
                    if not self.moments:
                        self.spent.append(self._look())
                    self.moments.append(time.monotonic())
                version = line.split(b'"resourceVersion":"', 1)[1].split(b'"', 1)[0].decode()
            connection.close()
        self.spent.append(self._look())


def hold_lease(plane: ControlPlane) -> None:
    """Takes the schedulers' lease for an hour."""
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    spec = {
        "holderIdentity": "arena",
        "leaseDurationSeconds": 3600,
        "acquireTime": now,
        "renewTime": now,
    }
    plane.api.delete(f"{LEASES}/{LEASE}")
    plane.api.create(LEASES, {"metadata": {"name": LEASE}, "spec": spec})


def give_up_lease(plane: ControlPlane) -> None:
    plane.api.patch(f"{LEASES}/{LEASE}", {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}})


def clear(plane: ControlPlane) -> None:
    """No pods and no Events are left of the turn before."""
    now = json.dumps({"gracePeriodSeconds": 0}).encode()
    for path in (PODS, EVENTS):
        plane.api.answer("DELETE", path, now, "application/json")
    wait_for(lambda: not plane.api.get(PODS, limit="1")["items"], within=PATIENCE_S, saying="pods to be gone")
