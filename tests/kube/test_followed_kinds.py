"""Which kinds a scheduler follows."""

from __future__ import annotations

from mooring.engine.engine import Engine
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import Action, Interest
from mooring.framework.api.plugin import Plugin
from mooring.kube.watch.followed_kinds import ANYTHING, kinds_of, kinds_read
from mooring.model.objects import Pod
from mooring.plugins.catalogue import plans_with

STORAGE = {
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "VolumeAttachment",
}


def engine_with(*policies: type[Plugin]) -> Engine:
    plans, registry = plans_with(policies, {}, {})
    return Engine(plans, registry)


GANGS = {
    "scheduling.sigs.k8s.io/v1alpha1/podgroups",
    "scheduling.x-k8s.io/v1alpha1/podgroups",
    "scheduling.run.ai/v2alpha2/podgroups",
    "scheduling.volcano.sh/v1beta1/podgroups",
    "scheduling.k8s.io/v1alpha2/podgroups",
    "scheduling.k8s.io/v1alpha2/workloads",
    "scheduling.k8s.io/v1alpha1/workloads",
    "scheduling.koordinator.sh/v1alpha1/clusternetworktopologies",
    "kai.scheduler/v1alpha1/topologies",
    "topology.volcano.sh/v1alpha1/hypernodes",
}


def test_the_default_plugins_read_these() -> None:
    assert kinds_read(engine_with()) == STORAGE | GANGS | {
        "Pod",
        "Node",
        "Namespace",
        "Service",
        "ReplicaSet",
        "ReplicationController",
        "StatefulSet",
        "PodDisruptionBudget",
    }


class Gangs(Plugin):
    reads = ("scheduling.x-k8s.io/v1alpha1/podgroups", "ResourceClaim")

    def pre_enqueue(self, pod: Pod) -> None: ...

    def events(self) -> list[Interest]:
        return [Interest("queues.v1.example.com", Action.ADD), Interest("PriorityClass", Action.ALL)]


class AnyEvent(Plugin):
    def permit(self, cycle: Cycle, pod: Pod, node_name: str) -> None: ...


class Scorer(Plugin):
    def score(self, cycle: Cycle, pod: Pod, node: object) -> int:
        return 0


def made(plugin: type[Plugin]) -> Plugin:
    return plugin(plugin.Args(), None)  # type: ignore[arg-type]


def test_a_policy_says_what_it_reads_and_waits_for() -> None:
    assert kinds_of([made(Gangs)]) == {
        "scheduling.x-k8s.io/v1alpha1/podgroups",
        "ResourceClaim",
        "example.com/v1/queues",
        "PriorityClass",
    }


def test_a_policy_that_waits_for_anything_is_told_of_what_kube_scheduler_tells() -> None:
    assert kinds_of([made(AnyEvent)]) == set(ANYTHING)


def test_a_policy_that_rejects_nothing_waits_for_nothing() -> None:
    assert kinds_of([made(Scorer)]) == set()


def test_what_a_lister_was_asked_for_is_followed() -> None:
    engine = engine_with()
    engine.objects.of("ConfigMap")
    engine.objects.of("Gang")  # nobody can tell where to find it: `reads` says so
    assert kinds_read(engine) - kinds_read(engine_with()) == {"ConfigMap"}
