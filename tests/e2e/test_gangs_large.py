"""A gang of two hundred on as many nodes: all of it or nothing, also when the scheduler dies while it binds.

Each member takes a whole node, and there are exactly as many nodes as members: whatever is counted twice, or
forgotten, leaves one of them without a place.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from e2e.api import Object
from e2e.audit import Audit
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.gangs import install, members, plane_with_gangs
from e2e.scheduler import Scheduler, StartScheduler
from e2e.state import Pod
from e2e.waiting import holds, wait_for
from e2e.workloads import pod

SIZE = 200
FEWEST, MOST = 20, 150  # that are bound when the scheduler is killed
SAME = 5  # looks in a row that find the same: what was under way when it was killed has arrived
LONG = 120  # seconds; requests are made 50 a second, two for each pod
MIDDLE = "{} were bound in the end; a crash in the middle was wanted"
SHORT_WAIT = {
    "gang.scheduling.koordinator.sh/waiting-time": "5s",
    "e2e/never-start": "true",  # members that have not begun to run have just been bound, however long ago
}


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A module's own, where gangs have PodGroups: these outlive the scheduler that is killed."""
    with plane_with_gangs(tmp_path_factory.mktemp("large-gangs")) as plane:
        install(plane)
        yield plane


def add_nodes(cluster: Cluster, count: int, prefix: str = "node") -> list[str]:
    """With names of the test's own: kwok soon stops reporting for nodes that are called as others were."""
    return cluster.add_nodes(count, f"{prefix}-{cluster.namespace}", cpu=1, within=LONG)


def gang(numbers: Iterable[int] = range(SIZE), **words: Any) -> list[Object]:
    return members("annotations", "train", numbers, SIZE, **words)


def bound(cluster: Cluster) -> list[Pod]:
    return [each for each in cluster.pods() if each.node and not each.deleting]


def number_of(member: Pod) -> int:
    return int(member.name.rpartition("-")[2])


def wait_told(cluster: Cluster, message: str, count: int) -> None:
    """Until so many pods say first of all why they wait, and an Event on each of them says the same."""

    def conditions() -> bool:
        pods = cluster.pods()
        said = [each.message for each in pods if each.reason == "Unschedulable"]
        assert sum(each.startswith(message) for each in said) == count, (len(pods), sorted(set(said))[:5])
        return True

    def events() -> bool:
        failed = [each for each in cluster.events() if each["reason"] == "FailedScheduling"]
        names = {each["regarding"]["name"] for each in failed if each["note"].startswith(message)}
        assert len(names) == count, f"{len(names)} of {count}"
        return True

    wait_for(conditions, within=LONG, saying=f"{count} pods to say {message!r}")
    wait_for(events, within=LONG, saying=f"Events on {count} pods that say {message!r}")


def kill_while_it_binds(audit: Audit, running: Scheduler) -> list[Pod]:
    """Those that are bound then, and stay so."""
    seed = secrets.token_hex(4)
    print(f"seed {seed}")  # noqa: T201 - shown when it fails
    goal = random.Random(seed).randint(FEWEST, MOST)
    assert audit.wait_bound(goal, LONG), f"{audit.bound} bound"
    running.kill()
    counts: list[int] = []

    def quiet() -> bool:
        counts.append(len(bound(audit.cluster)))
        return len(counts) > SAME and len(set(counts[-SAME:])) == 1

    wait_for(quiet, saying="what was under way to arrive")
    there = bound(audit.cluster)
    assert FEWEST <= len(there) < SIZE - 2, MIDDLE.format(len(there))
    return there


def take_two_places(cluster: Cluster, nodes: Iterable[str], there: Iterable[Pod]) -> list[Pod]:
    """Pods that ask no scheduler, on nodes where nobody is."""
    free = sorted(set(nodes) - {each.node for each in there})
    return cluster.create_pods(
        *(pod(f"foreign-{name}", cpu="1", nodeName=name, labels={"app": "foreign"}) for name in free[:2])
    )


def remove(cluster: Cluster, pods: Iterable[Pod]) -> None:
    for each in pods:
        cluster.api.delete(f"{cluster.pods_path}/{each.name}", grace_seconds=0)


def reasons_to_go(audit: Audit, pods: Iterable[Pod]) -> set[tuple[str, str]]:
    """What pods that are gone said last."""
    last = {event["object"]["metadata"]["uid"]: Pod(event["object"]) for event in list(audit.events)}
    told = (last[each.uid].condition("DisruptionTarget") for each in pods)
    return {(each.get("reason", ""), each.get("message", "")) for each in told}


