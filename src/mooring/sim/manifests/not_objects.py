"""Documents and texts that are no objects of a cluster: configuration of tools, patches, templates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mooring.sim.world.known_kinds import API_VERSIONS

CONFIGURATION = "{} is configuration of a tool and no object of a cluster; it is not read"
NOT_KUBERNETES = "holds no Kubernetes object; it is not read"
TEMPLATE = "is a template that has to be filled in first; it is not read"
PATCH = "is a kustomize patch ($patch) and no object of its own; it is not applied"
NOT_TEXT = "is not UTF-8 text; it is not read"

# What tools read from files, though it looks like an object. Others are known by having no name.
TOOLS = frozenset({
    "kind.x-k8s.io", "k3d.io", "descheduler", "kustomize.config.k8s.io", "audit.k8s.io", "kubeadm.k8s.io",
    "minikube.k8s.io", "eksctl.io", "k0s.k0sproject.io", "k0sctl.k0sproject.io", "kubekey.kubesphere.io",
    "builtin", "skaffold", "client.authentication.k8s.io", "troubleshoot.sh", "argoproj.io.config",
    "tilt.dev", "kuttl.dev", "devspace", "ctlptl.dev",
})  # fmt: skip
BUILT_IN_GROUPS = frozenset({"", "apps", "batch", "policy", "autoscaling", "extensions"})

_OBJECT = re.compile(r"""(?m)^\s*(?:-\s+)?['"]?(?:kind|apiVersion)['"]?\s*:""")
_TEMPLATE = re.compile(r"<%|(?m:^\s*#@)")
_PLACEHOLDER = re.compile(
    r"\{\{|\{%|\$\{|\$\(|\$[A-Z_]{2,}|<[A-Za-z_ -]{2,}>|__[A-Z_]+__|@[A-Z_]{2,}@|%[A-Z_]+%"
)


def broken_text(text: str) -> str:
    """What a text that is neither YAML nor JSON is, when it is no mistake; "" when it is one."""
    if len({found.strip("- '\":\t\n") for found in _OBJECT.findall(text)}) < 2:
        return NOT_KUBERNETES
    return TEMPLATE if _TEMPLATE.search(text) or is_template(text) else ""


def is_template(text: str) -> bool:
    """A text with places for something else, such as `${NAME}`."""
    return _PLACEHOLDER.search(text) is not None


def tool_configuration(data: dict[str, Any]) -> str:
    """What to say of a document that some tool reads, not an API server; "" of any other."""
    api_version, kind = data.get("apiVersion"), data.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return ""
    group = api_version.partition("/")[0] if "/" in api_version else ""
    of_a_tool = group in TOOLS or group.endswith(".config.k8s.io") or (group, kind) == ("", "Config")
    if of_a_tool or (not _has_name(data) and "." in group) or _is_no_group(group, kind):
        return CONFIGURATION.format(f"{kind} of {api_version}")
    return ""


def is_no_object(data: Any) -> bool:
    """Neither an object nor one with a slip of the pen: values of a chart, a pipeline, a dashboard."""
    if not isinstance(data, dict):
        return True
    if "kind" in data:
        return "apiVersion" not in data and "metadata" not in data
    return not ("apiVersion" in data and "metadata" in data)


def is_patch(data: Any) -> bool:
    """Some part of it has the mark of a strategic merge patch."""
    return any(True for _ in _marks(data))


def _marks(data: Any) -> Iterator[None]:
    if isinstance(data, dict):
        if any(isinstance(key, str) and key.startswith("$patch") for key in data):
            yield None
        for value in data.values():
            yield from _marks(value)
    elif isinstance(data, list):
        for value in data:
            yield from _marks(value)


def _has_name(data: dict[str, Any]) -> bool:
    meta = data.get("metadata")
    return isinstance(meta, dict) and bool(meta.get("name") or meta.get("generateName"))


def _is_no_group(group: str, kind: str) -> bool:
    """The API's own groups have no dot, all others have. A Deployment of `app/v1` is a slip of the pen."""
    return "." not in group and group not in BUILT_IN_GROUPS and kind not in API_VERSIONS
