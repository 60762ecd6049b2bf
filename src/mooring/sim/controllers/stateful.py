"""StatefulSets: pods with a fixed name each, one after the other or all at once."""

from __future__ import annotations

from collections.abc import Iterable

from mooring.model.objects import Object, Pod, PodSpec
from mooring.sim.controllers.claims import make_claim, with_claims
from mooring.sim.controllers.controller import Controller
from mooring.sim.world.kubelet import is_finished
from mooring.sim.world.naming import template_hash
from mooring.sim.world.workloads import StatefulSet
from mooring.sim.world.world import World

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
REVISION_HASH = "controller-revision-hash"


class StatefulSetController(Controller):
    """Keeps the pods `name-0`, `name-1` and so on.

    With `OrderedReady` a pod is made only when all before it run; one that is evicted comes back under
    its name when it is gone, to the same claims.
    """

    def __init__(self, world: World, owner: Object, workload: StatefulSet) -> None:
        spec = workload.spec
        revision = f"{owner.metadata.name}-{template_hash(spec.template)}"
        super().__init__(world, owner, spec.template, labels={REVISION_HASH: revision})
        self._ordered = spec.pod_management_policy != "Parallel"
        first = spec.ordinals.start
        self._names = {f"{self.name}-{index}": index for index in range(first, first + spec.replicas)}
        self._claims = spec.volume_claim_templates
        self._there: set[str] = set()
        self._ran: set[str] = set()

    def start(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            self._there.add(pod.name)
            if pod.spec.node_name or is_finished(pod):
                self._ran.add(pod.name)
        self._go_on()

    def pod_running(self, pod: Pod) -> None:
        if pod.name not in self._ran:
            self._ran.add(pod.name)
            self._go_on()

    def pod_gone(self, pod: Pod) -> None:
        self._there.discard(pod.name)
        self._ran.discard(pod.name)
        self._go_on()

    def _go_on(self) -> None:
        """Makes every pod that may be made now."""
        for name, index in self._names.items():
            if name not in self._there:
                if f"{self.template.namespace}/{name}" in self.world.pods:
                    return  # somebody else's pod has the name: there is no going on
                self._there.add(name)
                self.make(name=name, labels={POD_NAME: name, POD_INDEX: str(index)}, spec=self._spec_of(name))
            if self._ordered and name not in self._ran:
                return

    def _spec_of(self, name: str) -> PodSpec | None:
        """The spec of the pod of a name, with claims of its own that outlive it; None: the template's."""
        if not self._claims:
            return None
        claims = []
        for template in self._claims:
            volume = str((template.get("metadata") or {}).get("name", ""))
            make_claim(self.world, self.template.namespace, f"{volume}-{name}", template)
            claims.append((volume, f"{volume}-{name}"))
        return with_claims(self.template.spec, claims)
