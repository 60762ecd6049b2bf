"""What was read and not acted on, in one line with counts: nothing is left out in silence.

Kinds that hold pod templates nobody expands, objects that limit pods or change their number, pods of other
schedulers, pods of gangs where nobody looks after gangs. What a plugin of some profile reads is acted on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mooring.model.objects import Object, Pod
from mooring.sim.controllers.controllers import Controllers, controllers_of
from mooring.sim.manifests.manifests import Entry
from mooring.sim.world.kubelet import is_finished
from mooring.sim.world.naming import plural_of
from mooring.workloads.dialects import KINDS, is_member
from mooring.workloads.owners.expansion import makes_pods

LIMITS = {
    "ElasticQuota": ("scheduling.sigs.k8s.io", "scheduling.x-k8s.io"),
    "ElasticQuotaTree": ("scheduling.sigs.k8s.io",),
    "ElasticQuotaProfile": ("quota.koordinator.sh",),
    "ClusterColocationProfile": ("config.koordinator.sh",),
    "Reservation": ("scheduling.koordinator.sh",),
    "Device": ("scheduling.koordinator.sh",),
    "NodeMetric": ("slo.koordinator.sh",),
    "Queue": ("scheduling.volcano.sh", "scheduling.run.ai"),
    "Numatopology": ("nodeinfo.volcano.sh",),
    "NodeResourceTopology": ("topology.node.k8s.io",),
    "AppGroup": ("appgroup.diktyo.x-k8s.io",),
    "NetworkTopology": ("networktopology.diktyo.x-k8s.io",),
    "ClusterQueue": ("kueue.x-k8s.io",),
    "LocalQueue": ("kueue.x-k8s.io",),
    "Cohort": ("kueue.x-k8s.io",),
    "ResourceFlavor": ("kueue.x-k8s.io",),
}
COUNT_CHANGERS = {
    "HorizontalPodAutoscaler": ("autoscaling",),
    "VerticalPodAutoscaler": ("autoscaling.k8s.io",),
    "ScaledObject": ("keda.sh",),
    "ScaledJob": ("keda.sh",),
}
NODE_MAKERS = {
    "NodePool": ("karpenter.sh",),
    "NodeClaim": ("karpenter.sh",),
    "Provisioner": ("karpenter.sh",),
    "MachineDeployment": ("cluster.x-k8s.io",),
    "MachineSet": ("cluster.x-k8s.io", "machine.openshift.io"),
    "MachinePool": ("cluster.x-k8s.io",),
}
# Templates that others refer to; they make no pods by themselves.
REFERRED_TO = {
    "PodTemplate": ("",),
    "WorkflowTemplate": ("argoproj.io",),
    "ClusterWorkflowTemplate": ("argoproj.io",),
    "TrainingRuntime": ("trainer.kubeflow.org",),
    "ClusterTrainingRuntime": ("trainer.kubeflow.org",),
    "ClusterTopology": ("grove.io",),
    # of gangs whose pods are told of, where nobody looks after gangs
    "PodGroup": tuple(kind.partition(".")[2] for kind in KINDS if kind.startswith("PodGroup.")),
}
TOPOLOGY_NOTES = (
    "kueue.x-k8s.io/podset-required-topology",
    "kueue.x-k8s.io/podset-slice-required-topology",
    "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology",
)
# groups of policies and definitions: what looks like a template there is a pattern
NO_TEMPLATES = (
    "kyverno.io",
    "constraints.gatekeeper.sh",
    "templates.gatekeeper.sh",
    "mutations.gatekeeper.sh",
    "apiextensions.k8s.io",
    "admissionregistration.k8s.io",
)
NAMES_SHOWN = 5
STILL_TO_COME = "come when pods before them run or finish: sim.mooring.io/runs-for says when one does"
IN_WORDS = ("later", "schedulers", "gangs", "topology")  # the reason has the counts
DEEPEST = 12  # levels below an object at which a pod template is looked for


class NotActedOn(msgspec.Struct, frozen=True):
    """One reason, and how many of what. `counts` are by `Kind.group`, or by scheduler name."""

    what: str
    counts: dict[str, int]
    why: str

    def __str__(self) -> str:
        if self.what in IN_WORDS:
            return self.why
        of_kind: Counter[str] = Counter()
        for name, count in self.counts.items():
            of_kind[name.partition(".")[0]] += count
        ordered = sorted(of_kind.items(), key=lambda each: (-each[1], each[0]))
        shown = [f"{count} {name}" for name, count in ordered[:NAMES_SHOWN]]
        rest = sum(count for _, count in ordered[NAMES_SHOWN:])
        listed = ", ".join([*shown, f"{rest} others"] if rest else shown)
        return f"{listed} ({self.why})" if listed else self.why


def in_one_line(parts: Sequence[NotActedOn]) -> str:
    return f"not acted on: {'; '.join(map(str, parts))}" if parts else ""


def not_acted_on(
    entries: Iterable[Entry],
    pods: Iterable[Pod],
    controllers: Controllers,
    *,
    own: Collection[str],
    reads: Collection[tuple[str, str]] = (),
    gang_names: Collection[str] | None = None,
) -> tuple[NotActedOn, ...]:
    """`own` are the names of the scheduler, `reads` group and plural of what its plugins read, `gang_names`
    the names of its profiles that look after gangs."""
    parts = [
        *_pods(list(pods), own, gang_names),
        *_idle(controllers.idle),
        *_held_back(controllers.held_back()),
        *(NotActedOn("remark", {}, remark) for remark in controllers.remarks),
        *_objects([entry.object for entry in entries if entry.value is None], reads),
    ]
    return tuple(parts)


def no_pods() -> NotActedOn:
    return NotActedOn("pods", {}, "there is no pod in what was read, and nothing that makes one")


def _objects(objects: list[Object], reads: Collection[tuple[str, str]]) -> Iterator[NotActedOn]:
    there = {(each.metadata.namespace, _group(each), each.kind, each.metadata.name) for each in objects}
    counts: dict[str, Counter[str]] = {why: Counter() for why in WHYS}
    for plain in objects:
        if (_group(plain), plural_of(plain.kind)) in reads or makes_pods(plain.api_version, plain.kind):
            continue
        if why := _why(plain, there):
            counts[why][f"{plain.kind}.{_group(plain)}" if _group(plain) else plain.kind] += 1
    for why, found in counts.items():
        if found:
            yield NotActedOn(why, dict(found), WHYS[why])


WHYS = {
    "owners": "they hold pod templates; which pods their operator makes is not known here",
    "limits": "what they limit or reserve is not read yet",
    "autoscalers": "how many pods there are is as written",
    "nodes": "they make no nodes here",
    "others": "of no kind that is known here",
}


def _why(plain: Object, there: Collection[tuple[str, str, str, str]]) -> str:
    group = _group(plain)
    for why, known in (("limits", LIMITS), ("autoscalers", COUNT_CHANGERS), ("nodes", NODE_MAKERS)):
        if group in known.get(plain.kind, ()):
            return why
    is_made = any(each in there for each in controllers_of(plain.metadata))
    if is_made or group in REFERRED_TO.get(plain.kind, ()):
        return ""
    if group not in NO_TEMPLATES and _has_containers(plain.data):
        return "owners"
    return "others" if _is_foreign(group) else ""


def _has_containers(data: Any, depth: int = 0) -> bool:
    """Whether a pod's spec is in it somewhere: a list of containers, each with an image."""
    if depth > DEEPEST:
        return False
    if isinstance(data, dict):
        found = data.get("containers")
        if isinstance(found, list) and any(isinstance(each, dict) and "image" in each for each in found):
            return True
        return any(_has_containers(each, depth + 1) for each in data.values())
    return isinstance(data, list) and any(_has_containers(each, depth + 1) for each in data)


