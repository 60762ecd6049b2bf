"""Rights are what the scheduler and the plugins of the default profile use, and no more."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.objects import CHART, MANIFESTS, ROOT, Object, manifests, only
from mooring.app.making import make_engine
from mooring.app.simulating import simulate
from mooring.config.load import default_config
from mooring.kube.kinds import kinds_read
from mooring.kube.resources import BY_KIND
from mooring.plugins.catalogue import make_registry
from mooring.sim.api import WorldApi

Right = tuple[str, str, str]  # group, resource, verb

# What carrying decisions out takes, whichever plugins there are.
OWN: frozenset[Right] = frozenset({
    ("", "pods/binding", "create"),
    ("", "pods", "get"),
    ("", "pods/status", "patch"),
    ("", "pods", "delete"),
    ("events.k8s.io", "events", "create"),
    ("events.k8s.io", "events", "patch"),
    ("authentication.k8s.io", "tokenreviews", "create"),
    ("authorization.k8s.io", "subjectaccessreviews", "create"),
})  # fmt: skip


def rights(rules: Iterable[Object]) -> list[Right]:
    return [
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def granted() -> list[Right]:
    return rights(only("ClusterRole", manifests())["rules"])


def right_to(kind: str, verb: str) -> Right:
    return BY_KIND[kind].group, BY_KIND[kind].plural, verb


def watched(policies: Path | None = None) -> set[Right]:
    """To follow what the default profile reads and waits for, with policies or without."""
    registry = make_registry(policies)
    engine = make_engine(default_config(registry), registry)
    return {right_to(kind, verb) for kind in kinds_read(engine) for verb in ("list", "watch")}


@pytest.fixture
def calls_of_plugins(monkeypatch: pytest.MonkeyPatch) -> set[Right]:
    """What binding plugins ask of the API server, on an example with volumes bound and provisioned."""
    calls: set[Right] = set()

    def spy(verb: str) -> None:
        real = getattr(WorldApi, verb)

        async def called(self: WorldApi, kind: str, key: str, *rest: Any) -> Any:
            calls.add(right_to(kind, verb))
            return await real(self, kind, key, *rest)

        monkeypatch.setattr(WorldApi, verb, called)

    spy("get")
    spy("patch")
    simulate([str(ROOT / "examples" / "volumes")])
    return calls


def test_the_cluster_role_grants_what_is_used_and_no_more(calls_of_plugins: set[Right]) -> None:
    assert set(granted()) == watched() | calls_of_plugins | OWN


def test_a_policy_that_waits_for_anything_needs_no_more_rights() -> None:
    assert watched(ROOT / "examples" / "policies") <= set(granted())


def test_nothing_is_granted_twice() -> None:
    assert len(granted()) == len(set(granted()))


def test_the_lease_is_the_only_one() -> None:
    rules = only("Role", manifests())["rules"]
    assert [(rule["verbs"], rule.get("resourceNames")) for rule in rules] == [
        (["create"], None),
        (["get"], ["mooring"]),
        (["update"], ["mooring"]),
    ]
    assert {right[:2] for right in rights(rules)} == {("coordination.k8s.io", "leases")}


@pytest.mark.parametrize("file", ["11-clusterrole.yaml", "13-role.yaml"])
def test_a_rule_is_one_purpose_with_its_reason(file: str) -> None:
    text = (MANIFESTS / file).read_text(encoding="utf-8")
    for rule in yaml.safe_load(text)["rules"]:
        assert len(rule["apiGroups"]) == len(rule["resources"]) == 1
        assert rule["verbs"] == ["list", "watch"] or len(rule["verbs"]) == 1
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
    lines = text.split("rules:\n")[1].splitlines()
    starts = [index for index, line in enumerate(lines) if line.startswith("- ")]
    assert all(index > 0 and lines[index - 1].startswith("# ") for index in starts)


def test_the_chart_says_the_same_of_each_rule() -> None:
    """Rules with their reasons, apart from what the chart can leave out or add."""
    template = (CHART / "templates" / "clusterrole.yaml").read_text(encoding="utf-8").split("rules:\n")[1]
    plain = (MANIFESTS / "11-clusterrole.yaml").read_text(encoding="utf-8").split("rules:\n")[1]
    said = "\n".join(line for line in template.splitlines() if not line.startswith("{{"))
    assert said.startswith(plain.strip())


def test_the_page_lists_every_right() -> None:
    """A row of the table: | `group` | `resource` | `verb`, `verb` | reason |."""
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| ((?:`\w+`(?:, )?)+) \|", page, re.MULTILINE)
    listed = [
        ("" if group == "core" else group, resource, verb)
        for group, resource, verbs in rows
        for verb in re.findall(r"\w+", verbs)
    ]
    leases = rights(only("Role", manifests())["rules"])
    assert sorted(listed) == sorted(granted() + leases)
