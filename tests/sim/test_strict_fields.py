"""Fields that the API does not have, and fields that it wants: as `kubectl apply` has it."""

from __future__ import annotations

import io

import pytest
import yaml

from mooring.errors import ManifestError, Mistake
from mooring.sim.manifests.manifests import read_manifests

CONTAINERS = "containers: [{name: c, image: i}]"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\n"
SELECTOR = "selector: {matchLabels: {a: b}}"
TEMPLATE = f"template: {{metadata: {{labels: {{a: b}}}}, spec: {{{CONTAINERS}}}}}"


def mistakes(text: str) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        read_manifests(["-"], stdin=io.StringIO(text))
    return [str(mistake).removeprefix("<stdin>:") for mistake in caught.value.mistakes]


UNKNOWN = {
    "of a pod": (
        f"{POD}spec: {{nodeselector: {{a: b}}, {CONTAINERS}}}\n",
        '4:8: unknown field "spec.nodeselector". Did you mean "nodeSelector"?',
    ),
    "of resources": (
        f"{POD}spec: {{containers: [{{name: c, image: i, resources: {{request: {{cpu: 1}}}}}}]}}\n",
        '4:53: unknown field "spec.containers[0].resources.request". Did you mean "requests"?',
    ),
    "in the wrong place": (
        f"{POD}spec: {{containers: [{{name: c, image: i, nodeSelector: {{}}}}]}}\n",
        '4:41: unknown field "spec.containers[0].nodeSelector". It is a field of PodSpec, not of Container.',
    ),
    "of a template": (
        f"{DEPLOYMENT}spec: {{replica: 3, {SELECTOR}, {TEMPLATE}}}\n",
        '4:8: unknown field "spec.replica". Did you mean "replicas"?',
    ),
    "of metadata": (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a, label: {{}}}}\nspec: {{{CONTAINERS}}}\n",
        '3:21: unknown field "metadata.label". Did you mean "labels"?',
    ),
    "of an affinity": (
        f"{POD}spec: {{affinity: {{nodeAffinity: {{requiredDuringScheduling: {{}}}}}}, {CONTAINERS}}}\n",
        '4:34: unknown field "spec.affinity.nodeAffinity.requiredDuringScheduling". '
        'Did you mean "requiredDuringSchedulingIgnoredDuringExecution"?',
    ),
    "of a node": (
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocateable: {cpu: 4}}\n",
        '4:10: unknown field "status.allocateable". Did you mean "allocatable"?',
    ),
    "of a taint": (
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
        "spec: {taints: [{key: a, effect: NoExecute, val: b}]}\n",
        '4:45: unknown field "spec.taints[0].val". Did you mean "value"?',
    ),
    "of a budget": (
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: p}\nspec: {minAvailble: 1}\n",
        '4:8: unknown field "spec.minAvailble". Did you mean "minAvailable"?',
    ),
    "of a class": (
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: p}\n"
        "value: 1\nglobaldefault: true\n",
        '5:1: unknown field "globaldefault". Did you mean "globalDefault"?',
    ),
    "of a claim's template": (
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s}\nspec:\n"
        f"  {SELECTOR}\n  {TEMPLATE}\n"
        "  volumeClaimTemplates: [{metadata: {name: d}, spec: {storageclass: x}}]\n",
        '7:55: unknown field "spec.volumeClaimTemplates[0].spec.storageclass". '
        'Did you mean "storageClassName"?',
    ),
}


