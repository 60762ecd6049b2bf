"""Requirements put together by key say what they say one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mooring.model.selectors import LabelConditions, Requirement

KEYS, VALUES = st.sampled_from("abc"), st.sampled_from("xyz")
SOME = st.frozensets(VALUES, min_size=1)
WITH_VALUES = st.builds(Requirement, KEYS, st.sampled_from(["In", "NotIn"]), SOME)
WITHOUT = st.builds(Requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"]))


@given(wanted=st.lists(WITH_VALUES | WITHOUT, max_size=5), labels=st.dictionaries(KEYS, VALUES))
def test_conditions_say_what_requirements_say(wanted: list[Requirement], labels: dict[str, str]) -> None:
    one_by_one = all(each.matches(labels.get(each.key)) for each in wanted)
    assert LabelConditions(wanted).match(labels) is one_by_one
