"""The rules for everything in the file that is not a profile, in kube-scheduler's words."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from mooring.config.document import Path
from mooring.config.findings import Findings
from mooring.config.scheduler import (
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    LeaderElection,
    ManagedResource,
)

MOST_EXTENDER_WEIGHT = 2**62 // 100  # an extender's best score, 10, then counts as the most there may be
JITTER = 1.2  # the leader elector stretches retryPeriod by up to this factor

S = TypeVar("S", bound=msgspec.Struct)

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_PREFIX = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def zero_means_default(part: S) -> S:
    """kube-scheduler takes an empty text, 0 or "0s" in these parts as not given."""
    fields = msgspec.structs.fields(part)
    unset = {f.name: f.default for f in fields if not getattr(part, f.name) and _has_default(f)}
    return msgspec.structs.replace(part, **unset) if unset else part


def _has_default(field: msgspec.structs.FieldInfo) -> bool:
    return field.default is not msgspec.NODEFAULT and not isinstance(field.default, bool)


def check_settings(config: KubeSchedulerConfiguration, findings: Findings) -> None:
    """Notes every broken rule; the parts have their defaults already."""
    if config.parallelism <= 0:
        findings.field(("parallelism",), "should be an integer value greater than zero")
    check_percentage((), config.percentage_of_nodes_to_score, findings)
    if config.pod_initial_backoff_seconds <= 0:
        findings.field(("podInitialBackoffSeconds",), "must be greater than 0")
    if config.pod_max_backoff_seconds < config.pod_initial_backoff_seconds:
        what = "must be greater than or equal to PodInitialBackoffSeconds"
        findings.field(("podMaxBackoffSeconds",), what)
    _check_client(config.client_connection, findings)
    if config.leader_election.leader_elect:  # nobody minds how an election is set up that is never held
        _check_election(config.leader_election, findings)
    _check_extenders(config.extenders, findings)


def check_percentage(path: Path, percentage: int | None, findings: Findings) -> None:
    if percentage is not None and not 0 <= percentage <= 100:
        findings.field((*path, "percentageOfNodesToScore"), "not in valid range [0-100]")


def _check_client(client: ClientConnection, findings: Findings) -> None:
    if client.burst < 0:
        findings.field(("clientConnection", "burst"), "must be non-negative")


def _check_election(election: LeaderElection, findings: Findings) -> None:
    path = ("leaderElection",)
    periods = {
        "leaseDuration": election.lease_duration,
        "renewDeadline": election.renew_deadline,
        "retryPeriod": election.retry_period,
    }
    wrong = [name for name, seconds in periods.items() if seconds <= 0]
    for name in wrong:
        findings.field((*path, name), "must be greater than zero")
    if not wrong and election.lease_duration <= election.renew_deadline:
        findings.field((*path, "leaseDuration"), "must be greater than `RenewDeadline`")
    if not wrong and election.renew_deadline <= JITTER * election.retry_period:
        findings.field((*path, "renewDeadline"), f"must be greater than {JITTER} times retryPeriod")
    if election.resource_lock != "leases":
        findings.field((*path, "resourceLock"), 'resourceLock value must be "leases"')


def _check_extenders(extenders: tuple[Extender, ...], findings: Findings) -> None:
    binders = [index for index, extender in enumerate(extenders) if extender.bind_verb]
    for index in binders[1:]:
        what = f"found {len(binders)} extenders implementing bind, and at most one may"
        findings.field(("extenders", index, "bindVerb"), what)
    seen: set[str] = set()
    for index, extender in enumerate(extenders):
        path = ("extenders", index)
        if extender.prioritize_verb and extender.weight <= 0:
            findings.field((*path, "weight"), "must have a positive weight applied to it")
        elif abs(extender.weight) > MOST_EXTENDER_WEIGHT:
            what = f"must be at most {MOST_EXTENDER_WEIGHT}: scores of more cannot be added up"
            findings.field((*path, "weight"), what)
        for number, resource in enumerate(extender.managed_resources):
            _check_managed((*path, "managedResources", number, "name"), resource, seen, findings)


def _check_managed(path: Path, resource: ManagedResource, seen: set[str], findings: Findings) -> None:
    if not is_extended_resource(resource.name):
        findings.field(path, f'"{resource.name}" is an invalid extended resource name')
    elif resource.name in seen:
        findings.field(path, f'duplicate value "{resource.name}"')
    seen.add(resource.name)


def is_extended_resource(name: str) -> bool:
    """A qualified name with a prefix that is not Kubernetes' own."""
    prefix, slash, rest = name.partition("/")
    if not slash or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    prefix_fits = len(prefix) <= 253 and _PREFIX.fullmatch(prefix)
    return bool(prefix_fits and len(rest) <= 63 and _NAME.fullmatch(rest))
