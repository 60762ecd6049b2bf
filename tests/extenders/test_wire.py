"""The extender protocol, byte by byte."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from engine.stage import node, pod
from mooring.extender.wire import (
    AnswerError,
    BindingArgs,
    ExtenderArgs,
    FilterResult,
    HostPriority,
    MetaPod,
    MetaVictims,
    NodeList,
    PreemptionArgs,
    Victims,
    check_bound,
    encode,
    read_filter,
    read_preemption,
    read_priorities,
)

POD = (
    b'{"metadata":{"name":"p","namespace":"default","uid":"p"},"spec":{"schedulerName":"default-scheduler",'
    b'"containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}]},"status":{}}'
)


def test_nodes_by_name() -> None:
    body = ExtenderArgs(pod("p"), node_names=("a", "b"))
    assert encode(body) == b'{"Pod":' + POD + b',"Nodes":null,"NodeNames":["a","b"]}'


def test_nodes_in_full() -> None:
    body = ExtenderArgs(pod("p"), nodes=NodeList((node("a", labels={"zone": "z"}),)))
    room = b'{"cpu":"4","memory":"8Gi","pods":110}'
    listed = (
        b'{"items":[{"metadata":{"name":"a","labels":{"zone":"z"}},"spec":{},'
        b'"status":{"capacity":' + room + b',"allocatable":' + room + b'}}],"metadata":{}}'
    )
    assert encode(body) == b'{"Pod":' + POD + b',"Nodes":' + listed + b',"NodeNames":null}'


def test_bind() -> None:
    expected = b'{"PodName":"p","PodNamespace":"default","PodUID":"u","Node":"a"}'
    assert encode(BindingArgs("p", "default", "u", "a")) == expected


FULL = (
    b'{"Nodes":null,"NodeNames":["a"],"FailedNodes":{"b":"no"},"FailedAndUnresolvableNodes":{"c":"never"},'
    b'"Error":""}'
)


@pytest.mark.parametrize(
    ("answer", "by_name", "expected"),
    [
        pytest.param(FULL, True, FilterResult(("a",), {"b": "no"}, {"c": "never"}), id="all keys"),
        pytest.param(b'{"nodeNames":["a"],"failednodes":null}', True, FilterResult(("a",)), id="any case"),
        pytest.param(b'{"NodeNames":["a"],"Extra":[1]}', True, FilterResult(("a",)), id="unknown key"),
        pytest.param(b'{"NodeNames":[]}', True, FilterResult(()), id="no node"),
        pytest.param(b"{}", True, FilterResult(()), id="nothing said"),
        pytest.param(b"null", True, FilterResult(()), id="null"),
        pytest.param(
            b'{"Nodes":{"items":[{"metadata":{"name":"a"},"status":{"x":1}}]}}',
            False,
            FilterResult(("a",)),
            id="nodes",
        ),
        pytest.param(
            b'{"Nodes":{"Items":[{"metadata":{"name":"a"}}]},"NodeNames":null}',
            True,
            FilterResult(("a",)),
            id="nodes for names",
        ),
        pytest.param(b'{"NodeNames":["a"]}', False, FilterResult(()), id="names where nodes were sent"),
        pytest.param(b'{"Nodes":{"items":null}}', False, FilterResult(()), id="no items"),
    ],
)
def test_filter_answers(answer: bytes, by_name: bool, expected: FilterResult) -> None:
    assert read_filter(answer, by_name=by_name) == expected


@pytest.mark.parametrize(
    "answer",
    [b"", b"oops", b"[]", b'{"NodeNames":3}', b'{"NodeNames":[1]}', b'{"FailedNodes":["a"]}', b'{"Error":1}'],
)
def test_unreadable_filter_answers(answer: bytes) -> None:
    with pytest.raises(AnswerError):
        read_filter(answer, by_name=True)


@pytest.mark.parametrize("before", [b"", b'{"Error":', b'{"Nodes":', b'{"Nodes":{"items":', b'[{"Host":'])
@pytest.mark.parametrize("read", [read_priorities, read_preemption, partial(read_filter, by_name=False)])
def test_answers_without_end_in_depth(read: Callable[[bytes], object], before: bytes) -> None:
    for deep in (b"[" * 100_000, b'{"a":' * 100_000):
        with pytest.raises(AnswerError):
            read(before + deep)


def test_unreadable_nodes() -> None:
    with pytest.raises(AnswerError):
        read_filter(b'{"Nodes":{"items":[1]}}', by_name=False)


def test_an_error_in_its_own_words() -> None:
    with pytest.raises(AnswerError, match=r"^out of devices$"):
        read_filter(b'{"NodeNames":["a"],"Error":"out of devices"}', by_name=True)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(b'[{"Host":"a","Score":7}]', [HostPriority("a", 7)], id="plain"),
        pytest.param(b'[{"host":"a","score":7}]', [HostPriority("a", 7)], id="any case"),
        pytest.param(b'[{"Host":"a"}]', [HostPriority("a", 0)], id="no score"),
        pytest.param(b"[]", [], id="empty"),
        pytest.param(b"null", [], id="null"),
    ],
)
def test_priorities(answer: bytes, expected: list[HostPriority]) -> None:
    assert read_priorities(answer) == expected


@pytest.mark.parametrize(
    "answer",
    [b"", b"{}", b"[1]", b'[{"Host":"a","Score":"7"}]', b'[{"Host":"a","Score":99999999999999999999}]'],
)
def test_unreadable_priorities(answer: bytes) -> None:
    with pytest.raises(AnswerError):
        read_priorities(answer)


@pytest.mark.parametrize("answer", [b"{}", b'{"Error":""}', b'{"Error":null}'])
def test_bound(answer: bytes) -> None:
    check_bound(answer)


def test_not_bound() -> None:
    with pytest.raises(AnswerError, match=r"^pod has gone$"):
        check_bound(b'{"error":"pod has gone"}')


def test_victims_by_uid() -> None:
    body = PreemptionArgs(pod("p"), node_name_to_meta_victims={"a": MetaVictims((MetaPod("u"),), 2)})
    said = b'{"a":{"Pods":[{"UID":"u"}],"NumPDBViolations":2}}'
    assert (
        encode(body) == b'{"Pod":' + POD + b',"NodeNameToVictims":null,"NodeNameToMetaVictims":' + said + b"}"
    )


def test_victims_in_full() -> None:
    body = PreemptionArgs(pod("p"), node_name_to_victims={"a": Victims((pod("p"),), 1)})
    said = b'{"a":{"Pods":[' + POD + b'],"NumPDBViolations":1}}'
    assert (
        encode(body) == b'{"Pod":' + POD + b',"NodeNameToVictims":' + said + b',"NodeNameToMetaVictims":null}'
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(b"{}", {}, id="nothing"),
        pytest.param(b"null", {}, id="null"),
        pytest.param(b'{"NodeNameToMetaVictims":null}', {}, id="null map"),
        pytest.param(
            b'{"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u"},{"UID":"v"}],"NumPDBViolations":1}}}',
            {"a": MetaVictims((MetaPod("u"), MetaPod("v")), 1)},
            id="victims",
        ),
        pytest.param(
            b'{"nodeNameToMetaVictims":{"a":{"pods":[{"uid":"u"}]},"b":{"pods":null},"c":null}}',
            {"a": MetaVictims((MetaPod("u"),)), "b": MetaVictims(), "c": MetaVictims()},
            id="other case",
        ),
    ],
)
def test_preemption_answers(answer: bytes, expected: dict[str, MetaVictims]) -> None:
    assert read_preemption(answer) == expected


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"[]",
        b'{"NodeNameToMetaVictims":[]}',
        b'{"NodeNameToMetaVictims":{"a":{"Pods":["u"]}}}',
        b'{"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":7}]}}}',
        b'{"NodeNameToMetaVictims":{"a":{"NumPDBViolations":"many"}}}',
    ],
)
def test_unreadable_preemption_answers(answer: bytes) -> None:
    with pytest.raises(AnswerError):
        read_preemption(answer)
