"""Counts what is asked of the API server, as client-go does: `rest_client_*`.

Plain numbers: they are turned into metrics when somebody reads them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from urllib.parse import urlsplit

from mooring.framework.metrics.families import Family, Kind
from mooring.framework.metrics.meter import FOLD_ABOVE, Labels, Samples

SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
BYTES = (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)
NO_ANSWER = "<error>"
BY_VERB = ("verb", "host")

REQUESTS = Family(
    "rest_client_requests_total",
    Kind.COUNTER,
    "Number of HTTP requests, partitioned by status code, method, and host.",
    ("code", "method", "host"),
    (),
    "ALPHA",
)
RETRIES = Family(
    "rest_client_request_retries_total",
    Kind.COUNTER,
    "Number of request retries, partitioned by status code, verb, and host.",
    ("code", "verb", "host"),
    (),
    "ALPHA",
)
DURATION = Family(
    "rest_client_request_duration_seconds",
    Kind.HISTOGRAM,
    "Request latency in seconds. Broken down by verb, and host.",
    BY_VERB,
    SECONDS,
    "ALPHA",
)
RATE_LIMITER = Family(
    "rest_client_rate_limiter_duration_seconds",
    Kind.HISTOGRAM,
    "Client side rate limiter latency in seconds. Broken down by verb, and host.",
    BY_VERB,
    SECONDS,
    "ALPHA",
)
REQUEST_SIZE = Family(
    "rest_client_request_size_bytes",
    Kind.HISTOGRAM,
    "Request size in bytes. Broken down by verb and host.",
    BY_VERB,
    tuple(map(float, BYTES)),
    "ALPHA",
)
RESPONSE_SIZE = Family(
    "rest_client_response_size_bytes",
    Kind.HISTOGRAM,
    "Response size in bytes. Broken down by verb and host.",
    BY_VERB,
    tuple(map(float, BYTES)),
    "ALPHA",
)
HISTOGRAMS = (DURATION, RATE_LIMITER, REQUEST_SIZE, RESPONSE_SIZE)


class _Verb:
    """What was asked with one method."""

    __slots__ = ("codes", "duration", "limited", "received", "sent")

    def __init__(self) -> None:
        self.codes: defaultdict[int, int] = defaultdict(int)  # 0: no answer
        self.duration, self.limited = Samples(SECONDS), Samples(SECONDS)
        self.sent, self.received = Samples(REQUEST_SIZE.buckets), Samples(RESPONSE_SIZE.buckets)

    def samples(self) -> dict[Family, Samples]:
        return {
            DURATION: self.duration,
            RATE_LIMITER: self.limited,
            REQUEST_SIZE: self.sent,
            RESPONSE_SIZE: self.received,
        }


class Traffic:
    """The requests of all clients of one server. Those of another thread may lose a count now and then."""

    def __init__(self, server: str = "") -> None:
        self.host = urlsplit(server).netloc.rpartition("@")[2]
        self._retries: Counter[tuple[int, str]] = Counter()  # by code and verb
        self._verbs: defaultdict[str, _Verb] = defaultdict(_Verb)

    def answered(self, verb: str, code: int, took_s: float, sent: int, received: int) -> None:
        """A request and its whole answer. `code` 0: there was none."""
        found = self._verbs[verb]
        found.codes[code] += 1
        found.duration.observe(took_s)
        if sent:
            found.sent.observe(sent)
        if code:
            found.received.observe(received)
        if found.duration.unsorted > FOLD_ABOVE:
            for samples in found.samples().values():
                samples.fold()

    def opened(self, verb: str, code: int) -> None:
        """A watch: how long it goes on says nothing about the server."""
        self._verbs[verb].codes[code] += 1

    def limited(self, verb: str, waited_s: float) -> None:
        """A request had to wait for its turn, or not."""
        self._verbs[verb].limited.observe(waited_s)

    def retried(self, verb: str, code: int) -> None:
        self._retries[code, verb] += 1

    def counts(self) -> dict[Family, list[tuple[Labels, float]]]:
        """The counters, by their labels."""
        verbs, host = list(self._verbs.items()), self.host
        requests: list[tuple[Labels, float]] = [
            ((_code(code), verb, host), float(count))
            for verb, found in verbs
            for code, count in list(found.codes.items())
        ]
        retries: list[tuple[Labels, float]] = [
            ((_code(code), verb, host), float(count)) for (code, verb), count in list(self._retries.items())
        ]
        return {REQUESTS: requests, RETRIES: retries}

    def samples(self) -> dict[Family, list[tuple[Labels, Samples]]]:
        """The histograms, by their labels; those of which there is nothing to tell are left out."""
        found: dict[Family, list[tuple[Labels, Samples]]] = {each: [] for each in HISTOGRAMS}
        for verb, kept in list(self._verbs.items()):
            for family, samples in kept.samples().items():
                if any(samples.counts):
                    found[family].append(((verb, self.host), samples))
        return found


def _code(code: int) -> str:
    return str(code) if code else NO_ANSWER