def evicted(cluster: Cluster, said: str) -> set[str]:
    """Whom an Event tells so."""
    told = (each for each in cluster.events() if each["reason"] == "GangIncomplete")
    return {each["regarding"]["uid"] for each in told if each["note"] == said}


def test_it_starts_where_it_just_fits(cluster: Cluster, start_mooring: StartScheduler) -> None:
    add_nodes(cluster, SIZE)
    start_mooring()
    with Audit(cluster) as audit:
        pods = cluster.create_pods(*gang())
        audit.check(pods, within=LONG)
    cluster.wait_running(SIZE, within=LONG)
    assert set(cluster.state().spread().values()) == {1}


def test_with_one_node_too_few_nothing_is_bound_until_it_comes(
    cluster: Cluster, start_mooring: StartScheduler
) -> None:
    add_nodes(cluster, SIZE - 1)
    start_mooring()
    with Audit(cluster) as audit:
        pods = cluster.create_pods(*gang())
        said = f"gang {cluster.namespace}/train: 199 of 200 can be placed; 1 lacks cpu"
        wait_told(cluster, said, SIZE)
        holds(lambda: not audit.bound, during=1, saying="no pod has a node")
        add_nodes(cluster, 1, "more")
        audit.check(pods, within=LONG)


def test_killed_while_it_binds_the_next_one_goes_on(cluster: Cluster, start_mooring: StartScheduler) -> None:
    add_nodes(cluster, SIZE)
    running = start_mooring()
    with Audit(cluster) as audit:
        pods = cluster.create_pods(*gang())
        before = {each.uid: each.node for each in kill_while_it_binds(audit, running)}
        running.start()
        audit.check(pods, within=LONG)
    after = {each.uid: each.node for each in bound(cluster)}
    assert before.items() <= after.items()


def test_the_rest_waits_for_room_that_was_taken_meanwhile(
    cluster: Cluster, start_mooring: StartScheduler
) -> None:
    """Within the waiting time, which is ten minutes."""
    nodes = add_nodes(cluster, SIZE)
    running = start_mooring()
    with Audit(cluster) as audit:
        pods = cluster.create_pods(*gang())
        there = kill_while_it_binds(audit, running)
        foreign = take_two_places(cluster, nodes, there)
        running.start()
        rest = SIZE - len(there)
        said = f"gang {cluster.namespace}/train: {rest - 2} of {rest} can be placed; 2 lack cpu"
        wait_told(cluster, said, rest)
        holds(lambda: audit.bound == len(there) + 2, during=1, saying="nobody else has a node")
        remove(cluster, foreign)
        audit.check(pods, within=LONG)


def test_places_are_given_back_when_the_rest_finds_none(
    cluster: Cluster, start_mooring: StartScheduler
) -> None:
    """Those that are evicted are made anew, as by a controller, and then all wait for room for all."""
    nodes = add_nodes(cluster, SIZE)
    running = start_mooring()
    with Audit(cluster) as audit:
        pods = cluster.create_pods(*gang(annotations=SHORT_WAIT))
        there = kill_while_it_binds(audit, running)
        foreign = take_two_places(cluster, nodes, there)
        running.start()
        rest = {each.uid for each in pods} - {each.uid for each in there}
        wait_for(lambda: {each.uid for each in cluster.pods("app!=foreign")} == rest, within=LONG,
                 saying="those that are bound to go, and nobody else")  # fmt: skip
        said = (
            f"gang {cluster.namespace}/train: only {len(there)} of the 200 members it needs are bound, and "
            "the others found no place within 5s: its places are given back"
        )
        wait_for(lambda: reasons_to_go(audit, there) == {("GangIncomplete", said)},
                 saying=f"all that went to say {said!r}")  # fmt: skip
        wait_for(lambda: evicted(cluster, said) == {each.uid for each in there}, within=LONG,
                 saying="an Event on each of them")  # fmt: skip
        again = cluster.create_pods(*gang(map(number_of, there), annotations=SHORT_WAIT))
        wait_told(cluster, f"gang {cluster.namespace}/train: 198 of 200 can be placed; 2 lack cpu", SIZE)
        assert audit.bound == len(there) + len(foreign)  # since the crash nobody else had a place
        remove(cluster, foreign)
        audit.check([each for each in pods if each.uid in rest] + again, within=LONG)
