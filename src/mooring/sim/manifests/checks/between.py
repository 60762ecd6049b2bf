"""Mistakes between objects: names that name nothing.

A name that is near to one that is there is a slip of the pen. One that is not may well be that of something
that a cluster has and the files do not: it is told, and the pod is taken for what it says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mooring.errors import Mistake, did_you_mean
from mooring.sim.manifests.checks.owners import pod_specs
from mooring.sim.manifests.located_value import Spot, is_live
from mooring.sim.manifests.notes import Notes
from mooring.sim.world.admission.quotas import is_about_pods
from mooring.sim.world.known_kinds import is_typed
from mooring.sim.world.priorities import BUILT_IN

WORKLOADS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")


NO_CLASS = (
    'priorityClassName "{}" names no PriorityClass here; its pods have priority 0, where a cluster '
    "without the class would refuse them"
)
NO_RUNTIME = 'runtimeClassName "{}" names no RuntimeClass here; what it asks of nodes is not known'
OTHER_QUOTA = "a quota of {} is not acted on: only those of pods are"
NO_NODE = "the pod is bound to node {}, which is not given; it is left out"


class Names:
    """Looks up what objects name. `wrong` has the mistakes, `left_out` the pods that have no node here."""

    def __init__(self, spots: list[Spot], is_deep: Callable[[Spot], bool], notes: Notes) -> None:
        classes = _of_kind(spots, "PriorityClass")
        self.wrong = list(_two_defaults([spot for spot in classes if not is_deep(spot)]))
        self.left_out: list[Spot] = []
        self._is_deep = is_deep  # in a folder, where much lies together that does not belong together
        self._notes = notes
        self._classes = _classes(classes)
        self._seen = _resolved(_of_kind(spots, "Pod"))
        self._has_runtimes = any(spot.value["kind"] == "RuntimeClass" for spot in spots)
        self._nodes = {str(spot.child("metadata", "name").value) for spot in _of_kind(spots, "Node")}
        for kind in ("Pod", *WORKLOADS):
            below = ("spec",) if kind == "Pod" else ("spec", "template", "spec")
            for spot in _of_kind(spots, kind):
                self._priority(spot, spot.child(*below))
                self._runtime(spot.child(*below, "runtimeClassName"))
        for spot in spots:
            for spec in pod_specs(spot):
                self._priority(spot, spec)
                self._runtime(spec.child("runtimeClassName"))
        for pod in _of_kind(spots, "Pod"):
            self._node_name(pod, pod.child("spec", "nodeName"))
        for quota in (spot for spot in spots if spot.value["kind"] == "ResourceQuota"):
            self._quota(quota.child("spec", "hard"))

    def _priority(self, spot: Spot, spec: Spot) -> None:
        name, priority = spec.child("priorityClassName"), spec.child("priority")
        if not isinstance(name.value, str) or not name.value:
            return
        if name.value in self._classes:
            value = self._classes[name.value]
            if isinstance(priority.value, int) and priority.value != value and not is_live(spot):
                self.wrong.append(priority.wrong(f'is not the {value} of PriorityClass "{name.value}"'))
        elif priority.value is None:  # a pod taken from a running cluster carries the number itself
            advice = "" if self._is_deep(spot) else did_you_mean(name.value, sorted(self._classes))
            if advice:
                self.wrong.append(name.note(f' "{name.value}" names no PriorityClass.{advice}'))
            elif name.value not in self._seen:
                self._notes.add(NO_CLASS.format(name.value), name.place)

    def _runtime(self, name: Spot) -> None:
        """Where no RuntimeClass is given, none is looked for; where some are, admission refuses others."""
        if isinstance(name.value, str) and name.value and not self._has_runtimes:
            self._notes.add(NO_RUNTIME.format(name.value), name.place)

    def _quota(self, hard: Spot) -> None:
        for amount in hard.entries():
            name = str(amount.path[-1])
            if not is_about_pods(name):
                self._notes.add(OTHER_QUOTA.format(name), amount.place)

    def _node_name(self, pod: Spot, name: Spot) -> None:
        if not isinstance(name.value, str) or not name.value or name.value in self._nodes:
            return
        advice = "" if self._is_deep(pod) else did_you_mean(name.value, sorted(self._nodes))
        if advice:
            self.wrong.append(name.note(f' "{name.value}" names no Node.{advice}'))
        else:
            self._notes.add(NO_NODE.format(name.value), name.place)
            self.left_out.append(pod)


def _resolved(pods: list[Spot]) -> set[object]:
    """The classes that pods of a running cluster know the value of."""
    specs = (pod.child("spec") for pod in pods)
    return {s.child("priorityClassName").value for s in specs if isinstance(s.child("priority").value, int)}


def _of_kind(spots: Iterable[Spot], kind: str) -> list[Spot]:
    return [spot for spot in spots if spot.value["kind"] == kind and is_typed(kind, spot.value["apiVersion"])]


def _two_defaults(classes: list[Spot]) -> Iterator[Mistake]:
    defaults = [spot for spot in classes if spot.child("globalDefault").value is True]
    for spot in defaults[1:]:
        other = defaults[0].child("metadata", "name")
        what = f"only one PriorityClass may be the default, and {other.value} at {other.place} is."
        yield Mistake(spot.child("globalDefault").place, what)


def _classes(spots: list[Spot]) -> dict[str, object]:
    built_in: dict[str, object] = {known.metadata.name: known.value for known in BUILT_IN}
    return built_in | {spot.child("metadata", "name").value: spot.child("value").value for spot in spots}
