"""Gangs as people declare them, and a control plane that knows every kind of PodGroup."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from e2e.api import Object
from e2e.control_plane import ControlPlane
from e2e.waiting import wait_for
from e2e.workloads import pod

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
SIGS, X_K8S = "scheduling.sigs.k8s.io/v1alpha1", "scheduling.x-k8s.io/v1alpha1"
KAI, VOLCANO = "scheduling.run.ai/v2alpha2", "scheduling.volcano.sh/v1beta1"
KUBERNETES = "scheduling.k8s.io/v1alpha2"
FLAGS = ("--runtime-config=scheduling.k8s.io/v1alpha2=true", "--feature-gates=GenericWorkload=true")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(api_version: str, kind: str, plural: str, scope: str = "Namespaced") -> Object:
    """A kind that takes anything, for what comes with the installation of somebody else."""
    group, _, version = api_version.partition("/")
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": anything},
                }
            ],
        },
    }


OTHERS = (
    definition(KAI, "PodGroup", "podgroups"),
    definition(VOLCANO, "PodGroup", "podgroups"),
    definition("kai.scheduler/v1alpha1", "Topology", "topologies", "Cluster"),
    definition("topology.volcano.sh/v1alpha1", "HyperNode", "hypernodes", "Cluster"),
)


def plane_with_gangs(folder: Path, flags: dict[str, tuple[str, ...]] | None = None) -> ControlPlane:
    """Not started yet. Once it is, `install` gives it the kinds that are not Kubernetes' own."""
    given = flags or {}
    return ControlPlane(folder, {**given, "kube-apiserver": (*FLAGS, *given.get("kube-apiserver", ()))})


def install(plane: ControlPlane) -> None:
    """The definitions of `deploy/`, as a person installs them, and those of others."""
    plane.kubectl("create", "-f", CRDS)
    for each in OTHERS:
        plane.api.create(DEFINITIONS, each)
    wait_for(lambda: all(map(is_served, plane.api.items(DEFINITIONS))), saying="the kinds to be served")


def is_served(made: Object) -> bool:
    conditions = made.get("status", {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)


def path_of(api_version: str, namespace: str, name: str = "") -> str:
    path = f"/apis/{api_version}/namespaces/{namespace}/podgroups"
    return f"{path}/{name}" if name else path


def pod_group(api_version: str, name: str, least: int) -> Object:
    """One of any form."""
    spec: Object = {"minMember": least}
    if api_version == KUBERNETES:
        spec = {"schedulingPolicy": {"gang": {"minCount": least}}}
    return {"apiVersion": api_version, "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}


Marks = Callable[[str, int], Object]
MARKS: dict[str, Marks] = {
    "annotations": lambda name, least: {
        "annotations": {
            "gang.scheduling.koordinator.sh/name": name,
            "gang.scheduling.koordinator.sh/min-available": str(least),
        }
    },
    SIGS: lambda name, least: {"labels": {"pod-group.scheduling.sigs.k8s.io": name}},
    X_K8S: lambda name, least: {"labels": {"scheduling.x-k8s.io/pod-group": name}},
    KAI: lambda name, least: {"annotations": {"pod-group-name": name}},
    VOLCANO: lambda name, least: {"annotations": {"scheduling.k8s.io/group-name": name}},
    KUBERNETES: lambda name, least: {"schedulingGroup": {"podGroupName": name}},
}


def members(form: str, name: str, numbers: Iterable[int], least: int, **words: Any) -> list[Object]:
    """Pods `name-0` and on of a gang. `annotations` are added to those that declare it."""
    marks = MARKS[form](name, least)
    annotations = {**marks.pop("annotations", {}), **words.pop("annotations", {})}
    return [
        pod(f"{name}-{number}", **{"cpu": "1", **words, **marks}, annotations=annotations)
        for number in numbers
    ]
