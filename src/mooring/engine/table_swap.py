"""Puts another table of hooks in force, between two cycles.

Every pod goes on under one table. A pod with a place keeps the profile it was placed by until it is bound or
gives its place back; every other one is judged anew by the table that comes into force. Plugins that are the
same in both tables notice nothing; new ones are told of what is there, as after a restart.
"""

from __future__ import annotations

import logging
from itertools import product

from mooring.cluster.pods import ASSUMED, RELEASING, Placed
from mooring.engine.hook_table import HookTable, tell
from mooring.engine.intake.ingest import Ingest
from mooring.engine.parts import Parts
from mooring.engine.permit_waiting import PermitWait
from mooring.framework.api import answers
from mooring.framework.api.preparation import LooksAhead

log = logging.getLogger("mooring.engine")

STALE = "this table of hooks does not follow the one in force: build it anew"
PROFILE_GONE = "its profile is no longer there"
REPLACED = 'plugin "{}", for which it waited, was replaced'
LET_GO = 'pod %s no longer waits for plugin "%s", which is no longer there'


def put_in_force(parts: Parts, ingest: Ingest, table: HookTable) -> None:
    """Puts a table in force. ValueError for one that was built to follow another than the one in force."""
    before = parts.hooks
    if table.follows != before.number:
        raise ValueError(STALE)
    parts.hooks = parts.queue.hooks = table
    for book in table.books:
        parts.cluster.books.place(book)
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
    parts.now, parts.attempts = original.now, original.attempts
    for found in original.objects.all():
        parts.objects.put(found)
    parts.others.update(original.others)
    with parts.cluster.statement() as statement:
        for uid, placed in list(parts.cluster.pods.by_uid.items()):
            is_evicted = placed.hold is RELEASING and not placed.pod.terminating
            if is_evicted or uid in original.waiting:
                statement.give_back(uid)
            elif placed.hold is ASSUMED:
                statement.confirm(placed.pod.on_node(placed.node))
    _tell_newcomers(parts, set())
    for uid, node_name in original.nominator.node_by_uid.items():
        if uid in original.pending:
            parts.nominator.nominate(original.pending[uid], node_name)


def _tell_newcomers(parts: Parts, there: set[int]) -> None:
    """Tells plugins in force that were not there of objects and pods, in the order of a restart."""
    table = parts.hooks
    objects = [hook for hook in table.object_seen if id(hook.plugin) not in there]
    pods = [hook for hook in table.pod_seen if id(hook.plugin) not in there]
    for hook, found in product(objects, parts.objects.all() if objects else ()):
        tell(hook, None, found)
    for hook, pod in product(pods, parts.pods() if pods else ()):
        tell(hook, pod)
    placed = [each for each in parts.cluster.pods.by_uid.values() if each.hold is not ASSUMED]
    for plugin, each in product(table.looking_ahead, placed):
        if id(plugin) not in there:
            _show(plugin, each)


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
