"""Small plugins, and a small cluster to ask them about."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mooring.cluster.cluster import Cluster
from mooring.cluster.view import ClusterView
from mooring.config.catalogue import POINTS as CONFIG_POINTS
from mooring.config.catalogue import PluginUse
from mooring.config.profiles import ProfilePlan
from mooring.framework.api.plugin import Plugin
from mooring.framework.loading.discovery import plugins_in
from mooring.framework.loading.rehearsal import StageHandle
from mooring.model.objects import Node, NodeStatus, ObjectMeta, Pod, PodSpec

HEADER = """\
from mooring.framework.api.plugin import Plugin, PluginArgs
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import *
"""


def make_pod(name: str = "p", **spec: Any) -> Pod:
    meta = ObjectMeta(
        name=name, namespace="default", uid=name, labels={"app": "web"}, annotations={"note": "x"}
    )
    return Pod(metadata=meta, spec=PodSpec(**spec))


@pytest.fixture(scope="session")
def pod() -> Callable[..., Pod]:
    return make_pod


@pytest.fixture
def cluster() -> Cluster:
    """Nodes `big`, `gone` (whose row is free) and `small`; a pod named `there` is on `small`."""
    cluster = Cluster()
    with cluster.statement() as statement:
        for name, cpu in (("big", "8"), ("gone", "4"), ("small", "2")):
            status = NodeStatus(allocatable={"cpu": cpu, "pods": "110"})
            statement.put_node(Node(metadata=ObjectMeta(name=name, labels={"size": name}), status=status))
        statement.take(make_pod("there"), "small")
        statement.drop_node("gone")
    return cluster


@pytest.fixture
def view(cluster: Cluster) -> ClusterView:
    return ClusterView(cluster.nodes, cluster.pods)


@pytest.fixture
def make(cluster: Cluster) -> Callable[..., Any]:
    """Makes a plugin that thinks it is in a scheduler."""

    def make(plugin: type[Plugin], **args: Any) -> Any:
        return plugin(plugin.Args(**args), StageHandle(cluster))

    return make


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a policy file below the usual imports, or exactly as given."""

    def write(source: str, name: str = "policy.py", *, header: str = HEADER) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(header + textwrap.dedent(source))
        return file

    return write


@pytest.fixture
def policy(write: Callable[..., Path]) -> Callable[[str], type[Plugin]]:
    """The first plugin class of a policy file with this source."""

    def load(source: str) -> type[Plugin]:
        return plugins_in(write(source).parent)[0]

    return load


@pytest.fixture(scope="session")
def place() -> Callable[[Path, str], str]:
    """`file:line:column` of the first line that holds a text, at the text."""

    def place(file: Path, text: str) -> str:
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if text in line:
                return f"{file}:{number}:{line.index(text) + 1}"
        raise AssertionError(text)

    return place


@pytest.fixture(scope="session")
def plan() -> Callable[..., ProfilePlan]:
    """A plan with plugins at points: `filter=["A", "B"]`, with weights where given `score={"A": 2}`."""

    def plan(**points: Any) -> ProfilePlan:
        options = {name: points.pop(name) for name in ("ties", "args") if name in points}
        uses = {name: tuple(_use(use, where) for use in where) for name, where in points.items()}
        everywhere = {name: uses.get(name, ()) for name in CONFIG_POINTS}
        assert set(uses) <= set(everywhere)
        options.setdefault("args", {})
        return ProfilePlan(
            scheduler_name="mine", percentage_of_nodes_to_score=None, points=everywhere, **options
        )

    def _use(name: str, where: Any) -> PluginUse:
        return PluginUse(name, where[name] if isinstance(where, dict) else 1)

    return plan
