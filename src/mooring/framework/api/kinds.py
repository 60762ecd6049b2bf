"""The names of kinds: those a plugin declares in `reads`, and those it asks listers by.

A plugin reads a kind of Kubernetes by its name (`Service`), any other by group, version and plural. A lister
goes by the kind alone, or by `Kind.group` where several groups have one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mooring.errors import ScopeError, did_you_mean

OWN_KINDS: Final = frozenset(  # of Kubernetes, with what they are called there
    {
        "ConfigMap", "CSIDriver", "CSINode", "CSIStorageCapacity", "DeviceClass", "Event", "Lease",
        "Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodDisruptionBudget",
        "PriorityClass", "ReplicaSet", "ReplicationController", "ResourceClaim", "ResourceSlice", "Service",
        "StatefulSet", "StorageClass", "VolumeAttachment",
    }
)  # fmt: skip
FOLLOWED: Final = {"Pod": "handle.cluster has the pods on nodes", "Node": "handle.cluster has the nodes"}


def check_listed(kind: str, reads: Sequence[str]) -> None:
    """Raises ScopeError for a lister that would stay empty: of a kind nobody said they read, or misnamed."""
    if any(_is_kind(kind, read) for read in reads):
        return
    raise ScopeError(f'asks for a lister of "{kind}", {_what_instead(kind, reads)}')


def wrong_reads(reads: object) -> Iterator[str]:
    """What is wrong with the `reads` of a plugin."""
    if isinstance(reads, str) or not isinstance(reads, Sequence):
        yield f".reads is {reads!r}: it must be a tuple of kinds"
        return
    for read in reads:
        if not isinstance(read, str):
            yield f".reads holds {read!r}: a kind is a word"
        elif read in OWN_KINDS or (read.count("/") in (1, 2) and all(read.split("/"))):
            continue
        else:
            near = _own_kind(read)
            hint = f' Did you mean "{near}"?' if near else did_you_mean(read, sorted(OWN_KINDS))
            yield f'.reads holds "{read}": expected a kind such as "Service", or group/version/plural.{hint}'


def _is_kind(kind: str, read: str) -> bool:
    """Whether a lister of a kind lists what is read."""
    if "/" not in read:
        return kind == read
    name, _, group = kind.partition(".")
    *of, _, plural = read.split("/")
    if group and of != [group]:
        return False
    return name[:1].isupper() and (name == plural or _is_plural(plural, name.lower()))


def _is_plural(plural: str, kind: str) -> bool:
    """`podgroups` of `podgroup`, `policies` of `policy`. Few words change more than their end."""
    return plural != kind and plural[: max(len(kind) - 2, 2)] == kind[: max(len(kind) - 2, 2)]


def _what_instead(kind: str, reads: Sequence[str]) -> str:
    if kind in FOLLOWED:
        return f"which has none: {FOLLOWED[kind]}"
    if "/" in kind:
        group = kind.split("/")[0] if kind.count("/") == 2 else ""
        example = f"Kind.{group}" if group else "Service"
        return (
            f'which is not the name of a kind: listers go by the kind of their objects, such as "{example}"'
        )
    if near := _own_kind(kind):
        return f'which is not the name of a kind. Did you mean "{near}"?'
    declared = [read for read in reads if "/" not in read]
    return f"which it does not read: declare it in `reads`.{did_you_mean(kind, declared)}"


def _own_kind(word: str) -> str:
    """The kind of Kubernetes that somebody means by its plural, or in other letters."""
    plain = word.rpartition("/")[2].partition(".")[0].lower()
    for kind in sorted(OWN_KINDS - {word}):
        if (
            plain in (kind.lower(), f"{kind.lower()}s", f"{kind.lower()}es")
            or plain == f"{kind.lower()[:-1]}ies"
        ):
            return kind
    return ""
