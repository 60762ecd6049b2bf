"""Whatever a server says on a watch or in a list, an informer goes on, and in the end knows what there is."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

from fuzz.fuzzing import fuzzed
from fuzz.mutation import changed, changed_bytes
from kube.test_informer_random import KEYS, PATH, SmallPages
from kube.watched_server import EXPIRED, Answer, Cut, Fate, Refused, Say, WatchedServer, Write
from mooring.errors import Unreachable
from mooring.kube.decode.decoders import Decoders
from mooring.kube.http.backoff import Backoff
from mooring.kube.http.transport import Request
from mooring.kube.resources import PODS
from mooring.kube.watch.engine_events import same_pod
from mooring.kube.watch.informer import Informer
from mooring.model.objects import Pod

MOST_TURNS = 5000
POD: dict[str, Any] = {
    "metadata": {
        "labels": {"app": "web"},
        "annotations": {"note": "x"},
        "ownerReferences": [{"kind": "Job"}],
    },
    "spec": {
        "nodeName": "n",
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
        "tolerations": [{"key": "k", "operator": "Exists"}],
    },
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}
TYPES = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "", "NEWS")


class Liar(Fate):
    """Says what no server says, for so many lines and answers; then it tells the truth."""

    def __init__(self, rng: random.Random, lies: int) -> None:
        self._rng = rng
        self.lies = lies

    def before_answer(self, server: WatchedServer, request: Request) -> None:
        if self._lies():
            match self._rng.randrange(5):
                case 0:
                    raise Unreachable(0, "connection refused")
                case 1:
                    raise Refused(self._rng.choice((400, 403, 404, 409, 422, 429, 500, 503, 504)), "no")
                case 2:
                    raise EXPIRED

    def before_line(self, server: WatchedServer, path: str, said: Write | None) -> None:
        if not self._lies():
            return
        object_ = dict(self._rng.choice(list(server.objects[path].values())))
        match self._rng.randrange(3):
            case 0:
                line = json.dumps({"type": self._rng.choice(TYPES), "object": object_})
                raise Cut(changed_bytes(self._rng, line.encode()).decode(errors="replace"))
            case 1:
                raise Say(self._rng.choice(TYPES), changed(self._rng, object_))
            case _:
                raise Cut

    def _lies(self) -> bool:
        self.lies -= 1
        return self.lies >= 0


class LyingServer(WatchedServer):
    """While its fate lies, its lists do too. Versions that are none are refused, as a real server does."""

    def __init__(self, rng: random.Random, fate: Liar) -> None:
        super().__init__(fate)
        self._rng, self._liar = rng, fate

    def _version(self, said: str) -> int:
        if not said.isdecimal():
            raise Refused(400, f"Invalid value: {said!r}: strconv.ParseUint: parsing", "BadRequest")
        return int(said[:1000])

    def _list(self, path: str, query: dict[str, str]) -> Answer:
        sound = super()._list(path, query)
        if self._liar.lies > 0 and self._rng.random() < 0.5:
            return Answer(200, changed(self._rng, sound._data))
        return sound

    def _watch(self, path: str, version: int, is_short: bool) -> Answer:
        if version > self.version:
            raise Refused(504, f"Too large resource version: {version}, current: {self.version}", "Timeout")
        return super()._watch(path, version, is_short)


async def follow(rng: random.Random) -> tuple[LyingServer, dict[str, Pod]]:
    fate = Liar(rng, rng.randint(1, 30))
    server, known, turns = LyingServer(rng, fate), dict[str, Pod](), 0
    for namespace, name in KEYS:
        server.put(PATH, name, namespace, **json.loads(json.dumps(POD)))

    def told(old: Pod | None, new: Pod | None) -> None:
        if old is not None:
            known.pop(old.key)
        if new is not None:
            known[new.key] = new

    async def sleep(seconds: float) -> None:
        nonlocal turns
        turns += 1
        assert turns < MOST_TURNS, "it does not come to rest"
        await asyncio.sleep(0)

    client = SmallPages(server, 4, sleep=sleep, random=rng.random)
    backoff = Backoff(random=rng.random, clock=lambda: 0.0)
    informer = Informer(client, PODS, Decoders().pod, told, same=same_pod, backoff=backoff, sleep=sleep)
    task = asyncio.create_task(informer.run())
    for _ in range(2):  # the second time after everything was forgotten: what was lied about is listed anew
        server.quiet.clear()
        waiting = asyncio.create_task(server.quiet.wait())
        await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if task.done():
            task.result()
        fate.lies = 0
        server.version += 10
        server.compact()
        server.wake()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return server, known


@fuzzed(played=150)
def test_in_the_end_it_knows_what_there_is(rng: random.Random) -> None:
    server, known = asyncio.run(follow(rng))
    there = server.shown(PATH)
    assert known.keys() == there.keys()
    assert {key: pod.uid for key, pod in known.items()} == {
        key: found["metadata"]["uid"] for key, found in there.items()
    }
