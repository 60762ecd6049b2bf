"""Rights are what the scheduler and the plugins of the default profile use, and no more."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.objects import CHART, MANIFESTS, ROOT, STATIC_POD, Object, manifests, only, read
from mooring.app.making import make_engine
from mooring.app.simulating import simulate
from mooring.config.load import default_config
from mooring.engine.decisions import Bind, Decision
from mooring.engine.engine import Engine
from mooring.framework.api.writes import Write
from mooring.kube.resources import BY_KIND
from mooring.kube.watch.followed_kinds import kinds_read
from mooring.plugins.catalogue import make_registry
from mooring.sim.performer import Performer
from mooring.sim.world.binding_api import WorldApi
from mooring.sim.world.known_kinds import CLUSTER_WIDE

Right = tuple[str, str, str]  # group, resource, verb
GANGS = Path(__file__).parent / "gangs.yaml"

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


def right_to(kind: str, verb: str, sub: str = "") -> Right:
    """To a kind of Kubernetes by its name, or to another by `group/version/plural`."""
    group, _, plural = kind.split("/") if "/" in kind else (BY_KIND[kind].group, "", BY_KIND[kind].plural)
    return group, f"{plural}/{sub}" if sub else plural, verb


def watched(policies: Path | None = None) -> set[Right]:
    """To follow what the default profile reads and waits for, with policies or without."""
    return {right_to(kind, verb) for kind in kinds_read(engine_of(policies)) for verb in ("list", "watch")}


def engine_of(policies: Path | None = None) -> Engine:
    registry = make_registry(policies)
    return make_engine(default_config(registry), registry)


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


@pytest.fixture
def writes_of_plugins(monkeypatch: pytest.MonkeyPatch) -> set[Right]:
    """What plugins have written, on gangs of every form that Mooring writes about."""
    writes: set[Right] = set()
    real = Performer.perform

    def performed(self: Performer, decision: Decision) -> None:
        if isinstance(decision, Write):
            writes.add(right_to(decision.kind, decision.verb, decision.sub))
        elif isinstance(decision, Bind) and decision.patch:
            writes.add(right_to("Pod", "patch"))
        real(self, decision)

    monkeypatch.setattr(Performer, "perform", performed)
    simulate([str(GANGS)])
    return writes


def test_the_cluster_role_grants_what_is_used_and_no_more(
    calls_of_plugins: set[Right], writes_of_plugins: set[Right]
) -> None:
    assert set(granted()) == watched() | calls_of_plugins | writes_of_plugins | OWN


def test_in_the_place_of_kube_scheduler_gangs_have_the_same_rights() -> None:
    """The rest is what every cluster allows kube-scheduler."""
    rules = only("ClusterRole", read(STATIC_POD.with_name("gangs.yaml")))["rules"]
    text = (MANIFESTS / "11-clusterrole.yaml").read_text(encoding="utf-8").split("rules:\n")[1]
    first = text.index("# Coscheduling:")
    assert rules == yaml.safe_load(text[first:])
    assert text.count("\n# Coscheduling:") == len(rules)


def test_definitions_are_the_same_for_helm() -> None:
    for file in sorted((ROOT / "deploy" / "crds").iterdir()):
        assert (CHART / "files" / "crds" / file.name).read_bytes() == file.read_bytes()
    names = [
        file.name
        for folder in ("deploy/crds", "deploy/chart/mooring/files/crds")
        for file in (ROOT / folder).iterdir()
    ]
    assert len(names) == 2 * len(set(names)) == 6


@pytest.mark.parametrize("file", sorted((ROOT / "deploy" / "crds").iterdir()), ids=lambda file: file.stem)
def test_a_definition_is_of_what_is_read(file: Path) -> None:
    """By its file's name, with a status of its own."""
    (definition,) = read(file)
    spec = definition["spec"]
    (version,) = spec["versions"]
    assert definition["metadata"]["name"] == file.stem == f"{spec['names']['plural']}.{spec['group']}"
    assert f"{spec['group']}/{version['name']}/{spec['names']['plural']}" in kinds_read(engine_of())
    assert version["subresources"] == {"status": {}}
    assert (spec["scope"] == "Cluster") == (spec["names"]["kind"] in CLUSTER_WIDE)


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
