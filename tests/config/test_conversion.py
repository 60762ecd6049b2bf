"""Old configurations and Policies become v1: what they said is kept; what cannot be is noted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.config.load import load_config
from mooring.config.older.conversion import as_v1, convert
from mooring.config.written import document
from mooring.errors import ConfigError
from mooring.plugins.catalogue import make_registry

KIND = "KubeSchedulerConfiguration"
CORPUS = Path(__file__).parent / "corpus"


def converted(version: str, **fields: Any) -> tuple[dict[str, Any], list[str]]:
    notes: list[str] = []
    data = {"apiVersion": f"kubescheduler.config.k8s.io/{version}", "kind": KIND, **fields}
    new = convert(data, notes.append)
    load_config(yaml.safe_dump(new), "new.yaml", make_registry())
    return new, notes


def profile(**plugins: Any) -> list[dict[str, Any]]:
    return [{"schedulerName": "p", "plugins": plugins}]


def names(*entries: str) -> list[dict[str, str]]:
    return [{"name": entry} for entry in entries]


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta3", "v1"])
def test_the_version_is_v1(version: str) -> None:
    new, notes = converted(version, profiles=profile(score={"disabled": names("ImageLocality")}))
    assert new == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": KIND,
        "profiles": profile(score={"disabled": names("ImageLocality")}),
    }
    assert [note for note in notes if "weighs 3" in note] == notes
    assert bool(notes) == (version in ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2"))


@pytest.mark.parametrize(
    ("plugin", "strategy"),
    [
        ("NodeResourcesLeastAllocated", "LeastAllocated"),
        ("NodeResourcesMostAllocated", "MostAllocated"),
        ("RequestedToCapacityRatio", "RequestedToCapacityRatio"),
    ],
)
def test_plugins_that_scored_resources_are_a_strategy(plugin: str, strategy: str) -> None:
    given: dict[str, Any] = {"resources": [{"name": "cpu", "weight": 3}]}
    if plugin == "RequestedToCapacityRatio":
        given["shape"] = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    score = {"enabled": [{"name": plugin, "weight": 5}], "disabled": names("NodeResourcesLeastAllocated")}
    old = profile(score=score)
    old[0]["pluginConfig"] = [{"name": plugin, "args": given}]
    new, _ = converted("v1beta1", profiles=old)
    (made,) = new["profiles"]
    assert made["plugins"] == {"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 5}]}}
    ((name, args),) = [(each["name"], each["args"]) for each in made["pluginConfig"]]
    assert name == "NodeResourcesFit"
    assert args["scoringStrategy"]["type"] == strategy
    assert args["scoringStrategy"]["resources"] == given["resources"]
    assert args["scoringStrategy"].get("requestedToCapacityRatio", {}).get("shape") == given.get("shape")


def test_who_scored_no_resources_does_not_now() -> None:
    new, _ = converted("v1beta1", profiles=profile(score={"disabled": names("NodeResourcesLeastAllocated")}))
    assert new["profiles"] == profile(score={"disabled": names("NodeResourcesFit")})


def test_who_disabled_what_did_not_score_any_more_scores_as_before() -> None:
    score = {"disabled": names("NodeResourcesLeastAllocated"), "enabled": names("NodeResourcesFit")}
    new, _ = converted("v1beta2", profiles=profile(score=score))
    assert new["profiles"] == profile(score={"enabled": names("NodeResourcesFit")})


def test_what_was_said_for_all_is_said_of_a_profile() -> None:
    new, _ = converted(
        "v1alpha1",
        schedulerName="mine",
        hardPodAffinitySymmetricWeight=7,
        bindTimeoutSeconds=60,
        disablePreemption=True,
        algorithmSource={"provider": "ClusterAutoscalerProvider"},
        leaderElection={"lockObjectName": "x", "lockObjectNamespace": "y", "resourceLock": "endpoints"},
        healthzBindAddress="",
    )
    plan = load_config(yaml.safe_dump(new), "new.yaml", make_registry()).profiles[0]
    assert plan.scheduler_name == "mine"
    assert plan.args["InterPodAffinity"].hard_pod_affinity_weight == 7  # type: ignore[attr-defined]
    assert plan.args["VolumeBinding"].bind_timeout_seconds == 60  # type: ignore[attr-defined]
    assert "DefaultPreemption" not in [use.name for use in plan.points["postFilter"]]
    assert new["leaderElection"] == {"resourceLock": "leases", "resourceName": "x", "resourceNamespace": "y"}


def test_what_nothing_takes_the_place_of_is_noted() -> None:
    old = profile(
        score={"enabled": names("NodeLabel", "SelectorSpread"), "disabled": names("ServiceAffinity")}
    )
    old[0]["pluginConfig"] = [{"name": "NodeLabel", "args": {"presentLabels": ["a"]}}]
    new, notes = converted("v1beta3", profiles=old, healthzBindAddress="0.0.0.0:1")
    assert new["profiles"] == [{"schedulerName": "p", "plugins": {"score": {}}, "pluginConfig": []}]
    assert [note.split(".")[0] for note in notes] == [
        "healthzBindAddress is left out",
        'plugin "NodeLabel" at score is left out',
        'plugin "SelectorSpread" at score is left out',
        "ServiceAffinity at score: nothing to disable any more",
        'args of plugin "NodeLabel" are left out',
    ]


def test_a_policy_runs_the_plugins_that_it_lists() -> None:
    policy = """{"kind": "Policy", "apiVersion": "v1",
      "predicates": [{"name": "PodFitsHostPorts"}, {"name": "GeneralPredicates"}, {"name": "Mine"}],
      "priorities": [{"name": "MostRequestedPriority", "weight": 4}, {"name": "ImageLocalityPriority"}],
      "extenders": [{"urlPrefix": "http://x", "enableHttps": true, "httpTimeout": 100000000}]}"""
    text, notes = as_v1(policy, "policy.json")
    config = load_config(text, "new.yaml", make_registry())
    points = config.profiles[0].points
    assert [(use.name, use.weight) for use in points["score"]] == [
        ("NodeResourcesFit", 4),
        ("ImageLocality", 1),
    ]
    assert [use.name for use in points["filter"]] == [
        "NodeUnschedulable", "TaintToleration", "NodePorts", "NodeResourcesFit", "NodeName", "NodeAffinity",
    ]  # fmt: skip
    assert config.profiles[0].args["NodeResourcesFit"].scoring_strategy.type == "MostAllocated"  # type: ignore[attr-defined]
    assert (config.extenders[0].http_timeout, config.extenders[0].enable_https) == (0.1, True)
    assert notes == ['predicate "Mine" is left out: no plugin takes its place.']


ODD = [None, 7, "text", [], {}, [None], [[]], {"a": 1}]


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta2"])
@pytest.mark.parametrize(
    "field", ["profiles", "plugins", "pluginConfig", "extenders", "leaderElection", "algorithmSource"]
)
def test_whatever_stands_in_a_field_is_converted_or_left(version: str, field: str) -> None:
    for odd in ODD:
        notes: list[str] = []
        base = {"apiVersion": f"kubescheduler.config.k8s.io/{version}", "kind": KIND}
        convert({**base, field: odd}, notes.append)
        for inner in ("plugins", "pluginConfig"):
            convert({**base, "profiles": [{inner: odd}]}, notes.append)
            convert(
                {**base, "profiles": [{"plugins": {"score": {"enabled": odd, "disabled": odd}}}]},
                notes.append,
            )
        convert(
            {"apiVersion": "v1", "kind": "Policy", "predicates": odd, "priorities": odd, "extenders": odd},
            notes.append,
        )


@pytest.mark.parametrize("file", sorted((CORPUS / "good").glob("*.yaml")), ids=lambda file: file.stem)
def test_what_is_v1_stays_as_it_is(file: Path) -> None:
    registry = make_registry()
    before = load_config(file.read_text(), "f", registry)
    after = load_config(as_v1(file.read_text(), "f")[0], "f", registry)
    assert document(after) == document(before)


def test_a_file_without_a_configuration_is_a_mistake() -> None:
    with pytest.raises(ConfigError):
        as_v1("kind: ConfigMap\napiVersion: v1\n", "f")