def _idle(idle: Mapping[str, Mapping[str, int]]) -> Iterator[NotActedOn]:
    for why, counts in idle.items():
        yield NotActedOn("idle", dict(counts), why)


def _held_back(held: Mapping[str, int]) -> Iterator[NotActedOn]:
    """Pods that wait for others which, without a run time, never finish."""
    if held:
        names = [*sorted(held)[:NAMES_SHOWN], *(["others"] if len(held) > NAMES_SHOWN else [])]
        why = f"{_so_many(sum(held.values()))} of {', '.join(names)} {STILL_TO_COME}"
        yield NotActedOn("later", dict(held), why)


def _pods(pods: list[Pod], own: Collection[str], gang_names: Collection[str] | None) -> Iterator[NotActedOn]:
    waiting = [pod for pod in pods if not pod.spec.node_name and not is_finished(pod)]
    others = Counter(pod.spec.scheduler_name for pod in waiting if pod.spec.scheduler_name not in own)
    for name, count in sorted(others.items()):
        why = f"{_so_many(count)} of scheduler {name}: --adopt {name}, or a profile of that name"
        yield NotActedOn("schedulers", {name: count}, why)
    ours = [pod for pod in pods if pod.spec.scheduler_name in own]
    if gang_names is not None:
        loose = Counter(pod.spec.scheduler_name for pod in ours if is_member(pod))
        for name in sorted(loose.keys() - set(gang_names)):
            why = f"gangs of {_so_many(loose[name])} in all: profile {name} has no plugin for gangs"
            yield NotActedOn("gangs", {name: loose[name]}, why)
    noted = Counter(key for pod in ours for key in TOPOLOGY_NOTES if key in pod.annotations)
    for key, count in sorted(noted.items()):
        yield NotActedOn("topology", {key: count}, f"{_so_many(count)} with annotation {key}: it is not read")


def _so_many(pods: int) -> str:
    return "1 pod" if pods == 1 else f"{pods} pods"


def _group(plain: Object) -> str:
    return plain.api_version.rpartition("/")[0]


def _is_foreign(group: str) -> bool:
    """A group that is not of Kubernetes itself."""
    return "." in group and (not group.endswith(".k8s.io") or group.endswith(".x-k8s.io"))
