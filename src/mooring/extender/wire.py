"""The extender protocol: what goes over the wire, key by key.

The protocol's own keys are capitalised Go names; the Kubernetes objects inside have their usual ones.
Keys of an answer are read without regard to case, as Go reads them, and unknown ones are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from mooring.errors import MooringError
from mooring.model.objects import Node, Pod
from mooring.model.texts import clipped

T = TypeVar("T")
NAMES_IT = "extender at URL"
NOT_READ = (msgspec.DecodeError, RecursionError)  # no JSON, not what it should be, or without end in depth
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class AnswerError(MooringError):
    """An extender's answer says that something went wrong, or cannot be read. Its words are cut short."""

    def __init__(self, what: str) -> None:
        super().__init__(clipped(what))


def named(url: str, error: Exception) -> str:
    """What went wrong, with the extender's address where it does not say so itself."""
    text = str(error)
    return text if url.rstrip("/") in text or NAMES_IT in text else f"extender {url}: {text}"


class NodeList(msgspec.Struct, frozen=True):
    """The API's own list, keys in lower case."""

    items: tuple[Node, ...] = ()
    metadata: dict[str, Any] = {}


class ExtenderArgs(msgspec.Struct, frozen=True, rename="pascal"):
    """Asks to filter or to prioritize: the nodes by name for who caches them, in full for others."""

    pod: Pod
    nodes: NodeList | None = None
    node_names: tuple[str, ...] | None = None


class FilterResult(msgspec.Struct, frozen=True):
    """The nodes that stay, by name, and why others do not."""

    names: tuple[str, ...]
    failed: dict[str, str] = {}
    unresolvable: dict[str, str] = {}


class HostPriority(msgspec.Struct, frozen=True, rename="pascal"):
    host: str
    score: Int64


class BindingArgs(msgspec.Struct, frozen=True):
    """Asks to bind a pod to a node."""

    pod_name: str = msgspec.field(name="PodName")
    pod_namespace: str = msgspec.field(name="PodNamespace")
    pod_uid: str = msgspec.field(name="PodUID")
    node: str = msgspec.field(name="Node")


class Victims(msgspec.Struct, frozen=True):
    """Pods that would have to go from a node, in full."""

    pods: tuple[Pod, ...] = msgspec.field(name="Pods", default=())
    violations: int = msgspec.field(name="NumPDBViolations", default=0)


class MetaPod(msgspec.Struct, frozen=True):
    uid: str = msgspec.field(name="UID", default="")


class MetaVictims(msgspec.Struct, frozen=True):
    """The same for who caches nodes with their pods; and what is answered in any case."""

    pods: tuple[MetaPod, ...] = msgspec.field(name="Pods", default=())
    violations: Int64 = msgspec.field(name="NumPDBViolations", default=0)


class PreemptionArgs(msgspec.Struct, frozen=True, rename="pascal"):
    """Asks on which nodes room may be made for a pod, and by whose going."""

    pod: Pod
    node_name_to_victims: dict[str, Victims] | None = None
    node_name_to_meta_victims: dict[str, MetaVictims] | None = None


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""


class _Named(msgspec.Struct, frozen=True):
    """All that matters of a node that comes back: the scheduler knows the rest better."""

    metadata: _Meta = _Meta()


encode = msgspec.json.Encoder().encode


def read_filter(answer: bytes, *, by_name: bool) -> FilterResult:
    """What a filter leaves. AnswerError carries the extender's own words when it reports an error."""
    fields = _fields(answer)
    _check_error(fields)
    names: tuple[str, ...] = ()
    if by_name and (found := _read(fields.get("nodenames"), tuple[str, ...] | None)) is not None:
        names = found
    elif (listed := _read(fields.get("nodes"), dict[str, Any] | None)) is not None:
        names = _names_in(listed)
    reasons = dict[str, str] | None
    return FilterResult(
        names,
        _read(fields.get("failednodes"), reasons) or {},
        _read(fields.get("failedandunresolvablenodes"), reasons) or {},
    )


def read_priorities(answer: bytes) -> list[HostPriority]:
    """The scores of nodes, as the extender gives them."""
    try:
        return msgspec.json.decode(answer, type=list[HostPriority] | None) or []
    except msgspec.ValidationError:  # keys in another case, or left out
        rows = _read(msgspec.Raw(answer), list[dict[str, Any]])
        lowered = [{key.lower(): value for key, value in row.items()} for row in rows]
        plain = [{"Host": row.get("host") or "", "Score": row.get("score") or 0} for row in lowered]
        return _convert(plain, list[HostPriority])
    except NOT_READ as error:
        raise AnswerError(str(error)) from None


def read_preemption(answer: bytes) -> dict[str, MetaVictims]:
    """The nodes that are left, with the pods that would have to go."""
    found = _read(_fields(answer).get("nodenametometavictims"), dict[str, dict[str, Any] | None] | None)
    return {name: _meta_victims(victims or {}) for name, victims in (found or {}).items()}


def check_bound(answer: bytes) -> None:
    """Raises AnswerError when the extender could not bind the pod."""
    _check_error(_fields(answer))


def _meta_victims(victims: Mapping[str, Any]) -> MetaVictims:
    lowered = {key.lower(): value for key, value in victims.items()}
    pods = _convert(lowered.get("pods") or [], list[dict[str, Any]])
    uids = [next((value for key, value in pod.items() if key.lower() == "uid"), "") for pod in pods]
    plain = {
        "Pods": [{"UID": uid or ""} for uid in uids],
        "NumPDBViolations": lowered.get("numpdbviolations") or 0,
    }
    return _convert(plain, MetaVictims)


def _fields(answer: bytes) -> Mapping[str, msgspec.Raw]:
    found = _read(msgspec.Raw(answer), dict[str, msgspec.Raw] | None) or {}
    return {key.lower(): value for key, value in found.items()}


def _check_error(fields: Mapping[str, msgspec.Raw]) -> None:
    if what := _read(fields.get("error"), str | None):
        raise AnswerError(what)


def _names_in(listed: dict[str, Any]) -> tuple[str, ...]:
    items = next((value for key, value in listed.items() if key.lower() == "items"), None)
    return tuple(node.metadata.name for node in _convert(items or (), tuple[_Named, ...]))


def _read(raw: msgspec.Raw | None, kind: Any) -> Any:
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=kind)
    except NOT_READ as error:
        raise AnswerError(str(error)) from None


def _convert(data: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise AnswerError(str(error)) from None
