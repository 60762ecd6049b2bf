"""What has to be known of a gang to write about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mooring.model.objects import Object, Pod
from mooring.workloads.declared import Terms

SIGS = "scheduling.sigs.k8s.io/v1alpha1/podgroups"  # Koordinator's
X_K8S = "scheduling.x-k8s.io/v1alpha1/podgroups"  # of scheduler-plugins
KUBERNETES = "scheduling.k8s.io/v1alpha2/podgroups"

WITH_PHASES = frozenset({SIGS, X_K8S})


Key = tuple[str, str]  # where a gang's PodGroup is, and the gang's id


class GangView(Protocol):
    """A gang as it is now. It is looked at later than it is handed over, and then shows what is so then."""

    @property
    def id(self) -> str:
        """`namespace/name`, of the gang and of its PodGroup."""

    @property
    def podgroups(self) -> str:
        """Where its PodGroup is, or would be: `group/version/plural`."""

    @property
    def declared_by_pods(self) -> bool:
        """Whether annotations and labels of its pods say all there is: then it may lack a PodGroup."""

    @property
    def pod_group(self) -> Object | None: ...

    @property
    def terms(self) -> Terms | None:
        """None while nobody has said what is asked of it."""

    @property
    def pods(self) -> Iterable[Pod]:
        """Its pods that have not finished, of whichever scheduler."""

    @property
    def unschedulable(self) -> str:
        """Why its last attempt found no places; "" when it did, or there was none."""


def key_of(gang: GangView) -> Key:
    return gang.podgroups, gang.id
