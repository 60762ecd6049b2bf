from __future__ import annotations

import pytest

from mooring.model.objects import (
    Affinity,
    Container,
    ContainerPort,
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    ResourceRequirements,
    Taint,
    Toleration,
)
from mooring.sim.world.defaults import default_node, default_spec
from mooring.sim.world.priorities import PriorityClasses
from mooring.sim.world.workloads import PriorityClass


def spec(**fields: object) -> PodSpec:
    return default_spec(PodSpec(**fields), {"app": "web"}, PriorityClasses())  # type: ignore[arg-type]


def container(requests: dict[str, str], limits: dict[str, str], *ports: ContainerPort) -> Container:
    resources = ResourceRequirements(requests=requests, limits=limits)
    return Container(name="c", resources=resources, ports=ports)


def bare(name: str, *, status: NodeStatus | None = None, **fields: object) -> Node:
    meta = ObjectMeta(name=name)
    return Node(metadata=meta, spec=NodeSpec(**fields), status=status or NodeStatus())  # type: ignore[arg-type]


def test_the_scheduler_is_the_default_one() -> None:
    assert spec().scheduler_name == "default-scheduler"
    assert spec(scheduler_name="mine").scheduler_name == "mine"


def test_requests_come_from_limits() -> None:
    [made] = spec(containers=(container({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}),)).containers
    assert made.resources.requests == {"cpu": "1", "memory": "1Gi"}


def test_pod_level_limits_become_requests_where_no_container_asks() -> None:
    made = spec(
        containers=(container({"cpu": "1"}, {}),),
        resources=ResourceRequirements(limits={"cpu": "4", "memory": "2Gi"}),
    )
    assert made.resources is not None
    assert made.resources.requests == {"memory": "2Gi"}


def test_ports_speak_tcp() -> None:
    [made] = spec(containers=(container({}, {}, ContainerPort(container_port=80)),)).containers
    assert made.ports == (ContainerPort(container_port=80, protocol="TCP"),)


def test_on_the_hosts_network_ports_are_the_hosts() -> None:
    port = ContainerPort(container_port=80)
    [made] = spec(host_network=True, containers=(container({}, {}, port),)).containers
    assert made.ports[0].host_port == 80


def test_pods_put_up_with_nodes_in_trouble_for_five_minutes() -> None:
    added = [(t.key, t.effect, t.toleration_seconds) for t in spec().tolerations]
    assert added == [
        ("node.kubernetes.io/not-ready", "NoExecute", 300),
        ("node.kubernetes.io/unreachable", "NoExecute", 300),
    ]


@pytest.mark.parametrize(
    ("toleration", "added"),
    [
        pytest.param(Toleration(operator="Exists"), 0, id="everything"),
        pytest.param(Toleration(key="node.kubernetes.io/not-ready", operator="Exists"), 1, id="one"),
        pytest.param(Toleration(operator="Exists", effect="NoSchedule"), 2, id="another effect"),
    ],
)
def test_tolerations_of_ones_own_count(toleration: Toleration, added: int) -> None:
    assert len(spec(tolerations=(toleration,)).tolerations) == 1 + added


def test_match_label_keys_become_part_of_the_selector() -> None:
    term = PodAffinityTerm(
        topology_key="zone",
        label_selector=LabelSelector(),
        match_label_keys=("app", "absent"),
        mismatch_label_keys=("app",),
    )
    required = PodAffinity(required_during_scheduling_ignored_during_execution=(term,))
    affinity = spec(affinity=Affinity(pod_affinity=required)).affinity
    assert affinity is not None
    assert affinity.pod_affinity is not None
    [made] = affinity.pod_affinity.required_during_scheduling_ignored_during_execution
    assert made.label_selector is not None
    assert made.label_selector.match_expressions == (
        LabelSelectorRequirement(key="app", operator="In", values=("web",)),
        LabelSelectorRequirement(key="app", operator="NotIn", values=("web",)),
    )


def test_allocatable_comes_from_capacity() -> None:
    made = default_node(bare("n", status=NodeStatus(capacity={"cpu": "4", "pods": "20"})))
    assert made.status.allocatable == {"cpu": "4", "pods": "20"}


def test_a_node_takes_110_pods_unless_it_says_otherwise() -> None:
    assert default_node(bare("n")).status.allocatable == {"pods": 110}


def test_the_hostname_label_is_the_name() -> None:
    assert default_node(bare("n")).labels == {"kubernetes.io/hostname": "n"}


def test_a_hostname_label_of_its_own_stays() -> None:
    named = Node(metadata=ObjectMeta(name="n", labels={"kubernetes.io/hostname": "host-7"}))
    assert default_node(named).labels == {"kubernetes.io/hostname": "host-7"}


def test_a_cordoned_node_is_tainted_once() -> None:
    taint = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    assert default_node(bare("n", unschedulable=True)).spec.taints == (taint,)
    assert default_node(bare("n", unschedulable=True, taints=(taint,))).spec.taints == (taint,)


@pytest.mark.parametrize(
    ("kind", "status", "key"),
    [
        ("Ready", "False", "node.kubernetes.io/not-ready"),
        ("Ready", "Unknown", "node.kubernetes.io/unreachable"),
        ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ],
)
def test_a_node_in_trouble_is_tainted(kind: str, status: str, key: str) -> None:
    node_status = NodeStatus(conditions=(NodeCondition(type=kind, status=status),))
    assert [taint.key for taint in default_node(bare("n", status=node_status)).spec.taints] == [key]


def test_a_healthy_node_is_not_tainted() -> None:
    status = NodeStatus(conditions=(NodeCondition(type="Ready", status="True"),))
    assert default_node(bare("n", status=status)).spec.taints == ()


HIGH = PriorityClass(metadata=ObjectMeta(name="high"), value=1000, preemption_policy="Never")
USUAL = PriorityClass(metadata=ObjectMeta(name="usual"), value=5, global_default=True)


@pytest.mark.parametrize(
    ("classes", "given", "expected"),
    [
        pytest.param((), PodSpec(), (0, "", "PreemptLowerPriority"), id="no class at all"),
        pytest.param((HIGH, USUAL), PodSpec(), (5, "usual", "PreemptLowerPriority"), id="the default class"),
        pytest.param(
            (HIGH, USUAL), PodSpec(priority_class_name="high"), (1000, "high", "Never"), id="its own class"
        ),
        pytest.param(
            (HIGH,),
            PodSpec(priority_class_name="high", preemption_policy="PreemptLowerPriority"),
            (1000, "high", "PreemptLowerPriority"),
            id="a policy of its own",
        ),
        pytest.param(
            (USUAL,), PodSpec(priority=7), (7, "", "PreemptLowerPriority"), id="a number of its own"
        ),
        pytest.param(
            (),
            PodSpec(priority_class_name="system-cluster-critical"),
            (2_000_000_000, "system-cluster-critical", "PreemptLowerPriority"),
            id="critical for the cluster",
        ),
        pytest.param(
            (),
            PodSpec(priority_class_name="system-node-critical"),
            (2_000_001_000, "system-node-critical", "PreemptLowerPriority"),
            id="critical for the node",
        ),
    ],
)
def test_priority(classes: tuple[PriorityClass, ...], given: PodSpec, expected: tuple[int, str, str]) -> None:
    made = PriorityClasses(classes).resolve(given)
    assert (made.priority, made.priority_class_name, made.preemption_policy) == expected
