"""Argo's Rollouts and Workflows.

A Workflow's pods come in the order of its steps or of its graph: a pod when all it depends on has finished.
Conditions (`when`) count as true and loops over what is not known before the run as one turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from mooring.workloads.owners.paths import mapping, mappings, number, word
from mooring.workloads.owners.rows import DONE, Expansion, Find, PodSet

GROUP = "argoproj.io"
MOST_SETS, DEEPEST = 2000, 20
POD_FIELDS = ("nodeSelector", "affinity", "tolerations", "schedulerName", "priorityClassName", "volumes")
POD_SPEC_FIELDS = (*POD_FIELDS, "hostNetwork")
EXECUTOR = {"name": "main", "image": "argoexec"}  # what runs a template that has no container of its own

_TASK_NAME = re.compile(r"[A-Za-z0-9_-]+(?=[.&|)!\s]|$)")
_STATES = re.compile(r"\.(Succeeded|Failed|Errored|Skipped|Omitted|Daemoned|AnySucceeded|AllFailed)")


def read_rollout(data: dict[str, Any], find: Find) -> Expansion:
    """Replicas of its own template, or of that of the workload it refers to."""
    meta = mapping(data, "metadata")
    template: Any = mapping(data, "spec.template")
    remarks: tuple[str, ...] = ()
    if not template and (ref := mapping(data, "spec.workloadRef")):
        group = str(ref.get("apiVersion", "")).rpartition("/")[0]
        kind, name = str(ref.get("kind")), str(ref.get("name"))
        found = find(group, kind, str(meta.get("namespace") or ""), name)
        template = mapping(found, "spec.template")
        remarks = () if template else (f'its workloadRef, {kind} "{name}", is not there',)
    count = number(data, "spec.replicas")
    count = 1 if count is None else count
    one = PodSet(name="replica", template=template, count=count, total=count, base=f"{meta.get('name')}-")
    return Expansion((one,) if template else (), remarks=remarks)


def read_workflow(data: dict[str, Any], find: Find) -> Expansion:
    return Graph(data, find).expansion()


def workflow_templates(spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The pods of all templates of a Workflow, whether it comes to them or not."""
    for template in mappings(spec, "templates"):
        if (pod := _pod_template(template, spec)) is not None:
            yield word(template, "name"), pod


