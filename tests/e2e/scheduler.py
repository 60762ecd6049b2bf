"""A scheduler as a process beside the control plane: Mooring, or kube-scheduler to compare with."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

import yaml

from e2e import binaries
from e2e.api import Object
from e2e.control_plane import ControlPlane
from e2e.process import LOOPBACK, Process, free_ports
from e2e.waiting import wait_for

READY_SECONDS = 60
Config: TypeAlias = Path | str | Object | None  # a file, a text, or the document itself


class SchedulerDied(Exception):
    """It ended while it was waited for; says what it said last."""


def _unused(log: Path) -> Path:
    """A file of its own: a port may be given out again, and what another has logged there is not ours."""
    before = len(list(log.parent.glob(f"{log.stem}*{log.suffix}")))
    return log.with_stem(f"{log.stem}-{before}") if before else log


class Scheduler(Process):
    """Use it as a context manager: ready inside, ended in order afterwards."""

    def __init__(self, name: str, command: Sequence[str | Path], folder: Path, port: int) -> None:
        self.port = port
        self.url = f"https://{LOOPBACK}:{port}"
        super().__init__(name, command, _unused(folder / f"{name}-{port}.log"))

    def __enter__(self) -> Scheduler:
        self.start()
        try:
            self.wait_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.resume()
        self.stop()

    def wait_ready(self, within: float = READY_SECONDS) -> None:
        self.wait_for_path("/readyz", within)

    def wait_for_path(self, path: str, within: float = READY_SECONDS) -> None:
        """Until it answers 200 there."""

        def answers() -> bool:
            if not self.is_running():
                raise SchedulerDied(f"{self.name} ended with code {self.exit_code()}:\n{self.tail()}")
            return self.status(path) == 200

        wait_for(answers, within=within, saying=f"{self.name} to answer {path}", tail=self.tail)

    def status(self, path: str) -> int:
        """The HTTP status of an anonymous request; 0 when nobody answers."""
        try:
            self.read(path)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        except OSError:
            return 0
        return 200

    def read(self, path: str, token: str = "") -> str:
        """What it serves there. Its certificate signs itself, so that nobody is asked to vouch for it."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(self.url + path, headers=headers)
        with urllib.request.urlopen(request, timeout=10, context=unverified()) as response:
            content: bytes = response.read()
        return content.decode()


StartScheduler = Callable[..., Scheduler]


def kube_scheduler(plane: ControlPlane, config: Config = None, *, flags: Sequence[str] = ()) -> Scheduler:
    """kube-scheduler with the rights it has in every cluster, without leader election."""
    kubeconfig = plane.user("system:kube-scheduler")
    (port,) = free_ports(1)
    document = as_document(config)
    document["clientConnection"] = {"kubeconfig": str(kubeconfig), "qps": 1000, "burst": 2000}
    document["leaderElection"] = {"leaderElect": False}
    path = plane.folder / f"kube-scheduler-{port}.yaml"
    path.write_text(json.dumps(document))  # JSON is YAML
    serving = [f"--bind-address={LOOPBACK}", f"--secure-port={port}"]
    serving += [f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}"]
    command = [str(binaries.program("kube-scheduler")), f"--config={path}", *serving, *flags]
    return Scheduler("kube-scheduler", command, plane.folder, port)


def as_document(config: Config) -> Object:
    """Only a document can be added to."""
    text = config.read_text() if isinstance(config, Path) else config
    document: Object | None = yaml.safe_load(text) if isinstance(text, str) else text
    head: Object = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return head | (document or {})


def unverified() -> ssl.SSLContext:
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    return tls
