from __future__ import annotations

import pytest

from mooring.config.catalogue import Catalogue
from mooring.config.load import load_config
from mooring.errors import ConfigError

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PLUGINS = "profiles:\n- schedulerName: p\n  plugins:\n"
CONFIG = "profiles:\n- schedulerName: p\n  pluginConfig:\n"


def mistakes(catalogue: Catalogue, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(text, "s.yaml", catalogue)
    return [str(mistake).removeprefix("s.yaml:") for mistake in caught.value.mistakes]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", ["1:1: the file is empty; expected a KubeSchedulerConfiguration."], id="empty"),
        pytest.param(
            HEADER + "---\na: 1\n",
            ["4:1: expected one KubeSchedulerConfiguration, got a second document."],
            id="two documents",
        ),
        pytest.param(
            "parallelism: x\n",
            [
                '1:1: required field "apiVersion" is missing; expected "kubescheduler.config.k8s.io/v1".',
                '1:1: required field "kind" is missing; expected "KubeSchedulerConfiguration".',
            ],
            id="no header",
        ),
        pytest.param(
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\nx: 1\n",
            [
                '1:13: apiVersion "kubescheduler.config.k8s.io/v1beta3" was removed in Kubernetes 1.29;'
                ' convert the file to "kubescheduler.config.k8s.io/v1": `mooring check --convert` writes it.',
                '3:1: unknown field "x".',
            ],
            id="v1beta3",
        ),
        pytest.param(
            "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\n",
            [
                '1:13: apiVersion "kubescheduler.config.k8s.io/v1beta2" was removed in Kubernetes 1.28;'
                ' convert the file to "kubescheduler.config.k8s.io/v1": `mooring check --convert` writes it.'
            ],
            id="v1beta2",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Pod\n",
            [
                '1:13: apiVersion: expected "kubescheduler.config.k8s.io/v1", got "v1".',
                '2:7: kind: expected "KubeSchedulerConfiguration", got "Pod".',
            ],
            id="another kind",
        ),
        pytest.param(
            HEADER + "a:\n\tb: 1\n",
            ["4:1: not valid YAML: a tab cannot indent; use spaces."],
            id="syntax",
        ),
    ],
)
def test_file(catalogue: Catalogue, text: str, expected: list[str]) -> None:
    assert mistakes(catalogue, text) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "paralelism: 3\n",
            ['3:1: unknown field "paralelism". Did you mean "parallelism"?'],
            id="unknown field",
        ),
        pytest.param("parallelism: many\n", ['3:14: expected an integer, got "many".'], id="wrong type"),
        pytest.param(
            "parallelism: 0\n",
            ["3:14: parallelism: should be an integer value greater than zero."],
            id="parallelism",
        ),
        pytest.param(
            "percentageOfNodesToScore: 101\n",
            ["3:27: percentageOfNodesToScore: not in valid range [0-100]."],
            id="percentage",
        ),
        pytest.param(
            "profiles: [{percentageOfNodesToScore: -1}]\n",
            ["3:39: percentageOfNodesToScore: not in valid range [0-100]."],
            id="percentage of a profile",
        ),
        pytest.param(
            "podInitialBackoffSeconds: 0\n",
            ["3:27: podInitialBackoffSeconds: must be greater than 0."],
            id="initial backoff",
        ),
        pytest.param(
            "podMaxBackoffSeconds: 0\n",
            ["3:23: podMaxBackoffSeconds: must be greater than or equal to PodInitialBackoffSeconds."],
            id="max backoff",
        ),
        pytest.param(
            "leaderElection:\n  leaseDuration: 5s\n",
            ["4:18: leaseDuration: must be greater than `RenewDeadline`."],
            id="lease shorter than deadline",
        ),
        pytest.param(
            "leaderElection:\n  renewDeadline: 2400ms\n",
            ["4:18: renewDeadline: must be greater than 1.2 times retryPeriod."],
            id="deadline too near the retry period",
        ),
        pytest.param(
            "leaderElection: {retryPeriod: -2s, renewDeadline: 3 weeks}\n",
            [
                "3:31: retryPeriod: must be greater than zero.",
                '3:51: unknown unit " weeks" in duration "3 weeks"; the units are ns, us, ms, s, m and h.',
            ],
            id="durations",
        ),
        pytest.param(
            "leaderElection: {resourceLock: endpoints}\n",
            ['3:32: resourceLock: resourceLock value must be "leases".'],
            id="lock",
        ),
        pytest.param("clientConnection: {burst: -1}\n", ["3:27: burst: must be non-negative."], id="burst"),
        pytest.param(
            "extenders:\n- {prioritizeVerb: p}\n- {bindVerb: b}\n- {bindVerb: b}\n",
            [
                "4:3: weight: must have a positive weight applied to it.",
                "6:14: bindVerb: found 2 extenders implementing bind, and at most one may.",
            ],
            id="extenders",
        ),
        pytest.param(
            "extenders:\n- {prioritizeVerb: p, weight: 9223372036854775808}\n"
            "- {prioritizeVerb: p, weight: 46116860184273879}\n"
            "- {filterVerb: f, weight: -9223372036854775809}\n",
            [
                "4:31: weight: must be at most 46116860184273879: scores of more cannot be added up.",
                "6:27: weight: must be at most 46116860184273879: scores of more cannot be added up.",
            ],
            id="heavy extenders",
        ),
        pytest.param(
            "extenders:\n- managedResources:\n  - name: a.io/b\n  - name: a.io/b\n  - name: cpu\n  - {}\n"
            "  - name: kubernetes.io/x\n  - name: A.io/b\n",
            [
                '6:11: name: duplicate value "a.io/b".',
                '7:11: name: "cpu" is an invalid extended resource name.',
                '8:5: name: "" is an invalid extended resource name.',
                '9:11: name: "kubernetes.io/x" is an invalid extended resource name.',
                '10:11: name: "A.io/b" is an invalid extended resource name.',
            ],
            id="managed resources",
        ),
        pytest.param(
            "profiles:\n- schedulerName: a\n- schedulerName: a\n- {}\n",
            [
                '5:18: schedulerName: duplicate value "a".',
                "6:3: schedulerName: required when there are several profiles.",
            ],
            id="profile names",
        ),
        pytest.param(
            "profiles:\n- schedulerName: a\n- schedulerName: b\n  plugins:\n    queueSort:\n"
            "      enabled: [{name: FifoSort}]\n      disabled: [{name: '*'}]\n",
            [
                '8:7: queueSort: must be the same for all profiles: "a" sorts with PrioritySort,'
                ' "b" with FifoSort.'
            ],
            id="queue sort differs",
        ),
        pytest.param(
            "profiles:\n- &a\n  schedulerName: a\n  plugins: {queueSort: {enabled: [{name: FifoSort}],"
            " disabled: [{name: '*'}]}}\n- <<: *a\n  schedulerName: b\n"
            "  pluginConfig:\n  - name: FifoSort\n    args: {patience: 1m}\n",
            [
                "11:22: queueSort: must be the same for all profiles: patience of FifoSort is 30s"
                ' in "a" and 1m0s in "b".'
            ],
            id="queue sort differs in its args",
        ),
        pytest.param(
            "profiles:\n- &a\n  schedulerName: a\n  plugins: {queueSort: {enabled: [{name: FifoSort}],"
            " disabled: [{name: '*'}]}}\n  pluginConfig: [{name: FifoSort, args: {patience: 1m}}]\n"
            "- <<: *a\n  schedulerName: b\n  pluginConfig: []\n",
            [
                "7:52: queueSort: must be the same for all profiles: patience of FifoSort is 1m0s"
                ' in "a" and 30s in "b".'
            ],
            id="queue sort differs in args that only the first gives",
        ),
        pytest.param(
            PLUGINS + "    score:\n      enabled:\n      - name: NodeResorcesFit\n",
            ['8:15: no plugin named "NodeResorcesFit". Did you mean "NodeResourcesFit"?'],
            id="unknown plugin",
        ),
        pytest.param(
            PLUGINS + "    multiPoint: {enabled: [{name: Xyzzy}, {weight: 3}]}\n",
            ['6:35: no plugin named "Xyzzy".', "6:43: a plugin needs a name."],
            id="unknown and nameless",
        ),
        pytest.param(
            PLUGINS + "    multiPoint: {enabled: [NodeName, {nme: NodeName}]}\n",
            [
                '6:28: expected a mapping, got "NodeName".',
                "6:38: a plugin needs a name.",
                '6:39: unknown field "nme". Did you mean "name"?',
            ],
            id="entries that are none",
        ),
        pytest.param(
            PLUGINS + "    filter: {enabled: [{name: EBSLimits}]}\n",
            ['6:31: plugin "EBSLimits" was removed from Kubernetes. NodeVolumeLimits does its work.'],
            id="removed plugin",
        ),
        pytest.param(
            PLUGINS + "    filter: {enabled: [{name: ImageLocality}]}\n",
            ['6:31: plugin "ImageLocality" does not extend FilterPlugin plugin.'],
            id="does not extend",
        ),
        pytest.param(
            PLUGINS + "    multiPoint: {enabled: [{name: NodeName}, {name: NodeName}]}\n",
            ['6:53: plugin "NodeName" already registered as "FilterPlugin".'],
            id="twice at multiPoint",
        ),
        pytest.param(
            PLUGINS + "    score: {enabled: [{name: ImageLocality}, {name: ImageLocality, weight: 2}]}\n",
            ['6:53: plugin "ImageLocality" already registered as "ScorePlugin".'],
            id="twice at score",
        ),
        pytest.param(
            PLUGINS + "    score: {enabled: [{name: ImageLocality, weight: -1}]}\n",
            ["6:53: expected at least 0, got -1."],
            id="negative weight",
        ),
        pytest.param(
            PLUGINS + "    multiPoint:\n      disabled: [{name: '*'}]\n      enabled: [{name: NodeName}]\n",
            [
                '6:5: only one queue sort plugin required for profile with scheduler name "p", but got 0.',
                '6:5: at least one bind plugin is needed for profile with scheduler name "p".',
            ],
            id="K23",
        ),
        pytest.param(
            PLUGINS + "    queueSort: {enabled: [{name: FifoSort}]}\n",
            ['6:16: only one queue sort plugin required for profile with scheduler name "p", but got 2.'],
            id="two queue sorts",
        ),
        pytest.param(
            PLUGINS + "    placementGenerate: {enabled: [{name: ByZone}, {name: ByRack}]}\n",
            [
                "6:24: at most one placement generate plugin is allowed for profile with scheduler name"
                ' "p", but got 2.'
            ],
            id="two generators",
        ),
        pytest.param(
            PLUGINS + "    filter: {enabled: [{name: 'no.such:Thing'}]}\n",
            ['6:31: cannot load "no.such:Thing": there is no such module.'],
            id="reference that fails",
        ),
        pytest.param(
            PLUGINS + "    filter: {enabled: [{name: NodeLabel}]}\n",
            ['6:5: plugin "NodeLabel" needs a pluginConfig: Object missing required field "label".'],
            id="args needed",
        ),
        pytest.param(
            CONFIG + "  - name: NodeResourcesFit\n    args: {strateggy: x, strategy: Most, weight: 0}\n",
            [
                '7:12: unknown field "strateggy". Did you mean "strategy"?',
                '7:36: expected "LeastAllocated" or "MostAllocated", got "Most".',
                "7:50: expected at least 1, got 0.",
            ],
            id="args",
        ),
        pytest.param(
            CONFIG + "  - name: FifoSort\n    args: {patience: 5}\n",
            ['7:22: expected a duration such as "15s", got 5.'],
            id="args of a plugin that is not enabled",
        ),
        pytest.param(
            CONFIG + "  - name: DefaultPreemption\n"
            "    args:\n      minCandidateNodesPercentage: 0\n      minCandidateNodesAbsolute: 0\n",
            ["8:7: both cannot be zero."],
            id="args that contradict",
        ),
        pytest.param(
            CONFIG + "  - name: NodeResourcesFit\n    args:\n"
            "      apiVersion: kubescheduler.config.k8s.io/v1beta3\n      kind: FitArgs\n",
            [
                '8:19: apiVersion: expected "kubescheduler.config.k8s.io/v1",'
                ' got "kubescheduler.config.k8s.io/v1beta3".',
                '9:13: kind: expected "NodeResourcesFitArgs", got "FitArgs".',
            ],
            id="header of args",
        ),
        pytest.param(
            CONFIG + "  - {name: NodeName, args: {a: 1}}\n  - {name: ImageLocality, args: [1]}\n",
            [
                '6:28: plugin "NodeName" takes no args.',
                '7:33: plugin "ImageLocality" takes no args.',
            ],
            id="args of a plugin that takes none",
        ),
        pytest.param(
            CONFIG + "  - {name: NodeResourcesFit, args: x}\n",
            ['6:36: expected a mapping, got "x".'],
            id="args that are no mapping",
        ),
        pytest.param(
            CONFIG
            + "  - {name: NodeName}\n  - {name: NodeName}\n  - {name: Else}\n  - {name: Else}\n  - {}\n",
            [
                "7:12: repeated config for plugin NodeName.",
                "9:12: repeated config for plugin Else.",
                "10:5: pluginConfig needs the name of a plugin.",
            ],
            id="repeated config",
        ),
        pytest.param(
            CONFIG + "  - {name: CinderLimits}\n",
            ['6:12: plugin "CinderLimits" was removed from Kubernetes. NodeVolumeLimits does its work.'],
            id="config of a removed plugin",
        ),
        pytest.param(
            CONFIG + "  - {name: Mooring, args: {ties: ImageLocalty, adaptive: 1}}\n",
            ["6:58: expected true or false, got 1."],
            id="Mooring's options",
        ),
        pytest.param(
            CONFIG + "  - {name: Mooring, args: {ties: ImageLocalty}}\n",
            [
                '6:34: expected "Random", "First" or the name of a score plugin, got "ImageLocalty".'
                ' Did you mean "ImageLocality"?'
            ],
            id="ties",
        ),
        pytest.param(
            CONFIG + "  - {name: Mooring, args: {ties: NodeName}}\n",
            ['6:34: expected "Random", "First" or the name of a score plugin, got "NodeName".'],
            id="ties by a plugin that does not score",
        ),
        pytest.param(
            CONFIG + "  - {name: Mooring, args: {ties: 'no.such:Thing'}}\n",
            ['6:34: cannot load "no.such:Thing": there is no such module.'],
            id="ties by a reference that fails",
        ),
    ],
)
def test_body(catalogue: Catalogue, body: str, expected: list[str]) -> None:
    assert mistakes(catalogue, HEADER + body) == expected


EVERYTHING = """\
parallelism: none
podInitialBackoffSeconds: -1
leaderElection: {leasDuration: 5s}
profiles:
- schedulerName: a
  plugins:
    score:
      enabled:
      - {name: ImageLocalty, weight: heavy}
      - {name: ImageLocality}
  pluginConfig:
  - name: NodeResourcesFit
    args: {weight: 500}
- schedulerName: a
  plugins: {filter: {enable: []}}
"""


def test_all_at_once_in_the_order_of_the_file(catalogue: Catalogue) -> None:
    assert mistakes(catalogue, HEADER + EVERYTHING) == [
        '3:14: expected an integer, got "none".',
        "4:27: podInitialBackoffSeconds: must be greater than 0.",
        '5:18: unknown field "leasDuration". Did you mean "leaseDuration"?',
        '11:16: no plugin named "ImageLocalty". Did you mean "ImageLocality"?',
        '11:38: expected an integer, got "heavy".',
        "15:20: expected at most 100, got 500.",
        '16:18: schedulerName: duplicate value "a".',
        '17:22: unknown field "enable". Did you mean "enabled"?',
    ]
