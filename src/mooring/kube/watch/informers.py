"""All informers of a scheduler: each kind its plugins read, followed side by side.

Nodes are told before pods, so that pods find their nodes; the other kinds come alongside. Kinds that are
not installed are waited for in the background and picked up when they appear.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from mooring.errors import ApiError
from mooring.kube import discovery
from mooring.kube.client import Client
from mooring.kube.contact import Contact, is_away
from mooring.kube.decode.decoders import Decoders
from mooring.kube.decode.objects import SLIM
from mooring.kube.http.backoff import RETURNING, Backoff
from mooring.kube.http.transport import Query
from mooring.kube.resources import BY_KIND, NODES, PODS, Resource
from mooring.kube.watch.engine_events import Intake, Tell, same_node, same_object, same_pod
from mooring.kube.watch.informer import ABSENT_SECONDS, Informer, Sleep
from mooring.kube.watch.known_objects import always_different

log = logging.getLogger(__name__)

# Pods that have finished hold no place: they are never listed, and leave the watch when they finish.
UNFINISHED: Query = (("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"),)

LATE_S = 2.0  # after which it is said what is waited for


class Followed(msgspec.Struct, eq=False):
    """A kind that is followed. `informer` is None until it is known where the kind is."""

    wanted: Resource | discovery.Reference
    whole: bool
    listed: asyncio.Event
    synced: asyncio.Event
    informer: Informer[Any] | None = None

    def excuse(self) -> None:
        """It is not there, so nobody waits for it."""
        self.listed.set()
        self.synced.set()


class Informers:
    """Follows `kinds` and tells the engine of every change of any of them.

    A kind is the name of one of Kubernetes' own, of which what built-in plugins read is kept; or
    `group/version/plural` of any kind, which is then kept whole.
    """

    def __init__(
        self,
        client: Client,
        kinds: Iterable[str],
        tell: Tell,
        *,
        absent_seconds: float = ABSENT_SECONDS,
        sleep: Sleep = asyncio.sleep,
        backoff: Callable[[], Backoff] = Backoff,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._intake = Intake(tell)
        self._absent_seconds = absent_seconds
        self._sleep = sleep
        self._backoff = backoff
        self._clock = clock
        self._contact = Contact(clock)
        self._decoders = Decoders()
        self._followed: dict[str, Followed] = {}
        self._group: asyncio.TaskGroup | None = None
        self._plan(kinds)

    @property
    def is_synced(self) -> bool:
        """Whether everything there was at the start has been told, and how things go on is heard of."""
        return all(each.synced.is_set() for each in self._followed.values())

    @property
    def counts(self) -> dict[str, int]:
        """How many objects are known, by kind."""
        found = (each.informer for each in self._followed.values())
        return {informer.resource.kind: len(informer) for informer in found if informer is not None}

    async def catch_up(self, *kinds: Resource) -> None:
        """Waits until all that has happened up to now has been told: of some kinds, or of all there are.

        A kind that is not installed keeps nobody waiting. One that cannot be read does, and is named.
        """
        following = (each.informer for each in self._followed.values())
        chosen = [one for one in following if one is not None and (not kinds or one.resource in kinds)]
        tasks = {asyncio.ensure_future(one.catch_up()): one.resource.plural for one in chosen}
        if not tasks:
            return
        try:
            _, late = await asyncio.wait(tasks, timeout=LATE_S)
            if late:
                names = ", ".join(sorted(tasks[each] for each in late))
                log.warning("nothing is placed before what is known of %s is up to date", names)
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    def age(self, resource: Resource) -> float:
        """For how many seconds a kind has not been followed; 0.0 as long as it is."""
        followed = self._followed.get(resource.path())
        if followed is None or followed.informer is None or followed.informer.down_since is None:
            return 0.0
        return self._clock() - followed.informer.down_since

    @property
    def is_in_touch(self) -> bool:
        """Whether any kind is being followed, so that the server certainly answers."""
        following = (each.informer for each in self._followed.values())
        return any(one is not None and one.down_since is None for one in following)

    async def run(self) -> None:
        """Follows everything until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for each in self._followed.values():
                group.create_task(self._follow(each))

    async def listed(self) -> None:
        """Waits until everything there was at the start has been told."""
        for each in list(self._followed.values()):
            await each.listed.wait()

    async def synced(self) -> None:
        """Waits until that has been told, and how things go on is heard of too."""
        for each in list(self._followed.values()):
            await each.synced.wait()

    async def add(self, kinds: Iterable[str]) -> None:
        """Follows more kinds, for plugins that were loaded meanwhile, and waits until they are in."""
        added = self._plan(kinds)
        for each in added if self._group is not None else ():
            assert self._group is not None
            self._group.create_task(self._follow(each))
        for each in added:
            await each.synced.wait()

    def _plan(self, kinds: Iterable[str]) -> list[Followed]:
        """What is to be followed and is not yet. A kind that anybody wants whole is kept whole."""
        added: dict[str, Followed] = {}
        for kind in sorted(kinds, key=lambda kind: ("/" not in kind, kind)):
            whole = kind not in BY_KIND
            wanted: Resource | discovery.Reference = BY_KIND[kind] if not whole else discovery.parse(kind)
            if isinstance(wanted, discovery.Reference):
                wanted = wanted.built_in or wanted
            name = wanted.path() if isinstance(wanted, Resource) else f"{wanted.path}/{wanted.name}"
            if name not in self._followed and name not in added:
                added[name] = Followed(wanted, whole, asyncio.Event(), asyncio.Event())
        self._followed |= added
        return list(added.values())

    async def _follow(self, followed: Followed) -> None:
        if isinstance(followed.wanted, Resource):
            resource = followed.wanted
        else:
            resource = await self._found(followed.wanted, followed.excuse)
        followed.informer = self._informer(resource, followed)
        await followed.informer.run()

    async def _found(self, wanted: discovery.Reference, excuse: Callable[[], None]) -> Resource:
        """Asks for a kind until it is installed. That it is not is no reason for others to wait."""
        backoff, returning, said = self._backoff(), Backoff(RETURNING), ""
        while True:
            try:
                resource = await discovery.find(self._client, wanted)
                if resource is not None:
                    return resource
                excuse()
                wait = self._absent_seconds
            except ApiError as error:
                if str(error) != said:
                    log.warning("cannot ask for %s in %s: %s", wanted.name, wanted.path, error)
                soon = is_away(error) or self._contact.is_unsettled
                said, wait = str(error), (returning if soon else backoff).next(error.retry_after)
            await self._sleep(wait)

    def _informer(self, resource: Resource, followed: Followed) -> Informer[Any]:
        intake, decode = self._intake, self._decoders.of(resource, whole=followed.whole)
        deliver: Callable[[Any, Any], None] = intake.object
        # Writers of other kinds name the version they saw: that one must then be the newest.
        same: Callable[[Any, Any], bool] = always_different
        if resource == PODS:
            deliver, same = intake.pod, same_pod
        elif resource == NODES:
            deliver, same = intake.node, same_node
        elif resource.kind in SLIM and not followed.whole:
            same = same_object
        return Informer(
            self._client,
            resource,
            decode,
            deliver,
            query=UNFINISHED if resource == PODS else (),
            same=same,
            backoff=self._backoff(),
            contact=self._contact,
            clock=self._clock,
            absent_seconds=self._absent_seconds,
            sleep=self._sleep,
            read_list=decode.read_list,
            listed=followed.listed,
            synced=followed.synced,
            after=self._nodes_told() if resource == PODS else None,
            not_read=intake.not_read,
        )

    def _nodes_told(self) -> asyncio.Event | None:
        nodes = self._followed.get(NODES.path())
        return None if nodes is None else nodes.listed
