"""Every way to declare a gang comes down to the same: a minimum, parts, a waiting time, a group."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mooring.kube.decode.decoders import Decoders
from mooring.model.objects import Object, Pod, PodSchedulingGroup, WorkloadReference
from mooring.sim.manifests.manifests import read_manifests
from mooring.workloads.dialects import DIALECTS, declared_by, is_member
from plugins.coscheduling.hand import GANG, Hand, labelled, member, pod, pod_group

KAI, VOLCANO = "scheduling.run.ai/v2alpha2", "scheduling.volcano.sh/v1beta1"
PLUGINS, K8S = "scheduling.x-k8s.io/v1alpha1", "scheduling.k8s.io/v1alpha2"
TOO_FEW = "gang default/g: needs 2 pods; 1 is there, 1 is missing"
K8S_TOO_FEW = "waiting for minCount pods from a gang to appear in scheduling queue"


def kai(name: str, sub: str = "") -> Pod:
    return pod(
        name, annotations={"pod-group-name": "g"}, labels={"kai.scheduler/subgroup-name": sub} if sub else {}
    )


def volcano(name: str, task: str = "") -> Pod:
    notes = {"scheduling.k8s.io/group-name": "g"} | ({"volcano.sh/task-spec": task} if task else {})
    return pod(name, annotations=notes)


def kubernetes(name: str) -> Pod:
    return pod(name, scheduling_group=PodSchedulingGroup(pod_group_name="g"))


def workload_of(name: str, replica: str = "") -> Pod:
    ref = WorkloadReference(name="w", pod_group="g", pod_group_replica_key=replica)
    return pod(name, workload_ref=ref)


def light(name: str) -> Pod:
    prefix = "pod-group.scheduling.sigs.k8s.io/"
    return pod(name, labels={prefix + "name": "g", prefix + "min-available": "2"})


def plugins(name: str) -> Pod:
    return pod(name, labels={"scheduling.x-k8s.io/pod-group": "g"})


def workload(**spec: Any) -> Object:
    return pod_group("w", kind="Workload", version="scheduling.k8s.io/v1alpha1", **spec)


GANG_OF_2 = {"gang": {"minCount": 2}}
WAYS = {
    "annotations": (member, None),
    "light": (light, None),
    "pod group": (labelled, pod_group(minMember=2)),
    "scheduler-plugins": (plugins, pod_group(version=PLUGINS, minMember=2)),
    "kai": (kai, pod_group(version=KAI, minMember=2)),
    "volcano": (volcano, pod_group(version=VOLCANO, minMember=2)),
    "kubernetes": (kubernetes, pod_group(version=K8S, schedulingPolicy=GANG_OF_2)),
    "workload": (workload_of, workload(podGroups=[{"name": "g", "policy": GANG_OF_2}])),
}


@pytest.mark.parametrize("way", WAYS)
def test_two_pods_make_a_gang(way: str) -> None:
    make, found = WAYS[way]
    hand = Hand()
    one, two = make("p1"), make("p2")
    assert is_member(one)
    hand.see(one)
    if found is not None:
        assert hand.gate(one) != ""
        hand.put(found)
    assert hand.gate(one) == (K8S_TOO_FEW if way in ("kubernetes", "workload") else TOO_FEW)
    hand.see(two)
    assert hand.gate(two) == ""
    assert hand.waits(one)
    assert not hand.waits(two)


@pytest.mark.parametrize("way", [way for way, (_, found) in WAYS.items() if found is not None])
def test_the_object_may_come_first_or_late_or_go(way: str) -> None:
    make, found = WAYS[way]
    hand = Hand()
    pods = [make("p1"), make("p2")]
    assert found is not None
    hand.put(found)
    hand.see(*pods)
    assert hand.gate(pods[0]) == ""
    hand.drop(found)
    assert hand.gate(pods[0]) != ""
    hand.activated.clear()
    hand.put(found)
    assert hand.activated == ["p1"]
    assert hand.gate(pods[0]) == ""


def test_a_pod_without_any_of_it() -> None:
    plain = pod("p", labels={"app": "web"}, annotations={"note": "x"})
    assert not is_member(plain)
    assert declared_by(plain) is None
    assert Hand().plugin.sign(plain) is None


def test_names_of_different_ways_do_not_meet() -> None:
    hand = Hand()
    hand.see(kai("a"), volcano("b"), labelled("c"), plugins("d"), kubernetes("e"))
    assert sorted(hand.plugin.gangs.gangs) == [
        "default/g", "k8s:default/g", "kai:default/g", "volcano:default/g", "x-k8s:default/g",
    ]  # fmt: skip


def test_each_sub_group_of_kai_has_its_minimum() -> None:
    hand = Hand()
    hand.put(
        pod_group(
            version=KAI,
            minMember=9,
            subGroups=[
                {"name": "All", "minMember": 7},
                {"name": "Leader", "minMember": 1, "parent": "all"},
                {"name": "workers", "minMember": 2, "parent": "All"},
            ],
        )
    )
    assert [(part.name, part.least) for part in hand.gang("kai:default/g").terms.parts] == [
        ("leader", 1),
        ("workers", 2),
    ]
    workers = [kai(f"w{i}", "workers") for i in range(3)]
    hand.see(*workers)
    assert hand.gate(workers[0]) == "gang default/g: needs 1 leader pod; 0 are there, 1 is missing"
    leader = kai("l", "Leader")
    hand.see(leader)
    assert hand.gate(leader) == ""
    assert [hand.waits(each) for each in (*workers, leader)] == [True, True, True, False]


def test_a_sub_group_that_is_not_there() -> None:
    hand = Hand()
    hand.put(pod_group(version=KAI, subGroups=[{"name": "a", "minMember": 1}]))
    stray, fine = kai("stray", "b"), kai("fine", "a")
    hand.see(stray, fine)
    assert hand.gate(stray) == 'the pod belongs to sub-group "b" of default/g, which has only a'
    assert hand.gate(fine) == ""
    found = hand.plugin.group(fine)
    assert [each.name for each in found.members] == ["fine"]  # type: ignore[union-attr]


def test_a_kai_group_needs_one_at_least() -> None:
    hand = Hand()
    hand.put(pod_group(version=KAI))
    assert hand.gang("kai:default/g").terms.least == 1


def test_tasks_of_volcano_have_minimums_beside_that_of_all() -> None:
    hand = Hand()
    hand.put(pod_group(version=VOLCANO, minMember=4, minTaskMember={"ps": 1, "worker": 2}))
    pods = [volcano(f"w{i}", "worker") for i in range(4)]
    hand.see(*pods)
    assert hand.gate(pods[0]) == "gang default/g: needs 1 ps pod; 0 are there, 1 is missing"
    server = volcano("ps", "ps")
    hand.see(server)
    assert hand.gate(server) == ""
    assert [hand.waits(each) for each in (*pods[:3], server)] == [True, True, True, False]


def test_minimums_of_tasks_that_are_more_than_that_of_all_do_not_count_in_volcano() -> None:
    hand = Hand()
    hand.put(pod_group(version=VOLCANO, minMember=2, minTaskMember={"ps": 1, "worker": 3}))
    terms = hand.gang("volcano:default/g").terms
    assert (terms.least, terms.parts) == (2, ())


def test_basic_pods_wait_for_nobody_but_their_group() -> None:
    hand = Hand()
    first = kubernetes("p")
    hand.see(first)
    assert hand.gate(first) == 'waiting for pods\'s pod group "g" to appear in scheduling queue'
    hand.put(pod_group(version=K8S, schedulingPolicy={"basic": {}}))
    assert hand.activated == ["p"]
    assert hand.gate(first) == ""
    assert hand.plugin.group(first) is None
    assert not hand.waits(first)


def test_a_pod_group_has_the_policy_of_its_template() -> None:
    hand = Hand()
    ref = {"workload": {"workloadName": "w", "podGroupTemplateName": "workers"}}
    hand.put(pod_group(version=K8S, podGroupTemplateRef=ref))
    assert "k8s:default/g" not in hand.plugin.gangs.gangs
    first = kubernetes("p1")
    hand.see(first)
    assert hand.gate(first) != ""
    templates = [{"name": "other"}, {"name": "workers", "schedulingPolicy": GANG_OF_2}]
    hand.put(pod_group("w", kind="Workload", version=K8S, podGroupTemplates=templates))
    assert hand.gang("k8s:default/g").terms.least == 2
    assert hand.gate(first) == K8S_TOO_FEW


def test_replicas_of_a_workload_are_gangs_of_their_own() -> None:
    hand = Hand()
    hand.put(workload(podGroups=[{"name": "g", "policy": GANG_OF_2}]))
    pods = [workload_of("a0", "0"), workload_of("b0", "1"), workload_of("a1", "0")]
    hand.see(*pods)
    assert [hand.gate(each) for each in pods[:2]] == ["", K8S_TOO_FEW]
    assert sorted(hand.plugin.gangs.gangs) == ["workload:default/w/g/0", "workload:default/w/g/1"]


def test_a_workload_that_is_not_there() -> None:
    hand = Hand()
    waiting = workload_of("p")
    hand.see(waiting)
    assert hand.gate(waiting) == 'waiting for pods\'s workload "w" to appear in scheduling queue'


def test_kubernetes_waits_five_minutes() -> None:
    hand = Hand()
    hand.put(pod_group(version=K8S, schedulingPolicy=GANG_OF_2))
    assert hand.gang("k8s:default/g").wait_s == 300.0


def test_the_light_minimum_goes_before_the_annotation() -> None:
    hand = Hand()
    prefix = "pod-group.scheduling.sigs.k8s.io/"
    hand.see(
        pod(
            "p",
            labels={prefix + "name": "g", prefix + "min-available": "2"},
            annotations={GANG + "min-available": "5", prefix + "match-policy": "only-waiting"},
        )
    )
    assert (hand.gang().terms.least, hand.gang().policy.value) == (2, "only-waiting")


def test_declarations_come_through_the_wire_and_through_manifests(tmp_path: Path) -> None:
    meta = {"name": "p", "namespace": "default", "uid": "u", "annotations": {GANG + "name": "g"}}
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "schedulingGroup": {"podGroupName": "g"},
        "workloadRef": {"name": "w", "podGroup": "g", "podGroupReplicaKey": "1"},
    }
    plain = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    (tmp_path / "pod.json").write_text(json.dumps(plain), encoding="utf-8")
    (entry,) = read_manifests([tmp_path / "pod.json"])
    for found in (Decoders().pod(json.dumps(plain).encode()), entry.value):
        assert isinstance(found, Pod)
        assert found.spec.scheduling_group == PodSchedulingGroup(pod_group_name="g")
        assert found.spec.workload_ref == WorkloadReference(
            name="w", pod_group="g", pod_group_replica_key="1"
        )
        assert [dialect.name for dialect in DIALECTS if dialect.declared(found)] == [
            "Koordinator",
            "Kubernetes",
            "Workload",
        ]


KAI_MISTAKES = {
    'spec.subGroups is "{"a": 1}": not a list': {"a": 1},
    'spec.subGroups[0] is "x": not an object': ["x", {"name": "a"}],
    'spec.subGroups[1] is "null": not an object': [{"name": "a"}, None],
    'spec.subGroups[0].name is "3": not a name': [{"name": 3}],
    'spec.subGroups[0].parent is "[]": not a name': [{"name": "a", "parent": []}],
    'spec.subGroups[1].name is "a": the name of another sub-group too': [{"name": "a"}, {"name": "A"}],
    "not one sub-group with a name that is no other's parent": [{"name": "a", "parent": "a"}],
}


@pytest.mark.parametrize(("mistake", "given"), KAI_MISTAKES.items(), ids=KAI_MISTAKES)
def test_sub_groups_of_another_shape_are_told(mistake: str, given: Any) -> None:
    hand = Hand()
    hand.put(pod_group(version=KAI, minMember=1, subGroups=given))
    hand.see(one := kai("p", "a"))
    assert mistake in hand.gate(one)


@pytest.mark.parametrize("spec", [{"minTaskMember": ["w"]}, {"minTaskMember": "w"}])
def test_tasks_of_another_shape_are_told(spec: dict[str, Any]) -> None:
    hand = Hand()
    hand.put(pod_group(version=VOLCANO, minMember=1, **spec))
    hand.see(one := volcano("p"))
    assert "PodGroup default/g spec.minTaskMember is " in hand.gate(one)
    assert hand.gate(one).endswith(": not an object")


def test_a_policy_of_another_shape_is_told() -> None:
    hand = Hand()
    hand.put(pod_group(version=K8S, schedulingPolicy={"gang": [2]}))
    hand.see(one := kubernetes("p"))
    assert hand.gate(one) == 'PodGroup default/g spec.schedulingPolicy.gang is "[2]": not an object'


@pytest.mark.parametrize("index", ["nan", "1.5", "٣", "9" * 5000, "-1", str(2**31), " 1", "0x1"])
def test_an_index_that_is_no_number_is_told(index: str) -> None:
    key = "gang.scheduling.koordinator.sh/network-topology-index"
    hand = Hand()
    hand.see(one := member("p", least=1, annotations={key: index}))
    assert hand.gate(one).startswith(f'annotation {key} is "{index[:10]}')
    hand = Hand()
    hand.see(fine := member("p", least=1, annotations={key: "7"}))
    assert hand.gate(fine) == ""


def test_mistakes_without_end_are_not_all_told() -> None:
    hand = Hand()
    hand.put(pod_group(version=KAI, minMember=1, subGroups=[7] * 20_000))
    hand.see(one := kai("p", "a"))
    assert hand.gate(one).count("not an object") == 16
