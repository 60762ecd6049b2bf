"""What the API server's admission makes of pods: LimitRange, ResourceQuota, RuntimeClass."""

from __future__ import annotations

import pytest

from mooring.errors import ManifestError
from mooring.model.objects import Pod
from mooring.sim.simulation import Simulation

from .conftest import read
from .first_fit import FirstFit

NODE = "{apiVersion: v1, kind: Node, metadata: {name: n}, status: {allocatable: {cpu: 64, memory: 64Gi}}}"


def ran(*documents: str) -> Simulation:
    """A run of documents on one large node."""
    simulation = Simulation(FirstFit(), read("\n---\n".join((NODE, *documents))))
    simulation.run()
    return simulation


def limit_range(item: str) -> str:
    return f"{{apiVersion: v1, kind: LimitRange, metadata: {{name: l}}, spec: {{limits: [{item}]}}}}"


def quota(hard: str, rest: str = "", name: str = "q") -> str:
    spec = f"{{hard: {{{hard}}}{rest}}}"
    return f"{{apiVersion: v1, kind: ResourceQuota, metadata: {{name: {name}}}, spec: {spec}}}"


def pod(name: str, resources: str = "", spec: str = "") -> str:
    container = f"{{name: c, image: i, resources: {{{resources}}}}}"
    return (
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, "
        f"spec: {{containers: [{container}]{', ' + spec if spec else ''}}}}}"
    )


def deployment(replicas: int, resources: str = "", annotations: str = "") -> str:
    return (
        f"{{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: web, annotations: {{{annotations}}}}}, "
        f"spec: {{replicas: {replicas}, "
        f"template: {{spec: {{containers: [{{name: c, resources: {{{resources}}}}}]}}}}}}}}"
    )


def resources_of(made: Pod) -> tuple[dict[str, object], dict[str, object]]:
    resources = made.spec.containers[0].resources
    return dict(resources.requests), dict(resources.limits)


DEFAULTS = {
    "both": ("default: {cpu: 2}, defaultRequest: {cpu: 1}", ({"cpu": 1}, {"cpu": 2})),
    "requests follow limits": ("default: {cpu: 2}", ({"cpu": 2}, {"cpu": 2})),
    "limits follow the maximum": ("max: {cpu: 4}", ({"cpu": 4}, {"cpu": 4})),
    "requests follow the minimum": ("min: {cpu: 100m}", ({"cpu": "100m"}, {})),
}


@pytest.mark.parametrize(("item", "expected"), DEFAULTS.values(), ids=DEFAULTS)
def test_defaults_of_containers(item: str, expected: tuple[dict[str, object], dict[str, object]]) -> None:
    world = ran(limit_range(f"{{type: Container, {item}}}"), pod("a")).world
    assert resources_of(world.pods["default/a"]) == expected


def test_what_a_container_says_stays() -> None:
    item = "{type: Container, default: {cpu: 2, memory: 1Gi}, defaultRequest: {cpu: 1}}"
    world = ran(limit_range(item), pod("a", "requests: {cpu: 500m}")).world
    assert resources_of(world.pods["default/a"]) == (
        {"cpu": "500m", "memory": "1Gi"},
        {"cpu": 2, "memory": "1Gi"},
    )


