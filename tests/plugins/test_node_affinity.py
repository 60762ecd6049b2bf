"""NodeAffinity."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.errors import PluginFailed
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import SKIP, Code, Status
from mooring.model.objects import Affinity, Pod
from mooring.model.objects import NodeAffinity as WireAffinity
from mooring.plugins.node_affinity import CONFLICT, NOT_ENFORCED, NOT_POD, NodeAffinity, NodeAffinityArgs
from plugins.stage import Stage, node, pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
UU = Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def match(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": values}


def term(*expressions: dict[str, Any], fields: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {"matchExpressions": expressions, "matchFields": fields}


def named(*names: str, expressions: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """A term that pins the node to each of the names at once."""
    return term(*expressions, fields=tuple(match("metadata.name", "In", name) for name in names))


def affinity(*terms: Any, prefer: tuple[tuple[int, dict[str, Any]], ...] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if prefer is None:
        found[REQUIRED] = {"nodeSelectorTerms": terms}
    else:
        found[PREFERRED] = [{"weight": weight, "preference": each} for weight, each in prefer]
    return found


def wanting(wire: dict[str, Any] | None = None, selector: dict[str, str] | None = None, **spec: Any) -> Pod:
    read = Affinity(node_affinity=msgspec.convert(wire, WireAffinity)) if wire is not None else None
    return pod(affinity=read, node_selector=selector or {}, **spec)


def requiring(*terms: Any, selector: dict[str, str] | None = None) -> Pod:
    return wanting(affinity(*terms), selector)


def preferring(*terms: tuple[int, dict[str, Any]]) -> Pod:
    return wanting(affinity(prefer=terms))


def asked(plugin: Any, incoming: Pod) -> Any:
    return plugin.pre_filter(Cycle("test", 0.0), incoming)


FOO = {"foo": "bar"}
IN_FOO = term(match("foo", "In", "bar", "value2"))
NOT_FOO = term(match("foo", "In", "other"))


@pytest.mark.parametrize(
    ("incoming", "labels", "passes"),
    [
        pytest.param(wanting(selector=FOO), {}, False, id="A6"),
        pytest.param(wanting(selector=FOO), FOO, True, id="A6-matching"),
        pytest.param(requiring(IN_FOO), FOO, True, id="A7"),
        pytest.param(requiring(term(match("v", "Gt", "0204"))), {"v": "0206"}, True, id="A8"),
        pytest.param(requiring(term(match("v", "Gt", "0206"))), {"v": "0206"}, False, id="A8-equal"),
        pytest.param(requiring(term(match("foo", "NotIn", "x"))), {}, True, id="A9"),
        pytest.param(requiring(term(match("foo", "Exists"))), {}, False, id="A10"),
        pytest.param(requiring(), FOO, False, id="A11-no-terms"),
        pytest.param(requiring(None), FOO, False, id="A11-null-term"),
        pytest.param(requiring(term()), FOO, False, id="A11-empty-term"),
        pytest.param(requiring(NOT_FOO, IN_FOO), FOO, True, id="A12"),
        pytest.param(requiring(IN_FOO, selector={"other": "x"}), FOO, False, id="A13"),
        pytest.param(requiring(term(match("foo", "Near", "bar"))), FOO, False, id="unreadable"),
        pytest.param(
            requiring(term(match("foo", "Near", "bar")), IN_FOO), FOO, True, id="unreadable-or-good"
        ),
        pytest.param(
            requiring(term(fields=(match("metadata.name", "NotIn", "n"),))), {}, False, id="not-named"
        ),
    ],
)
def test_required(incoming: Pod, labels: dict[str, str], passes: bool) -> None:
    stage = Stage([node(labels=labels)])
    plugin = stage.make(NodeAffinity)
    assert asked(plugin, incoming) is None
    status = stage.filtered(plugin, incoming)["n"]
    expected = None if passes else Status(UU, (NOT_POD,), "NodeAffinity")
    assert status == expected


@pytest.mark.parametrize(
    ("incoming", "narrowed"),
    [
        pytest.param(requiring(named("n1")), {"n1"}, id="A14"),
        pytest.param(requiring(named("n1"), IN_FOO), None, id="A15"),
        pytest.param(requiring(named("n1"), named("n2")), {"n1", "n2"}, id="union"),
        pytest.param(requiring(named("n1", "n2"), named("n2")), {"n2"}, id="one-term-conflicts"),
        pytest.param(wanting(selector=FOO), None, id="selector-only"),
    ],
)
def test_narrowing(incoming: Pod, narrowed: set[str] | None) -> None:
    assert asked(Stage().make(NodeAffinity), incoming) == narrowed


def test_a14_excluded_by_narrowing_and_by_nothing_else() -> None:
    stage = Stage([node("n1"), node("n2")])
    incoming = requiring(named("n1"))
    assert set(stage.filtered(stage.make(NodeAffinity), incoming).values()) == {None}


def test_a16_terms_conflict() -> None:
    answer = asked(Stage().make(NodeAffinity), requiring(named("n1", "n2")))
    assert (answer.code, answer.reasons) == (UU, (CONFLICT,))


def test_names_that_differ_between_terms_are_filtered() -> None:
    stage = Stage([node(name, labels=FOO) for name in ("n1", "n2", "n3")])
    incoming = requiring(named("n1", expressions=(match("foo", "In", "x"),)), named("n2"))
    assert [k for k, v in stage.filtered(stage.make(NodeAffinity), incoming).items() if v is None] == ["n2"]


def test_skips_without_anything_required() -> None:
    assert asked(Stage().make(NodeAffinity), pod()) is SKIP
    assert asked(Stage().make(NodeAffinity), preferring((1, IN_FOO))) is SKIP
    assert asked(Stage().make(NodeAffinity, addedAffinity=affinity(IN_FOO)), pod()) is None


ADDED = affinity(term(match("zone", "In", "foo")))


@pytest.mark.parametrize(
    ("labels", "incoming", "reason"),
    [
        pytest.param({"zone": "foo"}, requiring(NOT_FOO), NOT_POD, id="A17"),
        pytest.param({"zone": "bar"}, requiring(NOT_FOO), NOT_ENFORCED, id="A18"),
        pytest.param({"zone": "foo"}, pod(), None, id="both-match"),
    ],
)
def test_added_affinity(labels: dict[str, str], incoming: Pod, reason: str | None) -> None:
    stage = Stage([node(labels=labels)])
    status = stage.filtered(stage.make(NodeAffinity, addedAffinity=ADDED), incoming)["n"]
    assert (status.reasons[0] if status else None) == reason


A, B, C, D = (term(match("l", "In", value)) for value in "abcd")
THREE = [node("n1", labels={"l": "a"}), node("n2", labels={"l": "b"}), node("n3", labels={"l": "c"})]


@pytest.mark.parametrize(
    ("incoming", "added", "expected"),
    [
        pytest.param(preferring((2, A), (11, B), (4, C)), None, [18, 100, 36], id="A1"),
        pytest.param(preferring((3, A)), None, [100, 0, 0], id="A2"),
        pytest.param(preferring((3, D)), None, [0, 0, 0], id="A3"),
        pytest.param(
            preferring((2, term(match("l", "In", "a", "c")))),
            affinity(prefer=((3, term(match("l", "In", "b", "c"))),)),
            [40, 60, 100],
            id="A4",
        ),
        pytest.param(preferring((0, A), (5, term())), None, [0, 0, 0], id="weightless-and-empty"),
    ],
)
def test_preferred(incoming: Pod, added: dict[str, Any] | None, expected: list[int]) -> None:
    stage = Stage(THREE)
    plugin = stage.make(NodeAffinity, addedAffinity=added)
    assert list(stage.normalized(plugin, incoming).values()) == expected


def test_a5_skips_without_preferences() -> None:
    plugin: Any = Stage().make(NodeAffinity)
    assert plugin.pre_score(Cycle("test", 0.0), requiring(IN_FOO), ()) is SKIP
    assert plugin.pre_score(Cycle("test", 0.0), preferring((1, A)), ()) is None
    added: Any = Stage().make(NodeAffinity, addedAffinity=affinity(prefer=((1, A),)))
    assert added.pre_score(Cycle("test", 0.0), pod(), ()) is None


def test_an_unreadable_preference_is_an_error() -> None:
    stage = Stage(THREE)
    plugin: Any = stage.make(NodeAffinity)
    incoming = preferring((1, A), (1, term(match("l", "Near", "a"))))
    answer = plugin.pre_score(Cycle("test", 0.0), incoming, ())
    assert answer.code is Code.ERROR
    assert 'there is no operator "Near"' in answer.message
    with pytest.raises(PluginFailed, match='there is no operator "Near"'):
        stage.scored(plugin, incoming)


@pytest.mark.parametrize(
    "added",
    [affinity(term(match("l", "Near", "a"))), affinity(prefer=((1, term(match("-", "Exists"))),))],
    ids=["required", "preferred"],
)
def test_added_affinity_that_cannot_be_read(added: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"addedAffinity": added}, NodeAffinityArgs)


def test_pods_of_a_daemonset_are_alike() -> None:
    plugin = Stage().make(NodeAffinity)
    zone = (match("zone", "In", "a"),)

    def on(name: str) -> Pod:
        return requiring(named(name, expressions=zone), named(name, expressions=(match("x", "Exists"),)))

    assert plugin.sign(on("n1")) == plugin.sign(on("n2"))
    assert plugin.sign(requiring(named("n1"))) == plugin.sign(requiring(named("n2")))
    assert plugin.sign(on("n1")) != plugin.sign(requiring(term(*zone)))
    assert plugin.sign(requiring(named("n1"), named("n2"))) != plugin.sign(
        requiring(named("n1"), named("n3"))
    )
    assert plugin.sign(requiring(named("n1", "n2"))) != plugin.sign(requiring(named("n1", "n3")))


def test_signature() -> None:
    plugin = Stage().make(NodeAffinity)
    assert plugin.sign(pod()) is None
    assert Stage().make(NodeAffinity, addedAffinity=ADDED).sign(pod()) is not None
    assert plugin.sign(wanting(selector={"a": "1", "b": "2"})) == plugin.sign(
        wanting(selector={"b": "2", "a": "1"})
    )
    assert plugin.sign(requiring(term(match("l", "In", "a", "b")))) == plugin.sign(
        requiring(term(match("l", "In", "b", "a")))
    )
    assert plugin.sign(requiring(A)) != plugin.sign(preferring((1, A)))
    assert plugin.sign(requiring()) is not None
