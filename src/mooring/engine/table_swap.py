"""Puts another table of hooks in force, between two cycles.

Every pod goes on under one table. A pod with a place keeps the profile it was placed by until it is bound or
gives its place back; every other one is judged anew by the table that comes into force. Plugins that are the
same in both tables notice nothing; new ones are told of what is there, as after a restart.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import product

from mooring.cluster.pods import ASSUMED, RELEASING, Placed
from mooring.engine.hook_table import Follower, HookTable, tell
from mooring.engine.intake.ingest import Ingest
from mooring.engine.parts import Parts
from mooring.engine.permit_waiting import PermitWait
from mooring.engine.placement.classes import PodClass
from mooring.engine.story import Note
from mooring.errors import Untold
from mooring.framework.api import answers
from mooring.framework.api.preparation import LooksAhead

log = logging.getLogger("mooring.engine")

STALE = "this table of hooks does not follow the one in force: build it anew"
PROFILE_GONE = "its profile is no longer there"
REPLACED = 'plugin "{}", for which it waited, was replaced'
NOMINATIONS_FORGOTTEN = "too many pods were nominated to nodes since"
LET_GO = 'pod %s no longer waits for plugin "%s", which is no longer there'


def put_in_force(parts: Parts, ingest: Ingest, table: HookTable) -> None:
    """Puts a table in force. ValueError for one that was built to follow another than the one in force."""
    before = parts.hooks
    if table.follows != before.number:
        raise ValueError(STALE)
    parts.rounds.close()
    table.put_in_place(parts.cluster)
    parts.hooks = parts.queue.hooks = table
    parts.gangs.abide_by(table.gang_rules)
    parts.placer.forget()
    parts.stories.keep_classes((*before.profiles.values(), *table.profiles.values()))
    _tell_newcomers(parts, set(map(id, before.plugins())))
    ingest.renew()
    if parts.outside is not None:
        parts.outside.start_over()
    parts.queue.renew(parts.now)
    for wait in list(parts.waiting.values()):
        _renew_wait(wait, table)


def take_up(parts: Parts, original: Parts) -> None:
    """Has an engine on a copy of another's cluster know what that one does, but for pods that want a place.
    Binds and evictions that it has decided count as carried out; who waits at permit gives its place back."""
    _hear(parts, original)
    with parts.cluster.statement() as statement:
        for uid, placed in list(parts.cluster.pods.by_uid.items()):
            is_evicted = placed.hold is RELEASING and not placed.pod.terminating
            if is_evicted or uid in original.waiting:
                statement.give_back(uid)
            elif placed.hold is ASSUMED:
                statement.confirm(placed.pod.on_node(placed.node))
    _tell_newcomers(parts, set())
    _nominate(parts, original)


def look_back(parts: Parts, original: Parts, note: Note, asked_about: PodClass) -> None:
    """Has an engine on another's cluster of an earlier time know what that one does, to be asked about nodes
    for pods of a class. Plugins that have nothing to say about those are told nothing. Untold when it is not
    known any more who was nominated then."""
    _hear(parts, original)
    parts.now = note.cycle.now
    parts.pending.update(original.pending)
    silent = asked_about.profile.evaluating - asked_about.signs.keys()
    _tell_of_objects_and_pods(parts, {id(p) for p in parts.hooks.plugins() if p.name in silent})
    if (nominated := original.nominator.as_of(note.nominations)) is None:
        raise Untold(NOMINATIONS_FORGOTTEN)
    for pod, node_name in nominated:
        parts.nominator.nominate(pod, node_name)
    with parts.cluster.statement() as statement:
        for pod, node_name in note.others.places[: note.others.count]:
            statement.take(pod, node_name)


def _hear(parts: Parts, original: Parts) -> None:
    parts.now, parts.attempts = original.now, original.attempts
    parts.others.update(original.others)


def _nominate(parts: Parts, original: Parts) -> None:
    for uid, node_name in original.nominator.node_by_uid.items():
        if uid in original.pending:
            parts.nominator.nominate(original.pending[uid], node_name)


def _tell_newcomers(parts: Parts, there: set[int]) -> None:
    """Tells plugins in force that were not there of what is, in the order of a restart."""
    _tell_of_objects_and_pods(parts, there)
    placed = [each for each in parts.cluster.pods.by_uid.values() if each.hold is not ASSUMED]
    for plugin, each in product(parts.hooks.looking_ahead, placed):
        if id(plugin) not in there:
            _show(plugin, each)


def _tell_of_objects_and_pods(parts: Parts, there: set[int]) -> None:
    table = parts.hooks
    if objects := _newcomers(table.object_seen, there):
        for found, hook in product(parts.objects.all(), objects):
            tell(hook, None, found)
    if pods := _newcomers(table.pod_seen, there):
        for pod, hook in product(parts.pods(), pods):
            tell(hook, pod)


def _newcomers(followers: Sequence[Follower], there: set[int]) -> list[Follower]:
    """Those that were not there. The gangs are told again before them: they read there what is new."""
    gangs, *plugins = followers
    new = [each for each in plugins if id(each.who) not in there]
    return [gangs, *new] if new or not there else []


def _show(plugin: LooksAhead, placed: Placed) -> None:
    """Nothing depends on it: whatever the plugin does wrong is logged."""
    try:
        plugin.arrived(placed)
    except BaseException as error:
        answers.passed_over(type(plugin).__name__, "arrived", error)


def _renew_wait(wait: PermitWait, table: HookTable) -> None:
    """A pod goes on waiting for plugins that are still there. It need not wait for those that are gone; one
    that was replaced knows nothing of it, so that it is tried again."""
    old = wait.reserved.profile
    new = table.profiles.get(old.name)
    if new is None:
        wait.reject("", PROFILE_GONE)
        return
    for name in wait.pending_plugins:
        if name not in new.plugins:
            log.info(LET_GO, wait.pod.key, name)
            wait.allow(name)
        elif new.plugins[name] is not old.plugins[name]:
            wait.reject(name, REPLACED.format(name))
