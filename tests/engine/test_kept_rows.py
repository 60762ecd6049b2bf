"""Rows that kept evaluations have never found feasible."""

from __future__ import annotations

from mooring.engine.placement.kept.buckets import Buckets


def test_rows_beyond_the_known_ones_can_be_hidden() -> None:
    """A node that joined later and is barred by a nominated pod was never put in a bucket."""
    buckets = Buckets(2, lambda raws, sizes: [0] * len(raws))
    buckets.put(0, (), 10)
    buckets.put(1, (), 20)
    with buckets.without([1, 5]):
        assert dict(buckets.totals()) == {0: 10}
    assert dict(buckets.totals()) == {0: 10, 1: 20}
    buckets.check()
