"""The volume controller and the provisioners of a scenario that is played by hand."""

from __future__ import annotations

from e2e.api import Api, Object
from e2e.storage import SELECTED_NODE

VOLUMES, CLAIMS = "/api/v1/persistentvolumes", "/api/v1/persistentvolumeclaims"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"


def is_provisioned(about: Object) -> bool:
    return PROVISIONED_BY in about["metadata"].get("annotations", {})


class PlayedVolumes:
    """Binds what the scheduler has chosen volumes for."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.provisioned: dict[str, Object] = {}  # volumes that a claim brings about, by claim

    def expect(self, volume: Object) -> None:
        """A volume of the script that is to come once its claim is given a node."""
        claim = volume["spec"]["claimRef"]
        self.provisioned[f"{claim['namespace']}/{claim['name']}"] = volume

    def make_available(self, name: str) -> None:
        self._api.patch(f"{VOLUMES}/{name}/status", {"status": {"phase": "Available"}})

    def look_after(self) -> None:
        unbound = [each for each in self._api.items(CLAIMS) if not each["spec"].get("volumeName")]
        if not unbound:
            return
        taken = {
            claim.get("uid"): each
            for each in self._api.items(VOLUMES)
            if (claim := each["spec"].get("claimRef")) is not None
        }
        for claim in unbound:
            volume = taken.get(claim["metadata"]["uid"]) or self._provision(claim)
            if volume is not None:
                self._bind(claim, volume)

    def _provision(self, claim: Object) -> Object | None:
        meta = claim["metadata"]
        made = self.provisioned.get(f"{meta['namespace']}/{meta['name']}")
        if made is None or SELECTED_NODE not in meta.get("annotations", {}):
            return None
        reference = {
            "kind": "PersistentVolumeClaim",
            **{key: meta[key] for key in ("namespace", "name", "uid")},
        }
        volume = {**made, "metadata": {"name": f"pvc-{meta['uid']}"}}
        volume["spec"] = {**made["spec"], "claimRef": reference}
        return self._api.create(VOLUMES, volume)

    def _bind(self, claim: Object, volume: Object) -> None:
        meta, spec = claim["metadata"], volume["spec"]
        path = f"/api/v1/namespaces/{meta['namespace']}/persistentvolumeclaims/{meta['name']}"
        status = {"phase": "Bound", "capacity": spec["capacity"], "accessModes": spec["accessModes"]}
        self._api.patch(f"{VOLUMES}/{volume['metadata']['name']}/status", {"status": {"phase": "Bound"}})
        marks = {"pv.kubernetes.io/bind-completed": "yes"}
        bound = {"spec": {"volumeName": volume["metadata"]["name"]}, "metadata": {"annotations": marks}}
        self._api.patch(path, bound)
        self._api.patch(f"{path}/status", {"status": status})
