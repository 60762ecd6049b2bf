"""Scheduling classes: pods that are equal in everything placement can see share one evaluation.

A class is the signature of a pod: what each plugin of its profile says it reads of it, and the
selectors that match its labels. Labels nobody selects on make no difference.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import Any

import msgspec
from msgspec.structs import astuple

from mooring.cluster.labelsets import LabelSets
from mooring.cluster.newest_entries import Recent
from mooring.engine.placement.pipeline import Pipeline, make_pipeline
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import WHOLE_POD, Plugin
from mooring.framework.api.scope import UNSIGNABLE, Scope
from mooring.framework.running.forms import Filter, Form, Scorer
from mooring.framework.running.inspection import pre_filters_some, signs_itself
from mooring.framework.running.profile import Profile
from mooring.model.objects import Pod, PodSpec

ANYTHING = Scope.CLUSTER  # looked up once, as it is compared with for every pod
KNOWN = 2048  # distinct specs, classes and what they sign, that were used lately; and as many before them

Signs = tuple[Hashable, ...]
SpecSigns = tuple[PodSpec, Signs, int, bool]  # also their number, and whether other pods can be alike


class PodClass(Pipeline, eq=False, kw_only=True):
    """Pods of one profile that placement cannot tell apart."""

    id: int
    profile: Profile
    signs: dict[str, Hashable]  # by plugin; a plugin that is not here has nothing to say
    shared: bool  # False: this pod is unlike any other
    matches: tuple[int, ...]  # ids of the selectors that match its labels
    met: bool = False  # a pod of it has been placed, or tried, before

    def filters_in(self, cycle: Cycle) -> list[Filter]:
        """The filters that no plugin has skipped in a cycle."""
        return [form for form in self.filters if form.name not in cycle.skip_filter]


class ProfileClasses:
    """The classes of one profile; with forms that judge pods besides its plugins, if there are such."""

    def __init__(self, profile: Profile, labelsets: LabelSets, afresh: Collection[Form] = ()) -> None:
        self._profile = profile
        self._afresh = afresh
        self._labelsets = labelsets
        plugins = [plugin for name, plugin in profile.plugins.items() if name in profile.evaluating]
        self._by_spec = [p for p in plugins if getattr(type(p).sign, "reads_spec_only", False)]
        unsigned = [p for p in plugins if not signs_itself(type(p))]
        self._unsigned = {p.name: WHOLE_POD for p in unsigned}  # nothing to ask them: they read the whole pod
        self._by_pod = [p for p in plugins if p not in self._by_spec and p not in unsigned]
        self._signs_by_pod = [profile.timed(p.name, "sign", p.sign) for p in self._by_pod]
        self._whole_pod = any(form.hides_identity for form in _forms(profile))
        self._spec_signs: dict[int, SpecSigns] = {}
        self._spec_signs_before: dict[int, SpecSigns] = {}
        self._sign_ids: Recent[Signs, int] = Recent(2 * KNOWN)  # quicker to compare than what they stand for
        self._signed = 0
        self._classes: dict[Hashable, PodClass] = {}
        self._classes_before: dict[Hashable, PodClass] = {}
        # What a plugin signs is not kept where its answers are not: those are always asked.
        self._picky = [p for p in plugins if p.scope is not ANYTHING and pre_filters_some(type(p))]
        self._pipelines: dict[Hashable, tuple[Any, ...]] = {}
        self._made = 0

    def of(self, pod: Pod) -> PodClass:
        spec = pod.spec
        known = self._spec_signs.get(id(spec))
        if known is None:
            known = self._meet(pod)
        _, signs, sign_id, shared = known
        more: list[Hashable] = []
        try:
            for sign in self._signs_by_pod:
                if (said := sign(pod)) is not None:
                    said = _read(self._by_pod[len(more)], said)
                    shared = shared and said is not UNSIGNABLE
                more.append(said)
        except BaseException as error:
            raise answers.raised(self._by_pod[len(more)].name, "sign", error) from error
        labels = self._labelsets.intern(pod.metadata.namespace, pod.metadata.labels)
        if not shared:
            return self._make(signs, more, labels.matches, shared=False)
        key: Hashable = (sign_id, *more, labels.matches)
        if self._whole_pod:
            annotations = pod.metadata.annotations
            key = (key, id(spec), labels.id, *sorted(annotations.items()))
        found = self._classes.get(key)
        if found is None:
            if len(self._classes) >= KNOWN:
                self._classes, self._classes_before = {}, self._classes
            found = self._classes_before.pop(key, None)
            found = found or self._make(signs, more, labels.matches, shared=True)
            self._classes[key] = found
        return found

    def like(self, other: PodClass) -> PodClass:
        """What a class of another engine, with plugins of the same kinds, is here."""
        return self._sorted_out(other.signs, other.matches, shared=other.shared)

    def _meet(self, pod: Pod) -> SpecSigns:
        """What is read of a spec that was not met lately."""
        if len(self._spec_signs) >= KNOWN:
            self._spec_signs, self._spec_signs_before = {}, self._spec_signs
        spec = pod.spec
        known = self._spec_signs_before.pop(id(spec), None)
        if known is None:
            signs = tuple([_sign(plugin, pod) for plugin in self._by_spec])
            shared = not any(sign is UNSIGNABLE for sign in signs)
            known = spec, signs, self._sign_id(signs), shared
        self._spec_signs[id(spec)] = known
        return known

    def _sign_id(self, signs: Signs) -> int:
        number = self._sign_ids.use(signs)
        if number is None:
            number = self._signed = self._signed + 1
            self._sign_ids.put(signs, number)
        return number

    def _make(
        self, signs: Signs, more: Iterable[Hashable], matches: tuple[int, ...], *, shared: bool
    ) -> PodClass:
        by_plugin = zip((*self._by_spec, *self._by_pod), (*signs, *more), strict=True)
        signed = {plugin.name: sign for plugin, sign in by_plugin if sign is not None}
        return self._sorted_out({**signed, **self._unsigned}, matches, shared=shared)

    def _sorted_out(self, signs: dict[str, Hashable], matches: tuple[int, ...], *, shared: bool) -> PodClass:
        self._made += 1
        return PodClass(
            *self._pipeline(signs),
            id=self._made,
            profile=self._profile,
            signs=signs,
            shared=shared,
            matches=matches,
        )

    def _pipeline(self, signs: dict[str, Hashable]) -> tuple[Any, ...]:
        """What runs for classes with these signs: depends on who has something to say, not on what."""
        plugins = self._profile.plugins
        judging = tuple([name for name, sign in signs.items() if _judges(plugins[name], sign)])
        picky = [plugin for plugin in self._picky if plugin.name in signs]
        silent = tuple([p.name for p in picky if not _pre_filters(p, signs[p.name])])
        key = (tuple(signs), judging, silent)
        found = self._pipelines.get(key)
        if found is None:
            found = self._pipelines[key] = astuple(
                make_pipeline(self._profile, signs.keys(), judging, silent, self._afresh)
            )
        return found


def _forms(profile: Profile) -> list[Filter | Scorer]:
    return [*profile.filters, *(scorer for scorer, _ in profile.scorers)]


def _sign(plugin: Plugin, pod: Pod) -> Hashable:
    """What a plugin reads of a pod; None when it has nothing to say about it."""
    try:
        sign = plugin.sign(pod)
    except BaseException as error:
        raise answers.raised(plugin.name, "sign", error) from error
    return None if sign is None else _read(plugin, sign)


def _read(plugin: Plugin, sign: Hashable) -> Hashable:
    """What goes into the class for a plugin. Answers that are not kept need no more than an interest."""
    try:
        hash(sign)
    except BaseException as error:
        raise answers.raised(plugin.name, "sign", error) from error
    if plugin.scope is not ANYTHING or not _judges(plugin, sign):
        return sign
    return WHOLE_POD


def _judges(plugin: Plugin, sign: Hashable) -> bool:
    return answers.yes(plugin.name, "judges", answers.call(plugin.name, "judges", plugin.judges, sign))


def _pre_filters(plugin: Plugin, sign: Hashable) -> bool:
    answer = answers.call(plugin.name, "pre_filters", plugin.pre_filters, sign)
    return answers.yes(plugin.name, "pre_filters", answer)


class Specs:
    """Equal pod specs made one object, so that what is derived from a spec is derived once."""

    def __init__(self) -> None:
        self._by_content: dict[bytes, PodSpec] = {}
        self._by_content_before: dict[bytes, PodSpec] = {}
        self._by_id: dict[int, PodSpec] = {}
        self._encode = msgspec.json.Encoder(order="deterministic").encode

    def shared(self, pod: Pod) -> Pod:
        spec = pod.spec
        if self._by_id.get(id(spec)) is spec:
            return pod
        content = self._encode(spec)
        known = self._by_content.get(content) or self._meet(content, spec)
        return pod if known is spec else msgspec.structs.replace(pod, spec=known)

    def _meet(self, content: bytes, spec: PodSpec) -> PodSpec:
        if len(self._by_content) >= KNOWN:
            self._by_content, self._by_content_before = {}, self._by_content
            self._by_id.clear()
        known = self._by_content_before.pop(content, None) or spec
        self._by_content[content] = self._by_id[id(known)] = known
        return known
