"""Plugins that answer as they are told, and worlds to try them in."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import numpy as np

from engine.stage import BUILT_IN, Stage, made, node, pod
from mooring.engine.decisions import Bind, Decision, Wait
from mooring.framework.api.grouping import Group
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.points import POINTS
from mooring.framework.api.scope import Scope
from mooring.framework.api.session import HOOKS, Combine
from mooring.framework.api.status import unschedulable
from mooring.framework.running.binding import BindingFailed, run_binding
from mooring.model.objects import Node, Pod
from mooring.plugins.preemption import DefaultPreemption

NAME = "Odd"
SESSION = "session: "  # and a kind of hook
BESIDES = ("sign", "judges", "pre_filters", "version", "statuses_of", "amounts", "pod_columns", "bad node")
ASKED = (
    *(point for point in POINTS if point not in ("domain", "endpoints")),
    *(SESSION + kind for kind in HOOKS if kind not in ("victims", "solution", "deallocate")),
    *BESIDES[:-1],
)
SORTS = ("less", "sort_key")
FOLLOWING = ("pod_seen", "pod_bound", "pod_gone", "object_seen", "follow_up")
TOLD = (*FOLLOWING, "unreserve", "add_pod", "remove_pod", "post_bind")
BUILT = (*BUILT_IN, DefaultPreemption)

PROFILES = """profiles:
- schedulerName: default-scheduler
  plugins: {{multiPoint: {{enabled: [{{name: {name}}}]}}, {sort}}}
- schedulerName: other
  plugins: {{{sort}}}
"""
SORT = "queueSort: {{disabled: [{{name: PrioritySort}}], enabled: [{{name: {name}}}]}}"

Answer = Callable[..., Any]  # called with the point and what the point is called with


def odd_plugin(point: str, answer: Answer, scope: Scope = Scope.CLUSTER) -> type[Plugin]:
    """A plugin with one odd point, and what has to be there for it to be asked."""
    members: dict[str, Any] = {"filter": lambda self, *a: None, "score": lambda self, *a: 0}
    say = lambda self, *arguments: answer(point, *arguments)  # noqa: E731
    if point.startswith(SESSION):
        members["on_session_open"] = lambda self, ssn: _register(ssn, point.removeprefix(SESSION), answer)
        return made(NAME, scope=scope, **members)
    if point in ("filter_nodes", "score_nodes"):
        del members[point.removesuffix("_nodes")]
    if point == "statuses_of":
        del members["filter"]
        members["filter_nodes"] = lambda self, cycle, pod, nodes: np.zeros(len(nodes), np.bool_)
    if point == "normalize":
        members["score"] = lambda self, cycle, pod, node: node.row
    if point == "unreserve":
        members |= {"reserve": lambda self, *a: None, "permit": lambda self, *a: unschedulable("x")}
    if point == "pre_bind_pre_flight":
        members["pre_bind"] = lambda self, *a: None
    if point in ("plan_group", "post_filter_group"):
        members["group"] = lambda self, pod: Group("g", "gang g", (pod,), 1)
    if point == "post_filter_group":
        members["filter"] = lambda self, *a: unschedulable("x")
    members[point] = property(lambda self: answer(point)) if point == "version" else say
    return made(NAME, scope=scope, **members)


def _register(ssn: Any, kind: str, answer: Answer) -> None:
    hook = lambda *arguments: answer(SESSION + kind, *arguments)  # noqa: E731
    if HOOKS[kind].combine is Combine.NOTIFY:
        ssn.add_event_handler(allocate=hook, deallocate=hook)
    else:
        getattr(ssn, f"add_{kind}")(hook)


class NoServer:
    """Does whatever it is asked to."""

    async def bind(self, pod: Pod, node_name: str) -> None: ...

    async def patch(self, kind: str, key: str, patch: dict[str, Any]) -> None: ...

    async def get(self, kind: str, key: str) -> Any: ...

    async def sleep(self, seconds: float) -> None: ...


def at_once(doing: Coroutine[Any, Any, None]) -> None:
    """Runs what awaits nobody."""
    try:
        doing.send(None)
    except StopIteration:
        return
    doing.close()
    raise BindingFailed("it awaits what never comes")


class OddWorld:
    """A stage on which an odd plugin has a profile of its own, and pods of another one are ordinary."""

    def __init__(self, *plugins: type[Plugin], point: str = "", **options: Any) -> None:
        sort = SORT.format(name=NAME) if point in SORTS else ""
        self.stage = Stage(*plugins, base=BUILT, text=PROFILES.format(name=NAME, sort=sort), **options)
        self.stage.engine.attach(NoServer())
        self.bound: dict[str, str] = {}
        self.waits: dict[str, Wait] = {}
        self.pods: dict[str, Pod] = {}
        self.shrunk: set[str] = set()  # nodes that became smaller than what is on them

    def put(self, coming: Node) -> None:
        """A node comes, or has another size from now on."""
        self.stage.nodes(coming)
        self.shrunk.discard(coming.name)
        self.shrunk |= {coming.name} - set(self._that_fit())

    def _that_fit(self) -> Iterator[str]:
        for view in self.stage.engine.view.nodes:
            if view.free("cpu") >= 0 and view.pod_count <= view.max_pods:
                yield view.name

    def come(self, *pods: Pod) -> None:
        for each in pods:
            self.pods[each.name] = each
            self.perform(self.stage.add(each))

    def go(self, name: str) -> None:
        gone = self.pods.pop(name)
        self.bound.pop(name, None)
        self.waits.pop(name, None)
        self.perform(self.stage.delete(gone))

    def settle(self, most: int = 300) -> None:
        """Everything there is to decide at this moment."""
        for _ in range(most):
            decisions = self.stage.engine.schedule(self.stage.now)
            if decisions is None:
                return
            self.perform(decisions)
        raise AssertionError("it never rests")

    def tick(self, seconds: float) -> None:
        self.perform(self.stage.tick(self.stage.now + seconds))
        self.settle()
        self.stage.engine.wake_at()

    def perform(self, decisions: list[Decision]) -> None:
        for decision in decisions:
            if isinstance(decision, Bind):
                self._bind(decision)
            elif isinstance(decision, Wait):
                self.waits[decision.pod.name] = decision

    def _bind(self, bind: Bind) -> None:
        state = self.stage.engine.binding_state(bind)
        assert state is not None
        try:
            at_once(run_binding(state.profile, state.cycle, bind.pod, bind.node, bind.patch, NoServer()))
        except BindingFailed as failure:
            self.perform(self.stage.bind_failed(bind, str(failure)))
            return
        self.stage.bound(bind)
        self.waits.pop(bind.pod.name, None)
        self.bound[bind.pod.name] = bind.node

    def check(self) -> None:
        """What must hold whatever plugins answer."""
        engine = self.stage.engine
        engine.check()
        over = {view.name for view in engine.view.nodes} - self.shrunk - set(self._that_fit())
        assert not over, f"{over} are over-committed"
        for each in self.pods.values():
            placed, queued = self.stage.holds(each), engine.queue.get(each.uid)
            assert placed or queued is not None, f"{each.name} is lost"
            if not placed and queued is not None and queued.attempts:
                assert each.name in self.waits or queued.gating_plugin, (
                    f"{each.name} does not say why it waits"
                )
            engine.story(each.key)


def nodes() -> list[Any]:
    return [node("n"), node("m"), node("o", "2")]


def ordinary(name: str) -> Pod:
    return pod(name, "100m", scheduler_name="other")
