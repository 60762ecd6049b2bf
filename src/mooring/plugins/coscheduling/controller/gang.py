"""A gang of the plugin as those who write about it see it."""

from __future__ import annotations

from mooring.framework.api.handle import Lister
from mooring.model.objects import Object, Pod
from mooring.workloads.declared import Terms
from mooring.workloads.gang import Gang

SIGS = "scheduling.sigs.k8s.io/v1alpha1/podgroups"  # Koordinator's
X_K8S = "scheduling.x-k8s.io/v1alpha1/podgroups"  # of scheduler-plugins
KUBERNETES = "scheduling.k8s.io/v1alpha2/podgroups"

WITH_PHASES = frozenset({SIGS, X_K8S})

Key = tuple[str, str]  # where a gang's PodGroup is, and the gang's id


class GangView:
    """A gang as it is now. It is looked at later than it is handed over, and then shows what is so then.

    `podgroups` is where its PodGroup is, or would be: `group/version/plural`.
    """

    def __init__(self, gang: Gang, podgroups: str, lister: Lister) -> None:
        self._gang = gang
        self._lister = lister
        self.id = gang.id  # also of its PodGroup
        self.podgroups = podgroups
        self.key: Key = podgroups, gang.id

    @property
    def declared_by_pods(self) -> bool:
        """Whether annotations and labels of its pods say all there is: then it may lack a PodGroup."""
        return not self._gang.by_object

    @property
    def pod_group(self) -> Object | None:
        return self._lister.get(self._gang.source)

    @property
    def terms(self) -> Terms | None:
        """None while nobody has said what is asked of it."""
        return self._gang.terms

    @property
    def pods(self) -> list[Pod]:
        """Its pods that have not finished, of whichever scheduler."""
        return [member.pod for member in self._gang.members.values()]

    @property
    def unschedulable(self) -> str:
        """What the pods of the last attempt were told, as the API server shows it; "" when nothing."""
        for member in self._gang.pending:
            for condition in member.pod.status.conditions:
                if (condition.type, condition.reason) == ("PodScheduled", "Unschedulable"):
                    return condition.message
        return ""
