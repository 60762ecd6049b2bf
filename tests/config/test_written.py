"""A configuration that is written and read again is the same."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.config.durations import format_duration, parse_duration
from mooring.config.load import SchedulerConfig, default_config, load_config
from mooring.config.written import HIDDEN, as_yaml, document
from mooring.plugins.catalogue import make_registry

GOOD = sorted((Path(__file__).parent / "corpus" / "good").glob("*.yaml"))


def bare(config: SchedulerConfig) -> SchedulerConfig:
    """Without the places of things in the file, and what was remarked about them."""
    profiles = tuple(msgspec.structs.replace(plan, origins={}) for plan in config.profiles)
    return msgspec.structs.replace(config, profiles=profiles, remarks=())


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_written_and_read_again(path: Path) -> None:
    registry = make_registry(None)
    config = load_config(path.read_text(), path.name, registry)
    again = load_config(as_yaml(config), "written.yaml", registry)
    assert bare(again) == bare(config)
    assert as_yaml(again) == as_yaml(config)


def test_the_default_configuration() -> None:
    registry = make_registry(None)
    config = default_config(registry)
    assert bare(load_config(as_yaml(config), "written.yaml", registry)) == bare(config)


def test_secrets_are_only_in_the_file() -> None:
    text = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- {urlPrefix: "https://x", filterVerb: f, tlsConfig: {keyData: c2VjcmV0, certData: Y2VydA==}}
"""
    config = load_config(text, "f.yaml", make_registry(None))
    assert document(config)["extenders"][0]["tlsConfig"]["keyData"] == HIDDEN
    assert "c2VjcmV0" in as_yaml(config)


@given(st.integers(-(2**53), 2**53))
def test_durations_are_written_exactly(nanoseconds: int) -> None:
    seconds = nanoseconds / 1_000_000_000
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, abs=1e-9, rel=1e-15)
