"""One Mooring with rights of its own, and what it is asked to do that needs one of them."""

from __future__ import annotations

import json
import urllib.error
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from e2e.api import Object
from e2e.cluster import NODES
from e2e.control_plane import ControlPlane
from e2e.faulty_proxy import BIND, FaultyProxy, lose_answer, token_in
from e2e.gangs import KUBERNETES, SIGS, X_K8S, members, path_of, pod_group
from e2e.mooring_process import NAME, mooring
from e2e.nodes import HOSTNAME, node
from e2e.rights import Account, Right
from e2e.scheduler import Scheduler, as_document
from e2e.state import Pod
from e2e.storage import Provisioner, claim, storage_class, using, volume
from e2e.waiting import wait_for
from e2e.workloads import pod

URGENT = "rights-urgent"  # a priority class
ANNOTATIONS, GANG = "annotations", "web"
QUICK = (
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
)
ESCAPED, QUOTE = '\\"', '"'  # the log quotes what is said
EVERYTHING = 10  # Events that are refused are told to nobody who does not ask for details


class Case:
    """A Mooring that schedules for a name, a namespace and a node of its own, beside others."""

    def __init__(self, plane: ControlPlane, name: str) -> None:
        self.plane = plane
        self.api = plane.api
        self.name = self.namespace = name
        self.pods_path = f"/api/v1/namespaces/{name}/pods"
        self.account = Account(plane, name)
        self.until_the_end = ExitStack()
        self.scheduler: Scheduler

    def start(self, missing: Right | None, flags: tuple[str, ...] = (), *, lossy: bool = False) -> None:
        """Begins; it may never get ready."""
        kubeconfig = self.account.make(missing)
        self.token = token_in(kubeconfig)
        if lossy:
            self.proxy = self.until_the_end.enter_context(FaultyProxy(self.plane, self.name))
            kubeconfig = self.proxy.server.kubeconfig(kubeconfig, self.token)
        config = as_document({"profiles": [{"schedulerName": self.name}]})
        flags = (*flags, f"--leader-elect-resource-namespace={self.namespace}")
        self.scheduler = mooring(
            self.plane,
            config,
            kubeconfig=kubeconfig,
            leader_elect=flags[0] in QUICK,
            verbosity=EVERYTHING,
            flags=flags,
        )
        self.scheduler.start()
        self.until_the_end.callback(self.scheduler.stop)

    def says(self, words: str) -> bool:
        return words in self.scheduler.output().replace(ESCAPED, QUOTE)

    def add_node(self) -> None:
        self.api.create(NODES, node(self.name))

    def add_pod(self, name: str, **words: Any) -> None:
        where = {} if "nodeName" in words else {"nodeSelector": {HOSTNAME: self.name}}
        common = {"schedulerName": self.name, "serviceAccountName": NAME, **where}
        self.api.create(self.pods_path, pod(name, **{**common, **words}))

    def add_gang(self, form: str, **words: Any) -> None:
        """Two pods `web-0` and `web-1`, with their PodGroup where they do not say it all themselves."""
        if form != ANNOTATIONS:
            self.api.create(path_of(form, self.namespace), pod_group(form, GANG, 2))
        common = {"schedulerName": self.name, "serviceAccountName": NAME}
        where = {"nodeSelector": {HOSTNAME: self.name}}
        for member in members(form, GANG, range(2), 2, cpu="100m", **{**common, **where, **words}):
            self.api.create(self.pods_path, member)

    def gang(self, form: str) -> Object:
        """The PodGroup; nothing when there is none."""
        found = self.api.items(path_of(form, self.namespace))
        return found[0] if found else {}

    def pod(self, name: str) -> Pod:
        return Pod(self.api.get(f"{self.pods_path}/{name}"))

    def events(self, name: str, reason: str) -> list[Object]:
        found = self.api.items(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")
        return [each for each in found if (each["regarding"]["name"], each["reason"]) == (name, reason)]

    def lease(self) -> Object:
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"
        found = [each["spec"] for each in self.api.items(path) if each["metadata"]["name"] == NAME]
        return found[0] if found else {}

    def metrics(self) -> tuple[int, str]:
        """Asked for with the account's own token; everybody who has one may, says `test_rights`."""
        try:
            return 200, self.scheduler.read("/metrics", self.token)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, str(json.loads(error.read())["message"])
        except OSError:
            return 0, ""  # it does not listen yet

    def wait(self, what: Callable[[], object], saying: str, within: float = 60) -> None:
        wait_for(what, within=within, saying=f"{self.name}: {saying}", tail=self.scheduler.tail)

    def end(self) -> None:
        self.until_the_end.close()


@dataclass(frozen=True)
class Probe:
    """What is done, how one sees that it worked, and how one sees that it never will."""

    name: str
    does: Callable[[Case], None]
    works: Callable[[Case], object]
    fails: Callable[[Case, Right], object]
    flags: tuple[str, ...] = ()
    lossy: bool = False  # its Mooring does not hear the answer to its first bind


def add_web(case: Case) -> None:
    case.add_pod("web")


def add_huge(case: Case) -> None:
    case.add_pod("huge", cpu="64")


def fail_twice(case: Case) -> None:
    """A pod that goes has the one that waits tried again, in vain."""
    case.add_pod("big", cpu="3500m", nodeName=case.name)
    case.add_pod("huge", cpu="1")
    case.wait(lambda: case.events("huge", "FailedScheduling"), "the first failure")
    case.add_pod("short", nodeName=case.name)
    case.api.delete(f"{case.pods_path}/short", grace_seconds=0)


def displace(case: Case) -> None:
    case.add_pod("web", cpu="3")
    case.wait(lambda: case.pod("web").node, "the victim to have a node")
    case.add_pod("urgent", cpu="3", priorityClassName=URGENT)


def bind_volume(case: Case) -> None:
    case.api.create("/apis/storage.k8s.io/v1/storageclasses", storage_class(case.name))
    case.api.create("/api/v1/persistentvolumes", volume(case.name, case.name, node=case.name))
    use_claim(case)


def make_volume(case: Case) -> None:
    case.api.create("/apis/storage.k8s.io/v1/storageclasses", storage_class(case.name, "example.com/played"))
    case.until_the_end.enter_context(Provisioner(case, case.name))  # type: ignore[arg-type]
    use_claim(case)


def use_claim(case: Case) -> None:
    claims = f"/api/v1/namespaces/{case.namespace}/persistentvolumeclaims"
    case.api.create(claims, claim("data", case.name))
    case.add_pod("web", volumes=using("data"))


def add_gang(form: str) -> Callable[[Case], None]:
    return lambda case: case.add_gang(form)


def end_gang(case: Case) -> None:
    case.add_gang(ANNOTATIONS)
    case.wait(lambda: case.gang(SIGS), "the PodGroup")
    for number in range(2):
        case.api.delete(f"{case.pods_path}/{GANG}-{number}", grace_seconds=0)


def is_gang_bound(case: Case) -> bool:
    return all(case.pod(f"{GANG}-{number}").node for number in range(2))


def is_gang_told_of(case: Case, right: Right) -> bool:
    told = [case.pod(f"{GANG}-{number}") for number in range(2)]
    return any(pod.reason == "SchedulerError" and right.refusal in pod.message for pod in told)


def is_refused(case: Case, right: Right) -> bool:
    return case.says(right.refusal) and is_gang_bound(case)


def lose_bind(case: Case) -> None:
    case.proxy.rule(BIND, lose_answer, times=1)
    add_web(case)


def is_bound(case: Case) -> bool:
    return bool(case.pod("web").node)


def is_told_of(case: Case, right: Right) -> bool:
    """The pod's own status says whose fault it is that it has no node."""
    told = case.pod("web")
    return told.reason == "SchedulerError" and right.refusal in told.message


def is_renewed(case: Case) -> bool:
    lease = case.lease()
    return bool(lease) and lease["renewTime"] > lease["acquireTime"] and case.scheduler.is_running()


BOUND = Probe("bound", add_web, is_bound, is_told_of)
TOLD_WHY = Probe(
    "told why",
    add_huge,
    lambda case: case.pod("huge").reason == "Unschedulable",
    lambda case, right: case.says(right.refusal) and case.events("huge", "FailedScheduling"),
)
RECORDED = Probe(
    "recorded",
    add_web,
    lambda case: case.events("web", "Scheduled"),
    lambda case, right: case.says(right.refusal) and is_bound(case),
)
COUNTED = Probe(
    "counted",
    fail_twice,
    lambda case: any(each.get("series") for each in case.events("huge", "FailedScheduling")),
    lambda case, right: case.says(right.refusal),
)
KNOWN = Probe(
    "who reads metrics is known",
    lambda case: None,
    lambda case: case.metrics()[0] == 200,
    lambda case, right: case.metrics()[0] == 401 and case.says(right.refusal),
)
ALLOWED = Probe(
    "who reads metrics is allowed",
    lambda case: None,
    lambda case: case.metrics()[0] == 200,
    lambda case, right: case.metrics()[0] == 500 and right.refusal in case.metrics()[1],
)
DISPLACED = Probe(
    "displaced",
    displace,
    lambda case: case.pod("urgent").node,
    lambda case, right: case.says(right.refusal) and not case.pod("web").deleting,
)
VOLUME_BOUND = Probe("volume bound", bind_volume, is_bound, is_told_of)
VOLUME_MADE = Probe("volume made", make_volume, is_bound, is_told_of)
LOOKED_UP = Probe(
    "looked up",
    lose_bind,
    lambda case: case.events("web", "Scheduled"),
    lambda case, right: case.says(right.refusal) and is_bound(case),
    lossy=True,
)
LEADS = Probe(
    "leads",
    add_web,
    lambda case: case.lease() and is_bound(case),
    lambda case, right: case.says(right.refusal),
    flags=QUICK,
)
LEADS_ON = Probe(
    "leads on",
    lambda case: None,
    is_renewed,
    lambda case, right: case.scheduler.exit_code() == 1 and case.says(right.refusal),
    flags=QUICK,
)
GANG_BOUND = Probe("gang bound", add_gang(ANNOTATIONS), is_gang_bound, is_gang_told_of)
GANG_SHOWN = Probe("gang shown", add_gang(ANNOTATIONS), lambda case: case.gang(SIGS), is_refused)
GANG_GONE = Probe(
    "gang gone", end_gang, lambda case: not case.gang(SIGS), lambda case, right: case.says(right.refusal)
)
PHASE_SHOWN = Probe(
    "phase shown", add_gang(SIGS), lambda case: case.gang(SIGS).get("status", {}).get("phase"), is_refused
)
PHASE_OF_PLUGINS = Probe(
    "phase of scheduler-plugins",
    add_gang(X_K8S),
    lambda case: case.gang(X_K8S).get("status", {}).get("phase"),
    is_refused,
)
GROUP_SCHEDULED = Probe(
    "PodGroupScheduled",
    add_gang(KUBERNETES),
    lambda case: case.gang(KUBERNETES).get("status", {}).get("conditions"),
    is_refused,
)
