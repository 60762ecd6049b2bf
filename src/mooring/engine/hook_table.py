"""The table of hooks: everything that follows from profiles, plugins and their points.

It is built aside and never changes. One table is in force, from one swap between two cycles to the next, and
whoever needs a hook asks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mooring.cluster.books.book import Book
from mooring.cluster.labelsets import LabelSets
from mooring.config.profiles import ProfilePlan
from mooring.engine.placement.classes import ProfileClasses
from mooring.engine.queue.hints import Hints
from mooring.engine.queue.queue_hooks import QueueHooks, moment
from mooring.framework.api import answers
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.preparation import LooksAhead
from mooring.framework.loading.registry import Registry
from mooring.framework.running.profile import Hook, Profile


class HookTable(QueueHooks):
    """The hooks of all profiles. `follows` is the number of the table it was built to follow: plugins that
    stay as they were are the same instances in both, and nobody else may have been in force between."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        hints: Hints,
        labelsets: LabelSets,
        made_of: tuple[Sequence[ProfilePlan], Registry],
        books: Iterable[Book[Any, Any]] = (),
        follows: int = 0,
    ) -> None:
        super().__init__(profiles, hints)
        self.plans, self.registry = made_of
        self.books = tuple(books)  # that come into force with it
        self.follows = follows
        self.number = follows + 1
        self.classes = {name: ProfileClasses(profile, labelsets) for name, profile in profiles.items()}
        self.pod_seen = self._at("pod_seen")
        self.pod_gone = self._at("pod_gone")
        self.object_seen = self._at("object_seen")
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


def tell(hook: Hook, *about: Any) -> None:
    """A plugin that follows what the API server says is told. Whatever it does wrong is logged."""
    try:
        hook.method(*about)
    except BaseException as error:
        answers.raised(hook.name, "following", error)


def _domains(answer: Any) -> dict[str, tuple[str, ...]]:
    return {str.__str__(node): tuple(map(str.__str__, domains)) for node, domains in dict(answer).items()}
