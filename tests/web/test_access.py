"""Who may read what, and what the API server is asked about them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mooring.errors import ApiError, Unreachable
from mooring.web.access import Answer, Credentials, Verdict, is_open
from mooring.web.delegated import Delegated
from mooring.web.identities import from_certificate
from mooring.web.reviews import ACCESS_REVIEWS, TOKEN_REVIEWS
from web.shown import get, metered, serving, talk


class Server:
    """Answers reviews, and keeps what it was asked."""

    def __init__(self, allowed: bool = True, known: bool = True, error: ApiError | None = None) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.allowed, self.known, self.error = allowed, known, error

    async def create(self, resource: Any, namespace: str, body: bytes) -> bytes:
        review = json.loads(body)
        assert (namespace, review["kind"]) == ("", resource.kind)
        self.asked.append((resource.plural, review["spec"]))
        if self.error is not None:
            raise self.error
        if resource is TOKEN_REVIEWS:
            user = {"username": "prometheus", "groups": ["monitoring"], "extra": {"a": ["b"]}}
            return json.dumps({"status": {"authenticated": self.known, "user": user}}).encode()
        assert resource is ACCESS_REVIEWS
        return json.dumps(
            {"status": {"allowed": self.allowed, "reason": "RBAC: no" * (not self.allowed)}}
        ).encode()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_token_that_may() -> None:
    server = Server()
    verdict = await Delegated(server)(Credentials(token="secret"), "get", "/metrics")
    assert verdict == Verdict(Answer.ALLOWED, "prometheus")
    assert server.asked == [
        ("tokenreviews", {"token": "secret"}),
        (
            "subjectaccessreviews",
            {
                "user": "prometheus",
                "uid": "",
                "groups": ["monitoring"],
                "extra": {"a": ["b"]},
                "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
            },
        ),
    ]


async def test_answers_are_remembered_for_ten_seconds() -> None:
    server, clock = Server(), Clock()
    delegated = Delegated(server, clock=clock)
    for moment, calls in ((0.0, 2), (9.9, 2), (10.0, 4)):
        clock.now = moment
        assert (await delegated(Credentials(token="t"), "get", "/metrics")).answer is Answer.ALLOWED
        assert len(server.asked) == calls
    await delegated(Credentials(token="t"), "put", "/metrics")  # another verb is another question
    await delegated(Credentials(token="u"), "get", "/metrics")  # another token of the same user is not
    assert [what for what, _ in server.asked[4:]] == ["subjectaccessreviews", "tokenreviews"]


async def test_tokens_are_not_kept() -> None:
    delegated = Delegated(Server())
    await delegated(Credentials(token="very-secret"), "get", "/metrics")
    assert "very-secret" not in repr(delegated._users._known)


async def test_unknown_and_denied() -> None:
    assert (
        await Delegated(Server(known=False))(Credentials(token="x"), "get", "/m")
    ).answer is Answer.UNKNOWN
    denied = await Delegated(Server(allowed=False))(Credentials(), "get", "/m")
    assert denied == Verdict(Answer.DENIED, "system:anonymous", "RBAC: no")


async def test_nobody_answers() -> None:
    unreachable = Server(error=Unreachable(message="connection refused"))
    assert (await Delegated(unreachable)(Credentials(token="x"), "get", "/m")).answer is Answer.UNKNOWN
    verdict = await Delegated(unreachable)(Credentials(user="jane"), "get", "/m")
    assert verdict == Verdict(Answer.FAILED, "jane", "connection refused")


async def test_masters_are_always_allowed() -> None:
    server = Server(allowed=False)
    who = Credentials(user="root", groups=("system:masters",))
    assert (await Delegated(server)(who, "get", "/metrics")).answer is Answer.ALLOWED
    assert server.asked == []


def test_certificates_name_users() -> None:
    subject = ((("organizationName", "system:masters"),), (("commonName", "admin"),))
    assert from_certificate({"subject": subject}) == Credentials(user="admin", groups=("system:masters",))


@pytest.mark.parametrize(
    ("path", "is_it"),
    [("/healthz", True), ("/healthz/ping", False), ("/livez", True), ("/metrics", False), ("/open/a", True)],
)
def test_open_paths(path: str, is_it: bool) -> None:
    assert is_open(path, ("/healthz", "/livez", "/open/*")) is is_it


async def test_the_guard() -> None:
    async def authorize(who: Credentials, verb: str, path: str) -> Verdict:
        if who.token == "good":
            return Verdict(Answer.ALLOWED, "jane")
        return Verdict(Answer.UNKNOWN if who.token else Answer.DENIED, why="")

    stage, _ = metered()
    async with talk(serving(stage, authorize=authorize)) as client:
        assert await get(client, "/healthz") == (200, "ok")
        assert (await get(client, "/metrics", headers={"Authorization": "Bearer good"}))[0] == 200
        code, text = await get(client, "/metrics", headers={"Authorization": "Bearer bad"})
        assert (code, json.loads(text)["message"]) == (401, "Unauthorized")
        code, text = await get(client, "/metrics")
        assert code == 403
        assert json.loads(text)["message"] == 'forbidden: User "system:anonymous" cannot get path "/metrics"'
        assert json.loads(text)["reason"] == "Forbidden"


async def test_without_an_authorizer_only_open_paths_are_served() -> None:
    stage, _ = metered()
    async with talk(serving(stage, authorize=None)) as client:
        assert (await get(client, "/livez"))[0] == 200
        assert (await get(client, "/configz"))[0] == 403
        assert (await get(client, "/apis/v1/__services__"))[0] == 403
        async with client.put("/debug/flags/v", data=b"5") as answer:
            assert answer.status == 403
