"""A real control plane on loopback: etcd, the API server with TLS and RBAC, the controllers, and kwok in the
place of kubelets. It has no scheduler: that is what is tested."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from e2e import binaries
from e2e.api import Api, Refused
from e2e.certificates import Authority, Pair
from e2e.kubeconfig import Server
from e2e.kubectl import Kubectl
from e2e.process import LOOPBACK, Process, free_ports
from e2e.waiting import wait_for

STAGES = Path(__file__).parent / "stages.yaml"
MASTERS = "system:masters"
READY_SECONDS = 120
TOKEN_SECONDS = 24 * 3600


class Died(Exception):
    """A component ended while it was waited for; says what it said last."""


class ControlPlane:
    """Use it as a context manager. `flags` are further words of a component's command line, by its name.

    One that is `bare` has no controllers and no kubelets: nothing happens but what is asked for.
    """

    def __init__(
        self, folder: Path, flags: dict[str, Sequence[str]] | None = None, *, bare: bool = False
    ) -> None:
        self.folder = folder
        self.flags = flags or {}
        self.ports = dict(zip(("api", "etcd", "peer", "controllers"), free_ports(4), strict=True))
        self.authority = Authority(folder / "certificates")
        self.server = Server(f"https://{LOOPBACK}:{self.ports['api']}", self.authority.certificate)
        self.admin = self.authority.user("admin", MASTERS)
        self.kubeconfig = self.server.kubeconfig(folder / "admin.kubeconfig", self.admin)
        self.api = self.api_as(self.admin)
        self.kubectl = Kubectl(binaries.program("kubectl"), self.kubeconfig, folder)
        self.processes = {
            "etcd": self._process("etcd", self._etcd_flags()),
            "kube-apiserver": self._process("kube-apiserver", self._apiserver_flags()),
        }
        if not bare:
            controllers = self._process("kube-controller-manager", self._controller_flags())
            self.processes["kube-controller-manager"] = controllers
            self.processes["kwok"] = self._process("kwok", self._kwok_flags())

    def __enter__(self) -> ControlPlane:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        self.processes["etcd"].start()
        self.start_apiserver()
        if "kwok" in self.processes:
            for name in ("kube-controller-manager", "kwok"):
                self.processes[name].start()
            self._wait("kube-controller-manager", self._controllers_work)

    def stop(self) -> None:
        """Ends every process by its id, those that need others first."""
        self.api.close()
        for name in reversed(self.processes):
            self.processes[name].stop(within=5)

    def start_apiserver(self) -> None:
        self.processes["kube-apiserver"].start()
        self._wait("kube-apiserver", self._apiserver_ready)

    def stop_apiserver(self) -> None:
        """Ends it without a word, as a crash does."""
        self.processes["kube-apiserver"].kill()
        self.api.close()  # what is idle leads nowhere any more, and a write must not meet that

    def restart_apiserver(self) -> None:
        self.stop_apiserver()
        self.start_apiserver()

    def api_as(self, user: Pair) -> Api:
        tls = ssl.create_default_context(cafile=str(self.authority.certificate))
        tls.load_cert_chain(user.certificate, user.key)
        return Api(LOOPBACK, self.ports["api"], tls)

    def user(self, name: str, group: str = "") -> Path:
        """A kubeconfig for a user, with a client certificate."""
        pair = self.authority.user(name, group)
        return self.server.kubeconfig(self.folder / f"{name.replace(':', '-')}.kubeconfig", pair)

    def service_account(self, namespace: str, name: str) -> Path:
        """A kubeconfig for a service account, with a token the API server made for it."""
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        }
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        token = self.api.create(path, request)["status"]["token"]
        return self.server.kubeconfig(self.folder / f"{namespace}-{name}.kubeconfig", token)

    def tails(self) -> str:
        """The end of every component's log, for a failure's message."""
        return "\n".join(f"--- {name} ({each.log})\n{each.tail()}" for name, each in self.processes.items())

    def _process(self, name: str, flags: Sequence[str]) -> Process:
        command = [str(binaries.program(name)), *flags, *self.flags.get(name, ())]
        return Process(name, command, self.folder / f"{name}.log")

    def _wait(self, name: str, ready: Callable[[], bool]) -> None:
        def alive_and_ready() -> bool:
            for each in self.processes.values():
                if each.running is not None and not each.is_running():
                    raise Died(f"{each.name} ended with code {each.exit_code()}:\n{each.tail()}")
            return ready()

        wait_for(
            alive_and_ready, within=READY_SECONDS, every=0.2, saying=f"{name} to be ready", tail=self.tails
        )

    def _apiserver_ready(self) -> bool:
        try:
            return self.api.text("/readyz") == "ok"
        except (OSError, Refused):
            return False

    def _controllers_work(self) -> bool:
        """The proof is something only they make."""
        return self.api.exists("/api/v1/namespaces/default/serviceaccounts/default")

    def _etcd_flags(self) -> list[str]:
        serving = self.authority.server("etcd")
        client, peer = f"https://{LOOPBACK}:{self.ports['etcd']}", f"http://{LOOPBACK}:{self.ports['peer']}"
        return [
            "--name=e2e",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=e2e={peer}",
            f"--cert-file={serving.certificate}",
            f"--key-file={serving.key}",
            "--client-cert-auth",
            f"--trusted-ca-file={self.authority.certificate}",
            "--unsafe-no-fsync",  # nothing here outlives the machine
            "--log-level=warn",
        ]

    def _apiserver_flags(self) -> list[str]:
        serving, to_etcd = self.authority.server("kube-apiserver"), self.authority.user("to-etcd")
        self.token_key = self.authority.signing_key("service-accounts")
        return [
            f"--bind-address={LOOPBACK}",
            f"--secure-port={self.ports['api']}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--client-ca-file={self.authority.certificate}",
            f"--requestheader-client-ca-file={self.authority.certificate}",
            "--requestheader-allowed-names=front-proxy",  # only a test has a certificate of that name
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--etcd-servers=https://{LOOPBACK}:{self.ports['etcd']}",
            f"--etcd-cafile={self.authority.certificate}",
            f"--etcd-certfile={to_etcd.certificate}",
            f"--etcd-keyfile={to_etcd.key}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.token_key}",
            f"--service-account-signing-key-file={self.token_key}",
            "--service-cluster-ip-range=10.0.0.0/16",
            "--endpoint-reconciler-type=none",  # a loopback address is no endpoint
            "--allow-privileged=true",
            "--delete-collection-workers=8",
        ]

    def _controller_flags(self) -> list[str]:
        kubeconfig = self.user("system:kube-controller-manager")
        return [
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={self.ports['controllers']}",
            f"--root-ca-file={self.authority.certificate}",
            f"--service-account-private-key-file={self.token_key}",
            "--use-service-account-credentials=true",
            "--leader-elect=false",
            "--kube-api-qps=300",
            "--kube-api-burst=600",
        ]

    def _kwok_flags(self) -> list[str]:
        return [
            f"--kubeconfig={self.user('kwok', MASTERS)}",
            f"--config={STAGES}",
            "--manage-all-nodes=true",
            "--node-lease-duration-seconds=40",
        ]
