"""Whatever the API server shows, ordinary pods go where they should, and the engine agrees with itself.

Objects come through the decoders of a real watch. Something is wrong in one to three places; the object
appears, changes and goes, alone or among others. In between ordinary pods come: each must be placed.
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.objects import BASES, EXTREMES, PATHS, changed, mutated, resources
from mooring.app.making import make_engine
from mooring.config.load import default_config
from mooring.engine.decisions import Bind, Wait
from mooring.engine.events import (
    Bound,
    Event,
    NodeAdded,
    NodeChanged,
    NodeDeleted,
    ObjectAdded,
    ObjectChanged,
    ObjectDeleted,
    PodAdded,
    PodChanged,
    PodDeleted,
    Tick,
)
from mooring.kube.decode.decoders import Decoders
from mooring.kube.resources import NODES, PODS, Resource
from mooring.plugins.catalogue import make_registry
from mooring.testing.builders import NodeBuilder, PodBuilder
from soaking import EXAMPLES

REGISTRY = make_registry()
CONFIG = default_config(REGISTRY)
CAME = {PODS: (PodAdded, PodChanged, PodDeleted), NODES: (NodeAdded, NodeChanged, NodeDeleted)}
OTHERS = (ObjectAdded, ObjectChanged, ObjectDeleted)


class World:
    """Three ordinary nodes, and whatever comes."""

    def __init__(self) -> None:
        self.engine = make_engine(CONFIG, REGISTRY)
        self.decoders = Decoders()
        self.known: dict[tuple[Resource, str, str], Any] = {}
        self.placed: dict[str, str] = {}
        self.waits: dict[str, Wait] = {}
        self.now = 0.0
        for number in range(3):
            node = NodeBuilder(f"n-{number}").zone(f"z-{number}").has(cpu=16, **{"ex.io/fuzz": 4})
            self._handle(NodeAdded(node.build()))
        self._made = 0

    def show(self, resource: Resource, plain: Any) -> None:
        """As an informer: what cannot be read is passed over."""
        try:
            found = self.decoders.of(resource)(msgspec.Raw(msgspec.json.encode(plain)))
        except Exception:
            return
        meta = found.metadata
        came, was_changed, _ = CAME.get(resource, OTHERS)
        key = (resource, meta.namespace, meta.name)
        self._handle((was_changed if key in self.known else came)(found))
        self.known[key] = found
        self.run()

    def gone(self) -> None:
        """Everything that was shown goes."""
        for (resource, _, _), found in self.known.items():
            self._handle(CAME.get(resource, OTHERS)[2](found))
        self.known.clear()
        self.run()

    def place_an_ordinary_pod(self) -> str | None:
        self._made += 1
        pod = PodBuilder(f"ordinary-{self._made}", "elsewhere").requests(cpu=1, memory="1Gi").build()
        self._handle(PodAdded(pod))
        self.run()
        for _ in range(3):
            self.now += 20.0
            self._handle(Tick())
            self.run()
        where = self.placed.get(pod.key)
        self._handle(PodDeleted(pod.on_node(where) if where else pod))
        return where

    def run(self) -> None:
        while (decisions := self.engine.schedule(self.now)) is not None:
            self._perform(decisions)

    def _handle(self, event: Event) -> None:
        self._perform(self.engine.handle(event, self.now))

    def _perform(self, decisions: Any) -> None:
        for each in decisions:
            if isinstance(each, Bind):
                self.placed[each.pod.key] = each.node
                bound = each.pod.on_node(each.node)
                self._handle(Bound(each.pod, each.node))
                self._handle(PodChanged(bound))
                key = (PODS, bound.namespace, bound.name)
                if key in self.known:
                    self.known[key] = bound
            elif isinstance(each, Wait):
                self.waits[each.pod.key] = each


def survives(*shown: tuple[Resource, Any]) -> None:
    world = World()
    for resource, plain in shown:
        world.show(resource, plain)
        world.engine.check()
        assert world.place_an_ordinary_pod() is not None, world.waits
    world.gone()
    world.engine.check()
    assert world.place_an_ordinary_pod() is not None
    assert world.engine.cluster.nodes.rows.keys() == {"n-0", "n-1", "n-2"}
    assert not world.engine.cluster.pods.by_uid


@pytest.fixture(autouse=True)
def silent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


@pytest.mark.parametrize("resource", BASES, ids=lambda resource: f"{resource.group}/{resource.kind}")
def test_a_right_object_of_each_kind_is_taken_in(resource: Resource) -> None:
    survives((resource, BASES[resource]), (PODS, BASES[PODS]))


def exploring(**more: Any) -> Any:
    quiet = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
    return settings(deadline=None, database=None, suppress_health_check=quiet, **more)


def on_a_node(shown: tuple[Resource, Any], node: str) -> tuple[Resource, Any]:
    resource, plain = shown
    if resource is PODS and node and isinstance(plain.get("spec"), dict):
        return resource, {**plain, "spec": {**plain["spec"], "nodeName": node}}
    return shown


wrong_objects = resources.flatmap(lambda resource: st.tuples(st.just(resource), mutated(resource)))
stories = st.lists(
    st.builds(on_a_node, wrong_objects, st.sampled_from(["", "n-1", "n-fuzz"])), min_size=1, max_size=3
)


@exploring(max_examples=12, derandomize=True)
@given(story=stories)
def test_wrong_objects_cost_themselves(story: list[tuple[Resource, Any]]) -> None:
    survives(*story, (PODS, BASES[PODS]))


@pytest.mark.soak
@exploring(max_examples=EXAMPLES)
@given(story=stories)
def test_wrong_objects_cost_themselves_however_many_come(story: list[tuple[Resource, Any]]) -> None:
    survives(*story, (PODS, BASES[PODS]))


@pytest.mark.soak
@pytest.mark.parametrize("resource", BASES, ids=lambda resource: f"{resource.group}/{resource.kind}")
def test_every_field_with_every_extreme(resource: Resource) -> None:
    """One world for all of a kind: what one leaves behind is met by the next."""
    world = World()
    for way in PATHS[resource]:
        for value in EXTREMES:
            wrong = on_a_node((resource, changed(BASES[resource], way, value)), "n-1")
            try:
                world.show(*wrong)
                world.show(PODS, BASES[PODS])
                assert world.place_an_ordinary_pod() is not None, world.waits
                world.gone()
                world.engine.check()
            except Exception as error:
                raise AssertionError(f"{resource.kind} {way} = {value!r:.100}: {error!r:.300}") from error
