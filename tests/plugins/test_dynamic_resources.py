"""Pods with resource claims wait, and say so."""

from __future__ import annotations

import msgspec

from mooring.engine.decisions import Wait
from mooring.engine.engine import Engine
from mooring.engine.events import NodeAdded, PodAdded
from mooring.plugins.catalogue import plans_with
from mooring.testing import cluster, node, pod


def test_a_pod_with_claims_is_not_misplaced() -> None:
    plans, registry = plans_with([], {}, {})
    engine = Engine(plans, registry)
    engine.handle(NodeAdded(node("a").build()), 0.0)
    plain = pod("gpu").build()
    spec = msgspec.structs.replace(plain.spec, resource_claims=({"name": "gpu"},))
    engine.handle(PodAdded(msgspec.structs.replace(plain, spec=spec)), 0.0)
    (wait,) = engine.schedule(0.0) or ()
    assert isinstance(wait, Wait)
    assert wait.message.startswith(
        "0/1 nodes are available: resource claims are not supported by this scheduler yet."
    )
    assert wait.plugins == ("DynamicResources",)


def test_the_message_of_a_pod_without_claims_is_kube_schedulers() -> None:
    big = pod("big").requests(cpu=9)
    world = cluster(node("a").has(cpu=9), pod("there").requests(cpu=1).running_on("a"))
    assert world.schedule(big) is None
    assert world.message(big) == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )
