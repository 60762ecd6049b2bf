"""The table of hooks: everything that follows from profiles, plugins and their points.

It is built aside and never changes. One table is in force, from one swap between two cycles to the next, and
whoever needs a hook asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from mooring.cluster.books.books_to_come import BooksToCome
from mooring.cluster.books.hook_calls import Timing
from mooring.cluster.cluster import Cluster
from mooring.cluster.counts_to_come import CountsToCome
from mooring.cluster.labelsets import LabelSets
from mooring.config.profiles import ProfilePlan
from mooring.engine.placement.classes import ProfileClasses
from mooring.engine.placement.session_forms import FORMS, SOME_KINDS
from mooring.engine.queue.hints import Hints
from mooring.engine.queue.queue_hooks import QueueHooks, moment
from mooring.framework.api import answers
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.preparation import LooksAhead
from mooring.framework.loading.registry import Registry
from mooring.framework.running.inspection import pods_concerned
from mooring.framework.running.profile import Hook, Profile
from mooring.workloads.gang import LooksAfterGangs
from mooring.workloads.gang_table import Gangs


class Follower(NamedTuple):
    """Whoever is told of pods and objects as the API server shows them, and by which method."""

    name: str
    method: Callable[..., Any]
    who: object
    pods: Container[str] | None = None  # the uids of pods it has anything to say about; None: of any


class HookTable(QueueHooks):
    """The hooks of all profiles. `follows` is the number of the table it was built to follow: plugins that
    stay as they were are the same instances in both, and nobody else may have been in force between."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        hints: Hints,
        labelsets: LabelSets,
        gangs: Gangs,
        made_of: tuple[Sequence[ProfilePlan], Registry],
        books: BooksToCome,
        counts: CountsToCome,
        follows: int = 0,
    ) -> None:
        super().__init__(profiles, hints)
        self.plans, self.registry = made_of
        self._books, self._counts = books, counts
        self.follows = follows
        self.number = follows + 1
        self.classes = {name: ProfileClasses(profile, labelsets) for name, profile in profiles.items()}
        # Beside them, those judged by a session's hooks as well: by profile, and by the kinds it has.
        self.session_classes = {
            (name, kinds): ProfileClasses(profile, labelsets, [FORMS[kind] for kind in kinds])
            for name, profile in profiles.items()
            for kinds in SOME_KINDS
            if profile.opens_sessions
        }
        self.pod_seen = self._following("pod_seen", gangs)
        self.pod_gone = self._following("pod_gone", gangs)
        self.object_seen = self._following("object_seen", gangs)
        self.gang_rules = {
            name: plugin.gang_rules
            for name, profile in profiles.items()
            for plugin in profile.plugins.values()
            if isinstance(plugin, LooksAfterGangs)
        }
        self.follow_ups = self._at("follow_up")
        self.next_pods = self._at("next_pod")
        self._wakers = self._at("wake_at")
        self._networks = self._at("domains_of_nodes")
        self.looking_ahead = tuple({type(p): p for p in self.plugins() if isinstance(p, LooksAhead)}.values())
        self.groups = {name: profile.at("group") for name, profile in profiles.items()}
        # Without a word on how its pods are sorted, a plugin has to be asked about every pod.
        self.asks_for_every_group = any(
            {hook.name for hook in p.at("group")} - {hook.name for hook in p.at("order_of")}
            for p in profiles.values()
        )

    def plugins(self) -> Iterator[Plugin]:
        """Every instance."""
        for profile in self.profiles.values():
            yield from profile.plugins.values()

    def put_in_place(self, cluster: Cluster) -> None:
        """Books and counts are those of its plugins from now on. ValueError, and nothing is changed, when one
        of them cannot count what is there."""
        try:
            cluster.counts.put_in_force(self._counts)
        except Exception as error:
            raise ValueError(f"a plugin cannot count the pods that are there: {error!r}") from error
        cluster.books.put_in_force(self._books, self._timing_of_books())

    def _timing_of_books(self) -> dict[str, Timing]:
        """How hooks of books are timed: as those of a policy that has the book."""
        return {
            book: partial(profile.timed_in_book, name, book)
            for profile in self.profiles.values()
            for name in profile.ledgers
            for book in profile.plugins[name].handle.books
        }

    def _following(self, point: str, gangs: Gangs) -> tuple[Follower, ...]:
        """The gangs first: plugins read there what has changed."""
        plugins = (Follower(*hook, pods_concerned(hook.plugin, point)) for hook in self._at(point))
        return Follower("gangs", getattr(gangs, point), gangs), *plugins

    def _at(self, point: str) -> tuple[Hook, ...]:
        return tuple(hook for profile in self.profiles.values() for hook in profile.at(point))

    def moments(self) -> Iterator[float]:
        """When plugins want to be woken."""
        for name, method, _ in self._wakers:
            try:
                own = method()
                if own is not None:
                    yield moment(name, "wake_at", own)
            except BaseException as error:
                answers.passed_over(name, "wake_at", error)  # logged; it is woken with the others

    def follow_up(self) -> None:
        """Plugins have written what follows from what was seen and decided."""
        for name, method, _ in self.follow_ups:
            try:
                method()
            except BaseException as error:
                answers.passed_over(name, "follow_up", error)

    def next_pod(self) -> str | None:
        """The uid of the pod a plugin wants to be next."""
        for name, method, _ in self.next_pods[:1]:
            try:
                if (pod := method()) is not None:
                    return answers.uid(name, "next_pod", pod)
            except BaseException as error:
                answers.passed_over(name, "next_pod", error)  # the queue has its own order
        return None

    def network(self) -> dict[str, tuple[str, ...]]:
        """The network domains each node is in, the widest first, as far as a plugin knows them."""
        for name, method, _ in self._networks:
            try:
                return _domains(method())
            except BaseException as error:
                answers.passed_over(name, "domains_of_nodes", error)  # logged; it is only shown
        return {}

    def catch_up(self) -> bool:
        """A bit of work that may save time later. True: there is more."""
        return any(plugin.catch_up() for plugin in self.looking_ahead)


def tell(hook: Follower, *about: Any) -> None:
    """Whoever follows what the API server says is told. Whatever it does wrong is logged."""
    try:
        hook.method(*about)
    except BaseException as error:
        answers.raised(hook.name, "following", error)


def _domains(answer: Any) -> dict[str, tuple[str, ...]]:
    return {str.__str__(node): tuple(map(str.__str__, domains)) for node, domains in dict(answer).items()}
