"""Who may be evicted for others: a rule for each who asks for room, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from mooring.cluster.pods import RELEASING, Placed
from mooring.model.objects import Pod

PREFIX = "preemption: {}"
NEVER = "not eligible due to preemptionPolicy=Never."
VICTIM_TERMINATING = "not eligible due to a terminating pod on the nominated node."
DISRUPTED, BY_US = "DisruptionTarget", "PreemptionByScheduler"
DISABLE_PREEMPTIBLE = "scheduling.koordinator.sh/disable-preemptible"
QUOTA_PREEMPTIBLE = "quota.scheduling.koordinator.sh/preemptible"

Test = Callable[[Placed], bool]
MayEvict = Callable[[Pod], bool]


class VictimRule:
    """Whom somebody of a priority may have evicted: less important pods that nothing protects.

    own        uids of pods that belong to whoever asks
    protects   what protects pods besides, for whoever asks
    may_evict  what policies say; None when none has anything to say
    """

    def __init__(
        self,
        priority: int,
        own: Collection[str] = (),
        protects: tuple[Test, ...] = (),
        may_evict: MayEvict | None = None,
    ) -> None:
        self.priority = priority
        self.may_evict = may_evict
        self._own = own
        self._protects = protects
        self._answers: dict[str, bool] = {}  # of policies, by uid

    def allows(self, placed: Placed) -> bool:
        return (placed.pod.spec.priority or 0) < self.priority and not self.spares(placed)

    def spares(self, placed: Placed) -> bool:
        """Whether a pod is left alone although it is less important."""
        uid = placed.pod.metadata.uid
        if uid in self._own:
            return True
        for protects in self._protects:  # no generator: every pod of a cluster may be asked about
            if protects(placed):
                return True
        if self.may_evict is None:
            return False
        if uid not in self._answers:
            self._answers[uid] = self.may_evict(placed.pod)
        return not self._answers[uid]

    def sparing(self, protects: Test) -> VictimRule:
        """The same with more pods left alone."""
        rule = VictimRule(self.priority, self._own, (*self._protects, protects), self.may_evict)
        rule._answers = self._answers
        return rule


def refuses_preemption(placed: Placed) -> bool:
    """Whether a pod's labels forbid that it is evicted for others, in Koordinator's words."""
    labels = placed.pod.metadata.labels
    return bool(labels) and (
        labels.get(DISABLE_PREEMPTIBLE) == "true" or labels.get(QUOTA_PREEMPTIBLE) == "false"
    )


def is_leaving(placed: Placed) -> bool:
    return placed.hold is RELEASING or placed.pod.terminating


def is_awaited(pods: Iterable[Placed], priority: int) -> bool:
    """Whether some of the pods of a node are on their way out for somebody of this priority."""
    return any(placed.pod.priority < priority and _makes_room(placed) for placed in pods)


def _makes_room(placed: Placed) -> bool:
    """On its way out for a more important pod, whether the API server shows it already or not."""
    if placed.hold is RELEASING:
        return True
    return placed.pod.terminating and any(
        each.type == DISRUPTED and each.status == "True" and each.reason == BY_US
        for each in placed.pod.status.conditions
    )
