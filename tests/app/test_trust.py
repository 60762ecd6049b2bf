"""Who asks the API server about strangers: not the scheduler's own clients."""

from __future__ import annotations

import asyncio

import pytest

from app.small_server import SmallServer
from app.test_live import NO_ELECTION, make_live
from mooring.app.options import RunOptions, TrustFlags
from mooring.app.serving import Trust
from mooring.web.access import Answer, Credentials


@pytest.mark.parametrize("token", ["", "made-up-{}"])
async def test_three_thousand_strangers_delay_no_informer(token: str) -> None:
    """Each request of an informer finds its place in the limiter as if nobody had come."""
    async with SmallServer() as server:
        live = make_live(server, NO_ELECTION)
        trust = Trust(RunOptions(trust=TrustFlags(authentication_skip_lookup=True)), server.access)
        asking = [
            asyncio.ensure_future(
                trust.authorize(Credentials(token=token.format(number)), "get", f"/metrics/{number}")
            )
            for number in range(3000)
        ]
        done = await asyncio.gather(*asking)
        assert Answer.ALLOWED not in {verdict.answer for verdict in done}
        assert Answer.BUSY in {verdict.answer for verdict in done}
        assert live.client._limiter is not None
        assert all(live.client._limiter.try_acquire() for _ in range(100))  # the whole burst
        await trust.close()
        await live._close()
