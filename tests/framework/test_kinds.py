"""A lister that would stay empty is an error: of a kind that is not read, or by a wrong name."""

from __future__ import annotations

import pytest

from mooring import Handle, Plugin, PluginArgs, Pod
from mooring.errors import PolicyError, ScopeError
from mooring.framework.api.kinds import OWN_KINDS, check_listed, wrong_reads
from mooring.framework.loading.registry import Registry
from mooring.kube.resources import BY_KIND
from mooring.testing import cluster, node, pod


def test_the_kinds_are_those_that_are_followed() -> None:
    assert frozenset(BY_KIND) == OWN_KINDS


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("Service", "Service"),
        ("Service", "v1/services"),
        ("ReplicaSet", "apps/v1/replicasets"),
        ("ReplicaSet.apps", "apps/v1/replicasets"),
        ("PodGroup", "scheduling.x-k8s.io/v1alpha1/podgroups"),
        ("PodGroup.scheduling.x-k8s.io", "scheduling.x-k8s.io/v1alpha1/podgroups"),
        ("ClusterNetworkTopology", "g.io/v1/clusternetworktopologies"),
        ("NetworkPolicy", "g.io/v1/networkpolicies"),
        ("Gateway", "g.io/v1/gateways"),
        ("Index", "g.io/v1/indices"),
        ("Box", "g.io/v1/boxes"),
        ("PodGroup", "g.io/v1/PodGroup"),
    ],
)
def test_right_names(kind: str, read: str) -> None:
    check_listed(kind, ("Namespace", read))


@pytest.mark.parametrize(
    ("kind", "reads", "what"),
    [
        ("Service", (), '"Service", which it does not read: declare it in `reads`.'),
        ("services", ("Service",), 'not the name of a kind. Did you mean "Service"?'),
        ("service", ("Service",), 'Did you mean "Service"?'),
        ("persistentvolumeclaims", ("PersistentVolumeClaim",), 'Did you mean "PersistentVolumeClaim"?'),
        ("v1/services", ("Service",), 'listers go by the kind of their objects, such as "Service"'),
        ("g.io/v1/things", ("g.io/v1/things",), 'such as "Kind.g.io"'),
        ("things", ("g.io/v1/things",), "which it does not read"),
        ("Thing.h.io", ("g.io/v1/things",), "which it does not read"),
        ("PodGroup", ("g.io/v1/elasticquotas",), "which it does not read"),
        ("Servic", ("Service",), 'Did you mean "Service"?'),
        ("Pod", (), "handle.cluster has the pods on nodes"),
        ("Node", ("Node",), None),
    ],
)
def test_wrong_names(kind: str, reads: tuple[str, ...], what: str | None) -> None:
    if what is None:
        check_listed(kind, reads)
        return
    with pytest.raises(ScopeError) as caught:
        check_listed(kind, reads)
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("reads", "what"),
    [
        ("Service", "it must be a tuple of kinds"),
        (("services",), 'Did you mean "Service"?'),
        (("Servise",), 'Did you mean "Service"?'),
        (("PodGroup",), 'expected a kind such as "Service", or group/version/plural.'),
        (("a/b/c/d",), "group/version/plural"),
        ((7,), "a kind is a word"),
    ],
)
def test_reads_that_nobody_can_follow(reads: object, what: str) -> None:
    (found,) = wrong_reads(reads)
    assert what in found
    plugin = type("P", (Plugin,), {"reads": reads, "pre_enqueue": lambda self, pod: None})
    with pytest.raises(PolicyError):
        Registry().add(plugin)


class AsksWhenMade(Plugin):
    def __init__(self, args: PluginArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self.services = handle.lister("Service")

    def pre_enqueue(self, pod: Pod) -> None:
        return None


class AsksLate(Plugin):
    reads = ("Service",)

    def reserve(self, cycle: object, pod: Pod, node_name: str) -> None:
        if self.handle.profile != "rehearsal":
            list(self.handle.lister("services"))


def test_it_is_found_when_the_policy_is_loaded() -> None:
    with pytest.raises(PolicyError, match="declare it in `reads`"):
        Registry().add(AsksWhenMade)


def test_it_is_found_when_the_policy_runs() -> None:
    world = cluster(node("n"), policies=[AsksLate])
    assert world.schedule(pod("p")) is None
    assert 'Did you mean "Service"?' in world.message(pod("p"))