@pytest.mark.parametrize(("text", "expected"), UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_fields(text: str, expected: str) -> None:
    assert mistakes(text) == [expected]


@pytest.mark.parametrize(("text", "expected"), UNKNOWN.values(), ids=UNKNOWN)
def test_leniently_they_are_remarks(text: str, expected: str) -> None:
    remarks: list[Mistake] = []
    assert read_manifests(["-"], stdin=io.StringIO(text), lenient=True, remark=remarks.append)
    assert [str(remark) for remark in remarks] == [f"<stdin>:{expected}"]


MISSING = {
    "containers": (f"{POD}spec: {{}}\n", ["4:7: spec.containers: Required value."]),
    "empty containers": (f"{POD}spec: {{containers: []}}\n", ["4:20: spec.containers: Required value."]),
    "spec": (POD, ["1:1: spec.containers: Required value."]),
    "image and name": (
        f"{POD}spec: {{containers: [{{}}], initContainers: [{{name: i}}]}}\n",
        [
            "4:21: spec.containers[0].name: Required value.",
            "4:21: spec.containers[0].image: Required value.",
            "4:43: spec.initContainers[0].image: Required value.",
        ],
    ),
    "a name of its own": (
        f"{POD}spec: {{containers: [{{name: c, image: i}}, {{name: c, image: i}}]}}\n",
        ['4:49: spec.containers[1].name: Duplicate value: "c".'],
    ),
    "selector": (f"{DEPLOYMENT}spec: {{{TEMPLATE}}}\n", ["4:7: spec.selector: Required value."]),
    "template": (f"{DEPLOYMENT}spec: {{{SELECTOR}}}\n", ["4:7: spec.template: Required value."]),
    "containers of a template": (
        f"{DEPLOYMENT}spec: {{{SELECTOR}, template: {{metadata: {{labels: {{a: b}}}}}}}}\n",
        ["4:51: spec.template.spec.containers: Required value."],
    ),
    "a policy that goes with it": (
        f"{DEPLOYMENT}spec:\n  {SELECTOR}\n  template: {{metadata: {{labels: {{a: b}}}}, "
        f"spec: {{restartPolicy: Never, {CONTAINERS}}}}}\n",
        ['6:64: spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always".'],
    ),
    "containers of a cron job": (
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\n"
        'spec: {schedule: "@daily", jobTemplate: {spec: {template: {spec: {restartPolicy: Never}}}}}\n',
        ["4:66: spec.jobTemplate.spec.template.spec.containers: Required value."],
    ),
    "template of a replication controller": (
        "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: c}\nspec: {replicas: 1}\n",
        ["4:7: spec.template: Required value."],
    ),
    "restart policy of a job": (
        f"{JOB}spec: {{template: {{spec: {{{CONTAINERS}}}}}}}\n",
        ['4:25: spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never".'],
    ),
}


@pytest.mark.parametrize(("text", "expected"), MISSING.values(), ids=MISSING)
def test_missing_fields(text: str, expected: list[str]) -> None:
    assert mistakes(text) == expected
    assert read_manifests(["-"], stdin=io.StringIO(text), lenient=True)


RIGHT = {
    "annotations and labels": f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a, labels: {{nodeselector: b}}, "
    f"annotations: {{request: c}}}}\nspec: {{{CONTAINERS}}}\n",
    "custom resources": "apiVersion: example.com/v1\nkind: Pod\nmetadata: {name: a}\n"
    "spec: {nodeselector: {}}\n",
    "kinds that decide nothing": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {port: 1}\n",
    "status": f"{POD}spec: {{{CONTAINERS}}}\nstatus: {{phas: Running}}\n",
    "older versions' fields": f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a, clusterName: x}}\n"
    f"spec: {{workloadRef: {{name: w, podGroup: g}}, {CONTAINERS}}}\n",
    "an empty effect": f'{POD}spec: {{tolerations: [{{key: a, operator: "", effect: ""}}], {CONTAINERS}}}\n',
    "an empty protocol": f"{POD}spec: {{containers: [{{name: c, image: i, ports: "
    '[{containerPort: 1, protocol: ""}]}]}',
    "free-form maps": f"{POD}spec: {{nodeSelector: {{any: thing}}, overhead: {{cpu: 1}}, {CONTAINERS},\n"
    "  volumes: [{name: v, csi: {driver: d, volumeAttributes: {any: thing}}}, {name: w, flexVolume: "
    "{driver: d, options: {any: thing}}}]}\n",
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_not_refused(text: str) -> None:
    remarks: list[Mistake] = []
    assert read_manifests(["-"], stdin=io.StringIO(text), remark=remarks.append)
    assert not remarks


def test_a_misspelt_group_is_told() -> None:
    text = f"apiVersion: app/v1\nkind: Deployment\nmetadata: {{name: d}}\nspec: {{{SELECTOR}, {TEMPLATE}}}\n"
    assert mistakes(text) == ['1:13: "Deployment" is a kind of "apps/v1", not of "app/v1".']


def test_every_field_of_a_container_is_known() -> None:
    container = yaml.safe_load("""
        name: c
        image: i
        command: [a]
        args: [b]
        workingDir: /
        env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}, resourceFieldRef: {resource: x, divisor: 1}}},
              {name: B, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}]
        envFrom: [{prefix: P, configMapRef: {name: x}}]
        ports: [{name: p, containerPort: 1, hostPort: 2, hostIP: 1.2.3.4, protocol: TCP}]
        resources: {requests: {cpu: 1}, limits: {cpu: 1}, claims: [{name: x, request: y}]}
        resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]
        volumeMounts: [{name: v, mountPath: /x, subPath: y, subPathExpr: z, readOnly: true,
                        mountPropagation: None, recursiveReadOnly: Enabled}]
        volumeDevices: [{name: v, devicePath: /dev/x}]
        livenessProbe: {httpGet: {path: /, port: 1, scheme: HTTP, host: h,
                                  httpHeaders: [{name: a, value: b}]},
                        initialDelaySeconds: 1, timeoutSeconds: 1, periodSeconds: 1, successThreshold: 1,
                        failureThreshold: 1, terminationGracePeriodSeconds: 1}
        readinessProbe: {tcpSocket: {port: 1}}
        startupProbe: {grpc: {port: 1, service: s}}
        lifecycle: {preStop: {exec: {command: [x]}}, postStart: {sleep: {seconds: 1}}, stopSignal: SIGTERM}
        securityContext: {runAsUser: 1, capabilities: {add: [X], drop: [Y]}, privileged: true,
                          seccompProfile: {type: RuntimeDefault}, appArmorProfile: {type: Unconfined}}
        imagePullPolicy: Always
        stdin: true
        stdinOnce: true
        tty: true
        terminationMessagePath: /x
        terminationMessagePolicy: File
    """)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container]}}
    assert read_manifests(["-"], stdin=io.StringIO(yaml.safe_dump(pod)))
