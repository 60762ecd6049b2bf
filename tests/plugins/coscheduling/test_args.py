"""The arguments: Koordinator's names and defaults, and every mistake at its field."""

from __future__ import annotations

import pytest

from mooring.config.load import load_config
from mooring.errors import ConfigError
from mooring.plugins.catalogue import make_registry
from mooring.plugins.coscheduling.args import CoschedulingArgs

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PROFILE = "profiles:\n- pluginConfig:\n  - name: Coscheduling\n    args:\n"


def read(*lines: str) -> CoschedulingArgs:
    text = HEADER + PROFILE + "".join(f"      {line}\n" for line in lines)
    args = load_config(text, "config.yaml", make_registry()).profiles[0].args["Coscheduling"]
    assert isinstance(args, CoschedulingArgs)
    return args


def test_defaults() -> None:
    args = CoschedulingArgs()
    assert (args.default_timeout, args.controller_workers, args.for_gangs().policy.value) == (
        600.0,
        1,
        "once-satisfied",
    )
    assert (args.enable_preemption, args.aware_network_topology) == (True, True)


def test_all_of_koordinators_are_read() -> None:
    args = read(
        "apiVersion: kubescheduler.config.k8s.io/v1",
        "kind: CoschedulingArgs",
        "defaultTimeout: 5m",
        "controllerWorkers: 4",
        "enablePreemption: false",
        "awareNetworkTopology: false",
        "defaultMatchPolicy: only-waiting",
        "skipCheckScheduleCycle: true",
    )
    assert (args.default_timeout, args.for_gangs().policy.value) == (300.0, "only-waiting")
    assert not args.enable_preemption


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("defaultTimeout: -1s", "config.yaml:7:23: "),
        ("defaultTimeout: soon", "config.yaml:7:23: "),
        ("controllerWorkers: 0", "controllerWorkers 0 not in valid range [1, inf)"),
        ("defaultMatchPolicy: only-wating", 'Did you mean "only-waiting"?'),
        ("defaultTimeOut: 1s", 'Did you mean "defaultTimeout"?'),
    ],
)
def test_mistakes_are_told_at_their_field(line: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(line)
    (mistake,) = caught.value.mistakes
    assert mistake.place.startswith("config.yaml:7:")
    assert said in str(mistake)
