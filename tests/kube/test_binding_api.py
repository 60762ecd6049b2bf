"""What binding plugins see of the API server."""

from __future__ import annotations

import asyncio

import pytest

from kube.doing import Doing, a_pod, bound, failures
from kube.played_server import LOST, UNHEARD, Answer, refusal
from kube.virtual_time import in_virtual_time
from mooring.engine.decisions import Bind
from mooring.errors import ApiError, NotFound
from mooring.extender.client import ExtenderError
from mooring.model.objects import Node, Object, Pod

CLAIM = "/api/v1/namespaces/default/persistentvolumeclaims/data"


def test_objects_are_read_into_their_types() -> None:
    async def run() -> None:
        doing = Doing()
        api, others = doing.performer.api, doing.server.others
        doing.server.holds(a_pod("web"))
        others["/api/v1/nodes/n1"] = {"metadata": {"name": "n1"}, "spec": {"unschedulable": True}}
        others[CLAIM] = {"metadata": {"name": "data", "namespace": "default"}, "spec": {"volumeName": "v"}}
        pod, node = await api.get("Pod", "default/web"), await api.get("Node", "n1")
        assert isinstance(pod, Pod)
        assert pod.uid == "uid-web"
        assert isinstance(node, Node)
        assert node.spec.unschedulable
        claim = await api.get("PersistentVolumeClaim", "default/data")
        assert isinstance(claim, Object)
        assert (claim.key, claim.kind, claim.api_version) == ("default/data", "PersistentVolumeClaim", "v1")
        assert claim.data["spec"] == {"volumeName": "v"}
        with pytest.raises(NotFound):
            await api.get("PersistentVolume", "nowhere")
        with pytest.raises(ApiError, match='no matches for kind "Teapot"'):
            await api.patch("Teapot", "t", {"spec": {}})

    in_virtual_time(run())


def test_a_conflict_is_the_callers_to_know() -> None:
    async def run() -> None:
        doing = Doing()
        doing.server.holds(a_pod("web"))
        with pytest.raises(ApiError, match="Precondition failed"):
            await doing.performer.api.patch("Pod", "default/web", {"metadata": {"uid": "another"}})

    in_virtual_time(run())


class Extenders:
    """Binds, or says it did not; `does` is what it really does."""

    def __init__(self, doing: Doing, *, does: bool, says: bool | Exception) -> None:
        self._doing, self._does, self._says = doing, does, says

    async def bind(self, number: int, pod: Pod, node_name: str) -> bool:
        await asyncio.sleep(1.0)
        if self._does:
            self._doing.server.pods[pod.key]["spec"]["nodeName"] = node_name
        if isinstance(self._says, Exception):
            raise self._says
        return self._says


async def bind_by_extender(*, does: bool, says: bool | Exception, unheard: int = 0) -> Doing:
    doing = Doing()
    doing.performer._extenders = Extenders(doing, does=does, says=says)  # type: ignore[assignment]
    web = a_pod("web")
    doing.server.holds(web)
    if unheard:
        doing.server.fails(UNHEARD, method="GET", times=unheard)
    decision: Bind = doing.bind(web, extender=0)
    await doing.do(decision)
    return doing


def test_an_extender_that_binds() -> None:
    async def run() -> None:
        doing = await bind_by_extender(does=True, says=True)
        assert bound(doing.told) == ["web"]
        assert doing.server.writes() == []
        assert len(await doing.events()) == 1

    in_virtual_time(run())


def test_an_extender_whose_answer_gets_lost_has_bound_all_the_same() -> None:
    async def run() -> None:
        doing = await bind_by_extender(does=True, says=ExtenderError("too late"), unheard=9)
        assert bound(doing.told) == ["web"]

    in_virtual_time(run())


def test_an_extender_that_does_not_bind() -> None:
    async def run() -> None:
        doing = await bind_by_extender(does=False, says=ExtenderError("no"))
        assert failures(doing.told) == ["no"]

    in_virtual_time(run())


@pytest.mark.parametrize("does", [True, False])
def test_an_extender_that_may_fail_leaves_it_to_the_plugins(does: bool) -> None:
    async def run() -> None:
        doing = await bind_by_extender(does=does, says=False)
        assert bound(doing.told) == ["web"]
        assert len(doing.server.writes("/binding")) == 1

    in_virtual_time(run())


def test_a_pod_that_vanishes_while_its_bind_is_in_doubt() -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        doing.server.fails(LOST, method="POST", path="/binding")
        doing.server.fails(UNHEARD, method="GET", times=8)
        doing.performer.perform(doing.bind(web))
        await asyncio.sleep(2.0)
        del doing.server.pods["default/web"]
        await doing.settled()
        assert failures(doing.told) == ['running Bind plugin "DefaultBinder": pods "web" not found']

    in_virtual_time(run())


def forbidden() -> Answer:
    """What a server says that has not read its roles yet."""
    return refusal(403, 'pods "web" is forbidden: clusterrole "mooring" not found', "Forbidden")


def test_a_server_that_refuses_to_say_where_a_pod_is_may_say_so_later() -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        doing.server.fails(LOST, method="POST", path="/binding")
        doing.server.fails(forbidden(), method="GET", times=8)
        assert bound(await doing.do(doing.bind(web))) == ["web"]

    in_virtual_time(run())


def test_a_server_that_never_says_where_a_pod_is_is_not_asked_for_ever() -> None:
    async def run() -> None:
        doing = Doing()
        web = a_pod("web")
        doing.server.holds(web)
        doing.server.fails(LOST, method="POST", path="/binding")
        doing.server.fails(forbidden(), method="GET", times=1000)
        (failure,) = failures(await doing.do(doing.bind(web)))
        assert "is forbidden" in failure

    in_virtual_time(run())


def test_another_pod_of_the_same_name_is_not_the_one_in_doubt() -> None:
    async def run() -> None:
        doing = Doing()
        doing.server.holds(a_pod("web", "new"))
        doing.server.pods["default/web"]["spec"]["nodeName"] = "n1"
        doing.server.fails(UNHEARD, method="POST", path="/binding")
        await doing.do(doing.bind(a_pod("web", "old")))
        assert failures(doing.told) == ['running Bind plugin "DefaultBinder": no answer']

    in_virtual_time(run())
