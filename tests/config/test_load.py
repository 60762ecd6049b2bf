from __future__ import annotations

from typing import Any

import pytest

from mooring.config.catalogue import Catalogue, PluginUse
from mooring.config.load import SchedulerConfig, default_config, load_config
from mooring.config.scheduler import Extender, ManagedResource

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def load(catalogue: Catalogue, body: str) -> SchedulerConfig:
    """Loads a body; its first line is line 3 of the file."""
    return load_config(HEADER + body, "s.yaml", catalogue)


def words(found: tuple[PluginUse, ...]) -> str:
    return " ".join(f"{use.name}:{use.weight}" for use in found)


def test_defaults(catalogue: Catalogue) -> None:
    config = default_config(catalogue)
    (plan,) = config.profiles
    assert (config.parallelism, config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds) == (
        16,
        1,
        10,
    )
    assert config.leader_election.lease_duration == 15.0
    assert (config.client_connection.qps, config.client_connection.burst) == (50, 100)
    assert (plan.scheduler_name, plan.percentage_of_nodes_to_score) == ("default-scheduler", None)
    assert (plan.ties, plan.adaptive) == ("Random", False)
    assert words(plan.points["filter"]) == "NodeName:1 TaintToleration:3 NodeResourcesFit:1"
    assert words(plan.points["score"]) == "TaintToleration:3 NodeResourcesFit:1 ImageLocality:1"
    assert plan.points["permit"] == ()
    assert sorted(plan.args) == ["DefaultPreemption", "NodeResourcesFit"]


def test_plugin_names_come_once(catalogue: Catalogue) -> None:
    names = default_config(catalogue).profiles[0].plugin_names()
    assert sorted(names) == sorted(use.name for use in catalogue.default_multi_point())


def settings(config: SchedulerConfig) -> tuple[Any, ...]:
    return config.parallelism, config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds


def election(config: SchedulerConfig) -> tuple[Any, ...]:
    found = config.leader_election
    return found.leader_elect, found.lease_duration, found.renew_deadline, found.resource_name


def client(config: SchedulerConfig) -> tuple[Any, ...]:
    found = config.client_connection
    return found.kubeconfig, found.qps, found.burst, found.content_type


def percentages(config: SchedulerConfig) -> list[int | None]:
    return [plan.percentage_of_nodes_to_score for plan in config.profiles]


def names(config: SchedulerConfig) -> list[str]:
    return [plan.scheduler_name for plan in config.profiles]


def score(config: SchedulerConfig) -> str:
    return words(config.profiles[0].points["score"])


def filters(config: SchedulerConfig) -> str:
    return words(config.profiles[0].points["filter"])


def args(config: SchedulerConfig) -> dict[str, str]:
    return {name: repr(value) for name, value in config.profiles[0].args.items()}


def ties(config: SchedulerConfig) -> tuple[str, bool]:
    return config.profiles[0].ties, config.profiles[0].adaptive


def remarks(config: SchedulerConfig) -> list[str]:
    return list(map(str, config.remarks))


def extenders(config: SchedulerConfig) -> tuple[Extender, ...]:
    return config.extenders


PREEMPTION = "PreemptionArgs(min_candidate_nodes_percentage=10, min_candidate_nodes_absolute=100)"
FIT = "FitArgs(ignored_resources=(), strategy='LeastAllocated', weight=1)"
BINPACK = "FitArgs(ignored_resources=(), strategy='MostAllocated', weight=1)"
LEAVES_GPU = (
    "FitArgs(ignored_resources=('example.com/a', 'example.com/gpu'), strategy='LeastAllocated', weight=1)"
)


