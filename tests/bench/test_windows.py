"""Windows are parts of one run: together they are all of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.bench.cases import CASES
from mooring.bench.runner import _parts, run_case


@given(st.integers(1, 500), st.integers(1, 60))
def test_parts_follow_each_other_and_leave_nothing_out(pods: int, windows: int) -> None:
    parts = _parts(pods, windows)
    assert [number for start, end in parts for number in range(start, end)] == list(range(pods))
    sizes = [end - start for start, end in parts]
    assert min(sizes) > 0
    assert len(parts) == min(pods, windows)
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("windows", [None, 1, 3])
def test_the_best_window_is_told_when_it_is_asked_for(windows: int | None) -> None:
    measured = run_case(CASES["SchedulingBasic"], 20, 70, windows=windows)
    assert measured.bound == 70
    if windows is None:
        assert (measured.best_per_cpu_s, measured.best_p99_us) == (None, None)
    else:
        assert measured.best_per_cpu_s is not None
        assert measured.best_p99_us is not None
        # the best part is not slower than the whole, which has to count its windows as well
        assert measured.best_per_cpu_s >= 1e6 / measured.cpu_us_per_pod * 0.999
