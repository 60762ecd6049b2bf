"""A profile: the plugins of one scheduler name, sorted by the points they serve."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any, NamedTuple

from mooring.config.profiles import ProfilePlan
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.points import POINTS
from mooring.framework.api.session import HANDLERS
from mooring.framework.metrics.meter import Meter
from mooring.framework.running.budget import Budgets
from mooring.framework.running.forms import Filter, Scorer
from mooring.framework.running.inspection import built_in, pods_concerned, signs_itself
from mooring.framework.running.watching import timed, watched
from mooring.model.objects import Pod

BINDING = ("pre_bind", "bind", "post_bind")
Method = Callable[..., Any]
EXTENSIONS_OF = {"normalize", "sort_key", "less", "events"}  # asked for by name, never run as a list


class Hook(NamedTuple):
    """One plugin's method at a point."""

    name: str
    method: Callable[..., Any]
    plugin: Plugin


class QueueHook(NamedTuple):
    """One plugin's method at a point that every pod passes on its way into the queue."""

    name: str
    method: Callable[..., Any]
    pods: Container[str] | None  # uids of those it has something to say about; None: any


class Profile:
    """Plugin instances by point, ready to run; watched while they do when there is a meter."""

    def __init__(
        self,
        plan: ProfilePlan,
        plugins: dict[str, Plugin],
        meter: Meter | None = None,
        budgets: Budgets | None = None,
    ) -> None:
        self.name = plan.scheduler_name
        self.meter = meter
        self.plan = plan
        self.plugins = plugins
        self.ledgers = {} if budgets is None else budgets.ledgers(plan, plugins)  # of policies, by name
        self._at = {point: self._enabled(point) for point in POINTS if point not in EXTENSIONS_OF}
        self.orders = self._asked("order_of")
        self.gates = self._asked("pre_enqueue")
        self.bound = self._asked("pod_bound")
        self._timed_or_not = self.gates, self._timed_gates()
        self.filters = [form for plugin in self._at_config("filter") if (form := Filter.of(plugin))]
        weights = {use.name: use.weight for use in plan.points.get("score", ())}
        scorers = (Scorer.of(plugin) for plugin in self._at_config("score"))
        self.scorers = [(scorer, weights[scorer.name]) for scorer in scorers if scorer]
        if meter is not None:
            self._watch_forms(meter)
        for each in (*self.filters, *(scorer for scorer, _ in self.scorers)):
            if (ledgers := self.ledgers.get(each.name)) is not None:
                each.budget(ledgers.at(each.point))
        scoring = {form.name for form, _ in self.scorers}
        self.looking = scoring | {form.name for form in self.filters}  # plugins that look at nodes
        # Plugins whose `sign` counts: those that look at nodes, and others that say what they read.
        self.evaluating = self.looking | {name for name, p in plugins.items() if signs_itself(type(p))}
        # Nothing runs between the pre-filters and the choice of a node.
        self.goes_straight_on = not (self._at["after_pre_filter"] or self._at["find_one_node"])
        self.transforms_pods = bool(self._at["before_pre_filter"])
        self.opens_sessions = bool(self._at["on_session_open"])
        # Nothing is done with a pod before it is judged: no policy is timed, none has to be told.
        self.takes_pods_as_they_are = not (self.ledgers or self.transforms_pods or self.opens_sessions)
        self.shapes_pods = bool(self._at["allocate"] or self._at["resize_pod"])
        self.looks_at_some = bool(plan.percentage_of_nodes_to_score) or plan.adaptive  # not at all nodes
        self.queue_sort = self._at_config("queueSort")[0]
        binders = (hook.plugin for point in BINDING for hook in self._at[point])
        self.policies_bind = any(not built_in(type(plugin)) for plugin in binders)

    def at(self, point: str) -> list[Hook]:
        """What runs at a point, in the configured order."""
        return self._at[point]

    def _at_config(self, config: str) -> list[Plugin]:
        return [self.plugins[use.name] for use in self.plan.points.get(config, ())]

    def _enabled(self, point: str) -> list[Hook]:
        config = POINTS[point].config
        candidates = self._at_config(config) if config else list(self.plugins.values())
        methods = ((plugin, getattr(plugin, point, None)) for plugin in candidates)
        return [
            Hook(plugin.name, self._seen(plugin.name, point, method), plugin)
            for plugin, method in methods
            if callable(method) and not getattr(method, "nothing_to_do", False)
        ]

    def _asked(self, point: str) -> list[QueueHook]:
        return [
            QueueHook(name, method, pods_concerned(plugin, point)) for name, method, plugin in self._at[point]
        ]

    def _timed_gates(self) -> list[QueueHook]:
        return [gate._replace(method=self._timed(gate)) for gate in self.gates]

    def _timed(self, gate: QueueHook) -> Callable[..., Any]:
        if self.meter is None:
            return gate.method
        return timed(self.meter, gate.name, "pre_enqueue", gate.method)

    def sample(self, *, on: bool) -> None:
        """Gates are timed from now on, or no longer. Nobody keeps a list of them."""
        self.gates = self._timed_or_not[on]

    def _watch_forms(self, meter: Meter) -> None:
        for filter_ in self.filters:
            filter_.watch(lambda name, method: watched(meter, self.name, name, "filter", method))
        for scorer, _ in self.scorers:
            scorer.watch(lambda name, method: watched(meter, self.name, name, "score", method))

    def _seen(self, plugin: str, point: str, method: Callable[..., Any]) -> Callable[..., Any]:
        if self.meter is not None:
            method = watched(self.meter, self.name, plugin, point, method)
        return self.timed(plugin, point, method)

    def timed(self, plugin: str, point: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """A plugin's method, with the time it takes kept in its ledger if it has one."""
        ledgers = self.ledgers.get(plugin)
        return method if ledgers is None else ledgers.at(point).watch(point, method)

    def timed_in_book(self, plugin: str, book: str, hook: str, method: Method) -> Method:
        """A hook of a plugin's book, timed."""
        return self.ledgers[plugin].books.watch(f"{book}.{hook}", method)

    def timed_in_session(self, plugin: str, kind: str, hook: Method) -> Method:
        """A hook that a plugin registers in a session, timed."""
        if plugin in self.ledgers and kind in HANDLERS:
            return self.ledgers[plugin].handlers.watch(kind, hook)
        return self.timed(plugin, kind, hook)

    def begin_telling(self, attempt: object) -> None:
        """Event handlers have their time for what they are told in an attempt, or in any other one thing."""
        for ledgers in self.ledgers.values():
            ledgers.handlers.begin(attempt, None)

    def refuse_handlers(self, plugins: Iterable[str]) -> None:
        """Raises OverBudget when the handlers of one of these plugins are set aside."""
        for ledgers in [self.ledgers[name] for name in plugins if name in self.ledgers]:
            ledgers.handlers.begin(object(), None)
            ledgers.handlers.refuse(HANDLERS[0])

    def begin(self, attempt: object, pod: Pod) -> None:
        """An attempt at a pod begins: policies have their time for it."""
        for ledgers in self.ledgers.values():
            ledgers.deciding.begin(attempt, pod)
            ledgers.scoring.begin(attempt, pod)

    def left_out(self, pod: Pod) -> dict[str, str]:
        """Policies that are set aside and whose scores the pod goes without, and why."""
        found = {name: ledgers.scoring.left_out_for(pod) for name, ledgers in self.ledgers.items()}
        return {name: why for name, why in found.items() if why}
