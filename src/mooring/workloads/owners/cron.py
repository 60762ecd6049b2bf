"""Cron schedules as a CronJob takes them: five fields, the @-names, `@every 90s`.

Fields take `*`, `?`, numbers, names of months and days, ranges, steps and lists. Where both the day of the
month and the day of the week are restricted, either will do.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from mooring.config.durations import parse_duration

NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
EVERY = "@every "
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
# name, lowest, highest, names for numbers
FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, {name: number for number, name in enumerate(MONTHS, 1)}),
    ("day of the week", 0, 6, {name: number for number, name in enumerate(DAYS)}),
)
FURTHEST = timedelta(days=5 * 366)  # no schedule that has a time at all has none for so long


class Cron:
    """One schedule. ValueError says what is wrong with it."""

    def __init__(self, text: str, zone: str = "") -> None:
        self._zone = _zone(zone)
        text = text.strip()
        self._every = 0.0
        if text.startswith(EVERY):
            self._every = max(float(int(parse_duration(text.removeprefix(EVERY).strip()))), 1.0)
            return
        words = NAMED.get(text, text).split()
        if len(words) != len(FIELDS):
            raise ValueError(f"expected 5 fields, such as */15 * * * *, not {len(words)}")
        fields = zip(words, FIELDS, strict=True)
        self._minutes, self._hours, self._dates, self._months, self._days = (
            _field(word, *field) for word, field in fields
        )
        self._any_date, self._any_day = (word[0] in "*?" for word in (words[2], words[4]))

    def next_after(self, moment: float) -> float | None:
        """The first time after a moment, in seconds since the epoch; None when there is none for years."""
        if self._every:
            return float(int(moment)) + self._every
        now = datetime.fromtimestamp(int(moment), self._zone).replace(second=0, tzinfo=None)
        now, end = now + timedelta(minutes=1), now + FURTHEST
        while now < end:
            if now.month not in self._months or not self._has_day(now):
                now = now.replace(hour=0, minute=0) + timedelta(days=1)
            elif now.hour not in self._hours:
                now = now.replace(minute=0) + timedelta(hours=1)
            elif now.minute not in self._minutes:
                now += timedelta(minutes=1)
            elif (found := self._moment(now)) is not None and found > moment:
                return found
            else:
                now += timedelta(minutes=1)  # a time the clocks jump over, or come to again
        return None

    def _has_day(self, now: datetime) -> bool:
        date, day = now.day in self._dates, (now.weekday() + 1) % 7 in self._days
        return (date and day) if self._any_date or self._any_day else (date or day)

    def _moment(self, local: datetime) -> float | None:
        found = local.replace(tzinfo=self._zone)
        there = datetime.fromtimestamp(found.timestamp(), self._zone).replace(tzinfo=None)
        return found.timestamp() if there == local else None


def _zone(name: str) -> tzinfo:
    if not name:
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise ValueError(f'there is no time zone "{name}"') from None


def _field(text: str, what: str, low: int, high: int, names: dict[str, int]) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        if slash and not (step.isdecimal() and int(step)):
            raise ValueError(f'"{part}" is not a {what}: after / comes a number above 0')
        if span in ("*", "?"):
            first, last = low, high
        else:
            start, dash, end = span.partition("-")
            first = _number(start, what, low, high, names)
            last = _number(end, what, low, high, names) if dash else (high if slash else first)
        if first > last:
            raise ValueError(f'"{part}" is not a {what}: it ends before it begins')
        found.update(range(first, last + 1, int(step) if slash else 1))
    return frozenset(found)


def _number(text: str, what: str, low: int, high: int, names: dict[str, int]) -> int:
    number = names.get(text.lower(), int(text) if text.isdecimal() and len(text) < 5 else -1)
    if not low <= number <= high:
        raise ValueError(f'"{text}" is not a {what}: {low} to {high}')
    return number
