"""Pages of lists, read in pieces: nothing is lost, nothing comes twice, only what is bad is left unread."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.scripted import Answer, Script
from mooring.kube.client import Client
from mooring.kube.decode import list_pages as lists
from mooring.kube.decode.decoders import Decoders
from mooring.kube.decode.list_pages import Listed, read_pieces, read_raw
from mooring.kube.decode.wire_pods import WirePod
from mooring.kube.resources import PODS

Plain = dict[str, Any]
HEAD = {"kind": "List", "apiVersion": "v1"}
META = {"resourceVersion": "7", "continue": "t1"}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "PIECE", 20)


def encode(found: Any) -> bytes:
    """Without spaces, as the API server writes."""
    return json.dumps(found, separators=(",", ":")).encode()


def pod(name: str, **parts: Any) -> Plain:
    return {"metadata": {"name": name, "namespace": "default", "uid": name}, **parts}


def page(*items: Plain, **more: Any) -> bytes:
    return encode({**HEAD, "metadata": META, "items": list(items), **more})


def pieces_of(body: bytes) -> list[Listed[Any]]:
    return list(read_pieces(body, Decoders().pod.read_list))


def names(pieces: list[Listed[Any]]) -> list[str]:
    return [_name(item) for piece in pieces for item in piece.items or ()]


def _name(item: WirePod | msgspec.Raw) -> str:
    read: WirePod = item if isinstance(item, WirePod) else msgspec.json.decode(item, type=WirePod)
    return read.metadata.name


def test_a_long_page_is_read_in_pieces() -> None:
    pieces = pieces_of(page(*map(pod, "abcd")))
    assert names(pieces) == ["a", "b", "c", "d"]
    assert len(pieces) == 4
    assert [piece.metadata.resource_version for piece in pieces] == ["7", "", "", ""]
    assert [piece.metadata.continue_ for piece in pieces] == ["t1", "", "", ""]


def test_metadata_may_come_last() -> None:
    body = encode({"items": [pod("a"), pod("b"), pod("c")], "metadata": META})
    pieces = pieces_of(body)
    assert names(pieces) == ["a", "b", "c"]
    assert [piece.metadata.resource_version for piece in pieces] == ["", "", "7"]


def test_one_bad_object_leaves_only_its_piece_unread() -> None:
    bad = pod("bad", spec={"priority": "high"})
    pieces = pieces_of(page(pod("a"), pod("b"), bad, pod("c"), pod("d")))
    assert [type(item) for piece in pieces for item in piece.items or ()] == [
        WirePod, WirePod, msgspec.Raw, WirePod, WirePod,
    ]  # fmt: skip
    assert bytes((pieces[2].items or [])[0]) == encode(bad)


def test_objects_in_an_object_are_no_items() -> None:
    """Where a page is cut within one, the rest is read in one go."""
    nested = pod("b", spec={"unknown": [{"metadata": {"name": "x"}}, {"metadata": {"name": "y"}}]})
    for at in range(4):
        items = [*map(pod, "acde"[:at]), nested, *map(pod, "acde"[at:])]
        assert names(pieces_of(page(*items))) == [item["metadata"]["name"] for item in items]


def test_nulls_and_fields_nobody_knows() -> None:
    null = pod("a", spec={"volumes": None, "nodeSelector": None, "priority": None, "containers": None})
    null["status"] = {"conditions": None, "startTime": None, "containerStatuses": None}
    null["metadata"] |= {"labels": None, "annotations": None, "ownerReferences": None, "managedFields": None}
    odd = pod("b", spec={"from": {"the": ["future", 1, None, {"a": "},{"}]}}, later=[[], {}])
    decode = Decoders().pod
    read = [decode(item) for piece in pieces_of(page(null, odd)) for item in piece.items or ()]
    assert [each.name for each in read] == ["a", "b"]
    assert read[0].spec == read[1].spec
    assert read[0].labels == {}


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"",
        b'{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}',
        b'{"items":{"metadata":{}}}',
        page(pod("a"), pod("b"), pod("c"))[:-12],
    ],
)
def test_what_is_no_list(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        pieces_of(body)


def test_a_list_of_nothing() -> None:
    assert [piece.items for piece in pieces_of(page())] == [[]]
    assert [piece.items for piece in pieces_of(encode({"items": None}))] == [None]


words = st.sampled_from(["", "a", "},{", '"', "\\", '},{"metadata":{', '],"items":[', "é"])
values = st.recursive(
    words | st.none() | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["metadata", "items", "x"]), inner, max_size=3)
    ),
)
objects = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({"name": words})}, optional={"spec": values, "status": values}
)


@given(st.lists(objects, max_size=8), st.booleans())
def test_pieces_add_up_to_the_page(items: list[Plain], metadata_last: bool) -> None:
    body = {"items": items, "metadata": META} if metadata_last else {"metadata": META, "items": items}
    pieces = list(read_pieces(encode(body), read_raw))
    assert [json.loads(bytes(item)) for piece in pieces for item in piece.items or ()] == items
    assert [piece.metadata.continue_ for piece in pieces if piece.metadata.continue_] == ["t1"]


async def test_the_client_hands_on_pieces_and_goes_on_with_the_next_page() -> None:
    last = encode({"items": [pod("c"), pod("d")], "metadata": {"resourceVersion": "8"}})
    script = Script(Answer(200, page(pod("a"), pod("b"))), Answer(200, last))
    client = Client(script)
    pages = [found async for found in client.list_pages(PODS, read=Decoders().pod.read_list)]
    assert [[_name(item) for item in found.items] for found in pages] == [["a"], ["b"], ["c"], ["d"]]
    assert {found.resource_version for found in pages} == {"7"}
    assert [dict(asked.query).get("continue") for asked in script.asked] == [None, "t1"]
