"""An API server in memory that can be listed and watched, and that forgets, fails and hangs up as told.

Every write gets a version; the log of writes is what watches are served from, and compacting it makes
older versions and older pages answer 410. A server asks its `fate` before each answer and before each
line of a watch; the fate may write, cut, or refuse.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec

from kube.scripted import Following
from mooring.kube.http.transport import Request, Stream

PODS = "/api/v1/pods"
FINISHED = ("Succeeded", "Failed")
Plain = dict[str, Any]


class Write(NamedTuple):
    """One entry of the log: what a watcher of the path hears."""

    version: int
    path: str
    type: str
    object: Plain


class Refused(Exception):
    """The server answers with a Status instead."""

    def __init__(self, code: int, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.reason = code, message, reason

    def body(self) -> Plain:
        return {"kind": "Status", "code": self.code, "message": self.message, "reason": self.reason}


EXPIRED = Refused(410, "The resourceVersion for the provided watch is too old.", "Expired")


class Cut(Exception):
    """The connection breaks, perhaps in the middle of a line."""


class Say(Exception):
    """The watch says something that is not in the log: a bookmark, an event for the second time."""

    def __init__(self, type_: str, found: Plain) -> None:
        super().__init__(type_)
        self.type, self.object = type_, found


class Fate:
    """What happens. This one: nothing.

    `before_line` is told what the watch said last, and is also asked when it has nothing to say.
    """

    def before_answer(self, server: WatchedServer, request: Request) -> None: ...

    def before_line(self, server: WatchedServer, path: str, said: Write | None) -> None: ...


class Answer:
    def __init__(self, status: int, data: Plain, lines: Callable[[], AsyncIterator[bytes]] | None = None):
        self.status = status
        self.headers: Mapping[str, str] = {}
        self._data = data
        self._lines = lines

    async def read(self) -> bytes:
        return msgspec.json.encode(self._data)  # as the API server writes

    async def bursts(self) -> AsyncIterator[list[bytes]]:
        assert self._lines is not None
        async for line in self._lines():
            yield [line]


class WatchedServer(Following):
    """Objects by path and key, with their history."""

    def __init__(self, fate: Fate | None = None) -> None:
        self.version = 1
        self.compacted = 0  # versions up to this one are forgotten
        self.objects: dict[str, dict[str, Plain]] = {PODS: {}}
        self.log: list[Write] = []
        self.asked: list[Request] = []
        self.resources: dict[str, list[Plain]] = {}  # discovery, by path
        self.bookmarks = True  # a watch that has said everything says where it is; a short one always does
        self.quiet = asyncio.Event()  # set whenever a watch has nothing more to say
        self._fate = fate or Fate()
        self._pages: dict[str, tuple[int, list[Plain]]] = {}
        self._written = asyncio.Event()
        self._uids = 0

    # writing

    def put(self, path: str, name: str, namespace: str = "", **fields: Any) -> Plain:
        """Makes or changes an object."""
        table = self.objects.setdefault(path, {})
        old = table.get(f"{namespace}/{name}")
        self.version += 1
        meta = {"name": name, "uid": old["metadata"]["uid"] if old else self._uid()}
        meta |= {"resourceVersion": str(self.version)}
        meta |= {"namespace": namespace} if namespace else {}
        meta |= fields.pop("metadata", {})
        new = {**(old or {}), **fields, "metadata": meta}
        table[f"{namespace}/{name}"] = new
        shown = (old is not None and _shown(path, old), _shown(path, new))
        if any(shown):
            kind = {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}[shown]
            self._write(path, kind, new)
        return new

    def delete(self, path: str, name: str, namespace: str = "") -> None:
        old = self.objects[path].pop(f"{namespace}/{name}")
        self.version += 1
        gone = {**old, "metadata": {**old["metadata"], "resourceVersion": str(self.version)}}
        if _shown(path, old):
            self._write(path, "DELETED", gone)

    def compact(self) -> None:
        """Forgets everything up to now."""
        self.compacted = self.version
        self.log.clear()
        self._pages.clear()

    def shown(self, path: str) -> dict[str, Plain]:
        """What a list of the path contains now."""
        return {key: found for key, found in self.objects.get(path, {}).items() if _shown(path, found)}

    def _write(self, path: str, kind: str, found: Plain) -> None:
        self.log.append(Write(self.version, path, kind, found))
        self.wake()

    def wake(self) -> None:
        """Watches that wait for news look again."""
        self._written.set()
        self._written = asyncio.Event()

    def _uid(self) -> str:
        self._uids += 1
        return f"uid-{self._uids}"

    # answering

    @asynccontextmanager
    async def follow(self, request: Request) -> AsyncIterator[Stream]:
        self.asked.append(request)
        query = dict(request.query)
        try:
            self._fate.before_answer(self, request)
            if request.path in self.resources:
                yield Answer(200, {"resources": self.resources[request.path]})
            elif request.path not in self.objects:
                raise Refused(404, "the server could not find the requested resource", "NotFound")
            elif "watch" in query:
                is_short = int(query["timeoutSeconds"]) <= 3
                yield self._watch(request.path, self._version(query["resourceVersion"]), is_short)
            else:
                yield self._list(request.path, query)
        except Refused as refused:
            yield Answer(refused.code, refused.body())

    def _version(self, said: str) -> int:
        return int(said)

    def _list(self, path: str, query: dict[str, str]) -> Answer:
        limit, token = int(query["limit"]), query.get("continue", "")
        if token and token not in self._pages:
            raise Refused(410, "The provided continue parameter is too old.", "Expired")
        version, items = self._pages[token] if token else (self.version, list(self.shown(path).values()))
        page, rest = items[:limit], items[limit:]
        meta = {"resourceVersion": str(version)}
        if rest:
            meta["continue"] = f"{version}-{len(rest)}"
            self._pages[meta["continue"]] = (version, rest)
        return Answer(200, {"metadata": meta, "items": page})

    def _watch(self, path: str, version: int, is_short: bool) -> Answer:
        if version < self.compacted:
            raise EXPIRED
        return Answer(200, {}, lambda: self._lines(path, version, self.bookmarks or is_short))

    async def _lines(self, path: str, version: int, bookmarks: bool) -> AsyncIterator[bytes]:
        write: Write | None = None
        while True:
            try:
                self._fate.before_line(self, path, write)
            except Refused as refused:
                yield json.dumps({"type": "ERROR", "object": refused.body()}).encode()
                return
            except Say as say:
                yield json.dumps({"type": say.type, "object": say.object}).encode()
                continue
            except Cut as cut:
                if line := str(cut).encode():
                    yield line
                return
            if version < self.compacted:
                yield json.dumps({"type": "ERROR", "object": EXPIRED.body()}).encode()
                return
            write = next((each for each in self.log if each.path == path and each.version > version), None)
            if write is not None:
                version = write.version
                yield msgspec.json.encode({"type": write.type, "object": write.object})
            elif bookmarks and version < self.version:
                version = self.version
                where = {"metadata": {"resourceVersion": str(version)}}
                yield json.dumps({"type": "BOOKMARK", "object": where}).encode()
            else:
                self.quiet.set()
                await self._written.wait()


def _shown(path: str, found: Plain) -> bool:
    """Whether a list shows an object: those of pods leave finished ones out."""
    return path != PODS or found.get("status", {}).get("phase") not in FINISHED
