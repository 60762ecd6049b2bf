"""Configurations of removed versions as `kubescheduler.config.k8s.io/v1`, with a note on all that changes.

Works on plain data: v1alpha1 to v1beta3, and v1 files that still name what was removed. What nothing takes
the place of is left out, and noted.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from mooring.config.durations import Duration, format_duration
from mooring.config.older.converted_plugins import convert_plugins, give_args, turn_off
from mooring.config.older.legacy_policy import from_policy
from mooring.config.older.successors import FIELDS, GROUP
from mooring.config.opening import is_policy, open_configuration
from mooring.config.scheduler import API_VERSION, DEFAULT_SCHEDULER_NAME, KIND

Data = dict[str, Any]
Note = Callable[[str], None]

LIGHTER = ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2")  # versions with other default weights
APART = ("v1alpha1", "v1alpha2", "v1beta1")  # versions in which NodeResourcesFit did not score
WEIGHTS = (
    "by default TaintToleration weighs 3 now, NodeAffinity and InterPodAffinity 2; they weighed 1. "
    "Give them weights at score to keep that."
)


def as_v1(text: str, file: str) -> tuple[str, list[str]]:
    """The configuration in a text as a file of v1, and notes on what became of it."""
    opened = open_configuration(text, file)
    notes = [str(remark) for remark in opened.remarks]
    data = opened.document.data if isinstance(opened.document.data, dict) else {}
    converted: str = yaml.safe_dump(convert(data, notes.append), sort_keys=False, allow_unicode=True)
    return converted, notes


def convert(data: Data, note: Note) -> Data:
    """The same configuration in the words of v1. Mistakes in it stay mistakes."""
    old = from_policy(data, note) if is_policy(data) else copy.deepcopy(data)
    version = str(old.pop("apiVersion", "")).removeprefix(GROUP)
    old.pop("kind", None)
    new: Data = {"apiVersion": API_VERSION, "kind": KIND, **old}
    _profiles_of(new)
    _settings(new, note)
    for profile in _mappings(new.get("profiles")):
        convert_plugins(profile, note, scored_apart=version in APART)
    _election(new.get("leaderElection"), note)
    for extender in _mappings(new.get("extenders")):
        _extender(extender)
    if version in LIGHTER:
        note(WEIGHTS)
    return new


def _profiles_of(new: Data) -> None:
    """What v1alpha1 said once for all is said of a profile."""
    own = {key: new.pop(key) for key in ("schedulerName", "plugins", "pluginConfig") if key in new}
    if own:
        others = list(_mappings(new.get("profiles")))
        new["profiles"] = [{"schedulerName": DEFAULT_SCHEDULER_NAME, **own}, *others]


def _settings(new: Data, note: Note) -> None:
    for key in ("healthzBindAddress", "metricsBindAddress", "featureGates"):
        if new.pop(key, None):
            note(f"{key} is left out. {FIELDS[key]}")
    source = new.pop("algorithmSource", None)
    if isinstance(source, dict):
        _source(new, source, note)
    weight, timeout = new.pop("hardPodAffinitySymmetricWeight", None), new.pop("bindTimeoutSeconds", None)
    if weight is not None:
        for profile in _every_profile(new):
            give_args(profile, "InterPodAffinity", hardPodAffinityWeight=weight)
    if timeout is not None:
        for profile in _every_profile(new):
            give_args(profile, "VolumeBinding", bindTimeoutSeconds=timeout)
    if new.pop("disablePreemption", False):
        for profile in _every_profile(new):
            turn_off(profile, "postFilter", "DefaultPreemption")


def _source(new: Data, source: Data, note: Note) -> None:
    if source.get("provider") == "ClusterAutoscalerProvider":
        for profile in _every_profile(new):
            give_args(profile, "NodeResourcesFit", scoringStrategy={"type": "MostAllocated"})
    elif source.get("policy"):
        note("algorithmSource is left out: convert the Policy that it names, and put it in the profile.")


def _every_profile(new: Data) -> Iterator[Data]:
    """The profiles; the one that goes without saying is said, if there is none."""
    if not new.get("profiles"):
        new["profiles"] = [{"schedulerName": DEFAULT_SCHEDULER_NAME}]
    yield from _mappings(new["profiles"])


def _election(election: Any, note: Note) -> None:
    if not isinstance(election, dict):
        return
    for old, new in (("lockObjectNamespace", "resourceNamespace"), ("lockObjectName", "resourceName")):
        if old in election:
            election.setdefault(new, election.pop(old))
    lock = election.get("resourceLock", "")
    if isinstance(lock, str) and lock.startswith(("endpoints", "configmaps")):
        election["resourceLock"] = "leases"
        note(f'resourceLock is "leases"; it was "{lock}". While both run, they do not see each other.')


def _extender(extender: Data) -> None:
    if "enableHttps" in extender:
        extender.setdefault("enableHTTPS", extender.pop("enableHttps"))
    if type(timeout := extender.get("httpTimeout")) is int:  # nanoseconds, as Go has them
        extender["httpTimeout"] = format_duration(Duration(timeout / 1e9))


def _mappings(items: Any) -> Iterator[Data]:
    yield from (item for item in (items if isinstance(items, list) else ()) if isinstance(item, dict))
