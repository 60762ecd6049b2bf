"""Whatever happens on the way, what an informer tells adds up to what the server has."""

from __future__ import annotations

import asyncio
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from kube.watched_server import EXPIRED, Cut, Fate, Refused, Say, WatchedServer, Write
from kube.watched_server import PODS as PATH
from mooring.errors import Unreachable
from mooring.kube.client import Client
from mooring.kube.decode.decoders import Decoders
from mooring.kube.http.backoff import Backoff
from mooring.kube.http.transport import Request
from mooring.kube.resources import PODS
from mooring.kube.watch.engine_events import same_pod
from mooring.kube.watch.informer import Informer
from mooring.model.objects import Pod

KEYS = [(namespace, name) for namespace in ("a", "b") for name in ("one", "two", "three")]
MOST_TURNS = 3000  # of the informer's sleeping; far more than any history takes


class Misfortune(Fate):
    """Random writes between any two answers and lines, and random faults until the writes are used up."""

    def __init__(self, rng: random.Random, writes: int) -> None:
        self._rng = rng
        self.writes = writes

    def before_answer(self, server: WatchedServer, request: Request) -> None:
        self._happen(server)
        self._fail(server)

    def before_line(self, server: WatchedServer, path: str, said: Write | None) -> None:
        self._happen(server)
        if self.writes:
            match self._rng.randrange(12):
                case 0:
                    raise Cut
                case 1:
                    raise Cut('{"type":"MODIFIED","object":{"metadata":{"na')
                case 2:
                    raise EXPIRED
                case 3:
                    raise Unreachable(0, "connection reset by peer")
                case 4 if said is not None:  # once more
                    raise Say(said.type, said.object)

    def write(self, server: WatchedServer) -> None:
        """One more write, which a watch that waits for news hears of."""
        self.writes -= 1
        self._write(server)
        server.wake()

    def _happen(self, server: WatchedServer) -> None:
        while self.writes and self._rng.random() < 0.6:
            self.writes -= 1
            self._write(server)

    def _write(self, server: WatchedServer) -> None:
        namespace, name = self._rng.choice(KEYS)
        found = server.objects[PATH].get(f"{namespace}/{name}")
        there = found is not None
        finished = there and found["status"]["phase"] == "Succeeded"
        match self._rng.randrange(8):
            case 0 | 1 if there:
                server.delete(PATH, name, namespace)
            case _ if finished:  # nothing else becomes of such a pod
                server.delete(PATH, name, namespace)
            case 2 if there:
                server.put(PATH, name, namespace, status={"phase": "Succeeded"})
            case 3:
                server.compact()
            case 4 if there:  # nothing placement can see is different
                labels = {"labels": found["metadata"].get("labels", {})}
                server.put(PATH, name, namespace, metadata=labels, status=found["status"] | {"hostIP": "::1"})
            case _:
                labels = {"labels": {"v": str(self._rng.randrange(3))}}
                server.put(PATH, name, namespace, metadata=labels, status={"phase": "Running"})

    def _fail(self, server: WatchedServer) -> None:
        if self.writes:
            match self._rng.randrange(10):
                case 0:
                    raise Unreachable(0, "connection refused")
                case 1:
                    raise Refused(500, "etcdserver: request timed out")
                case 2:
                    raise Refused(429, "too many requests")
                case 3:
                    raise EXPIRED


class Heard:
    """What an informer tells, checked as it comes."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.versions: dict[str, int] = {}  # by uid, those of pods that are gone too
        self.gone: set[str] = set()

    def __call__(self, old: Pod | None, new: Pod | None) -> None:
        told = new or old
        assert told is not None
        assert self.pods.get(told.key) is old, "what was there before is what was told last"
        if new is None:
            self.gone.add(told.uid)
            del self.pods[told.key]
            return
        assert new.uid not in self.gone, "nothing comes back from the dead"
        assert old is None or old.uid == new.uid
        version = int(new.metadata.resource_version)
        assert version > self.versions.get(new.uid, 0), "nothing is told twice, nor out of order"
        assert old is None or not same_pod(old, new), "what makes no difference is not told"
        self.versions[new.uid] = version
        self.pods[new.key] = new


async def follow(rng: random.Random, writes: int, limit: int) -> tuple[WatchedServer, Heard]:
    fate = Misfortune(rng, writes)
    server, heard, turns = WatchedServer(fate), Heard(), 0

    async def sleep(seconds: float) -> None:
        nonlocal turns
        turns += 1
        assert turns < MOST_TURNS
        await asyncio.sleep(0)

    client = SmallPages(server, limit, sleep=sleep, random=rng.random)
    backoff = Backoff(random=rng.random, clock=lambda: 0.0)
    informer = Informer(client, PODS, Decoders().pod, heard, same=same_pod, backoff=backoff, sleep=sleep)
    task = asyncio.create_task(informer.run())
    while not task.done():  # until a watch that is up to date has nothing more to say
        server.quiet.clear()
        waiting = asyncio.create_task(server.quiet.wait())
        await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not fate.writes:
            break
        fate.write(server)
    if task.done():
        task.result()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert informer.synced.is_set()
    return server, heard


class SmallPages(Client):
    """A client that asks for pages of a few objects."""

    def __init__(self, server: WatchedServer, limit: int, **options: object) -> None:
        super().__init__(server, **options)  # type: ignore[arg-type]
        self._page = limit

    def list_pages(self, resource, *, limit=500, **options):  # type: ignore[no-untyped-def]
        return super().list_pages(resource, limit=self._page, **options)


@settings(max_examples=300, deadline=None)
@given(rng=st.randoms(use_true_random=True), writes=st.integers(0, 80), limit=st.integers(1, 4))
def test_what_is_told_adds_up_to_what_there_is(rng: random.Random, writes: int, limit: int) -> None:
    server, heard = asyncio.run(follow(rng, writes, limit))
    there = server.shown(PATH)
    assert heard.pods.keys() == there.keys()
    for key, pod in heard.pods.items():
        meta = there[key]["metadata"]
        assert pod.uid == meta["uid"]
        assert pod.labels == meta.get("labels", {})
