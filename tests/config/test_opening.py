"""A configuration is found where people keep it, and keeps its places."""

from __future__ import annotations

import json

import pytest

from mooring.config.catalogue import Catalogue
from mooring.config.load import load_config
from mooring.errors import ConfigError
from mooring.plugins.catalogue import make_registry

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
WORDS = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: n}\n"


def told(text: str, catalogue: Catalogue) -> list[str]:
    try:
        config = load_config(text, "f", catalogue)
    except ConfigError as error:
        return [str(mistake) for mistake in error.mistakes]
    return [f"note {remark}" for remark in config.remarks]


def literal(text: str, indicator: str = "|", indent: str = "    ") -> str:
    return f"{MAP}data:\n  c.yaml: {indicator}\n" + "".join(f"{indent}{line}\n" for line in text.splitlines())


IN_MAP = 'note f:%s: the configuration is "c.yaml" of ConfigMap n/m on line 5.'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (literal(HEADER), [IN_MAP % "6:5"]),
        (literal("---\n" + HEADER, "|-"), [IN_MAP % "7:5"]),
        (literal("# by hand\n\n" + HEADER + "paralelism: 3"),
         ['f:10:5: unknown field "paralelism". Did you mean "parallelism"?']),
        (literal(HEADER + "parallelism: {", "|+"), ["f:9:1: not valid YAML"]),
        (literal(json.dumps(WORDS)), [IN_MAP % "6:5"]),
        (literal(HEADER + "parallelism: x\n---\n" + MAP), ['f[c.yaml]:3:14: expected an integer, got "x".']),
        (json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": HEADER + "x: 1"}}),
         ['f[k]:3:1: unknown field "x".']),
        (HEADER + "x: 1\n---\n" + MAP, ['f:3:1: unknown field "x".']),
        (HEADER + "---\n" + MAP + "---\nkind: Service\n",
         ["note f:4:1: not read here: ConfigMap n/m, Service."]),
        ("kind: List\napiVersion: v1\nitems: []\n", ["f:1:1: the List holds no KubeSchedulerConfiguration."]),
        ("kind: List\napiVersion: v1\nitems:\n- apiVersion: kubescheduler.config.k8s.io/v1\n"
         "  kind: KubeSchedulerConfiguration\n  y: 1\n", ['f:6:3: unknown field "y".']),
    ],
)  # fmt: skip
def test_where_it_stands(catalogue: Catalogue, text: str, expected: list[str]) -> None:
    found = told(text, catalogue)
    assert [one[: len(other)] for one, other in zip(found, expected, strict=True)] == expected


def test_what_a_file_says_in_vain_is_told() -> None:
    text = (
        HEADER
        + """profiles:
- plugins:
    filter: {disabled: [{name: EBSLimits}, {name: NodeNames}, {name: NodeDeclaredFeatures}, {name: "*"}]}
    placementScore: {enabled: [{name: NodeResourcesFit}]}
    multiPoint: {enabled: [{name: GangScheduling}]}
  pluginConfig:
  - name: Coscheduling
    args: {permitWaitingTimeSeconds: 9, podGroupBackoffSeconds: 5, kubeConfigPath: /x, controllerWorkers: 1}
"""
    )
    assert [what.split(". ")[0] for what in told(text, make_registry())] == [
        'note f:5:32: disabling "EBSLimits" has no effect: plugin "EBSLimits" was removed from Kubernetes',
        'note f:5:51: disabling "NodeNames" has no effect: there is no such plugin',
        'note f:6:39: enabling "NodeResourcesFit" at placementScore has no effect: '
        "Coscheduling says where groups of pods go.",
        'note f:7:35: enabling "GangScheduling" at multiPoint has no effect: '
        "Coscheduling says where groups of pods go.",
        "note f:10:65: podGroupBackoffSeconds of Coscheduling has no effect: a gang that does not fit is "
        "tried again as podInitialBackoffSeconds and podMaxBackoffSeconds say.",
        "note f:10:84: kubeConfigPath of Coscheduling has no effect: the API server is that of "
        "clientConnection, --kubeconfig and --master.",
    ]


def test_the_waiting_time_of_scheduler_plugins_is_the_timeout() -> None:
    entry = "{name: Coscheduling, args: {permitWaitingTimeSeconds: 9}}"
    text = HEADER + f"profiles: [{{pluginConfig: [{entry}]}}]\n"
    args = load_config(text, "f", make_registry()).profiles[0].args["Coscheduling"]
    assert args.for_gangs().wait_s == 9.0  # type: ignore[attr-defined]


def test_only_groups_plugins_are_passed_over_at_placement_points(catalogue: Catalogue) -> None:
    text = HEADER + "profiles: [{plugins: {placementScore: {enabled: [{name: ImageLocality}]}}}]\n"
    what = 'plugin "ImageLocality" does not extend PlacementScorePlugin plugin.'
    assert told(text, catalogue) == [f"f:3:57: {what}"]
