"""The table of what is recent: the newest are there, and it never outgrows its limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.newest_entries import Recent


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=200), st.integers(2, 20))
def test_the_newest_are_there_and_it_does_not_outgrow_its_limit(
    steps: list[tuple[int, bool]], limit: int
) -> None:
    recent, model = Recent[int, int](limit), dict[int, int]()
    puts = 0
    for key, drops in steps:
        if drops:
            assert recent.pop(key) in (model.pop(key, None), None)
            assert recent.get(key) is None
        else:
            puts += 1
            recent.put(key, puts)
            model[key] = puts
        for each, number in model.items():
            assert recent.get(each) in (number, None)
            assert recent.get(each) == number or number <= puts - limit // 2
        assert dict(recent.items()).items() <= model.items()
        assert len(recent) <= limit
