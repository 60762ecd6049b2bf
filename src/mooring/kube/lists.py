"""A page of a list as the API server sends it. What its items are is up to who reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Listed(msgspec.Struct, Generic[T], frozen=True):
    metadata: ListMeta = ListMeta()
    items: list[T] | None = None


ReadList = Callable[[bytes], Listed[Any]]
read_raw: ReadList = msgspec.json.Decoder(Listed[msgspec.Raw]).decode
