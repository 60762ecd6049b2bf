"""Schedulers to be tried: Mooring behind all that can fail, and both programs alike to compare them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from chaos.fence import is_lease_write
from chaos.plan import ANSWERS, CLOCK, LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS, Fault
from chaos.replicas import Later, Replica
from chaos.shifted_clock import write_offset
from chaos.wire import Wire
from e2e import binaries
from e2e.control_plane import ControlPlane
from e2e.faulty_proxy import FaultyProxy, Seen, answer, known_identity, token_in
from e2e.kubeconfig import Server
from e2e.mooring_process import NAME, NAMESPACE, mooring
from e2e.process import LOOPBACK, free_ports
from e2e.scheduler import Scheduler

LAUNCHER = Path(__file__).with_name("shifted_clock.py")
QPS = 1000
MOORING, KUBE_SCHEDULER = "mooring", "kube-scheduler"


@dataclass(frozen=True)
class Lease:
    """In seconds."""

    duration: int
    renew: int
    retry: int

    def flags(self) -> list[str]:
        return [
            f"--leader-elect-lease-duration={self.duration}s",
            f"--leader-elect-renew-deadline={self.renew}s",
            f"--leader-elect-retry-period={self.retry}s",
        ]


SHORT = Lease(LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS)
USUAL = Lease(15, 10, 2)  # the default of both
PLACES = {MOORING: (NAMESPACE, NAME), KUBE_SCHEDULER: ("kube-system", "kube-scheduler")}  # of the lease


class Mooring(Replica):
    """Mooring behind a wire and a proxy of its own, and with a clock of its own."""

    def __init__(self, number: int, plane: ControlPlane, wire: Wire, proxy: FaultyProxy) -> None:
        server = Server(f"https://{LOOPBACK}:{wire.port}", plane.authority.certificate)
        kubeconfig = server.kubeconfig(plane.folder / f"scheduler-{number}.kubeconfig", proxy.token)
        flags = [*SHORT.flags(), f"--kube-api-qps={QPS}", f"--kube-api-burst={QPS}"]
        process = mooring(plane, leader_elect=True, flags=flags, kubeconfig=kubeconfig)
        self.proxy = proxy
        self._draw = Random(number)
        self._offset = plane.folder / f"scheduler-{number}.offset"
        write_offset(self._offset, 0.0)
        process.command = [sys.executable, str(LAUNCHER), str(self._offset), *process.command[1:]]
        super().__init__(number, process, wire)

    def suffer(self, fault: Fault, later: Later) -> None:
        if fault.kind == CLOCK:
            write_offset(self._offset, fault.amount)
        elif fault.kind in ANSWERS:
            code = ANSWERS[fault.kind]
            said = answer(code, f"chaos says {code}")
            rule = self.proxy.rule(lambda seen: self._draw.random() < fault.amount, said)
            later(fault.seconds, lambda: self.proxy.drop(rule))
        else:
            super().suffer(fault, later)

    says_why = True

    def why(self, key: str) -> str:
        try:
            answer = self.process.read(f"/apis/v1/pods/{key}/why", self.proxy.token)
        except OSError:  # it does not lead, or does not run
            return ""
        return str(json.loads(answer)["message"])

    def requests(self) -> list[Seen]:
        return list(self.proxy.seen)

    def rest(self) -> None:
        """Who has the lease is still to be known."""
        self.proxy.seen[:] = filter(is_lease_write, self.requests())


def let_ask_why(plane: ControlPlane) -> None:
    """Mooring's own account, whose token is at hand, may ask."""
    path, name = "/apis/rbac.authorization.k8s.io/v1/clusterrole", {"name": "asks-why"}
    rules = [{"nonResourceURLs": ["/apis/v1/*"], "verbs": ["get"]}]
    plane.api.create(f"{path}s", {"metadata": name, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", **name}
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    plane.api.create(f"{path}bindings", {"metadata": name, "roleRef": role, "subjects": [account]})


@contextmanager
def moorings(plane: ControlPlane, count: int) -> Iterator[list[Mooring]]:
    """Not started yet; `look` does that. All are ended afterwards."""
    with ExitStack() as stack:
        made = []
        for number in range(count):
            proxy = stack.enter_context(FaultyProxy(plane, f"proxy-{number}"))
            wire = stack.enter_context(Wire(port_of(proxy.server.url)))
            made.append(Mooring(number, plane, wire, proxy))
            stack.callback(made[-1].stop)
        yield made


@contextmanager
def alike(program: str, lease: Lease, plane: ControlPlane, count: int) -> Iterator[list[Replica]]:
    """Either program, each behind a wire of its own, with the same configuration but for its own lease."""
    with ExitStack() as stack:
        made = []
        for number in range(count):
            wire = stack.enter_context(Wire(port_of(plane.server.url)))
            made.append(Replica(number, make(plane, program, lease, wire), wire))
            stack.callback(made[-1].stop)
        yield made


def make(plane: ControlPlane, program: str, lease: Lease, wire: Wire) -> Scheduler:
    (port,) = free_ports(1)
    namespace, name = PLACES[program]
    server = Server(f"https://{LOOPBACK}:{wire.port}", plane.authority.certificate)
    kubeconfig = server.kubeconfig(plane.folder / f"{program}-{port}.kubeconfig", WHO[program](plane))
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": QPS, "burst": QPS},
        "leaderElection": {
            "leaderElect": True,
            "leaseDuration": f"{lease.duration}s",
            "renewDeadline": f"{lease.renew}s",
            "retryPeriod": f"{lease.retry}s",
            "resourceNamespace": namespace,
            "resourceName": name,
        },
    }
    file = plane.folder / f"{program}-{port}.yaml"
    file.write_text(json.dumps(configuration))  # JSON is YAML
    serving = [f"--config={file}", f"--bind-address={LOOPBACK}", f"--secure-port={port}"]
    return Scheduler(program, [*COMMANDS[program](), *serving], plane.folder, port)


COMMANDS: dict[str, Callable[[], list[str]]] = {
    MOORING: lambda: [str(Path(sys.executable).with_name("mooring")), "run"],
    KUBE_SCHEDULER: lambda: [str(binaries.program("kube-scheduler"))],
}
WHO = {
    MOORING: lambda plane: token_in(known_identity(plane)),
    KUBE_SCHEDULER: lambda plane: plane.authority.user("system:kube-scheduler"),
}


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])
