"""Scheduling classes: pods that are equal in everything placement can see share one evaluation.

A class is the signature of a pod: what each plugin of its profile says it reads of it, and the
selectors that match its labels. Labels nobody selects on make no difference.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import msgspec

from mooring.cluster.interning import Interner
from mooring.cluster.labelsets import LabelSets
from mooring.framework import answers
from mooring.framework.domain import DomainPlugin
from mooring.framework.forms import Filter, Scorer
from mooring.framework.inspection import signs_itself
from mooring.framework.plugin import WHOLE_POD, Plugin
from mooring.framework.profile import Hook, Profile
from mooring.framework.scope import UNSIGNABLE, Scope
from mooring.model.objects import Pod, PodSpec

ANYTHING = Scope.CLUSTER  # looked up once, as it is compared with for every pod
FORGET_ABOVE = 50_000  # distinct specs or classes; then all are learnt anew

Signs = tuple[Hashable, ...]
SpecSigns = tuple[PodSpec, Signs, int, bool]  # also their number, and whether other pods can be alike


class PodClass(msgspec.Struct, eq=False):
    """Pods of one profile that placement cannot tell apart."""

    id: int
    profile: Profile
    signs: dict[str, Hashable]  # by plugin; a plugin that is not here has nothing to say
    shared: bool  # False: this pod is unlike any other
    matches: tuple[int, ...]  # ids of the selectors that match its labels
    filters: tuple[Filter, ...] = ()
    scorers: tuple[tuple[Scorer, int], ...] = ()
    pre_filters: tuple[Hook, ...] = ()
    pre_scores: tuple[Hook, ...] = ()
    kept_pre_scores: tuple[Hook, ...] = ()  # those of plugins that keep their answers
    reserves: tuple[Hook, ...] = ()
    permits: tuple[Hook, ...] = ()
    pre_flights: tuple[Hook, ...] = ()
    patches: tuple[Hook, ...] = ()
    keeps: bool = False  # every plugin that looks at it keeps its answers
    goes_straight_on: bool = False  # nothing runs before nodes are asked
    holds_freely: bool = False  # nobody has a say once it has a place
    met: bool = False  # a pod of it has been placed, or tried, before

    def __post_init__(self) -> None:
        """Sorts out once which plugins concern the class: the others cost its pods nothing."""
        profile, signs = self.profile, self.signs
        judging = {name for name, sign in signs.items() if profile.plugins[name].judges(sign)}
        self.filters = tuple(form for form in profile.filters if form.name in judging)
        self.scorers = tuple((form, weight) for form, weight in profile.scorers if form.name in judging)
        self.pre_filters = self._concerned("pre_filter")
        self.pre_scores = tuple(
            hook for hook in self._concerned("pre_score") if hook.name in judging or hook.name not in signs
        )
        self.kept_pre_scores = tuple(hook for hook in self.pre_scores if hook.plugin.scope.kept)
        self.reserves = self._concerned("reserve")
        self.permits = self._concerned("permit")
        self.pre_flights = self._concerned("pre_bind_pre_flight")
        self.patches = self._concerned("pre_bind_patch")
        self.goes_straight_on = profile.goes_straight_on and not self.pre_filters
        self.holds_freely = not (self.reserves or self.permits or self.pre_flights)
        transformed = profile.at("before_filter") or profile.at("before_score")
        self.keeps = not transformed and all(
            _keeps_answers(profile.plugins[name]) for name in judging if name in profile.looking
        )

    def _concerned(self, point: str) -> tuple[Hook, ...]:
        evaluating = self.profile.evaluating
        return tuple(h for h in self.profile.at(point) if h.name in self.signs or h.name not in evaluating)


def _keeps_answers(plugin: Plugin) -> bool:
    """What a plugin reads of a domain can only be followed where it says so, key by key."""
    if plugin.scope is Scope.DOMAIN:
        return isinstance(plugin, DomainPlugin)
    return plugin.scope is not Scope.CLUSTER


class ProfileClasses:
    """The classes of one profile."""

    def __init__(self, profile: Profile, labelsets: LabelSets) -> None:
        self._profile = profile
        self._labelsets = labelsets
        plugins = [plugin for name, plugin in profile.plugins.items() if name in profile.evaluating]
        self._by_spec = [p for p in plugins if getattr(type(p).sign, "reads_spec_only", False)]
        unsigned = [p for p in plugins if not signs_itself(type(p))]
        self._unsigned = {p.name: WHOLE_POD for p in unsigned}  # nothing to ask them: they read the whole pod
        self._by_pod = [p for p in plugins if p not in self._by_spec and p not in unsigned]
        self._signs_by_pod = [(p, p.sign) for p in self._by_pod]
        self._whole_pod = any(form.hides_identity for form in _forms(profile))
        self._spec_signs: dict[int, SpecSigns] = {}
        self._sign_ids: Interner[Signs] = Interner()  # quicker to compare than what they stand for
        self._classes: dict[Hashable, PodClass] = {}
        self._made = 0

    def of(self, pod: Pod) -> PodClass:
        spec = pod.spec
        known = self._spec_signs.get(id(spec))
        if known is None:
            known = self._meet(pod)
        _, signs, sign_id, shared = known
        more = []
        for plugin, sign in self._signs_by_pod:
            try:
                said = sign(pod)
            except Exception as error:
                raise answers.raised(plugin.name, "sign", error) from error
            if said is not None:
                said = _read(plugin, said)
                shared = shared and said is not UNSIGNABLE
            more.append(said)
        labels = self._labelsets.intern(pod.metadata.namespace, pod.metadata.labels)
        if not shared:
            return self._make(signs, more, labels.matches, shared=False)
        key: Hashable = (sign_id, *more, labels.matches)
        if self._whole_pod:
            annotations = pod.metadata.annotations
            key = (key, id(spec), labels.id, *sorted(annotations.items()))
        found = self._classes.get(key)
        if found is None:
            found = self._classes[key] = self._make(signs, more, labels.matches, shared=True)
        return found

    def _meet(self, pod: Pod) -> SpecSigns:
        """What is read of a spec that was not met before."""
        self._forget()
        spec = pod.spec
        signs = tuple([_sign(plugin, pod) for plugin in self._by_spec])
        shared = not any(sign is UNSIGNABLE for sign in signs)
        known = self._spec_signs[id(spec)] = spec, signs, self._sign_ids.id(signs), shared
        return known

    def _make(
        self, signs: Signs, more: Iterable[Hashable], matches: tuple[int, ...], *, shared: bool
    ) -> PodClass:
        by_plugin = zip((*self._by_spec, *self._by_pod), (*signs, *more), strict=True)
        signed = {plugin.name: sign for plugin, sign in by_plugin if sign is not None}
        interested: dict[str, Hashable] = {**signed, **self._unsigned}
        self._made += 1
        return PodClass(self._made, self._profile, interested, shared, matches)

    def _forget(self) -> None:
        if len(self._spec_signs) > FORGET_ABOVE or len(self._classes) > FORGET_ABOVE:
            self._spec_signs.clear()
            self._classes.clear()
            self._sign_ids = Interner()


def _forms(profile: Profile) -> list[Filter | Scorer]:
    return [*profile.filters, *(scorer for scorer, _ in profile.scorers)]


def _sign(plugin: Plugin, pod: Pod) -> Hashable:
    """What a plugin reads of a pod; None when it has nothing to say about it."""
    try:
        sign = plugin.sign(pod)
    except Exception as error:
        raise answers.raised(plugin.name, "sign", error) from error
    return None if sign is None else _read(plugin, sign)


def _read(plugin: Plugin, sign: Hashable) -> Hashable:
    """What goes into the class for a plugin. Answers that are not kept need no more than an interest."""
    try:
        hash(sign)
    except Exception as error:
        raise answers.raised(plugin.name, "sign", error) from error
    if plugin.scope is not ANYTHING or not plugin.judges(sign):
        return sign
    return WHOLE_POD


class Specs:
    """Equal pod specs made one object, so that what is derived from a spec is derived once."""

    def __init__(self) -> None:
        self._by_content: dict[bytes, PodSpec] = {}
        self._by_id: dict[int, PodSpec] = {}
        self._encode = msgspec.json.Encoder(order="deterministic").encode

    def shared(self, pod: Pod) -> Pod:
        spec = pod.spec
        if self._by_id.get(id(spec)) is spec:
            return pod
        if len(self._by_content) > FORGET_ABOVE:
            self._by_content.clear()
            self._by_id.clear()
        known = self._by_content.setdefault(self._encode(spec), spec)
        self._by_id[id(known)] = known
        return pod if known is spec else msgspec.structs.replace(pod, spec=known)
