"""What a row of the table of owner kinds says, and what comes of it for one object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

Data = Mapping[str, Any]
Find = Callable[[str, str, str, str], dict[str, Any] | None]  # by group, kind, namespace, name

READY, DONE = "ready", "done"
DEFAULT_PODS = "{owner}-{role}-{index}"


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of one template. Paths are dotted; `[*]` goes through a list, `{*}` through a mapping.

    each      where the role is; the other paths start there. "": the object itself
    name      what it is called; without, `named` says which field has it, or the key of the mapping does
    templates where its template is: the first that is there; `fallback` when none is
    count     how many pods: the first that is there (`@`: an annotation of the template), else `default`; at
              least `floor`, `times` so many, `minus`
    copies    how many sets of so many pods; each is named apart
    total     how many of its pods are to finish, one after the other
    least     how many of them a gang needs
    absent    a field that is there when it makes no pods
    only      it makes pods only when the object has this value here, or none: (path, value)
    depends   the roles that come before it
    waits     (path, value, role): it comes after a role, "" = the one before, when the object has this value
              there; without a path in any case
    pods      what its pods are called; "" for names that the cluster makes up
    labels    what its pods are labelled with
    """

    each: str = ""
    name: str = ""
    named: str = ""
    templates: tuple[str, ...] = ("template",)
    fallback: dict[str, Any] | None = None
    count: tuple[str, ...] = ("replicas",)
    default: int = 1
    floor: str = ""
    times: str = ""
    minus: int = 0
    copies: str = ""
    total: str = ""
    least: str = ""
    absent: str = ""
    only: tuple[str, str] | None = None
    depends: str = ""
    waits: tuple[str, str, str] | None = None
    pods: str = DEFAULT_PODS
    labels: dict[str, str] = {}


class GangRow(msgspec.Struct, frozen=True, kw_only=True):
    """When an object's pods are a gang, and how many of them it needs: all, unless `least` says.

    always       they are
    declared     fields that say so by being there
    labels       labels of the object that do
    schedulers   names of schedulers that take them for one
    least        fields with the minimum
    elastic      a field that is true when roles need only their own `least`
    parts        whether roles have minimums of their own
    each_copy    whether each copy of the object is a gang of its own
    in_order     (path, value) by which each role is a gang of its own
    """

    always: bool = False
    declared: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()
    least: tuple[str, ...] = ()
    elastic: str = ""
    parts: bool = False
    each_copy: bool = False
    in_order: tuple[str, str] | None = None
    name: str = "{owner}"
    dialect: str = ""  # "": that of the scheduler its pods name
    topology: str = ""  # where it says what it wishes of the network
    wait: str = ""  # how many seconds members wait for each other
    scheduler: tuple[str, str] | None = None  # (path, default) of the scheduler its pods go to


class OwnerKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind that makes pods. `label` is what its operator's pods name their owner by.

    `exclusive` is an annotation with the label of nodes whose domain a copy has for itself. Kinds whose pods
    do not follow from paths alone have a reader, see `readers`; `pod_specs` are where those keep pod specs.
    """

    group: str
    kind: str
    roles: tuple[Role, ...] = ()
    copies: str = ""
    suspend: tuple[str, ...] = ()
    gang: GangRow | None = None
    label: str = ""
    exclusive: str = ""
    pod_specs: tuple[str, ...] = ()


class PodSet(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of one template that an object is to have: `count` at a time until `total` have finished.

    `after` are the sets that come before, each with what has to have become of them: ready or done.
    """

    name: str
    template: dict[str, Any]
    count: int
    total: int
    pods: str = ""  # "train-worker-{index}"; "": made-up names beginning with `base`
    base: str = ""
    labels: dict[str, str] = {}
    gang: str = ""
    part: str = ""
    after: tuple[tuple[str, str], ...] = ()


class DeclaredGang(msgspec.Struct, frozen=True, kw_only=True):
    """A gang that an owner declares, for which its operator makes a PodGroup."""

    name: str
    dialect: str
    least: int
    parts: dict[str, int] = {}
    topology: dict[str, Any] = {}
    part_topologies: dict[str, dict[str, Any]] = {}
    wait_s: int | None = None


class Expansion(msgspec.Struct, frozen=True):
    """What an object makes. `remarks` say what could not be made as it is written."""

    sets: tuple[PodSet, ...] = ()
    gangs: tuple[DeclaredGang, ...] = ()
    suspended: bool = False
    remarks: tuple[str, ...] = ()
    objects: tuple[dict[str, Any], ...] = ()
