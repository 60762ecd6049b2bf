"""Plays a case: an engine with the policy in it, and every promise looked at after each step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from mooring.engine.decisions import Bind, Decision, Evict
from mooring.engine.events import (
    BindFailed,
    Bound,
    Event,
    NodeAdded,
    NodeChanged,
    NodeDeleted,
    ObjectAdded,
    ObjectChanged,
    ObjectDeleted,
    PodAdded,
    PodChanged,
    PodDeleted,
    Tick,
)
from mooring.errors import InvariantError, PluginFailed
from mooring.framework.api.cycle import Cycle
from mooring.model.objects import Node, Object, ObjectMeta, Pod
from mooring.testing.conformance import findings
from mooring.testing.conformance.binding import YieldingApi, carry_out
from mooring.testing.conformance.cases import Draft, Step
from mooring.testing.conformance.findings import Broken, Finding
from mooring.testing.conformance.leftovers import still_held
from mooring.testing.conformance.probes import Probes, differing
from mooring.testing.conformance.sorting import check_order
from mooring.testing.conformance.subject import PROFILE, Subject
from mooring.testing.conformance.variants import variants
from mooring.testing.conformance.waking import Waking

KEPT = re.compile(r"the score of (\S+) on (\S+) and \d+ more nodes: (\S+) is kept and (\S+) found")
SOME_DAY, APART_S = 1_767_225_600.0, 18_779.0  # cases begin at all hours of a week
MOST_CYCLES = 300  # after one event
MOST_WAITING = 6
CHECKED_EVERY = 6  # steps
HELPFUL = (NodeAdded, NodeChanged, PodDeleted)  # what pods usually wait for
BINDING = frozenset({"pre_bind", "bind", "post_bind"})
RESTORING = frozenset({"pre_restore_reservation", "restore_reservation"})


class Player:
    """One engine, from the first step of a case to the last. `log` is what was decided."""

    def __init__(self, subject: Subject, seed: int) -> None:
        self._subject, self._watch = subject, subject.watch
        self._watch.begin()
        self.engine = subject.engine(seed)
        self._plugin = subject.plugin(self.engine)
        self._probes = Probes(subject, self.engine)
        self._waking = Waking(subject, self.engine)
        self._api = YieldingApi()
        self.engine.attach(self._api)
        self.now = SOME_DAY + seed * APART_S
        self.log: list[tuple[Any, ...]] = []
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, Pod] = {}  # that are there, by name
        self._gone: list[Pod] = []
        self._fate = "bound"

    def play(self, steps: Sequence[Step]) -> None:
        """Raises Broken at the first promise that is broken."""
        with self._watch.listening():
            for number, step in enumerate(steps):
                self._attempt(lambda step=step: self._take(step))
                self._attempt(lambda whole=number % CHECKED_EVERY == 0: self._check(whole=whole))
            self._attempt(self._end)

    def _attempt(self, what: Any) -> None:
        try:
            what()
        except PluginFailed:
            self._watch.end()
            raise
        except (InvariantError, AssertionError) as error:
            self._watch.end()
            raise Broken(self._disagreement(str(error))) from error
        self._watch.end()

    def _disagreement(self, text: str) -> Finding:
        """What is kept is not what is found. Forms that differ, and answers that change, are a reason."""
        told = KEPT.match(text)
        if told is None:
            return Finding(
                "check", "books", text or "what is known does not follow from the pods", findings.BOOKS
            )
        key, node, kept, found = told.groups()
        try:
            if (pod := self._pods.get(key.partition("/")[2])) is not None:
                self._probes.look_at(pod, ())
        except Broken as broken:
            return broken.finding
        what = f"the engine kept {_total(kept)}, and asking anew gives {_total(found)}"
        point = "filter" if "None" in (kept, found) else "score"
        return Finding("kept", point, what, findings.KEPT, f"pod {key}, node {node}")

    def _take(self, step: Step) -> None:
        match step.what:
            case "put" | "change" if step.drafts[0].kind == "node":
                self._put(step.drafts[0].build(self._subject.vocabulary))
            case "change":
                self._change(step)
            case "drop":
                self._drop(step.name)
            case "run":
                self._run(step)
            case "ask":
                self._ask(step)
            case "retry":
                self._retry(step)
            case "pass":
                self._pass(step.amount)

    def _put(self, node: Node) -> None:
        event = NodeChanged(node) if node.name in self._nodes else NodeAdded(node)
        self._nodes[node.name] = node
        self._happens(event)

    def _change(self, step: Step) -> None:
        if (known := self._pods.get(step.name)) is None:
            return
        draft: Pod = step.drafts[0]._replace(space=known.namespace).build(self._subject.vocabulary)
        labels, annotations = draft.metadata.labels, draft.metadata.annotations
        meta = msgspec.structs.replace(known.metadata, labels=labels, annotations=annotations)
        self._pods[step.name] = changed = msgspec.structs.replace(known, metadata=meta)
        self._happens(PodChanged(changed))

    def _drop(self, name: str) -> None:
        if name in self._nodes:
            self._happens(NodeDeleted(self._nodes.pop(name)))
        elif name in self._pods:
            self._gone.append(gone := self._pods.pop(name))
            self._happens(PodDeleted(gone))

    def _run(self, step: Step) -> None:
        if step.name not in self._nodes:
            return
        for number in range(step.amount):
            draft = step.drafts[0]
            name = draft.name if step.amount == 1 else f"{draft.name}-{number}"
            made: Pod = draft._replace(name=name).build(self._subject.vocabulary)
            running = msgspec.structs.replace(made.status, phase="Running")
            self._pods[name] = msgspec.structs.replace(made.on_node(step.name), status=running)
            self._handle(PodAdded(self._pods[name]))
        self._schedule()

    def _ask(self, step: Step) -> None:
        self._fate = step.fate
        wanted = [self._come(draft) for draft in step.drafts]
        self._look_at(wanted[0], step.drafts[0])
        self._schedule()
        self._fate = "bound"
        for name in [name for name, pod in self._pods.items() if self._waits(pod)][:-MOST_WAITING]:
            self._drop(name)

    def _come(self, draft: Draft) -> Pod:
        made: Pod = draft.build(self._subject.vocabulary)
        self._pods[draft.name] = made
        self._handle(PodAdded(made))
        return made

    def _waits(self, pod: Pod) -> bool:
        return self.engine.queue.get(pod.metadata.uid) is not None

    def _look_at(self, wanted: Pod, draft: Draft) -> None:
        """Asks the policy about the pod, beside pods that are almost the same and others that wait."""
        others = [self._come(each) for each in variants(draft, self._subject.vocabulary)]
        waiting = [pod for pod in self._pods.values() if self._waits(pod) and pod is not wanted]
        self._probes.look_at(wanted, [*others, *waiting])
        self._probes.same_in_class(wanted, [*others, *waiting])
        if RESTORING & set(self._subject.points) and self.engine.view.nodes:
            cycle = Cycle(PROFILE, self.now)
            self._plugin.handle.restore_reservations(cycle, wanted, (), (), self.engine.view.nodes[0])
        for other in others:
            del self._pods[other.name]
            self._handle(PodDeleted(other))

    def _show_objects(self) -> None:
        """Objects of the kinds a policy reads come and go, with nothing in them."""
        if "object_seen" not in self._subject.points:
            return
        for read in self._subject.policy.reads or ("ConfigMap",):
            version, _, kind = read.rpartition("/")
            meta = ObjectMeta(name="empty", namespace="default", uid="empty")
            made = Object(api_version=version or "v1", kind=kind, metadata=meta, data={})
            for event in (ObjectAdded(made), ObjectChanged(made), ObjectDeleted(made)):
                self._handle(event)

    def _retry(self, step: Step) -> None:
        """One pod takes a place and gives it back, again and again: nothing may be left of it."""
        draft, before, passed = step.drafts[0], None, set[tuple[str, str]]()
        held = self._held()
        for number in range(step.amount + 1):
            pod = self._come(draft)
            if number in (0, step.amount) and self._plugin.sign(pod) is not None:
                said = self._probes.answers(self.engine.specs.shared(pod))
                if before is None:
                    before = said
                elif (difference := differing(before, said)) is not None:
                    self._tell_undone(pod, number, *difference)
            self._watch.held.clear()
            self._fate = step.fate
            self._schedule()
            self._fate = "bound"
            for (point, node), refused in self._watch.held.items():
                if refused and (point, node) in passed:
                    self._tell_undone(pod, number, point, node, "yes", "no")
                passed |= set() if refused else {(point, node)}
            del self._pods[draft.name]
            self._handle(PodDeleted(pod))
            self._gone.append(pod)
            if held != self._held():
                break  # others came or went for it
        self._schedule()

    def _held(self) -> dict[str, str]:
        return {uid: placed.node for uid, placed in self.engine.cluster.pods.by_uid.items()}

    def _tell_undone(self, pod: Pod, times: int, point: str, node: str, before: str, after: str) -> None:
        about = f"pod {pod.key}" + (f", node {node}" if node else "")
        what = f"says {before}, and {after} after a pod took a place and gave it back {times} times"
        raise Broken(Finding("undone", point, what, findings.UNDONE, about))

    def _pass(self, seconds: float) -> None:
        """Time passes, with a stop wherever the engine wants one."""
        end = self.now + seconds
        for _ in range(MOST_CYCLES):
            wake = self.engine.wake_at()
            self.now = end if wake is None or wake > end else max(self.now, wake)
            self._handle(Tick())
            self._schedule()
            if self.now >= end:
                return
        self.now = end

    def _happens(self, event: Event) -> None:
        """Something outside happens; whoever it helps must hear of it."""
        helps = isinstance(event, HELPFUL)
        if helps:
            self._waking.before()
        self._handle(event)
        if helps:
            self._waking.after(event)
        self._schedule()

    def _handle(self, event: Event) -> None:
        self._perform(self.engine.handle(event, self.now))

    def _schedule(self) -> None:
        for _ in range(MOST_CYCLES):
            if (decisions := self.engine.schedule(self.now)) is None:
                return
            self._perform(decisions)

    def _perform(self, decisions: Sequence[Decision]) -> None:
        for decision in decisions:
            self.log.append(_entry(decision))
            match decision:
                case Bind(pod, node_name):
                    self._bind(decision, pod, node_name)
                case Evict(pod, in_memory=False):
                    if self._pods.pop(pod.name, None) is not None:
                        self._gone.append(pod)
                        self._handle(PodDeleted(pod))

    def _bind(self, bind: Bind, pod: Pod, node_name: str) -> None:
        why = "refused" if self._fate == "refused" else ""
        if BINDING & set(self._subject.points):
            done = carry_out(self.engine, bind, self._api)
            if not done and "bind" in self._subject.points and pod.metadata.uid not in self._api.bound:
                what = "answers that the pod is bound, and nobody has bound it"
                raise Broken(
                    Finding("bind", "bind", what, findings.BINDS, f"pod {pod.key}, node {node_name}")
                )
            why = why or done
        if why:
            self._handle(BindFailed(pod, node_name, why))
            return
        self._handle(Bound(pod, node_name))
        if pod.name in self._pods:
            self._pods[pod.name] = self._pods[pod.name].on_node(node_name)
            self._handle(PodAdded(self._pods[pod.name]))

    def _check(self, *, whole: bool) -> None:
        self.engine.check(afresh=True) if whole else None
        check_order(self._subject, self.engine)

    def _end(self) -> None:
        """Pods that wait are let go, everything goes, and the policy has to have forgotten it."""
        self.engine.network()
        self._show_objects()
        self._pass(1000)
        self.engine.check(afresh=True)
        for name in list(self._pods):
            self._gone.append(gone := self._pods.pop(name))
            self._handle(PodDeleted(gone))
        self._schedule()
        if held := still_held(self._plugin, self._gone):
            what = f"{held} pods that are gone"
            raise Broken(Finding("leftovers", "reserve", what, findings.GONE))


def _entry(decision: Decision) -> tuple[Any, ...]:
    pod = getattr(decision, "pod", None)
    return (
        type(decision).__name__,
        pod.key if isinstance(pod, Pod) else "",
        getattr(decision, "node", ""),
        getattr(decision, "message", ""),
        getattr(decision, "plugins", ()),
    )


def _total(text: str) -> str:
    return "a no" if text == "None" else f"a total score of {text}"
