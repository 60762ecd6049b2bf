"""Rights are least: without any one of them something does not work, and with all of them everything does.

Each right is taken from a Mooring of its own, several at a time beside each other. What is seen then is what
the comment above the right's rule in `deploy/manifests` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from e2e.api import Object
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.gangs import install, plane_with_gangs
from e2e.network import NETWORK_TOLD, TELLS
from e2e.probes import (
    ALLOWED,
    BOUND,
    COUNTED,
    DISPLACED,
    GANG_BOUND,
    GANG_GONE,
    GANG_SHOWN,
    GROUP_SCHEDULED,
    KNOWN,
    LEADS,
    LEADS_ON,
    LOOKED_UP,
    PHASE_OF_PLUGINS,
    PHASE_SHOWN,
    RECORDED,
    TOLD_WHY,
    URGENT,
    VOLUME_BOUND,
    VOLUME_MADE,
    Case,
    Probe,
)
from e2e.rights import CORE, RBAC, Right, granted
from e2e.scheduler import StartScheduler, as_document
from e2e.waiting import holds, wait_for
from e2e.workloads import priority_class

APPS, STORAGE, EVENTS, LEASES = "apps", "storage.k8s.io", "events.k8s.io", "coordination.k8s.io"
SIGS, X_K8S, GROUPS = "scheduling.sigs.k8s.io", "scheduling.x-k8s.io", "scheduling.k8s.io"
READER = "rights-reader"
AT_ONCE = 4

FOLLOWED = (
    (CORE, "pods"),
    (CORE, "nodes"),
    ("policy", "poddisruptionbudgets"),
    (CORE, "namespaces"),
    (CORE, "services"),
    (CORE, "replicationcontrollers"),
    (APPS, "replicasets"),
    (APPS, "statefulsets"),
    (CORE, "persistentvolumeclaims"),
    (CORE, "persistentvolumes"),
    (STORAGE, "storageclasses"),
    (STORAGE, "csinodes"),
    (STORAGE, "csidrivers"),
    (STORAGE, "csistoragecapacities"),
    (STORAGE, "volumeattachments"),
    (SIGS, "podgroups"),
    (X_K8S, "podgroups"),
    ("scheduling.run.ai", "podgroups"),
    ("scheduling.volcano.sh", "podgroups"),
    (GROUPS, "podgroups"),
    (GROUPS, "workloads"),
    ("scheduling.koordinator.sh", "clusternetworktopologies"),
    ("kai.scheduler", "topologies"),
    ("topology.volcano.sh", "hypernodes"),
)
NEEDED: dict[Right, Probe] = {
    Right(CORE, "pods/binding", "create"): BOUND,
    Right(CORE, "pods", "get"): LOOKED_UP,
    Right(CORE, "pods/status", "patch"): TOLD_WHY,
    Right(EVENTS, "events", "create"): RECORDED,
    Right(EVENTS, "events", "patch"): COUNTED,
    Right("authentication.k8s.io", "tokenreviews", "create"): KNOWN,
    Right("authorization.k8s.io", "subjectaccessreviews", "create"): ALLOWED,
    Right(CORE, "pods", "delete"): DISPLACED,
    Right(CORE, "persistentvolumeclaims", "get"): VOLUME_BOUND,
    Right(CORE, "persistentvolumeclaims", "patch"): VOLUME_MADE,
    Right(CORE, "persistentvolumes", "get"): VOLUME_BOUND,
    Right(CORE, "persistentvolumes", "patch"): VOLUME_BOUND,
    Right(CORE, "pods", "patch"): GANG_BOUND,
    Right(SIGS, "podgroups", "create"): GANG_SHOWN,
    Right(SIGS, "podgroups", "delete"): GANG_GONE,
    Right(SIGS, "podgroups/status", "patch"): PHASE_SHOWN,
    Right(X_K8S, "podgroups/status", "patch"): PHASE_OF_PLUGINS,
    Right(GROUPS, "podgroups/status", "patch"): GROUP_SCHEDULED,
    TELLS: NETWORK_TOLD,
    Right(LEASES, "leases", "create"): LEADS,
    Right(LEASES, "leases", "get"): LEADS,
    Right(LEASES, "leases", "update"): LEADS_ON,
}
PROBES = tuple(dict.fromkeys(NEEDED.values()))


def without(right: Right, probe: Probe) -> Callable[[Case], None]:
    def run(case: Case) -> None:
        case.start(right, probe.flags, lossy=probe.lossy)
        probe.does(case)
        case.wait(lambda: probe.fails(case, right), f"what happens without {right}")
        assert not probe.works(case), f"{probe.name} without {right}"

    return run


def as_shipped(probe: Probe) -> Callable[[Case], None]:
    def run(case: Case) -> None:
        case.start(None, probe.flags, lossy=probe.lossy)
        probe.does(case)
        case.wait(lambda: probe.works(case), probe.name)
        assert not case.says("is forbidden")

    return run


def following(group: str, resource: str) -> Callable[[Case], None]:
    """What may not be listed, or may be listed and not watched, keeps Mooring from being ready."""

    def run(case: Case) -> None:
        listing, watching = (Right(group, resource, verb) for verb in ("list", "watch"))
        case.start(listing)
        for right, then in ((listing, watching), (watching, None)):
            case.wait(lambda right=right: case.says(right.refusal), f"what is said without {right}")
            holds(
                lambda: case.scheduler.status("/readyz") == 500, during=0.5, saying=f"unready without {right}"
            )
            case.account.may_all_but(then)
        case.wait(lambda: case.scheduler.status("/readyz") == 200, "being ready with all rights")

    return run


JOBS = {
    **{f"follow {resource}.{group}".rstrip("."): following(group, resource) for group, resource in FOLLOWED},
    **{f"without {right}": without(right, probe) for right, probe in NEEDED.items()},
    **{f"as shipped {probe.name}": as_shipped(probe) for probe in PROBES},
}


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A module's own, with PodGroups of every kind: a kind that is not there takes no right to follow."""
    with plane_with_gangs(tmp_path_factory.mktemp("rights")) as plane:
        install(plane)
        yield plane


