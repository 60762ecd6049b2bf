"""What selectors match, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.objects import (
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
    Toleration,
)
from mooring.model.selectors import (
    SelectorError,
    canonical,
    int64,
    label_requirements,
    matches_labels,
    node_selector_matches,
    node_term,
    node_term_matches,
    preferred_terms,
    required_node_affinity_matches,
    requirement_matches,
)

Expression = dict[str, Any]


def expression(key: str, operator: str, *values: str) -> Expression:
    return {"key": key, "operator": operator, "values": list(values)}


def term(*expressions: Expression, fields: list[Expression] | None = None) -> dict[str, Any]:
    return {"matchExpressions": list(expressions), "matchFields": fields or []}


def required(*terms: dict[str, Any] | None, node_selector: dict[str, str] | None = None) -> PodSpec:
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    wire = {"nodeSelector": node_selector or {}, "affinity": {"nodeAffinity": affinity}}
    return msgspec.convert(wire, PodSpec)


def selector(*terms: dict[str, Any] | None) -> NodeSelector:
    return msgspec.convert({"nodeSelectorTerms": list(terms)}, NodeSelector)


BAR = {"foo": "bar"}
MATCHING = term(expression("foo", "In", "bar"))
OTHER = term(expression("foo", "In", "other"))
BROKEN = term(expression("foo", "In"))


@pytest.mark.parametrize(
    ("spec", "labels", "passes"),
    [
        pytest.param(PodSpec(node_selector={"foo": "bar"}), {}, False, id="A6"),
        pytest.param(PodSpec(node_selector={"foo": "bar"}), BAR, True, id="A6-labelled"),
        pytest.param(required(term(expression("foo", "In", "bar", "value2"))), BAR, True, id="A7"),
        pytest.param(required(term(expression("n", "Gt", "0204"))), {"n": "0206"}, True, id="A8"),
        pytest.param(required(term(expression("x", "NotIn", "y"))), BAR, True, id="A9"),
        pytest.param(required(term(expression("x", "Exists"))), BAR, False, id="A10"),
        pytest.param(required(), BAR, False, id="A11-no-terms"),
        pytest.param(required(None), BAR, False, id="A11-null-term"),
        pytest.param(required(term()), BAR, False, id="A11-empty-term"),
        pytest.param(required(OTHER, MATCHING), BAR, True, id="A12"),
        pytest.param(required(MATCHING, node_selector={"a": "b"}), BAR, False, id="A13"),
        pytest.param(required(term(fields=[expression("metadata.name", "In", "n1")])), {}, True, id="A14-n1"),
        pytest.param(
            required(term(fields=[expression("metadata.name", "In", "n2")])), {}, False, id="A14-n2"
        ),
        pytest.param(PodSpec(), {}, True, id="no-affinity"),
        pytest.param(
            required(
                term(expression("foo", "In", "bar"), fields=[expression("metadata.name", "NotIn", "n1")])
            ),
            BAR,
            False,
            id="label-and-field",
        ),
    ],
)
def test_required_node_affinity(spec: PodSpec, labels: dict[str, str], passes: bool) -> None:
    assert required_node_affinity_matches(spec, "n1", labels) is passes


@pytest.mark.parametrize(
    ("operator", "values", "value", "matches"),
    [
        ("In", ("a", "b"), "b", True),
        ("In", ("a",), "b", False),
        ("In", ("a",), None, False),
        ("In", ("",), "", True),
        ("NotIn", ("a",), "b", True),
        ("NotIn", ("a",), "a", False),
        ("NotIn", ("a",), None, True),
        ("Exists", (), "", True),
        ("Exists", (), None, False),
        ("DoesNotExist", (), None, True),
        ("DoesNotExist", (), "", False),
        ("Gt", ("5",), "6", True),
        ("Gt", ("5",), "5", False),
        ("Gt", ("5",), "10", True),
        ("Gt", ("-5",), "-4", True),
        ("Gt", ("5",), "six", False),
        ("Gt", ("5",), "6.0", False),
        ("Gt", ("5",), None, False),
        ("Lt", ("5",), "4", True),
        ("Lt", ("5",), "5", False),
        ("Lt", ("5",), None, False),
        ("Lt", ("5",), str(-(2**63)), True),
        ("Lt", ("5",), str(-(2**63) - 1), False),
    ],
)
def test_requirement_on_one_value(
    operator: str, values: tuple[str, ...], value: str | None, matches: bool
) -> None:
    assert requirement_matches(operator, values, value) is matches


def test_requirement_with_unknown_operator() -> None:
    with pytest.raises(SelectorError, match='no operator "Eq"'):
        requirement_matches("Eq", ("a",), "a")


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (term(expression("foo", "In")), 'label "foo": operator In needs at least one value'),
        (term(expression("foo", "Exists", "x")), 'label "foo": operator Exists takes no values'),
        (term(expression("foo", "Gt", "1", "2")), "operator Gt takes exactly one value, an integer"),
        (term(expression("foo", "Lt", "x")), "operator Lt takes exactly one value, an integer"),
        (term(expression("foo", "Equals", "x")), 'there is no operator "Equals"; use In, NotIn, .* Gt or Lt'),
        (term(expression("bad key", "Exists")), '"bad key" is not a label key'),
        (term(expression("foo", "In", "ok", "bad value")), '"bad value" is not a label value'),
        (term(fields=[expression("metadata.name", "In", "a", "b")]), "In takes exactly one value"),
        (term(fields=[expression("metadata.name", "Exists")]), 'no operator "Exists"; use In or NotIn'),
        (term(fields=[expression("metadata.uid", "In", "a")]), 'metadata.name only, not "metadata.uid"'),
    ],
    ids=[
        "no-values",
        "values",
        "two",
        "number",
        "operator",
        "key",
        "value",
        "field",
        "field-operator",
        "field-key",
    ],
)
def test_term_that_cannot_be_read(broken: dict[str, Any], what: str) -> None:
    read = msgspec.convert(broken, NodeSelectorTerm)
    with pytest.raises(SelectorError, match=what):
        node_term_matches(read, "n1", BAR)


def test_mistake_is_silent_while_another_term_matches() -> None:
    assert node_selector_matches(selector(BROKEN, MATCHING), "n1", BAR)
    assert node_selector_matches(selector(MATCHING, BROKEN), "n1", BAR)


def test_mistake_surfaces_when_no_term_matches() -> None:
    with pytest.raises(SelectorError, match=r'^nodeSelectorTerms\[1\]: label "foo": operator In needs'):
        node_selector_matches(selector(OTHER, BROKEN), "n1", BAR)


def test_absent_node_selector_matches_every_node() -> None:
    assert node_selector_matches(None, "n1", {})
    assert not node_term_matches(None, "n1", {})


def preferred(*weighted: tuple[int, dict[str, Any]]) -> tuple[PreferredSchedulingTerm, ...]:
    wire = [{"weight": weight, "preference": preference} for weight, preference in weighted]
    return msgspec.convert(wire, tuple[PreferredSchedulingTerm, ...])


def test_preferred_terms_of_weight_0_and_empty_ones_count_for_nothing() -> None:
    terms = preferred_terms(
        preferred((2, MATCHING), (3, OTHER), (5, term(expression("foo", "Exists"))), (7, term()), (0, BROKEN))
    )
    assert [weight for weight, each in terms if each.matches("n1", BAR)] == [2, 5]
    assert not any(each.matches("n1", {}) for _, each in terms)


def test_preferred_term_that_cannot_be_read_raises_whatever_matches() -> None:
    with pytest.raises(SelectorError):
        preferred_terms(preferred((2, MATCHING), (1, BROKEN)))


def labels_selector(labels: dict[str, str], *expressions: Expression) -> LabelSelector:
    return msgspec.convert({"matchLabels": labels, "matchExpressions": list(expressions)}, LabelSelector)


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        pytest.param(None, False, id="absent"),
        pytest.param(LabelSelector(), True, id="empty"),
        pytest.param(labels_selector({"app": "web"}), True, id="equal"),
        pytest.param(labels_selector({"app": "db"}), False, id="not-equal"),
        pytest.param(labels_selector({"app": "web", "tier": "1"}), False, id="one-missing"),
        pytest.param(labels_selector({"app": "web"}, expression("app", "NotIn", "web")), False, id="both"),
        pytest.param(labels_selector({}, expression("tier", "DoesNotExist")), True, id="absent-key"),
    ],
)
def test_label_selector(wanted: LabelSelector | None, matches: bool) -> None:
    assert matches_labels(wanted, {"app": "web"}) is matches


@pytest.mark.parametrize("operator", ["Gt", "Lt", "Equals", ""])
def test_label_selector_knows_four_operators(operator: str) -> None:
    with pytest.raises(SelectorError, match=f'no operator "{operator}"'):
        matches_labels(labels_selector({}, expression("app", operator, "1")), {"app": "2"})


def test_requirements_are_reusable_parts() -> None:
    assert label_requirements(None) is None
    assert label_requirements(LabelSelector()) == ()
    read = node_term(msgspec.convert(MATCHING, NodeSelectorTerm))
    (only,) = read.labels
    assert (only.key, only.operator, only.values, read.fields) == ("foo", "In", frozenset({"bar"}), ())
    assert [only.matches(v) for v in ("bar", "x", None)] == [True, False, False]


@pytest.mark.parametrize("text", ["", "+", "1.0", " 1", "1_0", "٣", str(2**63), "0x1", "9" * 5000])
def test_not_an_int64(text: str) -> None:
    assert int64(text) is None


@given(st.integers(-(2**63), 2**63 - 1))
def test_int64_reads_back(number: int) -> None:
    assert int64(str(number)) == number


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=3)))
def test_canonical_ignores_the_order_of_mappings(labels: dict[str, str]) -> None:
    turned = dict(reversed(labels.items()))
    assert canonical(LabelSelector(match_labels=labels)) == canonical(LabelSelector(match_labels=turned))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, LabelSelector()),
        (LabelSelector(), labels_selector({"a": "b"})),
        (labels_selector({"a": "b"}), labels_selector({}, expression("a", "In", "b"))),
        (NodeAffinity(), NodeAffinity(required_during_scheduling_ignored_during_execution=NodeSelector())),
        (selector(), selector(None)),
        (selector(MATCHING), selector(OTHER)),
        ((Toleration(key="a"),), (Toleration(value="a"),)),
        ({}, ()),
        ({"a": "b"}, (("a", "b"),)),
    ],
)
def test_canonical_tells_apart(one: Any, other: Any) -> None:
    assert hash(canonical(one)) is not None
    assert canonical(one) != canonical(other)
    assert canonical(one) == canonical(one)
