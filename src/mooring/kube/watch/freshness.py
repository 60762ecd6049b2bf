"""Whether what is known of a kind is all that a list shows, by versions alone: no object has to be read.

The watch of a kind tells changes in the order of their versions. So whoever has heard one of a version knows
every object as it was then. What may be missing is that an object went: a list has no version for that.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing

import msgspec

from mooring.kube.client import METADATA, Client
from mooring.kube.decode.list_pages import Listed, ReadList
from mooring.kube.http.transport import Query
from mooring.kube.resources import Resource
from mooring.kube.watch.store import HasMetadata


class _Meta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    uid: str = ""
    resource_version: str = ""


class _Version(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta = _Meta()


read_versions: ReadList = msgspec.json.Decoder(Listed[_Version]).decode


NO_ORDER = -1


class Glimpse(msgspec.Struct, frozen=True):
    """What a list shows at a glance: who is there, the newest change of one of them, and of which moment."""

    uids: frozenset[str]
    newest: int
    moment: int

    def is_known(self, known: Iterable[HasMetadata], version: str) -> bool:
        """Whether whoever knows these objects and has heard of all changes up to a version knows it all."""
        if order_of(version) < self.newest:
            return False
        metas = [each.metadata for each in known]
        missing = [meta for meta in metas if meta.uid not in self.uids]
        return all(order_of(meta.resource_version) > self.moment for meta in missing)


async def glimpse(client: Client, resource: Resource, query: Query, *, is_short: bool) -> Glimpse | None:
    """What there is at this moment. None: its versions cannot be read, or are no numbers, without order."""
    uids: set[str] = set()
    newest, moment = 0, NO_ORDER
    pages = client.list_pages(resource, query=query, read=read_versions, is_short=is_short, what=METADATA)
    async with aclosing(pages):
        async for page in pages:
            moment = order_of(page.resource_version)
            if not all(isinstance(item, _Version) for item in page.items):
                return None
            orders = [order_of(item.metadata.resource_version) for item in page.items]
            if NO_ORDER in orders:
                return None
            newest = max(newest, max(orders, default=0))
            uids.update([item.metadata.uid for item in page.items])
    return None if moment == NO_ORDER else Glimpse(frozenset(uids), newest, moment)


async def newest_version(client: Client, resource: Resource) -> int:
    """The version the server is at; NO_ORDER when it does not say."""
    pages = client.list_pages(resource, limit=1, read=read_versions, is_short=True)
    async with aclosing(pages):
        async for page in pages:
            return order_of(page.resource_version)
    return NO_ORDER


def order_of(version: str) -> int:
    """Versions of one kind are numbers that grow. If they are not, nothing is known of their order."""
    return int(version) if version.isdecimal() else NO_ORDER
