from __future__ import annotations

import pytest

from mooring.config.feature_gates import GATES, FeatureGates, parse_feature_gates
from mooring.errors import InputError


@pytest.mark.parametrize(
    ("name", "on"),
    [
        ("SchedulerQueueingHints", True),
        ("SchedulerAsyncAPICalls", False),
        ("OpportunisticBatching", True),
        ("GangScheduling", False),
        ("DRADeviceTaintRules", False),
    ],
)
def test_defaults(name: str, on: bool) -> None:
    assert FeatureGates().enabled(name) is on


def test_alpha_gates_are_off() -> None:
    assert not [name for name, gate in GATES.items() if gate.stage == "alpha" and gate.default]


@pytest.mark.parametrize(
    ("text", "name", "on"),
    [
        ("", "NodeDeclaredFeatures", True),
        ("NodeDeclaredFeatures=false", "NodeDeclaredFeatures", False),
        (" VolumeLimitScaling = T , ", "VolumeLimitScaling", True),
        ("GenericWorkload=true,GangScheduling=true", "GangScheduling", True),
        ("SchedulerQueueingHints=true", "SchedulerQueueingHints", True),
        ("AllAlpha=true", "GangScheduling", True),
        ("AllAlpha=true,VolumeLimitScaling=false", "VolumeLimitScaling", False),
        ("AllBeta=false", "OpportunisticBatching", False),
    ],
)
def test_given(text: str, name: str, on: bool) -> None:
    assert parse_feature_gates(text).enabled(name) is on


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ("GangSheduling=true", ['unrecognized feature gate: GangSheduling. Did you mean "GangScheduling"?']),
        ("GangScheduling", ['missing value in "GangScheduling"; write it like "GangScheduling=true".']),
        (
            "VolumeLimitScaling=on",
            ['invalid value of VolumeLimitScaling: expected true or false, got "on".'],
        ),
        (
            "SchedulerQueueingHints=false",
            ["cannot set feature gate SchedulerQueueingHints to false, feature is locked to true."],
        ),
        (
            "GangScheduling=true",
            ["GangScheduling is enabled, but depends on features that are disabled: GenericWorkload."],
        ),
        (
            "Xyzzy=true,VolumeLimitScaling",
            [
                "unrecognized feature gate: Xyzzy.",
                'missing value in "VolumeLimitScaling"; write it like "VolumeLimitScaling=true".',
            ],
        ),
    ],
)
def test_mistakes(text: str, mistakes: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse_feature_gates(text)
    assert [str(mistake) for mistake in caught.value.mistakes] == [f"--feature-gates: {m}" for m in mistakes]
