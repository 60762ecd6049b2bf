"""Scenarios as they are written in `scenarios/*.yaml`, one file a plugin, and the objects they stand for.

A scenario is a small cluster, a pod that wants a place and what has to become of it. Its objects are
ordinary Kubernetes YAML, in short where the rest goes without saying:

- Fields of `metadata` and `spec` may stand directly in a pod or node, and `allocatable`, `images` and
  `conditions` directly in a node. `apiVersion` and `kind` go without saying.
- A node is `a` when it has nothing but a name. It has 4 cpu, 16Gi, 100Gi of ephemeral storage and room
  for 110 pods, whatever of that `allocatable` does not set; its hostname label is its name.
- `requests` in a pod are those of its only container. A pod without `requests` and `containers` has one
  that asks for 0 cpu and 0 memory, so that its presence moves no score.
- `node` in a pod is where it runs. Pods that run are named bound-1, bound-2 and so on unless they have
  a name, pods that wait pod, pod-2 and so on.
- Namespaces that are used are there, with the label every namespace has.

What the API server fills in (defaults, priorities of PriorityClasses, tolerations) is filled in.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from mooring.config.document import read_documents
from mooring.model.objects import Node, Object, ObjectMeta, Pod
from mooring.sim.arrivals import NAMESPACE_LABEL
from mooring.sim.world.known_kinds import CLUSTER_WIDE

FOLDER = Path(__file__).parent / "scenarios"
METADATA = {field.encode_name for field in msgspec.structs.fields(ObjectMeta)}
NODE_STATUS = {"allocatable", "capacity", "images", "conditions"}
ROOM = {"cpu": "4", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"}
NOTHING = {"cpu": 0, "memory": 0}
NOT_HELPFUL = "0/{0} nodes are available: {0} Preemption is not helpful for scheduling."


class Expect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What has to become of the pod. Whatever is given has to hold."""

    nodes: frozenset[str] | None = None  # the best feasible nodes, of which it gets one
    feasible: frozenset[str] | None = None  # all nodes that pass every filter
    scores: dict[str, dict[str, int]] = {}  # plugin to node to score, before the plugin's weight
    message: str = ""  # why it waits, up to what preemption says
    preemption: str | None = None  # what preemption says; without it: that it helps on no node
    after: str | None = None  # all that follows the message, when it is not preemption that speaks
    victims: frozenset[str] | None = None  # who has to go for it
    nominated: str | None = None  # the node kept for it
    gated: str = ""  # why it may not enter the queue
    error: str = ""  # what went wrong
    order: tuple[str, ...] = ()  # of the pods that get a place

    def whole_message(self, nodes: int) -> str:
        """The message with what is said after it. When pods make room nothing is."""
        after = self.after
        if after is None and self.victims is None:
            said = NOT_HELPFUL.format(nodes) if self.preemption is None else self.preemption
            after = said and f"preemption: {said}"
        return f"{self.message} {after}" if after else self.message


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One scenario, in its short form."""

    name: str
    expect: Expect
    nodes: tuple[str | dict[str, Any], ...] = ()
    pods: tuple[dict[str, Any], ...] = ()
    objects: tuple[dict[str, Any], ...] = ()
    pod: dict[str, Any] = {}
    pending: tuple[dict[str, Any], ...] = ()  # instead of `pod`, when there are several
    args: dict[str, Any] = {}  # plugins' arguments, as in pluginConfig
    without: tuple[str, ...] = ()  # default plugins that are disabled
    gates: dict[str, bool] = {}
    later: tuple[str | dict[str, Any], ...] = ()  # nodes that join after the pod was tried
    pinned: str = ""  # the node a policy gives the pod before it is scheduled
    whole: bool = False  # with DynamicResources, which has its part in every message

    def texts(self) -> Iterator[str]:
        """Everything that is to be said."""
        expect = self.expect
        said = (expect.whole_message(len(self.nodes)) if expect.message else "", expect.gated, expect.error)
        return filter(None, said)

    def node_objects(self) -> list[Node]:
        return list(map(_node, self.nodes))

    def later_nodes(self) -> list[Node]:
        return list(map(_node, self.later))

    def bound_pods(self) -> list[Pod]:
        return [_pod(each, f"bound-{number}") for number, each in enumerate(self.pods, 1)]

    def pending_pods(self) -> list[Pod]:
        wanted = self.pending or (self.pod,)
        names = ("pod" if number == 1 else f"pod-{number}" for number in count(1))
        return [_pod(each, name) for each, name in zip(wanted, names, strict=False)]

    def other_objects(self) -> list[Object]:
        given = [_object(each) for each in self.objects]
        named = {each.metadata.name for each in given if each.kind == "Namespace"}
        used = {each.metadata.namespace for each in (*given, *self.bound_pods(), *self.pending_pods())}
        made = ({"kind": "Namespace", "metadata": {"name": name}} for name in sorted(used - named - {""}))
        return [*given, *map(_object, made)]


def read_scenarios() -> Iterator[tuple[str, Scenario]]:
    """Every scenario with the name of its file."""
    for file in sorted(FOLDER.glob("*.yaml")):
        for document in read_documents(file.read_text(encoding="utf-8"), file.name):
            for scenario in msgspec.convert(document.data, list[Scenario]):
                yield file.stem, scenario


def _node(short: str | dict[str, Any]) -> Node:
    short = {"name": short} if isinstance(short, str) else short
    data = _headed(short, {**dict.fromkeys(METADATA, "metadata"), **dict.fromkeys(NODE_STATUS, "status")})
    status = {**data.get("status", {})}
    status["allocatable"] = {**ROOM, **status.get("allocatable", {})}
    return msgspec.convert({**data, "status": status}, Node)


def _pod(short: dict[str, Any], name: str) -> Pod:
    data = _headed(short, dict.fromkeys(METADATA, "metadata"))
    data["metadata"] = {"name": name, "namespace": "default", **data["metadata"]}
    spec = data["spec"]
    requests = spec.pop("requests", NOTHING)
    if "node" in spec:
        spec["nodeName"] = spec.pop("node")
    spec.setdefault("containers", [{"name": "main", "image": "app:1", "resources": {"requests": requests}}])
    return msgspec.convert(data, Pod)


def _headed(short: dict[str, Any], headings: dict[str, str]) -> dict[str, Any]:
    """Puts fields that stand directly in an object under their headings; those without one go to spec."""
    whole: dict[str, Any] = {"metadata": {}, "spec": {}}
    for key, value in short.items():
        if key in ("metadata", "spec", "status"):
            whole[key] = {**whole.get(key, {}), **value}
        else:
            whole.setdefault(headings.get(key, "spec"), {})[key] = value
    return whole


def _object(data: dict[str, Any]) -> Object:
    meta = msgspec.convert(data["metadata"], ObjectMeta)
    kind = data["kind"]
    if kind == "Namespace":
        meta = msgspec.structs.replace(meta, labels={NAMESPACE_LABEL: meta.name, **meta.labels})
    elif kind not in CLUSTER_WIDE:
        meta = msgspec.structs.replace(meta, namespace=meta.namespace or "default")
    data = {**data, "metadata": msgspec.to_builtins(meta)}
    return Object(api_version=data.get("apiVersion", "v1"), kind=kind, metadata=meta, data=data)
