"""Terms of which one has to match: over columns, and of one node, what they say one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.columns import StaticColumns
from mooring.model.selectors import NodeTerm, Requirement
from mooring.plugins.node_terms import AnyTerm, weighed
from plugins.stage import Stage, node

KEYS, VALUES = st.sampled_from("abc"), st.sampled_from(["x", "y", "3", "-4", "07"])
SETS = st.frozensets(VALUES, min_size=1)
NUMBERS = st.sampled_from(["-5", "3", "7"]).map(lambda number: frozenset({number}))
LABELS = (
    st.builds(Requirement, KEYS, st.sampled_from(["In", "NotIn"]), SETS)
    | st.builds(Requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"]))
    | st.builds(Requirement, KEYS, st.sampled_from(["Gt", "Lt"]), NUMBERS)
)
NAMES = st.sampled_from(["n0", "n1", "gone"]).map(lambda name: frozenset({name}))
FIELDS = st.builds(Requirement, st.just("metadata.name"), st.sampled_from(["In", "NotIn"]), NAMES)
TERMS = st.builds(NodeTerm, st.lists(LABELS, max_size=3).map(tuple), st.lists(FIELDS, max_size=1).map(tuple))


@given(
    terms=st.lists(TERMS, max_size=5),
    labels=st.lists(st.dictionaries(KEYS, VALUES), min_size=1, max_size=4),
    rows=st.booleans(),
)
def test_terms_say_the_same_together_and_one_by_one(
    terms: list[NodeTerm], labels: list[dict[str, str]], rows: bool
) -> None:
    stage = Stage(node(f"n{number}", labels=each) for number, each in enumerate(labels))
    asked = list(range(len(labels)))[::-1] if rows else None
    columns = StaticColumns(stage.cluster.nodes, stage.view.view, np.array(asked) if asked else None)
    any_term, scores = AnyTerm(terms), weighed(enumerate(terms), columns)
    found = any_term.over(columns)
    for place, row in enumerate(columns.rows.tolist()):
        one = columns.at_row(row)
        matches = [term.matches(one.name, one.labels) for term in terms]
        assert found[place] == any(matches) == any_term.matches(one.name, one.labels)
        asking = [
            bool(term.labels or term.fields) for term in terms
        ]  # others are left out where terms are read
        if all(asking):
            assert scores[place] == sum(weight for weight, matched in enumerate(matches) if matched)
