"""What is deployed, as objects: the plain manifests, and the chart as the helm command renders it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "deploy" / "manifests"
CHART = ROOT / "deploy" / "chart" / "mooring"
STATIC_POD = ROOT / "deploy" / "static-pod" / "kube-scheduler.yaml"

Object = dict[str, Any]
NAMESPACE, OLDEST = "mooring-system", "1.30.0"
ONLY_HELM = ("helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "checksum/config")


def read(*files: Path) -> list[Object]:
    return [
        found for file in files for found in yaml.safe_load_all(file.read_text(encoding="utf-8")) if found
    ]


def manifests() -> list[Object]:
    """What `kubectl apply -f deploy/manifests` applies."""
    return read(*sorted(MANIFESTS.glob("*.yaml")))


def named(objects: Iterable[Object]) -> dict[str, Object]:
    """By `kind namespace/name`."""
    return {
        f"{found['kind']} {found['metadata'].get('namespace', '')}/{found['metadata']['name']}": found
        for found in objects
    }


def only(kind: str, objects: Iterable[Object]) -> Object:
    (found,) = [each for each in objects if each["kind"] == kind]
    return found


def tool(name: str) -> Path | None:
    """helm or kubectl: named by HELM or KUBECTL, on the path, or among the tools `make e2e` builds."""
    if given := os.environ.get(name.upper()) or shutil.which(name):
        return Path(given)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("MOORING_E2E_CACHE") or home / "mooring" / "e2e")
    return next((file for file in sorted(cache.glob(f"*/{name}")) if file.is_file()), None)


def run_helm(command: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs helm for the oldest Kubernetes that is supported, whatever this helm would assume."""
    words += ("--kube-version", OLDEST)
    return subprocess.run([command, *words], capture_output=True, text=True, timeout=60, check=False)


def rendered(command: Path, *words: str, release: str = "mooring") -> list[Object]:
    """The chart's objects without hooks, for a release in Mooring's namespace."""
    ran = run_helm(command, "template", release, str(CHART), "-n", NAMESPACE, "--no-hooks", *words)
    assert ran.returncode == 0, ran.stderr
    return [found for found in yaml.safe_load_all(ran.stdout) if found]


def plain(found: Object) -> Object:
    """An object without the marks of who applied it, and with the configuration as what it says."""
    copy: Object = _without_marks(found)
    if copy["kind"] == "ConfigMap":
        copy["data"] = {name: yaml.safe_load(text) for name, text in copy["data"].items()}
    return copy


def _without_marks(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_marks(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_marks(item) for key, item in value.items() if key not in ONLY_HELM}
    return {key: item for key, item in kept.items() if not (key == "annotations" and item == {})}
