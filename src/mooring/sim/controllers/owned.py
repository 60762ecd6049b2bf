"""Objects of kinds that the table of owners knows: one controller for all of them.

A pod that finishes has had its time, as a ReplicaSet's has; one that is evicted or lost with its node comes
back under its name. Sets that come after others wait until those are ready (all their pods run) or done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from mooring.config.durations import parse_duration
from mooring.model.objects import Object, ObjectMeta, Pod
from mooring.model.plain import read
from mooring.sim.controllers.controller import Controller, Follower
from mooring.sim.world.kubelet import is_finished, runs_for
from mooring.sim.world.workloads import ARRIVES_AT, PodTemplate
from mooring.sim.world.world import World
from mooring.workloads.owners.gangs import membership, pod_group
from mooring.workloads.owners.rows import DONE, Expansion, PodSet


class OwnedPods(Follower):
    """Everything one object makes."""

    def __init__(self, world: World, owner: Object, made: Expansion) -> None:
        gangs = {gang.name: gang for gang in made.gangs}
        self._clock = world.clock
        self._sets: list[PodSetController] = []
        for one in made.sets:
            labels, notes = membership(gangs[one.gang], one.part) if one.gang in gangs else ({}, {})
            made_by = PodSetController(world, owner, one, labels, notes)
            made_by.check()
            self._sets.append(made_by)
        reference = {
            "apiVersion": owner.api_version,
            "kind": owner.kind,
            "name": owner.metadata.name,
            "uid": owner.metadata.uid,
        }
        groups = (pod_group(gang, owner.metadata.namespace, reference) for gang in made.gangs)
        for data in (*made.objects, *groups):
            _make_unless_there(world, data)

    def start(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            chosen = [one for one in self._sets if one.is_like(pod)] or self._sets
            if chosen:
                min(chosen, key=lambda one: len(one.seen) >= one.wanted).take_over(pod)
        self._go_on()
        for moment in sorted({one.comes_at for one in self._sets}):
            if moment > self._clock.now:
                self._clock.at(moment, self._go_on)

    def pod_running(self, pod: Pod) -> None:
        for one in self._sets:
            one.pod_running(pod)
        self._go_on()

    def pod_finished(self, pod: Pod) -> None:
        for one in self._sets:
            one.pod_finished(pod)
        self._go_on()

    def pod_leaving(self, pod: Pod) -> None:
        """Pods with made-up names are replaced at once, as a ReplicaSet's are."""
        for one in self._sets:
            if not one.has_names:
                one.pod_gone(pod)
        self._go_on()

    def pod_gone(self, pod: Pod) -> None:
        for one in self._sets:
            one.pod_gone(pod)
        self._go_on()

    def held_back(self) -> int:
        return sum(one.held_back() for one in self._sets)

    def _go_on(self) -> None:
        """Makes the pods of every set whose turn it is."""
        for one in self._sets:
            if one.comes_at <= self._clock.now and all(
                self._reached(name, state) for name, state in one.after
            ):
                one.top_up()

    def _reached(self, name: str, state: str) -> bool:
        before = [one for one in self._sets if name in (one.set_name, one.part)]
        return all(one.is_done if state == DONE else one.is_ready for one in before)


class PodSetController(Controller):
    """Pods of one template, each with a number that its name may carry."""

    def __init__(
        self, world: World, owner: Object, one: PodSet, labels: Mapping[str, str], notes: Mapping[str, str]
    ) -> None:
        template = read(one.template, PodTemplate)
        meta = template.metadata
        meta = replace(meta, labels={**meta.labels, **labels}, annotations={**meta.annotations, **notes})
        super().__init__(world, owner, replace(template, metadata=meta))
        self.set_name, self.part, self.after = one.name, one.part, one.after
        self.wanted = one.total
        self.seen: set[str] = set()  # uids of pods that are there or have finished
        self._one = one
        self._free = list(range(one.total - 1, -1, -1))  # numbers nobody has, the lowest last
        self._numbers: dict[str, int] = {}  # of the pods that are at work, by uid
        self._ran: set[int] = set()
        self._done = 0
        self.comes_at = world.clock.start + parse_duration(meta.annotations.get(ARRIVES_AT, "0s"))

    @property
    def has_names(self) -> bool:
        return bool(self._one.pods)

    @property
    def is_ready(self) -> bool:
        return len(self._ran) >= self._one.count

    @property
    def is_done(self) -> bool:
        return self._done >= self.wanted

    def held_back(self) -> int:
        return len(self._free)

    def check(self) -> None:
        """Raises what is wrong with the template, before a pod of it is made."""
        _ = self.template.request
        runs_for(self.template)

    def is_like(self, pod: Pod) -> bool:
        """Whether a pod that was there before looks like one of these."""
        fixed = {key: value for key, value in self._one.labels.items() if "{" not in value}
        if fixed and all(pod.labels.get(key) == value for key, value in fixed.items()):
            return True
        return pod.name.startswith(self._one.pods.partition("{")[0] or self._one.base)

    def take_over(self, pod: Pod) -> None:
        if not self._free:
            return
        self.seen.add(pod.uid)
        names = {self._name(number): number for number in self._free}
        number = names.get(pod.name, self._free[-1])
        self._free.remove(number)
        if is_finished(pod):
            self._done += 1
            self._ran.add(number)
        else:
            self._numbers[pod.uid] = number
            self.pod_running(pod)

    def pod_running(self, pod: Pod) -> None:
        if pod.uid in self._numbers and pod.spec.node_name:
            self._ran.add(self._numbers[pod.uid])

    def pod_finished(self, pod: Pod) -> None:
        if self._numbers.pop(pod.uid, None) is not None:
            self._done += 1

    def pod_gone(self, pod: Pod) -> None:
        number = self._numbers.pop(pod.uid, None)
        if number is not None:
            self._ran.discard(number)
            self._free.append(number)
            self._free.sort(reverse=True)

    def top_up(self) -> None:
        while self._free and len(self._numbers) < self._one.count:
            name = self._name(self._free[-1])
            if name and f"{self.template.namespace}/{name}" in self.world.pods:
                return  # somebody else's pod has the name, or one that is on its way out
            number = self._free.pop()
            labels = {key: _numbered(value, number) for key, value in self._one.labels.items()}
            pod = self.make(name=name, base="" if name else self._one.base, labels=labels)
            self._numbers[pod.uid] = number
            self.seen.add(pod.uid)

    def _name(self, number: int) -> str:
        """The name of the pod of a number; "" for one the cluster makes up, as for the second of one name."""
        if not (pattern := self._one.pods):
            return ""
        name = _numbered(pattern, number)
        return name if name != pattern or number == 0 else f"{name}-{number}"


def _numbered(pattern: str, number: int) -> str:
    """`{index}` counts from 0, `{number}` from 1."""
    return pattern.replace("{index}", str(number)).replace("{number}", str(number + 1))


def _make_unless_there(world: World, data: dict[str, object]) -> None:
    meta = msgspec.convert(data["metadata"], ObjectMeta)
    plain = Object(api_version=str(data["apiVersion"]), kind=str(data["kind"]), metadata=meta, data=data)
    if plain.key not in world.store.of_kind(plain.api_version, plain.kind):
        world.create_object(plain)
