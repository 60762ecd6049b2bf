"""Which Events say the same again: they become a series, counted in memory and written now and then."""

from __future__ import annotations

import msgspec

from mooring.cluster.newest_entries import Recent
from mooring.kube.request_bodies import micro_timestamp
from mooring.model.objects import Node, Object, Pod
from mooring.model.texts import clean

NOTE_BYTES = 1024  # the API server takes no more
CUT = " ..."
NAME_CHARACTERS = 253
FINISHED_S = 6 * 60  # a series that was silent for so long is over
REFRESHED_S = 30 * 60  # one that goes on is written so often
REMEMBERED = 10_000


class Reference(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An object, as Events refer to it."""

    kind: str
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""  # a default is not written, and this has to be
    resource_version: str = ""


class Meta(msgspec.Struct, frozen=True):
    name: str
    namespace: str


class Series(msgspec.Struct, frozen=True, rename="camel"):
    count: int
    last_observed_time: str


class Event(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An events.k8s.io/v1 Event as it is written."""

    api_version: str = msgspec.field(name="apiVersion")
    kind: str
    metadata: Meta
    event_time: str
    type: str
    reason: str
    action: str
    note: str
    reporting_controller: str
    reporting_instance: str
    regarding: Reference
    related: Reference | None = None
    series: Series | None = None


class Told:
    """An Event that was told, and how often since."""

    __slots__ = ("count", "event", "last_s", "written", "written_s")

    def __init__(self, event: Event, now_s: float) -> None:
        self.event = event
        self.count = 1
        self.written = 0  # the count the server knows of, or is being told
        self.last_s = now_s
        self.written_s = now_s

    def again(self, now_s: float) -> bool:
        """Counts it once more. True when that is to be written at once: the first time."""
        self.count += 1
        self.last_s = now_s
        return self.count == 2

    @property
    def is_behind(self) -> bool:
        """Whether the server knows of it, but not how often it was told."""
        return 0 < self.written < self.count

    def series(self, now_s: float) -> Series | None:
        """What is to be written of it now; None when it is no series. From now on the server knows."""
        self.written, self.written_s = self.count, now_s
        return Series(self.count, micro_timestamp(self.last_s)) if self.count > 1 else None


class Memory:
    """What was told lately, by what makes Events the same."""

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._told = Recent[tuple[str, ...], Told](limit)

    def find(self, key: tuple[str, ...]) -> Told | None:
        return self._told.get(key)

    def keep(self, key: tuple[str, ...], told: Told) -> None:
        self._told.put(key, told)

    def due(self, now_s: float) -> list[Told]:
        """Series to write now. Those that are over are forgotten with it."""
        due: list[Told] = []
        for key, told in list(self._told.items()):
            over = now_s - told.last_s >= FINISHED_S
            if told.is_behind and (over or now_s - told.written_s >= REFRESHED_S):
                due.append(told)
            if over:
                self._told.pop(key)
        return due

    def unwritten(self) -> list[Told]:
        """Series of which the server does not know the whole."""
        return [told for _, told in self._told.items() if told.is_behind]


def reference_to(about: Pod | Node | Object | Reference) -> Reference:
    if isinstance(about, Reference):
        return about
    meta = about.metadata
    if isinstance(about, Object):
        kind, version = about.kind, about.api_version
    else:
        kind, version = type(about).__name__, "v1"
    return Reference(kind, meta.namespace, meta.name, meta.uid, version, meta.resource_version)


def cut_short(note: str) -> str:
    """A note of at most as many bytes as the API server takes."""
    note = clean(note[: NOTE_BYTES + 1])
    if len(note) * 4 <= NOTE_BYTES or len(data := note.encode()) <= NOTE_BYTES:
        return note
    return data[: NOTE_BYTES - len(CUT)].decode("utf-8", "ignore") + CUT


def event_name(name: str, now_ns: int) -> str:
    """The object's name and the moment, in as many characters as a name may have."""
    moment = f".{now_ns:x}"
    return name[: NAME_CHARACTERS - len(moment)] + moment
