"""Writes readings in the format Prometheus asks for, by its own client library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from mooring.framework.metrics.families import Family, Kind
from mooring.web.reading import Buckets, Reading

Encoded = tuple[bytes, str]  # the text, and its content type


class Taken(Collector):
    """Readings, as a collector that was asked already."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self._readings = readings

    def collect(self) -> Iterable[Metric]:
        return map(metric_of, self._readings)

    def describe(self) -> Iterable[Metric]:
        return ()


def encode(readings: Sequence[Reading], accept: str, more: Iterable[Collector] = ()) -> Encoded:
    """The text of readings, and of what other collectors say, in the form a client accepts."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Taken(readings))
    for collector in more:
        registry.register(collector)
    encoder: Callable[[CollectorRegistry], bytes]
    encoder, content_type = choose_encoder(accept)
    return encoder(registry), content_type


def gauges_text(readings: Sequence[Reading]) -> bytes:
    """The plain text of gauges: what `encode` writes, quickly enough for a series of every pod there is."""
    lines = []
    for reading in readings:
        name, labels = reading.family.name, sorted(reading.family.labels)
        order = [reading.family.labels.index(label) for label in labels]
        pairs = ",".join(label + '="{}"' for label in labels)
        form = (name + "{{" + pairs + "}} {}\n").format
        lines.append(f"# HELP {name} {_help(reading.family)}\n# TYPE {name} gauge\n")
        for values, value in reading.series:
            assert not isinstance(value, Buckets)
            lines.append(form(*(_escaped(values[place]) for place in order), str(floatToGoString(value))))  # type: ignore[no-untyped-call]
    return "".join(lines).encode("utf-8", "replace")


def _escaped(value: str) -> str:
    if "\\" in value or "\n" in value or '"' in value:
        return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return value


def metric_of(reading: Reading) -> Metric:
    family = reading.family
    if family.kind is Kind.HISTOGRAM:
        return _histogram(family, reading)
    plain = CounterMetricFamily if family.kind is Kind.COUNTER else GaugeMetricFamily
    metric = plain(family.name, _help(family), labels=family.labels)
    for labels, value in reading.series:
        assert not isinstance(value, Buckets)
        metric.add_metric(labels, value)
    return metric


def _histogram(family: Family, reading: Reading) -> Metric:
    metric = HistogramMetricFamily(family.name, _help(family), labels=family.labels)
    bounds = [*map(floatToGoString, family.buckets), "+Inf"]
    for labels, value in reading.series:
        assert isinstance(value, Buckets)
        metric.add_metric(labels, list(_cumulative(bounds, value)), value.sum)
    return metric


def _cumulative(bounds: Sequence[str], buckets: Buckets) -> Iterator[tuple[str, float]]:
    return zip(bounds, map(float, accumulate(buckets.counts)), strict=True)


def _help(family: Family) -> str:
    return f"[{family.stability}] {family.help}" if family.stability else family.help
