"""What `deploy/` puts into a cluster, and Mooring as the pods of it would run: their words, their account."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from e2e import binaries
from e2e.api import Object
from e2e.control_plane import ControlPlane
from e2e.kubectl import KubectlFailed
from e2e.mooring_process import NAME, NAMESPACE
from e2e.process import LOOPBACK, free_ports
from e2e.scheduler import Scheduler

CHART = Path(__file__).parents[2] / "deploy" / "chart" / "mooring"
IN = ("-n", NAMESPACE)
TIMEOUT_SECONDS = 120
EVERYTHING = {
    "clusterrole.rbac.authorization.k8s.io/mooring",
    "clusterrolebinding.rbac.authorization.k8s.io/mooring",
    "configmap/mooring",
    "deployment.apps/mooring",
    "poddisruptionbudget.policy/mooring",
    "role.rbac.authorization.k8s.io/mooring",
    "rolebinding.rbac.authorization.k8s.io/mooring",
    "rolebinding.rbac.authorization.k8s.io/mooring-authentication-reader",
    "service/mooring",
    "serviceaccount/mooring",
}
# A pod finds its account in a folder of the system's; here it is told of another one.
IN_A_POD = """
import os, pathlib, sys
from mooring.kube.access import in_cluster
in_cluster.in_cluster.__defaults__ = (os.environ, pathlib.Path(os.environ["ACCOUNT_OF_POD"]))
from mooring.cli.main import main
sys.argv[0] = "mooring"
main()
"""


class Helm:
    """helm as a person runs it: `helm("install", ...)` answers what it printed."""

    def __init__(self, plane: ControlPlane) -> None:
        self.program = binaries.program("helm")
        self.env = os.environ | {"KUBECONFIG": str(plane.kubeconfig), "HOME": str(plane.folder)}

    def __call__(self, *words: str | Path) -> str:
        done = self.run(*words)
        if done.returncode:
            raise KubectlFailed(f"helm {' '.join(map(str, words))}: {done.stderr.strip()}\n{done.stdout}")
        return done.stdout

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(words),
            env=self.env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    def begin(self, *words: str | Path) -> subprocess.Popen[str]:
        """Goes on in the background."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(self.command(words), env=self.env, text=True, **pipes)  # type: ignore[call-overload]

    def command(self, words: Sequence[str | Path]) -> list[str]:
        return [str(self.program), *map(str, words)]


class Replica(Scheduler):
    """Mooring as a container of the Deployment runs it, with files in the place of its volumes."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        (port,) = free_ports(1)
        self.plane = plane
        spec = plane.api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}")["spec"]
        self.spec: Object = spec["template"]["spec"]
        self.folder = folder / f"replica-{port}"
        args = [self.here(word, port) for word in self.spec["containers"][0]["args"]]
        command = [sys.executable, "-c", IN_A_POD, *args, f"--bind-address={LOOPBACK}"]
        super().__init__(f"replica-{port}", command, plane.folder, port)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "KUBERNETES_SERVICE_HOST": LOOPBACK,
            "KUBERNETES_SERVICE_PORT": str(plane.ports["api"]),
            "ACCOUNT_OF_POD": str(self.account()),
        }

    def here(self, word: str, port: int) -> str:
        """A word of the command line, with a path inside the container made one out here."""
        flag, _, value = word.partition("=")
        if flag == "--secure-port":
            return f"{flag}={port}"
        for mount in self.spec["containers"][0]["volumeMounts"]:
            if Path(value).is_relative_to(mount["mountPath"]):
                inside = Path(value).relative_to(mount["mountPath"])
                return f"{flag}={self.mounted(mount['name']) / inside}"
        return word

    def mounted(self, name: str) -> Path:
        """A volume of the pod: the ConfigMap it is of, as files."""
        (volume,) = [each for each in self.spec["volumes"] if each["name"] == name]
        path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{volume['configMap']['name']}"
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in self.plane.api.get(path)["data"].items():
            (folder / file).write_text(text)
        return folder

    def account(self) -> Path:
        """What the kubelet mounts for the pod's service account."""
        account = self.spec["serviceAccountName"]
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
        folder = self.folder / "account"
        folder.mkdir(parents=True)
        (folder / "token").write_text(self.plane.api.create(path, {"spec": {}})["status"]["token"])
        (folder / "ca.crt").write_bytes(self.plane.authority.certificate.read_bytes())
        (folder / "namespace").write_text(NAMESPACE)
        return folder


def objects_of(plane: ControlPlane) -> set[str]:
    """Everything of Mooring's there is, by kind and name."""
    kinds = "serviceaccount,configmap,deployment,service,poddisruptionbudget,role,rolebinding"
    label = "-l=app.kubernetes.io/name=mooring"
    inside = plane.kubectl("get", kinds, *IN, label, "-o=name")
    outside = plane.kubectl("get", "clusterrole,clusterrolebinding", label, "-o=name")
    beside = plane.kubectl("get", "rolebinding", "-n=kube-system", label, "-o=name")
    return set((inside + outside + beside).split())
