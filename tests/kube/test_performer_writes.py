"""What plugins ask for: writes of any kind, in order, each to its end or logged; and looks at pods."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from kube.doing import Doing, a_pod
from kube.played_server import HANGS, LOST, UNHEARD, UNSENT, Answer, refusal
from kube.virtual_time import in_virtual_time
from mooring.engine.decisions import Look
from mooring.engine.events import PodDeleted
from mooring.framework.api.writes import Write
from mooring.kube.client import Client
from mooring.kube.http.write_fence import Fenced
from mooring.kube.perform.object_writes import ABSENT_SECONDS, line_of, together
from mooring.kube.perform.performer import KubePerformer
from mooring.model.objects import PodStatus

GROUP = "scheduling.sigs.k8s.io/v1alpha1"
PODGROUPS = f"{GROUP}/podgroups"
ROOT = f"/apis/{GROUP}"
GANG = f"{ROOT}/namespaces/default/podgroups/gang"
BODY = {"metadata": {"name": "gang", "namespace": "default"}, "spec": {"minMember": 2}}
RUNNING = {"status": {"phase": "Running"}}


def with_kind(doing: Doing, *, namespaced: bool = True) -> Doing:
    """The server knows PodGroups."""
    found = {"name": "podgroups", "kind": "PodGroup", "namespaced": namespaced}
    doing.server.others[ROOT] = {"resources": [{"name": "podgroups/status", "kind": "PodGroup"}, found]}
    return doing


def holding(doing: Doing, uid: str = "u1") -> Doing:
    with_kind(doing).server.others[GANG] = {"metadata": {"name": "gang", "uid": uid}}
    return doing


def create() -> Write:
    return Write("create", PODGROUPS, "default/gang", BODY)


def phase(name: str, uid: str = "") -> Write:
    meta = {"metadata": {"uid": uid}} if uid else {}
    return Write("patch", PODGROUPS, "default/gang", {**meta, "status": {"phase": name}}, sub="status")


def delete(uid: str = "") -> Write:
    return Write("delete", PODGROUPS, "default/gang", {"metadata": {"uid": uid}} if uid else {})


def sent(doing: Doing) -> list[tuple[str, str]]:
    return [(method, path) for method, path, _ in doing.server.writes()]


def test_an_object_is_made_changed_and_removed() -> None:
    async def run() -> None:
        doing = with_kind(Doing())
        assert await doing.do(create()) == []
        body = doing.server.writes()[0][2]
        assert body == {"apiVersion": GROUP, "kind": "PodGroup", **BODY}
        await doing.do(phase("Running"))
        assert doing.server.others[GANG]["status"] == {"phase": "Running"}
        await doing.do(delete())
        assert doing.server.deleted == [GANG]
        assert sent(doing) == [
            ("POST", f"{ROOT}/namespaces/default/podgroups"),
            ("PATCH", GANG + "/status"),
            ("DELETE", GANG),
        ]

    in_virtual_time(run())


def test_what_has_no_namespace() -> None:
    async def run() -> None:
        doing = with_kind(Doing(), namespaced=False)
        await doing.do(Write("create", PODGROUPS, "gang", {"metadata": {"name": "gang"}}))
        await doing.do(Write("patch", PODGROUPS, "gang", {"spec": {"minMember": 3}}))
        assert sent(doing) == [("POST", f"{ROOT}/podgroups"), ("PATCH", f"{ROOT}/podgroups/gang")]

    in_virtual_time(run())


def test_kinds_of_kubernetes_are_known_without_asking(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        doing = Doing()
        volume = "/api/v1/persistentvolumes/v"
        doing.server.others[volume] = {"metadata": {"name": "v"}}
        doing.server.holds(a_pod("web"))
        both = {"metadata": {"labels": {"a": "b"}}, "status": {"phase": "Failed"}}
        await doing.do(
            Write("patch", "PersistentVolume", "v", both),
            Write("patch", "Pod", "default/web", {"metadata": {"labels": {"a": "b"}}}),
            Write("patch", "v1/pods", "default/gone", {"metadata": {}}),
            Write("patch", "Teapot", "t", {}),
        )
        assert sorted(path for _, path, _ in doing.server.asked) == [
            "/api/v1/namespaces/default/pods/gone",
            "/api/v1/namespaces/default/pods/web",
            volume,
            volume + "/status",
        ]
        assert doing.server.others[volume] == {
            "metadata": {"name": "v", "labels": {"a": "b"}},
            "status": {"phase": "Failed"},
        }

    in_virtual_time(run())
    assert [record.message for record in caplog.records] == [
        'patch Teapot t: "Teapot" is not the name of a kind of Kubernetes, nor of the form '
        "group/version/plural"
    ]


def test_where_a_kind_is_is_asked_once() -> None:
    async def run() -> None:
        doing = holding(Doing())
        others = [Write("patch", PODGROUPS, f"default/g{number}", RUNNING) for number in range(20)]
        await doing.do(*others)
        assert [path for method, path, _ in doing.server.asked if method == "GET"] == [ROOT]

    in_virtual_time(run())


def test_a_kind_that_is_not_installed_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        doing = Doing()
        doing.server.others[ROOT] = {"resources": [{"name": "elasticquotas", "kind": "ElasticQuota"}]}
        for _ in range(3):
            await doing.do(create(), phase("Running"))
        assert doing.server.asked == [("GET", ROOT, None)]
        with_kind(doing)
        await asyncio.sleep(ABSENT_SECONDS + 1)
        await doing.do(create())
        assert sent(doing) == [("POST", f"{ROOT}/namespaces/default/podgroups")]

    in_virtual_time(run())
    assert [record.levelname for record in caplog.records] in ([], ["INFO"])


@pytest.mark.parametrize("write", [create(), phase("Running"), delete()])
def test_a_kind_that_is_gone_is_looked_for_again(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        doing = with_kind(Doing())
        doing.server.fails(refusal(404, "404 page not found"), path="podgroups")
        await doing.do(write)
        await doing.do(write)
        assert [path for method, path, _ in doing.server.asked if method == "GET"] == [ROOT, ROOT]

    in_virtual_time(run())
    assert caplog.records == []


def test_what_is_there_or_gone_already_is_fine(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        doing = holding(Doing())
        await doing.do(create())
        await doing.do(delete())
        await doing.do(delete(), phase("Running"))
        assert doing.server.deleted == [GANG]

    in_virtual_time(run())
    assert caplog.records == []


def test_the_next_object_of_the_same_name_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        doing = holding(Doing(), uid="new")
        await doing.do(phase("Running", "old"))
        await doing.do(delete("old"))
        assert doing.server.others[GANG] == {"metadata": {"name": "gang", "uid": "new"}}
        await doing.do(delete("new"))
        assert doing.server.deleted == [GANG]

    in_virtual_time(run())
    assert caplog.records == []


@pytest.mark.parametrize("write", [create(), phase("Running"), delete("u1")])
@pytest.mark.parametrize("fault", [refusal(429, "slowly"), refusal(503, "hm"), LOST, UNHEARD, UNSENT])
def test_a_write_is_tried_again_when_that_may_help(
    write: Write, fault: str | Answer, caplog: pytest.LogCaptureFixture
) -> None:
    """Also when its answer is lost: what it comes to is the same."""

    async def run() -> None:
        doing = with_kind(Doing()) if write.verb == "create" else holding(Doing())
        doing.server.fails(fault, path="podgroups", times=2)
        await doing.do(write)
        there = doing.server.others.get(GANG)
        if write.verb == "create":
            assert there is not None
        elif write.verb == "patch":
            assert there is not None
            assert there["status"] == {"phase": "Running"}
        else:
            assert there is None

    in_virtual_time(run())
    assert caplog.records == []


@pytest.mark.parametrize("fault", [refusal(403, "not yours"), refusal(422, "no such phase")])
def test_what_is_refused_is_logged_and_given_up(fault: Answer, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        doing = holding(Doing())
        doing.server.fails(fault, path="podgroups", times=2)
        await doing.do(phase("Running"))
        assert len(doing.server.writes()) == 1

    in_virtual_time(run())
    (record,) = caplog.records
    assert record.message.startswith("patch scheduling.sigs.k8s.io/v1alpha1/podgroups default/gang: no")


def test_a_server_that_does_not_say_where_a_kind_is_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        doing = holding(Doing())
        doing.server.fails(refusal(403, "not yours"), path=ROOT)
        await doing.do(phase("Running"))
        assert doing.server.writes() == []
        await doing.do(phase("Running"))
        assert doing.server.others[GANG]["status"] == {"phase": "Running"}

    in_virtual_time(run())
    assert len(caplog.records) == 1


def test_writes_of_one_object_keep_their_order() -> None:
    """Whichever way the kind is named."""

    async def run() -> None:
        doing = Doing()
        doing.server.delay = iter([5.0, 0.0, 0.0, 0.0]).__next__
        doing.server.others["/api/v1/nodes/n1"] = {"metadata": {"name": "n1"}}
        await doing.do(
            Write("patch", "Node", "n1", {"spec": {"unschedulable": True}}),
            Write("delete", "v1/nodes", "n1"),
            Write("create", "Node", "n1", {"metadata": {"name": "n1"}}),
        )
        assert [method for method, *_ in doing.server.writes()] == ["PATCH", "DELETE", "POST"]

    in_virtual_time(run())


def test_patches_that_wait_go_in_one_write() -> None:
    async def run() -> None:
        doing = holding(Doing(slots=1))
        doing.server.delay = lambda: 1.0
        for number in range(5):
            status = {"scheduled": number, f"only{number}": True}
            doing.performer.perform(
                Write("patch", PODGROUPS, "default/gang", {"status": status}, sub="status")
            )
            await asyncio.sleep(0.3)
        await doing.settled()
        status = doing.server.others[GANG]["status"]
        assert status == {"scheduled": 4} | {f"only{number}": True for number in range(5)}
        assert len(doing.server.writes()) < 5

    in_virtual_time(run())


@pytest.mark.parametrize(
    ("earlier", "later", "both"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": None}}, {"a": {"x": None, "y": 2}}),
        ({"a": [1]}, {"a": [2]}, {"a": [2]}),
        ({"a": {"x": 1}}, {"a": None}, {"a": None}),
        ({"a": None}, {"a": {"x": 1}}, None),
    ],
)
def test_two_patches_in_one(earlier: Any, later: Any, both: Any) -> None:
    first, second = (Write("patch", "Pod", "default/p", body) for body in (earlier, later))
    merged = together(first, second)
    assert merged == (None if both is None else Write("patch", "Pod", "default/p", both))


def test_other_writes_stay_apart() -> None:
    assert together(create(), create()) is None
    assert together(phase("a"), Write("patch", PODGROUPS, "default/gang", RUNNING)) is None
    assert together(phase("a", "u1"), phase("b", "u2")) is None


def test_what_concerns_one_object_is_one_line() -> None:
    assert line_of(Write("delete", "Pod", "default/p")) == line_of(Write("delete", "v1/pods", "default/p"))
    assert line_of(Write("delete", PODGROUPS, "a/b")) != line_of(Write("delete", "v1/pods", "a/b"))


def test_writes_are_bounded_and_bindings_go_first() -> None:
    async def run() -> None:
        doing = with_kind(Doing(slots=2, tasks=10))
        doing.server.delay = lambda: 1.0
        web = a_pod("web")
        doing.server.holds(web)
        for number in range(50):
            doing.performer.perform(Write("delete", PODGROUPS, f"default/g{number}"))
        await asyncio.sleep(2.5)
        before = len(doing.server.writes("podgroups"))
        await doing.do(doing.bind(web))
        methods = [method for method, *_ in doing.server.writes()]
        assert methods.index("POST") <= before + 4
        assert doing.server.most_in_flight == 2
        assert methods.count("DELETE") == 50

    in_virtual_time(run())


def test_nothing_is_written_without_the_lease(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        doing = holding(Doing())
        fenced = Client(Fenced(doing.server, lambda: False), random=lambda: 0.0)
        performer = KubePerformer(
            fenced,
            doing.told.append,
            recorder=doing.recorder,
            binding_state=doing.binding_state,
            slots=doing.slots,
        )
        performer.perform(phase("Running"))
        await performer._finished()
        assert doing.server.writes() == []

    in_virtual_time(run())
    assert "no longer leads" in caplog.text


def test_halting_drops_writes() -> None:
    async def run() -> None:
        doing = holding(Doing())
        doing.server.fails(HANGS, path="podgroups", times=9)
        doing.performer.perform(phase("Running"))
        await asyncio.sleep(1)
        doing.performer.perform(phase("Scheduled"))
        doing.performer.halt()
        await doing.performer.drain(1.0)
        assert len(doing.server.writes()) == 1

    in_virtual_time(run())


@pytest.mark.parametrize(
    ("there", "phase_told"),
    [("Succeeded", "Succeeded"), ("Failed", "Failed"), ("Running", "Pending"), ("", "Pending")],
)
def test_the_last_state_of_a_pod_is_looked_up(there: str, phase_told: str) -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        web = msgspec.structs.replace(web, status=PodStatus(phase="Pending"))
        if there:
            doing.server.holds(web)
            doing.server.pods["default/web"]["status"] = {"phase": there}
        (told,) = await doing.do(Look(web))
        assert isinstance(told, PodDeleted)
        assert (told.pod.uid, told.pod.status.phase) == (web.uid, phase_told)

    in_virtual_time(run())


def test_the_next_pod_of_the_same_name_is_another_one() -> None:
    async def run() -> None:
        doing = Doing()
        doing.server.holds(a_pod("web", "new"))
        doing.server.pods["default/web"]["status"] = {"phase": "Succeeded"}
        old = a_pod("web", "old")
        assert await doing.do(Look(old)) == [PodDeleted(old)]

    in_virtual_time(run())


def test_a_look_is_answered_whatever_goes_wrong(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.fails(refusal(403, "not yours"), method="GET")
        assert await doing.do(Look(web)) == [PodDeleted(web)]

    in_virtual_time(run())
    assert "looking up default/web: not yours" in caplog.text
