"""What parts lack is what counting all of them afresh would say."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mooring.workloads.declared import Part
from mooring.workloads.gang_parts import PartsLack

NAMES = st.sampled_from("abcd")
LEAST = st.lists(st.builds(Part, name=NAMES, least=st.integers(-1, 3)), unique_by=lambda part: part.name)
STEPS = st.lists(st.tuples(st.sampled_from(["one", "other"]), NAMES, st.sampled_from([1, -1]), st.booleans()))


@given(parts=LEAST, steps=STEPS)
def test_parts_lack_what_counting_afresh_says(
    parts: list[Part], steps: list[tuple[str, str, int, bool]]
) -> None:
    there = {"one": Counter[str](), "other": Counter[str]()}
    lack = PartsLack(parts, lambda how, part: there[how][part], lambda: {*there["one"], *there["other"]})
    for how, name, amount, asked in steps:
        there[how][name] = max(0, there[how][name] + amount)
        lack.changed(name)
        if asked:
            short = {p.name: p.least - there[how][p.name] for p in parts if p.least > there[how][p.name]}
            assert lack.total(how) == sum(short.values())
            assert lack.first(how, 9) == list(short)
            assert lack.first(how, 1) == list(short)[:1]
