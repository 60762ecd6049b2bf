"""`mooring run` as a process: the service account and the rights of `deploy/`, and nothing more."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from e2e.authorized import wait_until_allowed, wait_until_reader
from e2e.control_plane import ControlPlane
from e2e.process import LOOPBACK, free_ports
from e2e.scheduler import Config, Scheduler

MANIFESTS = Path(__file__).parents[2] / "deploy" / "manifests"
IDENTITY = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
ROLES = ("ClusterRole", "Role")
NAME = "mooring"
NAMESPACE = "mooring-system"
LEASE = (f"--leader-elect-resource-name={NAME}", f"--leader-elect-resource-namespace={NAMESPACE}")


def mooring(
    plane: ControlPlane,
    config: Config = None,
    *,
    policies: Path | None = None,
    leader_elect: bool = False,
    verbosity: int = 2,
    flags: Sequence[str] = (),
    kubeconfig: Path | None = None,
) -> Scheduler:
    """Mooring, not started yet. Without a configuration it serves `default-scheduler`."""
    (port,) = free_ports(1)
    command = [
        Path(sys.executable).with_name("mooring"),
        "run",
        f"--kubeconfig={kubeconfig or identity(plane)}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        f"--leader-elect={str(leader_elect).lower()}",
        f"--v={verbosity}",
        *(LEASE if leader_elect else ()),
        *(
            [f"--config={written(config, plane.folder / f'mooring-{port}.yaml')}"]
            if config is not None
            else ()
        ),
        *([f"--policies={policies}"] if policies else ()),
        *flags,
    ]
    return Scheduler("mooring", command, plane.folder, port)


def identity(plane: ControlPlane) -> Path:
    """Applies what `deploy/` says of who Mooring is and what it may do; the account's kubeconfig."""
    documents = [
        each for path in sorted(MANIFESTS.glob("*.yaml")) for each in yaml.safe_load_all(path.read_text())
    ]
    plane.kubectl.apply(*(each for each in documents if each and each["kind"] in IDENTITY))
    for each in documents:
        if each and each["kind"] in ROLES:
            wait_until_allowed(plane.api, NAMESPACE, NAME, each["rules"][0])
    wait_until_reader(plane.api, NAMESPACE, NAME)
    return plane.service_account(NAMESPACE, NAME)


def written(config: Config, path: Path) -> Path:
    """The configuration as a file."""
    if isinstance(config, Path):
        return config
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    return path
