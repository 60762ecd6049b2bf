"""Counts of pods by the labels of their namespaces stay right when another plugin takes over."""

from __future__ import annotations

import msgspec
import pytest

from mooring.engine.decisions import Bind
from mooring.engine.events import ObjectAdded, ObjectChanged, PodAdded, PodDeleted
from mooring.model.objects import Affinity, Object, ObjectMeta, Pod
from mooring.plugins.catalogue import plans_with
from mooring.testing import cluster, node, pod


def namespace(name: str, **labels: str) -> Object:
    return Object(kind="Namespace", api_version="v1", metadata=ObjectMeta(name=name, labels=labels), data={})


def apart_from_teams(name: str) -> Pod:
    """A pod that must not be beside pods of namespaces of team a."""
    term = {
        "labelSelector": {"matchLabels": {"app": "x"}},
        "namespaceSelector": {"matchLabels": {"team": "a"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    built = pod(name).build()
    spec = msgspec.structs.replace(built.spec, affinity=msgspec.convert(affinity, Affinity))
    return msgspec.structs.replace(built, spec=spec)


@pytest.mark.parametrize("how", ["same", "swapped", "forked"])
def test_counts_follow_namespaces_whoever_asked_for_them(how: str) -> None:
    world = cluster(node("a").label("kubernetes.io/hostname", "a"))
    engine = world.engine
    engine.handle(ObjectAdded(namespace("other")), 0.0)
    world.add(pod("o", "other").label("app", "x").running_on("a"))
    engine.handle(PodAdded(apart_from_teams("first")), 1.0)
    (bind,) = [each for each in engine.schedule(1.0) or () if isinstance(each, Bind)]
    engine.handle(PodDeleted(bind.pod), 1.0)
    plans, found = plans_with([], {}, {})
    if how == "swapped":
        other = found.get("InterPodAffinity").Args(hard_pod_affinity_weight=7)  # type: ignore[call-arg]
        plans = [msgspec.structs.replace(p, args={**p.args, "InterPodAffinity": other}) for p in plans]
        engine.swap(engine.table(plans, found), 2.0)
    elif how == "forked":
        engine = engine.fork()
    engine.handle(ObjectChanged(namespace("other", team="a")), 3.0)
    engine.handle(PodAdded(apart_from_teams("second")), 4.0)
    decided = engine.schedule(4.0) or []
    assert not any(isinstance(each, Bind) for each in decided)
