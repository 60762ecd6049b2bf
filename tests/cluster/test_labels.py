"""Labels of nodes as columns."""

from __future__ import annotations

import numpy as np

from mooring.cluster.labels import ABSENT, LabelColumns


def test_rows_are_matched_by_value() -> None:
    labels = LabelColumns(4)
    for row, zone in enumerate("abab"):
        labels.put(row, {"zone": zone})
    assert labels.column("zone").matching(lambda zone: zone == "b").tolist() == [False, True, False, True]


def test_absent_labels_are_asked_about_as_none() -> None:
    labels = LabelColumns(3)
    labels.put(1, {"zone": "a"})
    assert labels.column("zone").matching(lambda zone: zone is None).tolist() == [True, False, True]


def test_a_key_nobody_carries_is_absent_everywhere() -> None:
    column = LabelColumns(3).column("zone")
    assert column.ids.tolist() == [ABSENT] * 3
    assert column.matching(lambda zone: zone is None).tolist() == [True] * 3
    assert column.matching(lambda zone: zone is not None).tolist() == [False] * 3


def test_the_test_is_asked_once_per_distinct_value() -> None:
    labels = LabelColumns(100)
    for row in range(100):
        labels.put(row, {"zone": "ab"[row % 2]})
    asked = []
    labels.column("zone").matching(lambda zone: asked.append(zone) is None)
    assert asked == ["a", "b", None]


def test_putting_replaces_all_labels_of_the_row() -> None:
    labels = LabelColumns(2)
    labels.put(0, {"zone": "a", "disk": "ssd"})
    labels.put(0, {"zone": "b"})
    assert labels.column("disk").ids.tolist() == [ABSENT, ABSENT]
    assert labels.column("zone").matching(lambda zone: zone == "b").tolist() == [True, False]


def test_growing_keeps_values_and_adds_absences() -> None:
    labels = LabelColumns(2)
    labels.put(1, {"zone": "a"})
    labels.grow(5)
    labels.put(4, {"zone": "a", "new": "x"})
    assert labels.column("zone").matching(lambda zone: zone == "a").tolist() == [0, 1, 0, 0, 1]
    assert labels.column("new").ids.tolist() == [ABSENT] * 4 + [0]


def test_answers_are_booleans_whatever_the_test_returns() -> None:
    labels = LabelColumns(2)
    labels.put(0, {"zone": "a"})
    found = labels.column("zone").matching(lambda zone: zone and zone.startswith("a"))  # type: ignore[arg-type,return-value]
    assert found.dtype == np.bool_
    assert found.tolist() == [True, False]
