"""A line for every decision, in kube-scheduler's words: what was decided at 2, scores of nodes at 10.

Whoever runs an engine hands every decision to `decided` before it is carried out, and what comes of
binds to `heard`. Beyond the verbosity, the best scores and the reasons of filters can be asked for.
"""

from __future__ import annotations

import logging

from mooring.engine.decisions import SCHEDULER_ERROR, Bind, Decision, Evict, Wait
from mooring.engine.engine import Engine
from mooring.engine.events import BindFailed, Bound, Event
from mooring.engine.placement.fit_error import NO_NODES
from mooring.engine.placement.placing import COUNTED
from mooring.engine.story import Story
from mooring.framework.api.writes import Write
from mooring.logs.verbosity import V2, V3, V10, fields
from mooring.model.objects import Pod

log = logging.getLogger("mooring.scheduler")

BOUND = "Successfully bound pod to node"
NO_FIT = "Unable to schedule pod; no fit; waiting"
NO_NODE_AT_ALL = "Unable to schedule pod; no nodes are registered to the cluster; waiting"
HELD = "Pod is held; waiting"
ERROR = "Error scheduling pod; retrying"
ATTEMPT_BIND = "Attempting to bind pod to node"
PREEMPTED = "Preemptor Pod preempted victim Pod"
EVICTED = "Evicting pod"
WRITING = {"create": "Creating object", "patch": "Patching object", "delete": "Deleting object"}
PLUGIN_SCORE, FINAL_SCORE = "Plugin scored node for pod", "Calculated node's final score for pod"
TOP_SCORES, FILTERED = "Top scores of nodes for pod", "Failed to filter for Pod"

Counts = tuple[int, int]  # nodes looked at, and those that take the pod


class DecisionLog:
    """The log of one engine. `top_scores` and `dump_filters` may be set while it runs."""

    def __init__(self, engine: Engine) -> None:
        self.top_scores = 0  # of so many nodes, for every pod that is placed
        self.dump_filters = False  # why nodes were left out, for every pod that is not
        self._engine = engine
        self._binding: dict[str, Counts] = {}
        self._count_if_shown()

    def decided(self, decision: Decision) -> None:
        """Logs a decision, before it is carried out."""
        self._count_if_shown()
        if isinstance(decision, Bind):
            self._bind(decision)
        elif isinstance(decision, Wait):
            self._wait(decision)
        elif isinstance(decision, Evict) and log.isEnabledFor(V2):
            self._evict(decision)
        elif isinstance(decision, Write) and log.isEnabledFor(V3):
            about = fields(kind=decision.kind, object=decision.key, subresource=decision.sub)
            log.log(V3, WRITING[decision.verb], extra=about)

    def heard(self, event: Event) -> None:
        """Logs what came of a bind."""
        if isinstance(event, Bound):
            counts = self._binding.pop(event.pod.metadata.uid, None) if self._binding else None
            if log.isEnabledFor(V2):
                evaluated, feasible = counts or (0, 0)
                more = {"evaluatedNodes": evaluated, "feasibleNodes": feasible} if counts else {}
                log.log(V2, BOUND, extra=fields(pod=event.pod, node=event.node, **more))
        elif isinstance(event, BindFailed):
            self._binding.pop(event.pod.metadata.uid, None)

    def _count_if_shown(self) -> None:
        self._engine.placer.count_nodes = log.isEnabledFor(V2)

    def _evict(self, evict: Evict) -> None:
        if evict.by:
            about = fields(preemptor=evict.by, victim=evict.pod, node=evict.node)
            log.log(V2, PREEMPTED, extra=about)
        else:
            about = fields(pod=evict.pod, node=evict.node, reason=evict.reason, message=evict.message)
            log.log(V2, EVICTED, extra=about)

    def _bind(self, bind: Bind) -> None:
        if log.isEnabledFor(V3):
            log.log(V3, ATTEMPT_BIND, extra=fields(pod=bind.pod, node=bind.node))
        if self._engine.placer.count_nodes:
            self._note_counts(bind)
        if log.isEnabledFor(V10):
            self._scores(bind.pod)
        if self.top_scores > 0 and (story := self._engine.story(bind.pod.key, self.top_scores)):
            log.info(TOP_SCORES, extra=fields(pod=bind.pod, scores=table(story)))

    def _note_counts(self, bind: Bind) -> None:
        state = self._engine.binding_state(bind)
        if state is not None and (counts := state.cycle.read(COUNTED, None)) is not None:
            self._binding[bind.pod.metadata.uid] = counts

    def _scores(self, pod: Pod) -> None:
        story = self._engine.story(pod.key, len(self._engine.cluster.nodes))
        for best in story.best if story else ():
            for plugin, score in best.parts.items():
                about = fields(pod=pod, plugin=plugin, node=best.node, score=score)
                log.log(V10, PLUGIN_SCORE, extra=about)
            log.log(V10, FINAL_SCORE, extra=fields(pod=pod, node=best.node, score=best.total))

    def _wait(self, wait: Wait) -> None:
        if not wait.together:
            return  # it was told with the first of them
        more = {"pods": wait.together} if wait.together > 1 else {}
        if wait.reason == SCHEDULER_ERROR:
            log.error(ERROR, extra=fields(err=wait.message, pod=wait.pod, **more))
        elif log.isEnabledFor(V2) and not wait.is_answer:
            log.log(V2, HELD, extra=fields(pod=wait.pod, reason=wait.reason, message=wait.message, **more))
        elif log.isEnabledFor(V2):
            what = NO_NODE_AT_ALL if wait.message == NO_NODES else NO_FIT
            log.log(V2, what, extra=fields(pod=wait.pod, err=wait.message, **more))
        if self.dump_filters and (story := self._engine.story(wait.pod.key)):
            for rejection in story.rejections:
                about = fields(
                    pod=wait.pod,
                    failedPlugin=rejection.plugin,
                    reason=rejection.reason,
                    nodes=rejection.nodes,
                )
                log.info(FILTERED, extra=about)


def table(story: Story) -> str:
    """The candidates of a story, the best first, a column a plugin."""
    plugins = sorted({plugin for best in story.best for plugin in best.parts})
    rows = [("#", "Pod", "Node", "Score", *plugins)]
    for number, best in enumerate(story.best):
        parts = [str(best.parts.get(plugin, 0)) for plugin in plugins]
        rows.append((str(number), story.pod, best.node, str(best.total), *parts))
    rows.insert(1, tuple("---" for _ in rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
