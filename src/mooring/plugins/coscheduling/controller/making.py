"""PodGroups for gangs that only their pods declare, so that they can be seen and have a status.

One says all that the pods say, so that whoever reads it knows the same gang. It is marked as Mooring's, and
belongs to what its pods belong to, so that it goes with that even when no scheduler runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from mooring.model.objects import Object, OwnerReference, Pod
from mooring.plugins.coscheduling.controller.gang import SIGS
from mooring.workloads import keys
from mooring.workloads.declared import Terms

API_VERSION = SIGS.rpartition("/")[0]
MANAGED_BY, MOORING = "app.kubernetes.io/managed-by", "mooring"
MADE_FOR = "mooring.io/scheduler-name"  # whose pods it stands for; another profile does not remove it

_is_name = re.compile(
    r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
).fullmatch


def is_made_for(profile: str, pod_group: Object) -> bool:
    """Whether Mooring has made it for pods of the profile."""
    meta = pod_group.metadata
    return meta.labels.get(MANAGED_BY) == MOORING and meta.annotations.get(MADE_FOR) == profile


def can_be_named(gang_id: str) -> bool:
    """Whether an object can have the gang's name. An annotation may be anything."""
    return _is_name(gang_id.partition("/")[2]) is not None


def pod_group_of(profile: str, gang_id: str, terms: Terms, pods: Sequence[Pod]) -> dict[str, Any]:
    """The object to be made."""
    namespace, _, name = gang_id.partition("/")
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "labels": {MANAGED_BY: MOORING},
        "annotations": {MADE_FOR: profile, **_annotations(terms)},
    }
    if (owner := _common_owner(pods)) is not None:
        metadata["ownerReferences"] = [_reference(owner)]
    spec: dict[str, Any] = {"minMember": terms.least}
    if terms.wait_s >= 1:
        spec["scheduleTimeoutSeconds"] = int(terms.wait_s)
    return {"apiVersion": API_VERSION, "kind": "PodGroup", "metadata": metadata, "spec": spec}


def _annotations(terms: Terms) -> dict[str, str]:
    said: dict[str, str] = {}
    if terms.total > terms.least:
        said[keys.TOTAL_NUMBER] = str(terms.total)
    if not terms.strict:
        said[keys.MODE] = "NonStrict"
    if terms.policy is not None:
        said[keys.MATCH_POLICY] = terms.policy.value
    if terms.groups:
        said[keys.GROUPS] = json.dumps(terms.groups)
    if terms.topology_spec:
        said[keys.TOPOLOGY_SPEC] = terms.topology_spec
    return said


def _common_owner(pods: Sequence[Pod]) -> OwnerReference | None:
    owners = {each.uid: each for pod in pods for each in pod.metadata.owner_references if each.controller}
    orphans = any(not pod.metadata.owner_references for pod in pods)
    return next(iter(owners.values())) if len(owners) == 1 and not orphans else None


def _reference(owner: OwnerReference) -> dict[str, Any]:
    return {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
