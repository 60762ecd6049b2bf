"""However long the lists are that one object holds, deciding costs what the list costs and what the nodes
cost, never one times the other or itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from counted_calls import calls
from mooring.engine.decisions import Decision
from mooring.engine.engine import Engine
from mooring.engine.events import NodeAdded, NodeChanged, ObjectAdded, PodAdded
from mooring.kube.decode.decoders import Decoders
from mooring.kube.resources import POD_DISRUPTION_BUDGETS, Resource
from mooring.plugins.catalogue import plans_with

READ = Decoders()
NOW = 1767225601.0
HOST = "kubernetes.io/hostname"
VOLCANO = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
MORE = 2.6  # times the calls for twice the list: what else is called may be anything, but is called once

Spec = dict[str, Any]


def node(name: str, **labels: str) -> Any:
    room = {"cpu": "10", "memory": "10Gi", "pods": "110"}
    meta = {"name": name, "uid": name, "labels": {HOST: name, "zone": f"z{len(name)}", **labels}}
    return READ.node(json.dumps({"metadata": meta, "spec": {}, "status": {"allocatable": room}}).encode())


def pod(name: str, spec: Spec, **meta: Any) -> Any:
    more = {"name": name, "namespace": "default", "uid": name, **meta}
    containers = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    whole = {"schedulerName": "default-scheduler", **containers, **spec}
    return READ.pod(json.dumps({"metadata": more, "spec": whole, "status": {}}).encode())


def cluster(nodes: int) -> Engine:
    engine = Engine(*plans_with((), {}, {}))
    for number in range(nodes):
        engine.handle(NodeAdded(node(f"n{number}")), NOW)
    return engine


def scheduled(engine: Engine) -> list[Decision]:
    decisions: list[Decision] = []
    while (made := engine.schedule(NOW)) is not None:
        decisions += made
    return decisions


def affinity(kind: str, strength: str, terms: Any) -> Spec:
    return {"affinity": {kind: {f"{strength}DuringSchedulingIgnoredDuringExecution": terms}}}


def expressions(count: int, key: Callable[[int], str], operator: str, values: list[str]) -> list[Spec]:
    return [{"key": key(number), "operator": operator, "values": values} for number in range(count)]


def terms(count: int, key: Callable[[int], str], operator: str, *values: str) -> Spec:
    some = [{"matchExpressions": [each]} for each in expressions(count, key, operator, list(values))]
    return affinity("nodeAffinity", "required", {"nodeSelectorTerms": some})


def preferred(count: int) -> Spec:
    some = expressions(count, lambda _: HOST, "NotIn", ["n1"])
    return affinity(
        "nodeAffinity", "preferred", [{"weight": 1, "preference": {"matchExpressions": [e]}} for e in some]
    )


def spread(count: int, when: str, key: Callable[[int], str]) -> Spec:
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": key(number),
                "whenUnsatisfiable": when,
                "labelSelector": {"matchLabels": {"a": str(number)}},
            }
            for number in range(count)
        ]
    }


def pod_terms(kind: str, count: int, key: Callable[[int], str]) -> Spec:
    some = [
        {"topologyKey": key(number), "labelSelector": {"matchLabels": {"a": str(number)}}}
        for number in range(count)
    ]
    return affinity(kind, "required", some)


def one_selector(count: int) -> Spec:
    selector = {"matchExpressions": expressions(count, lambda n: f"k{n}", "In", ["a"])}
    return affinity("podAntiAffinity", "required", [{"topologyKey": HOST, "labelSelector": selector}])


def distinct(number: int) -> str:
    return f"k{number}"


def hosts(number: int) -> str:
    return HOST


PODS: dict[str, Callable[[int], Spec]] = {
    "terms that nobody meets": lambda n: terms(n, distinct, "In", "a"),
    "terms about hosts": lambda n: terms(n, hosts, "In", "a"),
    "terms that need numbers": lambda n: terms(n, hosts, "Gt", "7"),
    "terms against all hosts": lambda n: terms(n, hosts, "DoesNotExist"),
    "one term": lambda n: affinity(
        "nodeAffinity",
        "required",
        {"nodeSelectorTerms": [{"matchExpressions": expressions(n, hosts, "NotIn", ["n1"])}]},
    ),
    "preferred terms": preferred,
    "node selector": lambda n: {"nodeSelector": {distinct(number): "a" for number in range(n)}},
    "soft constraints": lambda n: spread(n, "ScheduleAnyway", distinct),
    "hard constraints": lambda n: spread(n, "DoNotSchedule", distinct),
    "affinity": lambda n: pod_terms("podAffinity", n, lambda _: "zone"),
    "anti-affinity": lambda n: pod_terms("podAntiAffinity", n, distinct),
    "one selector": one_selector,
    "tolerations": lambda n: {"tolerations": [{"key": distinct(i), "operator": "Exists"} for i in range(n)]},
    "resources": lambda n: {
        "containers": [{"name": "c", "resources": {"requests": {f"x.io/r{i}": "1" for i in range(n)}}}]
    },
}


@pytest.mark.parametrize("spec", PODS.values(), ids=PODS)
def test_a_cycle_costs_what_the_list_of_the_pod_costs(spec: Callable[[int], Spec]) -> None:
    def cost(count: int, nodes: int) -> int:
        engine = cluster(nodes)
        engine.handle(PodAdded(pod("p", spec(count))), NOW)
        return calls(lambda: scheduled(engine))

    cost(1, 1)  # whatever is done once in a process
    few = cost(150, 10)
    assert cost(300, 10) < MORE * few
    assert cost(150, 40) < 2 * few + 30 * 150


@pytest.mark.parametrize("spec", [PODS["terms that nobody meets"], PODS["terms that need numbers"]])
def test_a_node_that_changes_costs_what_one_node_costs(spec: Callable[[int], Spec]) -> None:
    def cost(nodes: int) -> int:
        engine = cluster(nodes)
        engine.handle(PodAdded(pod("p", spec(300))), NOW)
        scheduled(engine)
        return calls(lambda: engine.handle(NodeChanged(node("n0", other="a")), NOW))

    assert cost(80) < 1.5 * cost(20) + 1000


def test_a_pod_of_a_gang_costs_the_same_however_many_parts_it_has() -> None:
    def cost(parts: int) -> int:
        engine = cluster(3)
        minimums = {f"task-{number}": 1 for number in range(parts)}
        group = {
            "kind": "PodGroup",
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "metadata": {"name": "g", "namespace": "default", "uid": "g"},
            "spec": {"minMember": parts, "minTaskMember": minimums},
        }
        read = READ.of(VOLCANO, whole=True)
        engine.handle(ObjectAdded(read(json.dumps(group).encode())), NOW)

        def come(number: int) -> None:
            said = {"scheduling.k8s.io/group-name": "g", "volcano.sh/task-spec": f"task-{number}"}
            engine.handle(PodAdded(pod(f"p{number}", {}, annotations=said)), NOW)

        come(0)
        return calls(lambda: [come(number) for number in range(1, 6)])

    cost(6)
    assert cost(2000) <= 1.1 * cost(20)


def budget(name: str, wanted: list[Spec]) -> Any:
    whole = {
        "kind": "PodDisruptionBudget",
        "apiVersion": "policy/v1",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"selector": {"matchExpressions": wanted}},
        "status": {"disruptionsAllowed": 1},
    }
    return READ.of(POD_DISRUPTION_BUDGETS)(json.dumps(whole).encode())


def test_a_pod_costs_nothing_for_expressions_of_budgets_that_came_before_it() -> None:
    def cost(count: int) -> int:
        engine = cluster(2)
        for name in ("a", "b", "c"):
            engine.handle(ObjectAdded(budget(name, expressions(count, distinct, "NotIn", [name]))), NOW)
        placed = [pod(f"p{n}", {"nodeName": "n0"}, labels={"app": "x"}) for n in range(3)]
        return calls(lambda: [engine.handle(PodAdded(each), NOW) for each in placed])

    cost(2)
    assert cost(1000) < cost(10) + 3 * 1000 * 2  # their keys are put together once


def test_preemption_costs_what_pods_and_budgets_cost() -> None:
    def cost(budgets: int) -> int:
        engine = cluster(12)
        for number in range(budgets):
            engine.handle(
                ObjectAdded(budget(f"b{number}", expressions(1, distinct, "NotIn", [f"v{number}"]))), NOW
            )
        for number in range(120):
            where = {"nodeName": f"n{number % 12}"}
            engine.handle(PodAdded(pod(f"v{number}", where, labels={"app": "x"})), NOW)
        big = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "5"}}}], "priority": 10}
        engine.handle(PodAdded(pod("big", big)), NOW)
        return calls(lambda: scheduled(engine))

    cost(2)
    assert cost(240) < cost(20) + 240 * 20