@pytest.fixture(scope="module")
def outcomes(
    control_plane: ControlPlane, request: pytest.FixtureRequest
) -> Iterator[dict[str, Exception | None]]:
    """What became of the jobs the chosen tests are about: nothing, or an error."""
    chosen = {item.callspec.params["job"] for item in request.session.items if "job" in parameters(item)}
    share = Cluster(control_plane)
    cases = {job: Case(control_plane, f"rights-{number}") for number, job in enumerate(JOBS) if job in chosen}
    set_scene(share, cases)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield dict(zip(cases, pool.map(outcome, cases, cases.values()), strict=True))
    clean(share, list(cases.values()))


def parameters(item: pytest.Item) -> Object:
    return item.callspec.params if hasattr(item, "callspec") else {}


def set_scene(share: Cluster, cases: dict[str, Case]) -> None:
    api = share.api
    reads = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    api.create(f"{RBAC}/clusterroles", {"metadata": {"name": READER}, "rules": [reads]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READER}
    everybody = {"apiGroup": role["apiGroup"], "kind": "Group", "name": "system:serviceaccounts"}
    binding = {"metadata": {"name": READER}, "roleRef": role, "subjects": [everybody]}
    api.create(f"{RBAC}/clusterrolebindings", binding)
    api.create("/apis/scheduling.k8s.io/v1/priorityclasses", priority_class(URGENT, 1000))
    placing = [case for job, case in cases.items() if not job.startswith("follow")]
    for case in placing:
        case.add_node()
    share.wait_ready(case.name for case in placing)


def outcome(job: str, case: Case) -> Exception | None:
    try:
        JOBS[job](case)
    except Exception as error:
        return error
    finally:
        case.end()
    return None


def clean(share: Cluster, cases: list[Case]) -> None:
    api = share.api
    for kind in ("clusterrolebindings", "clusterroles"):
        api.delete(f"{RBAC}/{kind}/{READER}")
    for case in cases:
        case.account.remove()

    def no_pods() -> bool:
        for case in cases:
            api.send("DELETE", case.pods_path, {"gracePeriodSeconds": 0})
        return not any(api.items(case.pods_path) for case in cases)

    wait_for(no_pods, within=60, saying="pods to be gone")
    share.clean()


def test_every_right_has_its_probe() -> None:
    assert len(JOBS) == len(FOLLOWED) + len(NEEDED) + len(PROBES)
    followed = [Right(group, resource, verb) for group, resource in FOLLOWED for verb in ("list", "watch")]
    assert sorted([*followed, *NEEDED]) == sorted(granted())


POLICY = """
from mooring import Plugin

class Anywhere(Plugin):
    def filter(self, cycle, pod, node):
        return None
"""
EXTENDER = {"urlPrefix": "http://127.0.0.1:9/", "filterVerb": "filter", "ignorable": True}


def test_a_policy_that_waits_for_anything_needs_no_more(
    start_mooring: StartScheduler, tmp_path: Path
) -> None:
    (tmp_path / "anywhere.py").write_text(POLICY)
    running = start_mooring(policies=tmp_path)
    assert "forbidden" not in running.output()


def test_an_extender_needs_no_more(start_mooring: StartScheduler) -> None:
    running = start_mooring(as_document({"extenders": [EXTENDER]}))
    assert "forbidden" not in running.output()


@pytest.mark.parametrize("job", JOBS)
def test_rights(job: str, outcomes: dict[str, Exception | None]) -> None:
    error = outcomes[job]
    if error is not None:
        raise error
