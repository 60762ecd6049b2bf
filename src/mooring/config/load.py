"""From the text of a KubeSchedulerConfiguration to a checked SchedulerConfig.

`load_config` raises one ConfigError with every mistake of the file, each at its place, in the order
of the file.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.config.catalogue import Catalogue
from mooring.config.document import Document
from mooring.config.findings import Findings
from mooring.config.older.successors import POLICY, removed_version
from mooring.config.opening import is_policy, open_configuration
from mooring.config.plan import Planner
from mooring.config.profiles import ProfilePlan
from mooring.config.scheduler import (
    API_VERSION,
    DEFAULT_SCHEDULER_NAME,
    KIND,
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    LeaderElection,
    ProfileEntry,
)
from mooring.config.settings import check_settings, zero_means_default
from mooring.config.struct_check import salvage
from mooring.errors import ConfigError, Mistake


class SchedulerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration without mistakes. `remarks`, and where `policies` run, are worth a line in the log."""

    profiles: tuple[ProfilePlan, ...]
    parallelism: int = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
    remarks: tuple[Mistake, ...] = ()
    policies: tuple[str, ...] = ()


def default_config(catalogue: Catalogue) -> SchedulerConfig:
    """What a file that says nothing means."""
    return load_config(f"apiVersion: {API_VERSION}\nkind: {KIND}\n", "defaults", catalogue)


def load_config(text: str, file: str, catalogue: Catalogue) -> SchedulerConfig:
    """The configuration in a text, alone or among other objects; ConfigError with every mistake."""
    opened = open_configuration(text, file)
    document = opened.document
    header = _header_mistakes(document)
    raw, mistakes = salvage(document, (), KubeSchedulerConfiguration)
    findings = Findings(document, [*header, *mistakes])
    raw = _with_defaults(raw or KubeSchedulerConfiguration())
    check_settings(raw, findings)
    planner = Planner(findings, catalogue)
    plans = planner.plans(raw)
    if findings.mistakes:
        raise ConfigError(findings.in_order())
    made = _config(raw, plans, (*opened.remarks, *findings.remarks))
    return msgspec.structs.replace(made, policies=planner.policies)


def _header_mistakes(document: Document) -> list[Mistake]:
    """What is wrong with kind and version. Of another kind, or of a version nobody knows, there is no more to
    say: its fields would all be reported as wrong."""
    data = document.data if isinstance(document.data, dict) else {}
    if is_policy(data):
        raise ConfigError.at(document.place(("kind",)), POLICY)
    said = {"apiVersion": _version(data), "kind": _kind(data)}
    mistakes = [Mistake(document.place((key,)), what) for key, what in said.items() if what]
    if mistakes and (said["kind"] or not removed_version(str(data.get("apiVersion")))):
        raise ConfigError(mistakes)
    return mistakes


def _version(data: dict[str, Any]) -> str:
    version = data.get("apiVersion")
    if version is None:
        return f'required field "apiVersion" is missing; expected "{API_VERSION}".'
    if version == API_VERSION:
        return ""
    return removed_version(str(version)) or f'apiVersion: expected "{API_VERSION}", got "{version}".'


def _kind(data: dict[str, Any]) -> str:
    kind = data.get("kind")
    if kind is None:
        return f'required field "kind" is missing; expected "{KIND}".'
    return "" if kind == KIND else f'kind: expected "{KIND}", got "{kind}".'


def _with_defaults(raw: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    return msgspec.structs.replace(
        raw,
        leader_election=zero_means_default(raw.leader_election),
        client_connection=zero_means_default(raw.client_connection),
        extenders=tuple(map(zero_means_default, raw.extenders)),
        profiles=_named(raw.profiles or (ProfileEntry(),)),
    )


def _named(profiles: tuple[ProfileEntry, ...]) -> tuple[ProfileEntry, ...]:
    """Only a profile that is alone may leave out its name."""
    if len(profiles) > 1 or profiles[0].scheduler_name:
        return profiles
    return (msgspec.structs.replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)


def _config(
    raw: KubeSchedulerConfiguration, plans: tuple[ProfilePlan, ...], remarks: tuple[Mistake, ...]
) -> SchedulerConfig:
    ours = {field.name for field in msgspec.structs.fields(SchedulerConfig)} - {
        "profiles",
        "remarks",
        "policies",
    }
    settings = {name: getattr(raw, name) for name in ours}
    return SchedulerConfig(profiles=plans, remarks=remarks, **settings)
