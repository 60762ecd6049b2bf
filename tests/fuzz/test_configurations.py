"""Whatever stands in a configuration or a kubeconfig: it is read, or its mistakes are told at their place."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml

from fuzz.fuzzing import fuzzed
from fuzz.mutation import changed, changed_bytes
from mooring.app.making import make_engine
from mooring.config.load import load_config
from mooring.engine.events import NodeAdded, PodAdded
from mooring.errors import ConfigError
from mooring.kube.access.kubeconfig import load_kubeconfig
from mooring.plugins.catalogue import make_registry
from mooring.testing import node, pod

GOOD = sorted((Path(__file__).parents[1] / "config" / "corpus" / "good").glob("*.yaml"))
KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "x", "cluster": {"server": "https://x:6443/a", "proxy-url": "http://proxy:3128"}}],
    "users": [
        {"name": "x", "user": {"token": "secret", "username": "u", "password": "p"}},
        {
            "name": "e",
            "user": {"exec": {"command": "c", "args": ["a"], "env": [{"name": "n", "value": "v"}]}},
        },
    ],
    "contexts": [
        {"name": "x", "context": {"cluster": "x", "user": "x", "namespace": "n"}},
        {"name": "e", "context": {"cluster": "x", "user": "e"}},
    ],
    "current-context": "x",
}


def spoilt(rng: random.Random, text: str) -> str:
    """The text with something wrong in its values, or in its letters."""
    if rng.random() < 0.7:
        return yaml.safe_dump(changed(rng, yaml.safe_load(text)), sort_keys=False)
    return changed_bytes(rng, text.encode()).decode(errors="replace")


def check_told(error: ConfigError) -> None:
    assert error.mistakes
    assert all(mistake.what for mistake in error.mistakes)


@fuzzed(played=120)
def test_a_configuration_works_or_is_told(rng: random.Random) -> None:
    text, registry = spoilt(rng, rng.choice(GOOD).read_text()), make_registry()
    try:
        config = load_config(text, "scheduler.yaml", registry)
        engine = make_engine(config, registry)
    except ConfigError as error:
        check_told(error)
        return
    engine.handle(NodeAdded(node("a").build()), 0.0)
    for profile in engine.profiles:
        engine.handle(PodAdded(pod(f"of-{profile}").scheduler(profile).build()), 0.0)
        assert engine.schedule(0.0) is not None
    engine.check()


def test_a_kubeconfig_works_or_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    @fuzzed(played=120)
    def play(rng: random.Random) -> None:
        text = spoilt(rng, yaml.safe_dump(KUBECONFIG, sort_keys=False))
        file = tmp_path / "config"
        file.write_text(text, encoding="utf-8")
        try:
            load_kubeconfig(str(file), context=rng.choice(("", "e")), env={})
        except ConfigError as error:
            check_told(error)
            assert "secret" not in str(error)

    play()