@pytest.mark.parametrize(
    ("body", "view", "value"),
    [
        pytest.param(
            "parallelism: 4\npodInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 2\n",
            settings,
            (4, 2, 2),
            id="settings",
        ),
        pytest.param(
            "leaderElection: {leaseDuration: 1m, renewDeadline: 30s, resourceName: mine}\n",
            election,
            (True, 60.0, 30.0, "mine"),
            id="election",
        ),
        pytest.param(
            'leaderElection: {leaseDuration: 0s, resourceName: "", renewDeadline: }\n',
            election,
            (True, 15.0, 10.0, "kube-scheduler"),
            id="zero and null mean default",
        ),
        pytest.param(
            "leaderElection: {leaderElect: false, leaseDuration: 1s, resourceLock: endpoints}\n",
            election,
            (False, 1.0, 10.0, "kube-scheduler"),
            id="an election that is not held is not checked",
        ),
        pytest.param(
            'clientConnection: {kubeconfig: /etc/k, qps: 0, burst: 7, contentType: ""}\n',
            client,
            ("/etc/k", 50, 7, "application/vnd.kubernetes.protobuf"),
            id="client",
        ),
        pytest.param(
            "percentageOfNodesToScore: 30\n"
            "profiles: [{schedulerName: a, percentageOfNodesToScore: 0}, {schedulerName: b}]\n",
            percentages,
            [0, 30],
            id="percentages",
        ),
        pytest.param("profiles: []\n", names, ["default-scheduler"], id="no profiles"),
        pytest.param("profiles: [{}]\n", names, ["default-scheduler"], id="a profile alone needs no name"),
        pytest.param("profiles: [{schedulerName: gpu}]\n", names, ["gpu"], id="a name"),
        pytest.param(
            "profiles:\n- plugins:\n    multiPoint: {enabled: [{name: ImageLocality, weight: 7}]}\n",
            score,
            "TaintToleration:3 NodeResourcesFit:1 ImageLocality:7",
            id="weight through multiPoint",
        ),
        pytest.param(
            "profiles:\n- plugins:\n    score:\n"
            "      disabled: [{name: TaintToleration}, {name: Nonexistent}]\n"
            "      enabled: [{name: ImageLocality, weight: 9}]\n",
            score,
            "ImageLocality:9 NodeResourcesFit:1",
            id="score set",
        ),
        pytest.param(
            "profiles:\n- plugins:\n    score: {disabled: [{name: '*'}]}\n", score, "", id="no scoring at all"
        ),
        pytest.param(
            "profiles:\n- plugins:\n    filter: {enabled: [{name: 'policies.spot:SpotGuard'}]}\n"
            "  pluginConfig:\n  - {name: 'policies.spot:SpotGuard', args: {label: spot}}\n",
            filters,
            "NodeName:1 TaintToleration:3 NodeResourcesFit:1 SpotGuard:1",
            id="class by reference",
        ),
        pytest.param(
            "profiles:\n- plugins:\n"
            "    multiPoint: {enabled: [{name: 'policies.spot:SpotGuard', weight: 2}]}\n"
            "  pluginConfig:\n  - {name: SpotGuard, args: {label: spot}}\n",
            args,
            {
                "DefaultPreemption": PREEMPTION,
                "NodeResourcesFit": FIT,
                "SpotGuard": "LabelArgs(label='spot')",
            },
            id="args of a class by reference",
        ),
        pytest.param(
            "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args:\n"
            "      apiVersion: kubescheduler.config.k8s.io/v1\n      kind: NodeResourcesFitArgs\n"
            "      strategy: MostAllocated\n",
            args,
            {"DefaultPreemption": PREEMPTION, "NodeResourcesFit": BINPACK},
            id="args",
        ),
        pytest.param(
            "profiles:\n- pluginConfig:\n"
            "  - {name: NodeName, args: {kind: NodeNameArgs}}\n  - name: NodeResourcesFit\n",
            args,
            {"DefaultPreemption": PREEMPTION, "NodeResourcesFit": FIT},
            id="empty args",
        ),
        pytest.param(
            "extenders:\n"
            "- managedResources: [{name: example.com/gpu, ignoredByScheduler: true}, {name: x.io/b}]\n"
            "profiles:\n- pluginConfig:\n"
            "  - {name: NodeResourcesFit, args: {ignoredResources: [example.com/a]}}\n",
            args,
            {"DefaultPreemption": PREEMPTION, "NodeResourcesFit": LEAVES_GPU},
            id="resources left to an extender",
        ),
        pytest.param(
            "profiles:\n- pluginConfig:\n"
            "  - {name: Elsewhere, args: {a: 1}}\n  - {name: FifoSort, args: {patience: 1m}}\n"
            "  - {name: NodeResorcesFit}\n",
            remarks,
            [
                's.yaml:5:12: config for plugin "Elsewhere" is ignored: there is no such plugin.',
                's.yaml:6:12: config for plugin "FifoSort" is ignored: it is not enabled.',
                's.yaml:7:12: config for plugin "NodeResorcesFit" is ignored: there is no such plugin.'
                ' Did you mean "NodeResourcesFit"?',
            ],
            id="config of plugins that are not enabled",
        ),
        pytest.param(
            "profiles:\n- pluginConfig:\n  - {name: Mooring, args: {ties: First, adaptive: true}}\n",
            ties,
            ("First", True),
            id="ties by order",
        ),
        pytest.param(
            "profiles:\n- pluginConfig:\n  - {name: Mooring, args: {ties: ImageLocality}}\n",
            ties,
            ("ImageLocality", False),
            id="ties by a scorer",
        ),
        pytest.param(
            "extenders:\n- urlPrefix: http://x/\n  filterVerb: filter\n  prioritizeVerb: rank\n  weight: 2\n"
            "  enableHTTPS: true\n  httpTimeout: 0s\n  managedResources: [{name: example.com/gpu}]\n",
            extenders,
            (
                Extender(
                    url_prefix="http://x/",
                    filter_verb="filter",
                    prioritize_verb="rank",
                    weight=2,
                    enable_https=True,
                    managed_resources=(ManagedResource(name="example.com/gpu"),),
                ),
            ),
            id="extender",
        ),
    ],
)
def test_good(catalogue: Catalogue, body: str, view: Any, value: Any) -> None:
    assert view(load(catalogue, body)) == value


def test_ties_by_a_scorer_that_does_not_score_has_its_args(catalogue: Catalogue) -> None:
    body = (
        "profiles:\n- plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}\n"
        "  pluginConfig:\n  - {name: Mooring, args: {ties: NodeResourcesFit}}\n"
    )
    assert args(load(catalogue, body)) == {"DefaultPreemption": PREEMPTION, "NodeResourcesFit": FIT}


def test_json(catalogue: Catalogue) -> None:
    text = (
        '{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",'
        ' "leaderElection": {"leaderElect": false}}'
    )
    assert load_config(text, "s.json", catalogue).leader_election.leader_elect is False
