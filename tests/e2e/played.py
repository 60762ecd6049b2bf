"""A scenario on a real API server: the script of a simulation, played by hand, with Mooring as the scheduler.

Nothing runs there but the API server and Mooring: what controllers and kubelets would do is in the script.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from e2e.api import Object, Refused, at_once
from e2e.control_plane import ControlPlane
from e2e.metrics import Metrics
from e2e.played_volumes import PlayedVolumes, is_provisioned
from e2e.scheduler import Scheduler
from e2e.simulated import Action, Moment, Standing, Story, standing, story_of, uncounted
from e2e.state import Pod
from e2e.waiting import wait_for

# Kinds nobody but the workload controllers reads would only be refused for what they lack; pods are played.
LEFT_OUT = frozenset({"Namespace", "Deployment", "Job", "DaemonSet", "CustomResourceDefinition"})
BARE = ("--disable-admission-plugins=TaintNodesByCondition,ServiceAccount,StorageObjectInUseProtection",)
PLURALS = {
    "StorageClass": "storageclasses",
    "PriorityClass": "priorityclasses",
    "ClusterNetworkTopology": "clusternetworktopologies",
}
PER_CLUSTER = frozenset(
    {
        "StorageClass",
        "PriorityClass",
        "PersistentVolume",
        "CSINode",
        "CSIDriver",
        "ClusterNetworkTopology",
        "Node",
    }
)
NODES, PODS = "/api/v1/nodes", "/api/v1/pods"
EVERY = 0.03
BACKOFF_S = 1.2  # more than the first
SETTLES_S = 15.0
GIVEN = ("uid", "resourceVersion", "creationTimestamp", "generation")


class Stage:
    """One control plane, and a Mooring for one scenario after the other."""

    def __init__(self, plane: ControlPlane, start: Callable[[], Scheduler]) -> None:
        self.api = plane.api
        self._start_anew = start
        self.scheduler = start()
        self._spaces = {"default"}
        self._made: list[str] = []
        self._uids: dict[str, str] = {}
        self._started: set[str] = set()
        self._going: set[str] = set()
        self._volumes = PlayedVolumes(plane.api)
        self._claims = False  # whether there are any
        self._alike: dict[str, str] = {}  # pods of the script to those that play their part
        self._loosely = False
        self._nodes = self._placed = 0
        self._second = self._real_second = 0
        self._brought_at = 0.0

    def restart(self) -> None:
        """Another Mooring, which has drawn nothing so far."""
        self.scheduler.stop()
        self.scheduler = self._start_anew()

    def play(self, moments: Iterable[Moment], *, loosely: bool = False) -> None:
        """Does all that is in the script, each moment when the one before has come to its end.

        `loosely`: workload controllers have their say between two decisions of one moment, which nobody can
        play: how many nodes lack what may then differ. What came in different seconds does so here as well.
        """
        self._loosely = loosely
        for moment in moments:
            if loosely and moment.second != self._second:
                wait_for(lambda: int(time.time()) > self._real_second, every=EVERY, saying="the next second")
            self._do(moment.actions)
            self._second, self._real_second = moment.second, int(time.time())
            self._wait_settled(moment)

    def story(self) -> Story:
        pods = {self._known_as(Pod(raw).key): raw for raw in self.api.items(PODS)}
        found = self.api.items("/apis/events.k8s.io/v1/events")
        events = [
            (self._known_as(key), what, each["note"].replace(key, self._known_as(key)))
            for each in found
            if each["regarding"].get("uid") in self._uids
            for key in [f"{each['regarding'].get('namespace', '')}/{each['regarding']['name']}"]
            for what in [f"{each['type']} {each['reason']} {each['action']}"]
        ]
        return story_of(pods, events, self._uids)

    def clean(self) -> None:
        """Leaves nothing behind."""
        for space in self._spaces:
            self.api.send("DELETE", f"/api/v1/namespaces/{space}/pods", {"gracePeriodSeconds": 0})
        self.api.send("DELETE", NODES, {})
        at_once(self._delete, ({"path": path} for path in reversed(self._made)))
        for space in self._spaces:
            self.api.send("DELETE", f"/apis/events.k8s.io/v1/namespaces/{space}/events", {})
        self._going, self._alike, self._claims = set(), {}, False
        self._volumes.provisioned.clear()
        self._made, self._uids, self._started, self._nodes, self._placed = [], {}, set(), 0, 0
        self._wait_seen()

    # doing

    def _do(self, actions: list[Action]) -> None:
        """First what is there to be known. What changes for pods then comes to Mooring at one moment."""
        known = [each for each in actions if each.verb == "create" and not _follows_pods(each)]
        for action in known:
            self._one(action)
        if any(action.kind in ("Node", "Pod") for action in known):
            self._wait_seen()
        if any(action.verb in ("evicted", "finish", "delete") for action in actions):
            self._wait_backed_off()
        at_once: list[Action] = []
        for action in actions:
            if action in known:
                continue
            if action.verb == "evicted" and any(each.waits for each in at_once):
                self._do_frozen(at_once)  # it goes because of one of them
                at_once = []
            if action.verb == "evicted":
                self._wait_going(action)
            at_once.append(action)
        self._do_frozen(at_once)

    def _do_frozen(self, actions: list[Action]) -> None:
        with self._frozen(bool(actions[1:])):
            for action in actions:
                self._one(action)
            saying = "the API server to have told of all"
            wait_for(self._is_all_told, every=EVERY, within=SETTLES_S, saying=saying)

    def _one(self, action: Action) -> None:
        key = _key(action)
        space, _, name = self._alike.get(key, key).partition("/")
        path = f"/api/v1/namespaces/{space}/pods/{name}"
        if action.verb == "create" and action.kind == "Pod":
            self._create_pod(action.about)
            self._placed += not action.waits
        elif action.verb == "create" and action.kind == "Node":
            self.api.create(NODES, _as_new(action.about))
            self._nodes += 1
        elif action.verb == "create":
            self._create(action.about)
        elif action.kind == "Node":
            self.api.delete(f"{NODES}/{action.about['metadata']['name']}")
            self._nodes -= 1
        elif action.verb == "finish":
            self.api.patch(f"{path}/status", {"status": {"phase": "Succeeded"}})
        else:
            self.api.delete(path, grace_seconds=0)
            self._started.discard(key)

    @contextmanager
    def _frozen(self, frozen: bool) -> Iterator[None]:
        """What comes meanwhile comes to Mooring at one moment."""
        if not frozen:
            yield
            return
        self.scheduler.pause()
        try:
            yield
        finally:
            self.scheduler.resume()

    def _is_all_told(self) -> bool:
        """Whether what watches are fed from is as new as what is stored."""
        newest, cached = (self.api.get(PODS, **query)["items"] for query in ({}, {"resourceVersion": "0"}))
        return _versions(newest) == _versions(cached)

    def _create_pod(self, about: Object) -> None:
        made = _as_new(about)
        made.pop("status", None)
        for container in made["spec"].get("containers", ()):
            container.setdefault("image", "registry.invalid/nothing")
        space = made["metadata"].get("namespace", "default")
        self._enter(space)
        created = self.api.create(f"/api/v1/namespaces/{space}/pods", made)
        self._brought_at = time.monotonic()
        self._uids[created["metadata"]["uid"]] = f"{space}/{created['metadata']['name']}"

    def _create(self, about: Object) -> None:
        kind, version = about["kind"], about["apiVersion"]
        if kind in LEFT_OUT:
            return
        if is_provisioned(about):
            self._volumes.expect(about)
            return
        made = _as_new(about)
        for owner in made["metadata"].get("ownerReferences", ()):
            if owner["kind"] == "Pod":
                key = f"{made['metadata']['namespace']}/{owner['name']}"
                owner["uid"] = next(uid for uid, each in self._uids.items() if each == key)
        path = f"/api/{version}" if "/" not in version else f"/apis/{version}"
        if kind not in PER_CLUSTER:
            space = made["metadata"].get("namespace", "default")
            self._enter(space)
            path += f"/namespaces/{space}"
        path += f"/{PLURALS.get(kind, kind.lower() + 's')}"
        self._claims |= kind == "PersistentVolumeClaim"
        try:
            self.api.create(path, made)
        except Refused as refused:
            if refused.code != 409:
                raise
        self._made.append(f"{path}/{made['metadata']['name']}")
        if kind == "PersistentVolume":
            self._volumes.make_available(made["metadata"]["name"])

    def _enter(self, space: str) -> None:
        if space not in self._spaces:
            self._spaces.add(space)
            self.api.create("/api/v1/namespaces", {"metadata": {"name": space}})

    def _delete(self, at: Object) -> Object:
        self.api.delete(at["path"])
        return at

    # looking

    def _wait_seen(self) -> None:
        """Until Mooring knows of the nodes, and of pods that were brought with one."""

        def seen() -> bool:
            metrics = Metrics(self.scheduler.read("/metrics"))
            known = metrics("scheduler_cache_size", type="nodes")
            return known == self._nodes and metrics("scheduler_cache_size", type="pods") >= self._placed

        wait_for(seen, every=EVERY, within=SETTLES_S, saying=f"{self._nodes} nodes to be seen")

    def _wait_backed_off(self) -> None:
        """Until pods that were tried lately may be tried again: in simulation that is long ago."""
        wait_for(lambda: time.monotonic() - self._brought_at > BACKOFF_S, every=EVERY, saying="back-offs")

    def _wait_going(self, action: Action) -> None:
        """Until Mooring has evicted a pod."""
        owner = _owner(action.about)

        def going() -> bool:
            there = {Pod(each).key: each for each in self.api.items(PODS)}
            own = _key(action)
            mine = self._alike.get(own, own)
            if mine not in there or Pod(there[mine]).deleting:
                return True
            for key, each in there.items():
                if owner and _owner(each) == owner and Pod(each).deleting and key not in self._going:
                    self._alike[self._known_as(key)], self._alike[own] = mine, key
                    return True
            return False

        wait_for(going, every=EVERY, within=SETTLES_S, saying=f"{_key(action)} to be evicted")
        self._going.add(self._alike.get(_key(action), _key(action)))

    def _wait_settled(self, moment: Moment) -> None:
        there = moment.places

        def settled() -> bool:
            if self._claims:
                self._volumes.look_after()
            here = {self._known_as(Pod(each).key): standing(each) for each in self.api.items(PODS)}
            different = {
                key: (there.get(key, "gone"), here.get(key, "gone"))
                for key in sorted(here.keys() | there.keys())
                if self._said(here.get(key)) != self._said(there.get(key))
            }
            assert not different, f"simulated, real: {different}"
            return True

        wait_for(settled, every=EVERY, within=SETTLES_S, saying="the same places")
        for key in [key for key, (node, _, _) in there.items() if node and key not in self._started]:
            self._start(key, moment.since[key])

    def _said(self, told: Standing | None) -> Standing | None:
        return (told[0], told[1], uncounted(told[2])) if told is not None and self._loosely else told

    def _known_as(self, key: str) -> str:
        """What a pod is called in the script: of pods that are alike, any may be evicted."""
        return next((script for script, real in self._alike.items() if real == key), key)

    def _start(self, key: str, since: str) -> None:
        """What a kubelet does."""
        self._started.add(key)
        space, _, name = self._alike.get(key, key).partition("/")
        status = {"phase": "Running", "startTime": since}
        self.api.patch(f"/api/v1/namespaces/{space}/pods/{name}/status", {"status": status})


def _follows_pods(action: Action) -> bool:
    """Whether it is for pods that come at that moment, or comes of one."""
    owners = action.about["metadata"].get("ownerReferences", ())
    return action.waits or (action.kind != "Pod" and any(each["kind"] == "Pod" for each in owners))


def _key(action: Action) -> str:
    meta = action.about["metadata"]
    return f"{meta.get('namespace', 'default')}/{meta['name']}"


def _owner(about: Object) -> tuple[str, str]:
    owners = [each["name"] for each in about["metadata"].get("ownerReferences", ())]
    return (about["metadata"].get("namespace", ""), owners[0]) if owners else ("", "")


def _versions(items: list[Object]) -> dict[str, str]:
    return {each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in items}


def _as_new(about: Object) -> Object:
    meta = {name: value for name, value in about["metadata"].items() if name not in GIVEN}
    return {**about, "metadata": meta}
