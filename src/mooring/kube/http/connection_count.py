"""How many connections to a server are worth having: as many as bring more answers a second.

Each request under way has one to itself. A server near by that answers at once needs few; one that is far
away, or has to ask a webhook for every write, needs as many as requests are made until an answer is there.
When more of them bring no more answers the server is the one that is slow, or the line is full, and their
number is taken back; when the server says that it is asked too much (429), it is halved. A line that is known
to be thin is full anyway, and handshakes would only fill it further.
"""

from __future__ import annotations

import math

from mooring.kube.http.bandwidth import Line

ENOUGH = 1000.0  # answers a second; a scheduler decides hardly faster
CALLS = 768  # under way at a time, at most
AHEAD = 2  # times as many requests as connections may be made: the next is there when an answer is
SLOWLY = 3  # times as many connections must be needed before a server near by gets more of them
PAYS = 1.1  # times as many answers a second, or growing was for nothing
ROUND_S = 0.05  # answers are counted for so long, or for the time of
ROUNDS = 2  # answers when the number has just grown and the new ones are open
REST_S = 30.0  # between growing for nothing, or being refused, and the next try
SLOW_S = 0.016  # who takes no longer than this for an answer is not slow, however near
LATELY_S = 10.0  # the quickest answer of the last one or two times as many seconds tells what a server takes
SMOOTHING = 0.2  # weight of the last answer in how long one takes


class Width:
    """`now` connections at most, of `least` to `most`. Time is passed in."""

    def __init__(self, least: int, most: int, line: Line | None = None) -> None:
        self._line = line or Line()
        self.now = least
        self.is_settled = most <= least  # nothing is to be gained by waiting for more of them
        self._least, self._most = least, most
        self._before = least  # the number before it grew
        self.service_s = math.inf  # that the server itself takes for an answer, lately; unknown at first
        self._quickest_s = self._quickest_before_s = math.inf  # service, in these and in the last few seconds
        self._quickest_since = -math.inf
        self._answer_s = 0.0  # that an answer takes, lately
        self._distance_s = math.inf  # that the way there and back takes: the least an answer ever took
        self._answers, self._since = 0, -math.inf
        self._waited = False
        self._rate = 0.0  # answers a second before it grew; 0 while it has not
        self._rests_until = -math.inf

    @property
    def calls(self) -> int:
        """How many requests may be made at a time: more only wait for each other."""
        return min(CALLS, AHEAD * self.now)

    @property
    def is_known(self) -> bool:
        """Whether anything has been answered."""
        return self.service_s < math.inf

    def measured(self, distance_s: float) -> None:
        """The way there and back takes so long."""
        self._distance_s = min(self._distance_s, distance_s)

    def waited(self, now: float) -> bool:
        """A request has to wait for a connection. True when `now` has changed."""
        self._waited = True
        if self.is_settled or self._rate or self._distance_s == math.inf or now < self._rests_until:
            return False
        return self._grow(self._guessed_rate(), now)

    def answered(self, took_s: float, now: float, *, opening: bool = False) -> bool:
        """A request has been answered. True when `now` has changed.

        While connections are `opening`, which takes several round trips, nothing is known of what they bring.
        """
        self.measured(took_s)
        service_s, known = took_s - self._distance_s, self.service_s
        self.service_s = service_s if known == math.inf else known + SMOOTHING * (service_s - known)
        self._answer_s += SMOOTHING * (took_s - self._answer_s)
        self._note_quickest(service_s, now)
        if self._rate and opening:
            self._begin(now)
            return False
        self._answers += 1
        rounds = ROUNDS if self._rate else 1
        if now - self._since < max(ROUND_S, rounds * max(took_s, self._answer_s)):
            return False
        rate, waited = self._answers / (now - self._since) or self._guessed_rate(), self._waited
        self._begin(now)
        return waited and self._judge(rate, now)

    def _note_quickest(self, service_s: float, now: float) -> None:
        """A webhook makes every write slow; who is only busy is quick now and then."""
        if now - self._quickest_since > LATELY_S:
            self._quickest_before_s, self._quickest_s = self._quickest_s, math.inf
            self._quickest_since = now
        self._quickest_s = min(self._quickest_s, service_s)

    def refused(self, now: float) -> bool:
        """The server is asked too much. True when `now` has changed."""
        if now < self._rests_until:
            return False
        width, self.now = self.now, max(1, self._least // 4, self.now // 2)
        self._rate, self._rests_until = 0.0, now + REST_S
        self._begin(now)
        return self.now != width

    def _judge(self, rate: float, now: float) -> bool:
        """After a round in which requests had to wait."""
        before, self._rate = self._rate, 0.0
        if before and rate < PAYS * before:
            width, self.now = self.now, self._before
            self.is_settled, self._rests_until = True, now + REST_S
            return self.now != width
        return now >= self._rests_until and self._grow(rate, now)

    def _guessed_rate(self) -> float:
        """Answers a second when all connections there may be are busy; for as long as none were counted."""
        return self.now / max(self._distance_s, self._answer_s, ROUND_S)

    def _grow(self, rate: float, now: float) -> bool:
        far = ENOUGH * self._distance_s
        is_far = far > self._least
        # Near by, answers also take long when the server is busy, and a new connection keeps it busier still.
        service_s = self.service_s if is_far else min(self._quickest_s, self._quickest_before_s)
        needed = far + (ENOUGH * service_s if self.is_known else 0.0)
        bearable = self.now if is_far else SLOWLY * self.now
        wanted = min(self._most, max(self._least, math.ceil(needed)))
        grows = needed > bearable and wanted > self.now and not self._line.is_thin
        self.is_settled = self.is_known and not grows
        if not grows:
            return False
        self._before, self.now, self._rate = self.now, wanted, rate
        self._begin(now)
        return True

    def _begin(self, now: float) -> None:
        self._answers, self._since, self._waited = 0, now, False
