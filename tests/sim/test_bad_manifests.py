"""Every mistake with its place and its exact words."""

from __future__ import annotations

import pytest

from mooring.errors import ManifestError, QuantityError
from mooring.model.quantity import parse_quantity

from .conftest import read

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\n"


def no_quantity(text: str) -> str:
    """The words of the quantity parser, as a sentence."""
    with pytest.raises(QuantityError) as caught:
        parse_quantity(text)
    words = str(caught.value)
    return words if words.endswith("?") else f"{words}."


def pod(spec: str) -> str:
    return f"{POD}spec:\n  {spec}\n"


def annotated(annotation: str) -> str:
    return f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    {annotation}\n"


def priority_class(name: str, rest: str) -> str:
    return f"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: {name}}}\n{rest}\n"


CASES = {
    "no kind": ("apiVersion: v1\nmetadata: {name: a}\n", ["1:1: kind is missing."]),
    "no apiVersion": ("kind: Pod\nmetadata: {name: a}\n", ["1:1: apiVersion is missing."]),
    "no name": ("apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {}\n", ["4:3: metadata.name is missing."]),
    "no metadata": ("apiVersion: v1\nkind: Pod\n", ["1:1: metadata.name is missing."]),
    "metadata is a list": ("apiVersion: v1\nkind: Pod\nmetadata: []\n", ["3:11: metadata is not a mapping."]),
    "name is a number": (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: 7}\n",
        ["3:18: metadata.name 7 is not text; put it in quotes."],
    ),
    "name in capitals": (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: Web_1}\n",
        [
            '3:18: metadata.name "Web_1" is not a name: lower case letters, digits, "-" and ".", '
            "up to 253 of them."
        ],
    ),
    "not an object": (
        "just text\n",
        ["1:1: expected a Kubernetes object: a mapping with apiVersion, kind and metadata."],
    ),
    "misspelt kind": (
        "apiVersion: apps/v1\nkind: Deploymnt\nmetadata: {name: a}\n",
        ['2:7: "apps/v1" has no kind "Deploymnt". Did you mean "Deployment"?'],
    ),
    "kind of another version": (
        "apiVersion: v1\nkind: Deployment\nmetadata: {name: a}\n",
        ['1:13: "Deployment" is a kind of "apps/v1", not of "v1".'],
    ),
    "wrong type": (pod("containers: 3"), ["5:15: expected a list, got 3."]),
    "label is a number": (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {x: 1}}\n",
        ["3:33: expected a string, got 1. Put it in quotes."],
    ),
    "bad request": (
        pod('containers: [{name: c, resources: {requests: {cpu: "12 apples"}}}]'),
        [f"5:54: spec.containers[0].resources.requests.cpu: {no_quantity('12 apples')}"],
    ),
    "negative request": (
        pod("initContainers: [{name: c, resources: {requests: {memory: -1Gi}}}]"),
        ['5:61: spec.initContainers[0].resources.requests.memory "-1Gi" is negative.'],
    ),
    "request above limit": (
        pod("containers: [{name: c, resources: {requests: {cpu: 1500m}, limits: {cpu: 1}}}]"),
        ['5:54: spec.containers[0].resources.requests.cpu "1500m" is above the limit "1".'],
    ),
    "bad overhead": (
        pod("overhead: {cpu: lots}"),
        [f"5:19: spec.overhead.cpu: {no_quantity('lots')}"],
    ),
    "bad allocatable and capacity": (
        f"{NODE}status:\n  capacity: {{nvidia.com/gpu: four}}\n  allocatable: {{memory: 8GB}}\n",
        [
            f'5:30: status.capacity["nvidia.com/gpu"]: {no_quantity("four")}',
            f"6:25: status.allocatable.memory: {no_quantity('8GB')}",
        ],
    ),
    "bad duration": (
        annotated("sim.mooring.io/runs-for: soon"),
        [
            '6:30: metadata.annotations["sim.mooring.io/runs-for"]: invalid duration "soon"; '
            'write it like "15s" or "1m30s".'
        ],
    ),
    "negative duration": (
        annotated("sim.mooring.io/arrives-at: -5s"),
        ['6:32: metadata.annotations["sim.mooring.io/arrives-at"] "-5s" is negative.'],
    ),
    "unknown annotation": (
        annotated("sim.mooring.io/run-for: 5s"),
        ['6:29: no annotation is named "sim.mooring.io/run-for". Did you mean "sim.mooring.io/runs-for"?'],
    ),
    "a pod that leaves": (
        annotated("sim.mooring.io/leaves-at: 5s"),
        ['6:31: metadata.annotations["sim.mooring.io/leaves-at"] has a meaning on a Node only.'],
    ),
    "leaves before it arrives": (
        "apiVersion: v1\nkind: Node\nmetadata:\n  name: n\n  annotations:\n"
        "    sim.mooring.io/arrives-at: 9s\n    sim.mooring.io/leaves-at: 5s\n",
        ['7:31: metadata.annotations["sim.mooring.io/leaves-at"] "5s" is not after the node arrives.'],
    ),
    "bad label operator": (
        f"{DEPLOYMENT}spec:\n  selector:\n    matchExpressions: [{{key: a, operator: Is, values: [b]}}]\n",
        ['6:43: spec.selector.matchExpressions[0].operator "Is" is none of In, NotIn, Exists, DoesNotExist.'],
    ),
    "bad node operator": (
        pod(
            "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exist}]}]}}}"
        ),
        [
            "5:137: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            'nodeSelectorTerms[0].matchExpressions[0].operator "Exist" is none of In, NotIn, Exists, '
            'DoesNotExist, Gt, Lt. Did you mean "Exists"?'
        ],
    ),
    "operator without values": (
        f"{DEPLOYMENT}spec:\n  selector:\n    matchExpressions:\n    - {{key: a, operator: In}}\n",
        ["7:7: spec.selector.matchExpressions[0].values is empty: operator In needs values."],
    ),
    "operator with values": (
        f"{DEPLOYMENT}spec:\n  selector:\n    matchExpressions:\n"
        "    - {key: a, operator: Exists, values: [b]}\n",
        ["7:42: spec.selector.matchExpressions[0].values is not empty: operator Exists takes no values."],
    ),
    "bad toleration": (
        pod("tolerations: [{key: a, operator: Equals}, {value: b}]"),
        [
            '5:36: spec.tolerations[0].operator "Equals" is none of Equal, Exists, Lt, Gt. '
            'Did you mean "Equal"?',
            "5:45: spec.tolerations[1] has no key: only operator Exists may leave it out.",
        ],
    ),
    "bad taint": (
        f"{NODE}spec:\n  taints: [{{key: a, effect: NoScheduling}}, {{key: b}}]\n",
        [
            '5:29: spec.taints[0].effect "NoScheduling" is none of NoSchedule, PreferNoSchedule, NoExecute. '
            'Did you mean "NoSchedule"?',
            "5:44: spec.taints[1].effect is missing.",
        ],
    ),
    "bad spread": (
        pod("topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: Never}]"),
        [
            "5:41: spec.topologySpreadConstraints[0].maxSkew 0 is not above 0.",
            '5:82: spec.topologySpreadConstraints[0].whenUnsatisfiable "Never" is none of '
            "DoNotSchedule, ScheduleAnyway.",
        ],
    ),
    "negative replicas": (
        f"{DEPLOYMENT}spec: {{replicas: -1}}\n",
        ["4:18: spec.replicas -1 is negative."],
    ),
    "negative parallelism": (
        f"{JOB}spec: {{parallelism: -2, completions: -1}}\n",
        ["4:21: spec.parallelism -2 is negative.", "4:38: spec.completions -1 is negative."],
    ),
    "indexed without completions": (
        f"{JOB}spec: {{completionMode: Indexed}}\n",
        ["4:24: spec.completions is missing: an Indexed Job needs it."],
    ),
    "selector of other labels": (
        f"{DEPLOYMENT}spec:\n  selector: {{matchLabels: {{app: a}}}}\n"
        "  template: {metadata: {labels: {app: b}}}\n",
        ['5:33: spec.selector.matchLabels.app "a" is not among the labels of spec.template.'],
    ),
    "same object twice and differently": (
        f"{POD}---\n{POD}spec: {{hostNetwork: true}}\n",
        ["7:18: Pod default/a is given twice and differently; the first is at <stdin>:3:18."],
    ),
    "unknown priority class": (
        priority_class("high", "value: 9") + "---\n" + pod("priorityClassName: hihg"),
        ['10:22: spec.priorityClassName "hihg" names no PriorityClass. Did you mean "high"?'],
    ),
    "unknown priority class of a template": (
        f"{JOB}spec:\n  template: {{spec: {{priorityClassName: system-node-critcal}}}}\n",
        [
            '5:40: spec.template.spec.priorityClassName "system-node-critcal" names no PriorityClass. '
            'Did you mean "system-node-critical"?'
        ],
    ),
    "priority that is not the class's": (
        priority_class("high", "value: 9") + "---\n" + pod("priorityClassName: high\n  priority: 8"),
        ['11:13: spec.priority 8 is not the 9 of PriorityClass "high".'],
    ),
    "two default classes": (
        priority_class("a", "value: 1\nglobalDefault: true")
        + "---\n"
        + priority_class("b", "value: 2\nglobalDefault: true"),
        ["11:16: only one PriorityClass may be the default, and a at <stdin>:3:18 is."],
    ),
    "class above the system's": (
        priority_class("a", "value: 1000000001"),
        ["4:8: value 1000000001 is above 1000000000, the highest a PriorityClass may have."],
    ),
    "class without a value": (priority_class("a", ""), ['1:1: required field "value" is missing.']),
    "bound to no node": (
        f"{NODE}---\n" + pod("nodeName: n1"),
        ['9:13: spec.nodeName "n1" names no Node. Did you mean "n"?'],
    ),
    "element of a list": (
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n"
        "  spec: {overhead: {cpu: x}}\n",
        [f"7:26: spec.overhead.cpu: {no_quantity('x')}"],
    ),
    "many in one object": (
        pod("preemptionPolicy: none\n  overhead: {cpu: -1}\n  tolerations: 1"),
        [
            '5:21: spec.preemptionPolicy "none" is none of PreemptLowerPriority, Never.',
            "6:19: spec.overhead.cpu -1 is negative.",
            "7:16: expected a list, got 1.",
        ],
    ),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_mistake(text: str, expected: list[str]) -> None:
    with pytest.raises(ManifestError) as caught:
        read(text)
    assert [str(mistake) for mistake in caught.value.mistakes] == [f"<stdin>:{each}" for each in expected]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(pod("containers: []"), id="no containers"),
        pytest.param(pod("priorityClassName: gone\n  priority: 5"), id="priority already resolved"),
        pytest.param(pod("priorityClassName: system-node-critical"), id="built-in class"),
        pytest.param("{apiVersion: v1, kind: Pod, metadata: {generateName: a-}}", id="generateName"),
        pytest.param(f"{DEPLOYMENT}spec: {{replicas: 0}}\n", id="no replicas"),
        pytest.param(
            "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n"
            "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: other}}",
            id="same name, other namespace",
        ),
    ],
)
def test_no_mistake(text: str) -> None:
    assert read(text)