class Graph:
    """One Workflow, walked from its entrypoint."""

    def __init__(self, data: dict[str, Any], find: Find) -> None:
        meta = mapping(data, "metadata")
        self._name = str(meta.get("name") or meta.get("generateName") or "").rstrip("-")
        self._namespace = str(meta.get("namespace") or "")
        self._find = find
        self._remarks: dict[str, None] = {}
        self._spec = self._merged(mapping(data, "spec"))
        self._templates = {word(each, "name"): each for each in mappings(self._spec, "templates")}
        self._sets: dict[str, PodSet] = {}

    def expansion(self) -> Expansion:
        ends = self._walk(self._named(word(self._spec, "entrypoint")), "", (), 1, 0)
        if last := word(self._spec, "onExit"):
            self._walk(self._named(last), "on-exit", ends, 1, 0)
        return Expansion(tuple(self._sets.values()), remarks=tuple(self._remarks))

    def _merged(self, spec: dict[str, Any]) -> dict[str, Any]:
        """The spec on top of the WorkflowTemplate it refers to."""
        ref = mapping(spec, "workflowTemplateRef")
        if not ref:
            return spec
        return {**mapping(self._referred(ref), "spec"), **spec}

    def _referred(self, ref: dict[str, Any]) -> dict[str, Any]:
        cluster_wide = ref.get("clusterScope") is True
        kind = "ClusterWorkflowTemplate" if cluster_wide else "WorkflowTemplate"
        name = str(ref.get("name"))
        found = self._find(GROUP, kind, "" if cluster_wide else self._namespace, name)
        if found is None:
            self._remarks[f'{kind} "{name}" is not there'] = None
        return found or {}

    def _named(self, name: str) -> dict[str, Any]:
        return self._templates.get(name, {})

    def _walk(
        self, template: dict[str, Any], way: str, after: Sequence[str], times: int, depth: int
    ) -> tuple[str, ...]:
        """Adds the pods of a template; gives the sets that have to be done before anything after it."""
        if depth > DEEPEST or len(self._sets) >= MOST_SETS:
            self._remarks["it goes deeper than is followed"] = None
            return tuple(after)
        if isinstance(template.get("steps"), list):
            return self._steps(template["steps"], way, after, times, depth)
        if isinstance(template.get("dag"), dict):
            return self._dag(mappings(template, "dag.tasks"), way, after, times, depth)
        return self._leaf(template, way, after, times)

    def _steps(
        self, steps: list[Any], way: str, after: Sequence[str], times: int, depth: int
    ) -> tuple[str, ...]:
        """Lists of steps, one list after the other; those of one list at once."""
        for group in steps:
            listed = group if isinstance(group, list) else [group]
            ends: list[str] = []
            for step in listed:
                if isinstance(step, dict):
                    ends += self._go(step, way, after, times, depth)
            after = tuple(dict.fromkeys(ends)) or after
        return tuple(after)

    def _dag(
        self, tasks: list[dict[str, Any]], way: str, after: Sequence[str], times: int, depth: int
    ) -> tuple[str, ...]:
        ends: dict[str, tuple[str, ...]] = {}
        todo = {word(task, "name"): task for task in tasks}
        needed: set[str] = set()
        while todo:
            free = [name for name, task in todo.items() if not (_before(task) & todo.keys())]
            for name in free or list(todo):  # a circle is nobody's turn: all of it is
                task = todo.pop(name)
                before = [end for each in sorted(_before(task)) for end in ends.get(each, ())]
                needed |= _before(task)
                ends[name] = tuple(self._go(task, way, before or after, times, depth))
        return tuple(end for name, own in ends.items() if name not in needed for end in own) or tuple(after)

    def _go(
        self, step: dict[str, Any], way: str, after: Sequence[str], times: int, depth: int
    ) -> tuple[str, ...]:
        ref = mapping(step, "templateRef")
        if mapping(step, "inline"):
            template = mapping(step, "inline")
        elif ref:
            listed = mappings(self._referred(ref), "spec.templates")
            template = next((each for each in listed if each.get("name") == ref.get("template")), {})
        else:
            template = self._named(word(step, "template"))
        below = f"{way}-{word(step, 'name')}".strip("-")
        return self._walk(template, below, after, times * _turns(step), depth + 1)

    def _leaf(self, template: dict[str, Any], way: str, after: Sequence[str], times: int) -> tuple[str, ...]:
        pod = _pod_template(template, self._spec)
        if pod is None:
            return tuple(after)
        name = way or "main"
        while name in self._sets:
            name += "-again"
        at_once = min(times, number(self._spec, "parallelism") or times)
        self._sets[name] = PodSet(
            name=name,
            template=pod,
            count=at_once,
            total=times,
            base=f"{self._name}-{name}-",
            labels={"workflows.argoproj.io/workflow": self._name},
            after=tuple((each, DONE) for each in after),
        )
        return (name,)


def _before(task: dict[str, Any]) -> set[str]:
    """What a task of a graph depends on."""
    listed = task.get("dependencies")
    if isinstance(listed, list):
        return {str(each) for each in listed}
    return set(_TASK_NAME.findall(_STATES.sub("", word(task, "depends"))))


def _turns(step: dict[str, Any]) -> int:
    """How often a step is done, as far as that is written."""
    items = step.get("withItems")
    if isinstance(items, list):
        return len(items)
    if sequence := mapping(step, "withSequence"):
        bounds = {key: _whole(sequence.get(key)) for key in ("count", "start", "end")}
        if bounds["count"] is not None:
            return bounds["count"]
        if bounds["end"] is not None:
            return abs(bounds["end"] - (bounds["start"] or 0)) + 1
    try:
        found = json.loads(word(step, "withParam"))
    except ValueError:
        return 1
    return len(found) if isinstance(found, list) else 1


def _whole(value: object) -> int | None:
    text = str(value).strip()
    return min(int(text), 100_000) if text.isdecimal() and len(text) < 10 else None


def _pod_template(template: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any] | None:
    """The pod a template runs as; None for what runs in none."""
    if containers := mappings(template, "containerSet.containers"):
        pass
    elif own := mapping(template, "container") or mapping(template, "script"):
        containers = [{**own, "name": own.get("name") or "main"}]
    elif "resource" in template or "data" in template:
        containers = [EXECUTOR]
    else:
        return None
    pod = {key: spec[key] for key in POD_SPEC_FIELDS if spec.get(key)}
    pod.update({key: template[key] for key in POD_FIELDS if template.get(key)})
    pod["containers"] = [*containers, *mappings(template, "sidecars")]
    pod["initContainers"] = mappings(template, "initContainers")
    shared = mapping(spec, "podMetadata")
    own_meta = mapping(template, "metadata")
    meta = {key: {**mapping(shared, key), **mapping(own_meta, key)} for key in ("labels", "annotations")}
    return {"metadata": meta, "spec": pod}