REFUSED = {
    "too little": (
        limit_range("{type: Container, min: {cpu: 200m}}"),
        "requests: {cpu: 100m}",
        "minimum cpu usage per Container is 200m, but request is 100m",
    ),
    "too much": (
        limit_range("{type: Container, max: {memory: 1Gi}}"),
        "limits: {memory: 1536Mi}",
        "maximum memory usage per Container is 1Gi, but limit is 1536Mi",
    ),
    "no limit": (
        limit_range("{type: Pod, max: {memory: 1Gi}}"),
        "requests: {memory: 1Mi}",
        "maximum memory usage per Pod is 1Gi.  No limit is specified",
    ),
    "limit and request too far apart": (
        limit_range("{type: Container, maxLimitRequestRatio: {cpu: 2}}"),
        "requests: {cpu: 1}, limits: {cpu: 3}",
        "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
    ),
    "several": (
        limit_range("{type: Container, min: {cpu: 1, memory: 1Gi}}"),
        "requests: {cpu: 500m, memory: 512Mi}",
        "[minimum cpu usage per Container is 1, but request is 500m, "
        "minimum memory usage per Container is 1Gi, but request is 512Mi]",
    ),
    "over quota": (
        quota("requests.cpu: 1, pods: 5, limits.memory: 1Gi"),
        "requests: {cpu: 1500m}, limits: {memory: 2Gi}",
        "exceeded quota: q, requested: limits.memory=2Gi,requests.cpu=1500m, "
        "used: limits.memory=0,requests.cpu=0, limited: limits.memory=1Gi,requests.cpu=1",
    ),
    "unsaid": (
        quota("requests.cpu: 1, limits.memory: 1Gi"),
        "",
        "failed quota: q: must specify limits.memory for: c; requests.cpu for: c",
    ),
    "an extended resource": (
        quota("requests.example.com/gpu: 1"),
        "limits: {example.com/gpu: 2}",
        "exceeded quota: q, requested: requests.example.com/gpu=2, used: requests.example.com/gpu=0, "
        "limited: requests.example.com/gpu=1",
    ),
    "none at all": (
        quota("count/pods: 0"),
        "",
        "exceeded quota: q, requested: count/pods=1, used: count/pods=0, limited: count/pods=0",
    ),
}


@pytest.mark.parametrize(("policy", "resources", "words"), REFUSED.values(), ids=REFUSED)
def test_pods_are_refused_in_the_api_servers_words(policy: str, resources: str, words: str) -> None:
    simulation = ran(policy, pod("a", resources))
    expected = f'pods "a" is forbidden: {words}'
    assert simulation.result().refused == {"default/a": expected}
    assert not simulation.world.pods
    [event] = simulation.world.events
    assert (event.reason, event.message) == ("FailedCreate", expected)


def test_a_default_limit_below_a_request_makes_a_pod_invalid() -> None:
    simulation = ran(limit_range("{type: Container, default: {cpu: 1}}"), pod("a", "requests: {cpu: 2}"))
    assert simulation.result().refused == {
        "default/a": 'Pod "a" is invalid: spec.containers[0].resources.requests: Invalid value: "2": '
        "must be less than or equal to cpu limit of 1"
    }


def test_controllers_try_again_when_there_is_room() -> None:
    simulation = ran(quota("pods: 2"), deployment(5, annotations="sim.mooring.io/runs-for: 10s"))
    result = simulation.result()
    assert len(result.placements) == 5
    assert not result.refused
    assert result.summary.end_time_s == 30.0
    failed = [event for event in simulation.world.events if event.reason == "FailedCreate"]
    assert failed[0].kind == "ReplicaSet"
    assert failed[0].message.startswith('Error creating: pods "web-')
    assert failed[0].message.endswith(
        '" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'
    )


def test_pods_that_never_may_come_are_told() -> None:
    result = ran(quota("requests.cpu: 3"), deployment(5, "requests: {cpu: 1}")).result()
    assert len(result.placements) == 3
    assert len(result.refused) == 2
    assert result.summary.pods == 3


def test_a_quota_that_goes_makes_room() -> None:
    simulation = ran(quota("pods: 1"), deployment(3))
    assert len(simulation.world.pods) == 1
    simulation.world.patch("ResourceQuota", "default/q", {"spec": {"hard": {"pods": 2}}})
    assert len(simulation.world.pods) == 2
    simulation.world.delete_object("ResourceQuota", "default/q")
    assert len(simulation.world.pods) == 3
    assert not simulation.world.refused


SCOPES = {
    "terminating": ("scopes: [Terminating]", "activeDeadlineSeconds: 60", ""),
    "not terminating": ("scopes: [NotTerminating]", "", "activeDeadlineSeconds: 60"),
    "priority": (
        "scopeSelector: {matchExpressions: "
        "[{scopeName: PriorityClass, operator: In, values: [system-node-critical]}]}",
        "priorityClassName: system-node-critical",
        "",
    ),
    "any priority": ("scopes: [PriorityClass]", "priorityClassName: system-node-critical", ""),
    "no priority": (
        "scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: DoesNotExist}]}",
        "",
        "priorityClassName: system-node-critical",
    ),
    "elsewhere": (
        "scopes: [CrossNamespacePodAffinity]",
        "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "[{topologyKey: a, namespaces: [b]}]}}",
        "",
    ),
}


