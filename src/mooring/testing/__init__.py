"""What policy authors import in their own tests: builders, a small world, the conformance check.

from mooring.testing import cluster, node, pod

def test_taint_keeps_pod_away():
    world = cluster(node("gpu-1").taint("gpu"), node("plain-1"))
    assert world.schedule(pod("web")) == "plain-1"
"""

from mooring.testing.builders import NodeBuilder, PodBuilder, node, pod
from mooring.testing.conformance import check_conformance
from mooring.testing.world import World, cluster

__all__ = ["NodeBuilder", "PodBuilder", "World", "check_conformance", "cluster", "node", "pod"]
