"""The text Prometheus reads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mooring.framework.metrics.families import Family, Kind
from mooring.web.exposition import encode, gauges_text
from mooring.web.reading import Reading

FAMILY = Family("some_gauge", Kind.GAUGE, "What it is.", ("pod", "node", "all"), stability="STABLE")
WORDS = st.text(st.sampled_from('ab"\\\n,{}= é'), max_size=5)
SERIES = st.lists(
    st.tuples(st.tuples(WORDS, WORDS, WORDS), st.floats(allow_nan=False)),
    unique_by=lambda one: one[0],
)


@given(SERIES)
def test_the_quick_way_writes_what_the_library_writes(
    series: list[tuple[tuple[str, str, str], float]],
) -> None:
    readings = [Reading(FAMILY, list(series))]
    assert gauges_text(readings) == encode(readings, "text/plain")[0]


def test_openmetrics_for_those_who_ask() -> None:
    text, content_type = encode([Reading(FAMILY, [])], "application/openmetrics-text; version=1.0.0")
    assert text.endswith(b"# EOF\n")
    assert content_type.startswith("application/openmetrics-text")
