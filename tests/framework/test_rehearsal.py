"""What would fail on the first real pod fails on a stage, at the place of the method."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.errors import PolicyError
from mooring.framework.api.plugin import Plugin
from mooring.framework.loading.rehearsal import rehearse

Policy = Callable[[str], type[Plugin]]
Place = Callable[[Path, str], str]

BAD: dict[str, tuple[str, str, str]] = {
    "a score above 100": (
        "def score(self, cycle, pod, node): return 101",
        "def score",
        'plugin "P" returns an invalid score 101, it should in the range of [0, 100] after normalizing',
    ),
    "a score that is no integer": (
        "def score(self, cycle, pod, node): return 0.5",
        "def score",
        'running Score plugins: plugin "P" failed with: returned 0.5, which is not an integer',
    ),
    "a vector score above 100": (
        "def score_nodes(self, cycle, pod, nodes): return nodes.max_pods + 101",
        "def score_nodes",
        "returns an invalid score 101",
    ),
    "a normalised score above 100": (
        "def normalize(self, values): return [v + 101 for v in values]\n"
        "    def score(self, cycle, pod, node): return 0",
        "def score",
        "returns an invalid score 101",
    ),
    "a normaliser that loses values": (
        "def score(self, cycle, pod, node): return 5\n    def normalize(self, values): return []",
        "def normalize",
        "returned [] for 1 values",
    ),
    "a table that is not there": (
        "def pre_enqueue(self, pod): return None\n    pre_enqueue.concerns_only = 'tabel'",
        "def pre_enqueue",
        "concerns_only('tabel') names no table of the plugin",
    ),
    "an exception in judges": (
        "def sign(self, pod): return 1\n    def judges(self, sign): return sign['x']",
        "def judges",
        'running judges of plugin "P": TypeError',
    ),
    "an exception in pre_filters": (
        "def sign(self, pod): return 1\n    def pre_filters(self, sign): return sign['x']",
        "def pre_filters",
        'running pre_filters of plugin "P": TypeError',
    ),
    "an exception in filter": (
        "def filter(self, cycle, pod, node): return node.labels['rack']",
        "def filter",
        "running \"P\" filter plugin: KeyError: 'rack'",
    ),
    "an exception on the bare pod only": (
        "def filter(self, cycle, pod, node): pod.spec.containers[0]",
        "def filter",
        'running "P" filter plugin: IndexError: tuple index out of range',
    ),
    "a wrong type from filter": (
        "def filter(self, cycle, pod, node): return False",
        "def filter",
        "returned False, which is neither a Status nor None",
    ),
    "a wrong type from a vector filter": (
        "def filter_nodes(self, cycle, pod, nodes): return [True] * len(nodes)",
        "def filter_nodes",
        "filter_nodes returned [True, True], not 2 booleans",
    ),
    "a wrong type from pre_filter": (
        "def pre_filter(self, cycle, pod): return True",
        "def pre_filter",
        'running PreFilter plugin "P": returned True, which is neither a Status nor None',
    ),
    "an exception in pre_filter": (
        "def pre_filter(self, cycle, pod): return 1 / 0",
        "def pre_filter",
        'running PreFilter plugin "P": ZeroDivisionError: division by zero',
    ),
    "a rejection from pre_score": (
        "def score(self, cycle, pod, node): return 1\n"
        "    def pre_score(self, cycle, pod, nodes): return unschedulable('no')",
        "def pre_score",
        'running PreScore plugin "P": returned UNSCHEDULABLE: no',
    ),
    "filters that disagree": (
        "def filter(self, cycle, pod, node): return None if node.allocatable('cpu') else unschedulable('x')\n"
        "    def filter_nodes(self, cycle, pod, nodes): return nodes.alive",
        "def filter_nodes",
        "filter and filter_nodes disagree on node bare",
    ),
    "scores that disagree": (
        "def score(self, cycle, pod, node): return node.pod_count\n"
        "    def score_nodes(self, cycle, pod, nodes): return nodes.pod_count * 2",
        "def score_nodes",
        "score and score_nodes disagree on node furnished",
    ),
    "reading pods in scope STATIC": (
        "scope = Scope.STATIC\n    def filter(self, cycle, pod, node): return node.pods and None",
        "def filter",
        "plugin P reads node.pods, which scope STATIC does not declare: use scope ROW",
    ),
    "reading columns of pods in scope STATIC": (
        "scope = Scope.STATIC\n    def score_nodes(self, cycle, pod, nodes): return nodes.pod_count",
        "def score_nodes",
        "plugin P reads nodes.pod_count, which scope STATIC does not declare: use scope ROW",
    ),
    "reading labels where amounts are declared": (
        "scope, amounts_only = Scope.ROW, True\n"
        "    def filter_nodes(self, cycle, pod, nodes): return nodes.matching_label('zone', bool)",
        "def filter_nodes",
        "plugin P reads nodes.matching_label, which is no amount: it is not to declare amounts_only",
    ),
    "telling nodes of equal amounts apart": (
        "scope, amounts_only = Scope.ROW, True\n"
        "    def score(self, cycle, pod, node): return node.row\n"
        "    def score_nodes(self, cycle, pod, nodes): return nodes.rows * 1",
        "def score_nodes",
        "score_nodes reads more than amounts",
    ),
    "reading the name while keeping answers": (
        "scope = Scope.ROW\n    def filter(self, cycle, pod, node): return pod.name and None",
        "def filter",
        "plugin P keeps its answers for all pods of one shape but reads pod.name",
    ),
    "a signature that cannot be hashed": (
        "def sign(self, pod): return [pod.name]\n    def filter(self, cycle, pod, node): ...",
        "def sign",
        "TypeError: unhashable type: 'list'",
    ),
    "it cannot be made": (
        "def __init__(self, args, handle): self.x = handle.nothing\n"
        "    def filter(self, cycle, pod, node): ...",
        "def __init__",
        "P cannot be made: AttributeError: 'StageHandle' object has no attribute 'nothing'",
    ),
}


@pytest.mark.parametrize(("body", "at", "what"), BAD.values(), ids=BAD)
def test_found(policy: Policy, place: Place, tmp_path: Path, body: str, at: str, what: str) -> None:
    plugin = policy(f"class P(Plugin):\n    {body}\n")
    with pytest.raises(PolicyError) as error:
        rehearse(plugin)
    (mistake,) = error.value.mistakes
    assert mistake.place == place(tmp_path / "policy.py", at)
    assert what in mistake.what
    assert mistake.what.startswith("P")


GOOD = {
    "the usual": "def filter(self, cycle, pod, node): ...\n    def score(self, cycle, pod, node): return 100",
    "both forms": (
        "def score(self, cycle, pod, node): return node.pod_count\n"
        "    def score_nodes(self, cycle, pod, nodes): return nodes.pod_count"
    ),
    "raw scores of any size": (
        "def score(self, cycle, pod, node): return 1000 * node.pod_count\n"
        "    def normalize(self, values): return [0 for _ in values]"
    ),
    "state from pre_filter": (
        "def pre_filter(self, cycle, pod): cycle.write('x', 1)\n"
        "    def filter(self, cycle, pod, node): cycle.read('x')"
    ),
    "node names from pre_filter": "def pre_filter(self, cycle, pod): return {'bare'}",
    "skipping pods it is not about": (
        "def pre_filter(self, cycle, pod): return None if pod.spec.containers else skip()\n"
        "    def filter(self, cycle, pod, node): pod.spec.containers[0]"
    ),
    "skipping at pre_score": (
        "def pre_score(self, cycle, pod, nodes): return skip()\n"
        "    def score(self, cycle, pod, node): return 1 / 0"
    ),
    "signing nothing for pods it is not about": (
        "def sign(self, pod): return pod.spec.priority\n"
        "    def filter(self, cycle, pod, node): pod.spec.containers[0]"
    ),
    "arguments that must be given": (
        "class Args(PluginArgs):\n        label: str\n    def score(self, cycle, pod, node): return 101"
    ),
    "arguments that refuse to be empty": (
        "class Args(PluginArgs):\n        label: str = ''\n"
        "        def __post_init__(self): raise ValueError('label')\n"
        "    def score(self, cycle, pod, node): return 101"
    ),
    "everything the handle offers": (
        "reads = ('batch/v1/jobs',)\n    def filter(self, cycle, pod, node):\n"
        "        handle = self.handle\n"
        "        handle.activate([pod])\n"
        "        handle.invalidate()\n"
        "        handle.register_selector('x', lambda *_: True)\n"
        "        assert not list(handle.lister('Job')) and handle.lister('Job').get('a/b') is None\n"
        "        assert len(handle.cluster) == 2 and handle.images.nodes == 2\n"
        "        assert not handle.waiting_pods and not handle.nominated('bare')\n"
        "        assert handle.restore_reservations(cycle, pod, (), (), node) == {}"
    ),
}


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
def test_passes(policy: Policy, body: str) -> None:
    rehearse(policy(f"class P(Plugin):\n    {body}\n"))


def test_a_plugin_that_is_not_whole_is_told_at_its_own_place(
    policy: Policy, place: Place, tmp_path: Path
) -> None:
    plugin = policy(
        "from mooring.framework.api.domain import DomainPlugin\nclass P(DomainPlugin):\n    pass\n"
    )
    with pytest.raises(PolicyError) as error:
        rehearse(plugin)
    (mistake,) = error.value.mistakes
    assert mistake.place == place(tmp_path / "policy.py", "class P")
    assert "P cannot be made" in mistake.what
    assert "abstract method" in mistake.what  # each Python words it in its own way
    assert "domain" in mistake.what


def test_a_hook_that_nobody_will_ask_is_found_at_load(policy: Policy, place: Place, tmp_path: Path) -> None:
    body = "def on_session_open(self, ssn):\n        ssn.add_job_order(lambda a, b: 0)"
    with pytest.raises(PolicyError) as error:
        rehearse(policy(f"class P(Plugin):\n    {body}\n"))
    (mistake,) = error.value.mistakes
    assert mistake.place == place(tmp_path / "policy.py", "def on_session_open")
    assert "add_job_order registers a hook that nobody asks" in mistake.what
