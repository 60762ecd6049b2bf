"""Figures about the process rather than about scheduling, under the names every Kubernetes component uses."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version

from mooring.config.feature_gates import GATES, OTHERS, WHOLE_STAGES, FeatureGates
from mooring.framework.metrics.families import Family, Kind
from mooring.web.health import Health
from mooring.web.reading import Reading

KUBERNETES = ("1", "36")
STAGES = {"alpha": "ALPHA", "beta": "BETA", "GA": ""}
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}  # as Go calls them

MASTER = Family(
    "leader_election_master_status", Kind.GAUGE, "Whether this replica leads: 1, or 0.", ("name",),
    stability="ALPHA",
)  # fmt: skip
VIEW_AGE = Family(
    "mooring_view_age_seconds", Kind.GAUGE,
    "For how long what is decided on has not been followed; scheduling pauses when that is too long.",
    ("resource",),
)  # fmt: skip
HEALTHCHECK = Family(
    "kubernetes_healthcheck", Kind.GAUGE, "The result of a health check: 1, or 0.", ("name", "type"),
    stability="STABLE",
)  # fmt: skip
BUILD_INFO = Family(
    "kubernetes_build_info", Kind.GAUGE, "Always 1: its labels say which version this is, and what runs it.",
    (
        "build_date", "compiler", "git_commit", "git_tree_state", "git_version", "go_version",
        "major", "minor", "platform",
    ),
    stability="ALPHA",
)  # fmt: skip
FEATURE_ENABLED = Family(
    "kubernetes_feature_enabled", Kind.GAUGE, "Whether a feature gate is on: 1, or 0; and its stage.",
    ("name", "stage"), stability="BETA",
)  # fmt: skip


def master(lease: str, leads: bool) -> Reading:
    return Reading(MASTER, [((lease,), float(leads))])


def view_age(ages: Mapping[str, float]) -> Reading:
    return Reading(VIEW_AGE, [((kind,), age) for kind, age in ages.items()])


def health_checks(health: Health) -> Reading:
    series = [
        ((check.name, path), float(not check.failing()))
        for path, checks in health.paths().items()
        for check in checks
    ]
    return Reading(HEALTHCHECK, list(series))


def build_info() -> Reading:
    major, minor = KUBERNETES
    machine = platform.machine()
    labels = {
        "compiler": platform.python_implementation().lower(),
        "git_version": f"v{major}.{minor}.0+mooring.{version('mooring')}",
        "go_version": f"python{platform.python_version()}",
        "major": major,
        "minor": minor,
        "platform": f"{platform.system().lower()}/{MACHINES.get(machine, machine)}",
    }
    return Reading(BUILD_INFO, [(tuple(labels.get(name, "") for name in BUILD_INFO.labels), 1.0)])


def features(gates: FeatureGates) -> Reading:
    known = {**GATES, **OTHERS}
    series = [((name, STAGES[gate.stage]), float(gates.enabled(name))) for name, gate in known.items()]
    wholes: Iterable[tuple[str, str]] = WHOLE_STAGES.items()
    series += [((name, STAGES[stage]), float(gates.given.get(name, False))) for name, stage in wholes]
    return Reading(FEATURE_ENABLED, sorted(series))