@pytest.mark.parametrize(("scope", "inside", "outside"), SCOPES.values(), ids=SCOPES)
def test_scopes(scope: str, inside: str, outside: str) -> None:
    result = ran(quota("pods: 0", f", {scope}"), pod("in", spec=inside), pod("out", spec=outside)).result()
    assert list(result.refused) == ["default/in"]


def test_best_effort() -> None:
    scoped = quota("pods: 0", ", scopes: [BestEffort]"), quota("pods: 0", ", scopes: [NotBestEffort]")
    pods = pod("best"), pod("burst", "requests: {cpu: 1}")
    assert [list(ran(each, *pods).result().refused) for each in scoped] == [
        ["default/best"],
        ["default/burst"],
    ]


def test_pods_of_a_running_cluster_count_but_are_not_refused() -> None:
    live = pod("live", "requests: {cpu: 2}", "nodeName: n").replace("name: live", "name: live, uid: u")
    result = ran(quota("requests.cpu: 1"), live, pod("new", "requests: {cpu: 1}")).result()
    assert list(result.refused) == ["default/new"]
    assert "used: requests.cpu=2" in result.refused["default/new"]


RUNTIME = """{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, handler: kata,
  overhead: {podFixed: {cpu: 250m, memory: 120Mi}},
  scheduling: {nodeSelector: {kata: "true"}, tolerations: [{key: kata, operator: Exists}]}}"""


def test_a_runtime_class_brings_overhead_and_nodes() -> None:
    spec = ran(RUNTIME, pod("a", spec="runtimeClassName: kata")).world.pods["default/a"].spec
    assert spec.overhead == {"cpu": "250m", "memory": "120Mi"}
    assert spec.node_selector == {"kata": "true"}
    assert any(toleration.key == "kata" for toleration in spec.tolerations)
    assert spec.request.cpu_milli == 250


REJECTED = {
    "unknown": ("runtimeClassName: gvisor", 'pod rejected: RuntimeClass "gvisor" not found'),
    "other overhead": (
        "runtimeClassName: kata, overhead: {cpu: 1}",
        "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ),
    "overhead without a class": (
        "overhead: {cpu: 1}",
        "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
    ),
    "other nodes": (
        'runtimeClassName: kata, nodeSelector: {kata: "false"}',
        "conflict: runtimeClass.scheduling.nodeSelector[kata] = true; pod.spec.nodeSelector[kata] = false",
    ),
}


@pytest.mark.parametrize(("spec", "words"), REJECTED.values(), ids=REJECTED)
def test_runtime_classes_refuse(spec: str, words: str) -> None:
    assert ran(RUNTIME, pod("a", spec=spec)).result().refused == {
        "default/a": f'pods "a" is forbidden: {words}'
    }


def test_without_any_runtime_class_none_is_looked_for() -> None:
    assert ran(pod("a", spec="runtimeClassName: nvidia")).world.pods["default/a"].spec.node_name == "n"


def test_old_labels_follow_the_stable_ones() -> None:
    labels = "kubernetes.io/os: linux, kubernetes.io/arch: arm64, beta.kubernetes.io/arch: amd64"
    node = f"{{apiVersion: v1, kind: Node, metadata: {{name: m, labels: {{{labels}}}}}}}"
    found = ran(node).world.nodes["m"].labels
    assert (found["beta.kubernetes.io/os"], found["beta.kubernetes.io/arch"]) == ("linux", "arm64")


def test_names_of_the_stateful_set_controller() -> None:
    text = "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {template: {spec: {}}}}"
    [event] = ran(quota("pods: 0"), text).world.events
    assert event.message.startswith(
        'create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden:'
    )


WRONG = {
    "quota": (quota("pods: many"), "spec.hard.pods"),
    "scope": (quota("pods: 1", ", scopes: [BestEfort]"), 'Did you mean "BestEffort"'),
    "limit": (limit_range("{type: Contaner}"), 'Did you mean "Container"'),
    "limits": (limit_range("{type: Pod, max: {cpu: x}}"), "spec.limits[0].max.cpu"),
    "runtime class": (RUNTIME.replace("250m", "some"), "overhead.podFixed.cpu"),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG)
def test_mistakes(text: str, words: str) -> None:
    with pytest.raises(ManifestError) as caught:
        read(text)
    assert words in str(caught.value)
