"""Asks a policy about a pod again, otherwise, and beside others: the answers must be the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from mooring.engine.engine import Engine
from mooring.errors import PluginFailed
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.domain import DomainPlugin
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import UNSIGNABLE, Scope
from mooring.framework.api.status import REJECTIONS, Code, Status
from mooring.framework.running.agreement import check_agreement
from mooring.framework.running.forms import Filter, Scorer
from mooring.framework.running.inspection import moves_only_with_nodes, signs_itself
from mooring.model.objects import Pod
from mooring.testing.conformance import findings
from mooring.testing.conformance.findings import Broken, Finding
from mooring.testing.conformance.subject import PROFILE, Subject

Answers = dict[tuple[str, str], Any]  # by point and node
MOST_RAW = 12  # distinct raw scores that are normalised in every combination of one and two


class Probes:
    """What can be asked of a policy in one engine."""

    def __init__(self, subject: Subject, engine: Engine) -> None:
        self._subject, self._engine = subject, engine
        self._plugin = subject.plugin(engine)
        self._filter, self._scorer = Filter.of(self._plugin), Scorer.of(self._plugin)
        self._raw: set[int] = set()
        self._versions: dict[int, Any] = {}

    def look_at(self, pod: Pod, others: Sequence[Pod]) -> None:
        """Everything that can be asked at this moment. Raises Broken."""
        pod = self._engine.specs.shared(pod)
        if not self._signs(pod, others) or not self._engine.view.nodes:
            return
        try:
            alone = self.answers(pod)
            self._same("asked twice", alone, self.answers(pod), pod, findings.PURE)
            for other in others[:1]:
                self._beside(alone, pod, self._engine.specs.shared(other))
            self._agree(pod)
            self._version()
            self._keeps_silent(pod, alone)
            if self._scorer is not None and self._scorer.raw:
                self._normalise()
        except PluginFailed:
            self._subject.watch.end()
            raise

    def answers(self, pod: Pod, between: Callable[[], object] | None = None) -> Answers:
        """What the policy says of the pod on each node; `between` happens after it prepared itself."""
        said: Answers = {}
        state = self._engine._rng.getstate()  # who draws is given the same again
        cycle = Cycle(PROFILE, self._engine.now)
        go_on = self._pre_filter(cycle, pod, said)
        if between is not None:
            between()
        if go_on:
            self._judge(cycle, pod, said, between)
        if self._plugin.scope is Scope.CLUSTER:
            self._engine._rng.setstate(state)
        return said

    def same_in_class(self, pod: Pod, others: Iterable[Pod]) -> None:
        """Pods that the engine takes for alike get the same answers. Raises Broken."""
        if self._plugin.scope is Scope.CLUSTER or not signs_itself(self._subject.policy):
            return
        classes, alone = self._engine.hooks.classes[PROFILE], None
        pod = self._engine.specs.shared(pod)
        mine, sign = classes.of(pod), self._plugin.sign(pod)
        if sign is None or sign is UNSIGNABLE:
            return
        for other in map(self._engine.specs.shared, others):
            if self._plugin.sign(other) == sign and classes.of(other).matches == mine.matches:
                alone = self.answers(pod) if alone is None else alone
                when = (
                    f"alike by sign: pod {other.key}, which has {_read_of(other)} rather than {_read_of(pod)}"
                )
                self._same(when, alone, self.answers(other), pod, findings.SIGNED)

    def _signs(self, pod: Pod, others: Sequence[Pod]) -> bool:
        """Whether the policy has anything to say; its signature has to be one."""
        if not signs_itself(self._subject.policy):
            return True
        plugin, name = self._plugin, self._subject.name
        try:
            first = answers.call(name, "sign", plugin.sign, pod)
            again = answers.call(name, "sign", plugin.sign, pod)
            answers.call(name, "sign", hash, first)
        except PluginFailed:
            self._subject.watch.end()
            raise
        if first != again:
            what = f"says {answers.shown(first)} and then {answers.shown(again)} of the same pod"
            raise Broken(Finding("sign", "sign", what, findings.SIGN, f"pod {pod.key}"))
        if getattr(type(plugin).sign, "reads_spec_only", False):
            for other in map(self._engine.specs.shared, others):
                if other.spec is pod.spec and plugin.sign(other) != first:
                    what = f"reads more than the spec, which it says it does not: {other.key} has the same"
                    raise Broken(Finding("spec only", "sign", what, findings.SPEC_ONLY, f"pod {pod.key}"))
        return first is not None

    def _pre_filter(self, cycle: Cycle, pod: Pod, said: Answers) -> bool:
        method = getattr(self._plugin, "pre_filter", None)
        if method is None:
            return True
        answer = answers.call(self._subject.name, "pre_filter", method, cycle, pod)
        said["pre_filter", ""] = answer
        if isinstance(answer, Status) and answer.code is Code.SKIP:
            cycle.skip_filter |= {self._subject.name}
        return not (isinstance(answer, Status) and answer.code in REJECTIONS | {Code.ERROR})

    def _filter_in(self, cycle: Cycle) -> Filter | None:
        return None if self._subject.name in cycle.skip_filter else self._filter

    def _judge(self, cycle: Cycle, pod: Pod, said: Answers, between: Callable[[], object] | None) -> None:
        engine, view = self._engine, self._engine.view
        nodes, passing = engine.cluster.nodes, []
        engine.placer.evaluating = True
        try:
            for node in view.nodes:
                status = None
                if (form := self._filter_in(cycle)) is not None:
                    status = form.one(cycle, form.shown(pod), form.view(node), nodes, view)
                    said["filter", node.name] = status
                if status is None:
                    passing.append(node)
        finally:
            engine.placer.evaluating = False
        if (scorer := self._scorer) is None or not self._pre_score(cycle, pod, passing):
            return
        if between is not None:
            between()
        engine.placer.evaluating = True
        try:
            for node in passing:
                score = scorer.one(cycle, scorer.shown(pod), scorer.view(node), nodes, view)
                said["score", node.name] = score
                self._raw.add(score)
        finally:
            engine.placer.evaluating = False

    def _pre_score(self, cycle: Cycle, pod: Pod, passing: list[Any]) -> bool:
        method = getattr(self._plugin, "pre_score", None)
        if method is None:
            return True
        nodes = () if self._plugin.scope.kept else passing
        self._engine.placer.evaluating = True
        try:
            answer = answers.call(self._subject.name, "pre_score", method, cycle, pod, nodes)
        finally:
            self._engine.placer.evaluating = False
        return answers.status(self._subject.name, "pre_score", answer, {Code.SKIP}) is None

    def _beside(self, alone: Answers, pod: Pod, other: Pod) -> None:
        """Another pod is prepared for meanwhile."""
        if not any(hasattr(self._plugin, point) for point in ("pre_filter", "pre_score")):
            return
        if self._plugin.sign(other) is None:
            return
        beside = self.answers(pod, lambda: self.answers(other))
        self._same(f"after {other.key} was prepared for", alone, beside, pod, findings.BETWEEN)

    def _version(self) -> None:
        """Moves with something that happens, and not because it is asked for."""
        kind = type(self._plugin)
        if kind.version is Plugin.version:
            return
        version = answers.version(self._subject.name, self._plugin)
        if answers.moved(version, answers.version(self._subject.name, self._plugin)):
            raise Broken(Finding("version", "version", "moves each time it is asked for", findings.VERSION))
        if moves_only_with_nodes(kind):
            known = self._versions.setdefault(self._engine.cluster.nodes.node_journal.position, version)
            if answers.moved(known, version):
                what = "moves although no node changed, which @moves_with_nodes rules out"
                raise Broken(Finding("version", "version", what, findings.VERSION))

    def _keeps_silent(self, pod: Pod, said: Answers) -> None:
        """A policy that says it does not judge a pod, or pre-filter it, has nothing to say of it."""
        sign = self._plugin.sign(pod)
        for point, asked in (("judges", "filter"), ("pre_filters", "pre_filter")):
            if answers.call(self._subject.name, point, getattr(self._plugin, point), sign) is False:
                refused = next((key for key, answer in said.items() if key[0] == asked and answer), None)
                if refused is not None:
                    what = f"says that {asked} has nothing to say of the pod, which it refuses"
                    raise Broken(Finding("silent", point, what, findings.SILENT, f"pod {pod.key}"))

    def _agree(self, pod: Pod) -> None:
        """Both forms, on every node. A policy that says nothing about the pod is not asked."""
        cycle = Cycle(PROFILE, self._engine.now)
        if not self._pre_filter(cycle, pod, {}):
            return
        views = () if self._plugin.scope.kept else self._engine.view.nodes
        self._engine.placer.evaluating = True
        try:
            if (form := self._filter_in(cycle)) is not None:
                check_agreement(form, cycle, pod, self._engine.cluster)
            self._engine.placer.evaluating = False
            if self._scorer is not None and self._pre_score(cycle, pod, list(views)):
                self._engine.placer.evaluating = True
                check_agreement(self._scorer, cycle, pod, self._engine.cluster)
        finally:
            self._engine.placer.evaluating = False
        if isinstance(self._plugin, DomainPlugin) and self._filter_in(cycle) is not None:
            what = self._plugin.rehearse(cycle, pod, self._engine.view.nodes)
            if what:
                raise Broken(Finding("forms", "domain", what, findings.FORMS, f"pod {pod.key}"))

    def _normalise(self) -> None:
        """Raw scores that were seen, in combinations of feasible nodes that there may be."""
        scorer, seen = self._scorer, sorted(self._raw)[:MOST_RAW]
        assert scorer is not None
        sets = [seen, *([value] for value in seen), *([a, b] for a in seen for b in seen if a < b)]
        rises = falls = False
        for values in filter(None, sets):
            given = list(values)
            scores = scorer.normalized(given)
            if given != values or scorer.normalized(list(values)) != scores:
                what = f"says {scores} of {values}, and then something else, or changes what it is given"
                raise Broken(Finding("normalize", "normalize", what, findings.PURE))
            ranked = [score for value, score in zip(values, scores, strict=True) if value >= 0]
            pairs = list(pairwise(ranked))  # what is below 0 may be a mark
            rises |= any(low < high for low, high in pairs)
            falls |= any(low > high for low, high in pairs)
            if rises and falls:
                what = f"makes {scores} of {values}: the order is not kept"
                raise Broken(Finding("normalize", "normalize", what, findings.ORDER))

    def _same(self, when: str, first: Answers, second: Answers, pod: Pod, advice: str) -> None:
        difference = differing(first, second)
        if difference is not None:
            point, node, before, after = difference
            about = f"pod {pod.key}" + (f", node {node}" if node else "")
            what = f"says {before}, and {after} when {when}"
            raise Broken(Finding(f"same when {when.split()[0]}", point, what, advice, about))


def differing(first: Answers, second: Answers) -> tuple[str, str, str, str] | None:
    """The first thing of which two answers are different: point, node, and what was said each time."""
    for key in {**first, **second}:
        if first.get(key) != second.get(key):
            return *key, _said(first, key), _said(second, key)
    return None


def _read_of(pod: Pod) -> str:
    return f"labels {dict(pod.labels)}, annotations {dict(pod.annotations)}, priority {pod.priority}"


def _said(given: Answers, key: tuple[str, str]) -> str:
    if key not in given:
        return "nothing"
    answer = given[key]
    if answer is None:
        return "yes"
    return f"no ({answer.message})" if isinstance(answer, Status) else answers.shown(answer)
