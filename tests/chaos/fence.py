"""Nobody writes who does not lead: judged from what arrived at each scheduler's proxy.

A write that was sent in time may take a moment. Nothing here delays one by more than the margin a lease
leaves between a leader that stops and another that takes over, so what comes later was sent too late.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from chaos.plan import LEASE_SECONDS, RENEW_SECONDS
from e2e.faulty_proxy import EVENT, LEASE, Seen

MARGIN_SECONDS = LEASE_SECONDS - RENEW_SECONDS
TAKEN = (200, 201)


@dataclass(frozen=True)
class Leading:
    """Who leads from then on; "" when the lease is given back."""

    at: float  # when the server had answered
    replica: int
    holder: str


def writes_without_lease(logs: Sequence[Sequence[Seen]]) -> list[str]:
    """What each scheduler's proxy saw in; what was written by one while another had the lease out."""
    reigns = changes_of_leader(logs)
    found = []
    for number, log in enumerate(logs):
        for seen in filter(is_write, log):
            before = [each for each in reigns if each.at + MARGIN_SECONDS < seen.at]
            if before and before[-1].replica != number and not led_since(reigns, number, before[-1].at):
                late = seen.at - before[-1].at
                found.append(
                    f"scheduler {number}: {seen.method} {seen.path} {late:.1f} s after scheduler "
                    f"{before[-1].replica} had taken the lease"
                )
    return found


def changes_of_leader(logs: Sequence[Sequence[Seen]]) -> list[Leading]:
    written = sorted(
        (
            Leading(seen.answered_at, number, holder_in(seen))
            for number, log in enumerate(logs)
            for seen in log
            if is_lease_write(seen)
        ),
        key=lambda each: each.at,
    )
    found: list[Leading] = []
    for each in written:
        if each.holder and (not found or found[-1].holder != each.holder):
            found.append(each)
    return found


def is_lease_write(seen: Seen) -> bool:
    return seen.kind == LEASE and seen.method != "GET" and seen.carried_out in TAKEN


def led_since(reigns: Sequence[Leading], number: int, at: float) -> bool:
    return any(each.replica == number and each.at >= at for each in reigns)


def is_write(seen: Seen) -> bool:
    """Of the cluster. A scheduler that stops leading may say so; asking who somebody is changes nothing."""
    if seen.method == "GET" or seen.kind == LEASE or seen.carried_out not in TAKEN:
        return False
    if seen.path.endswith("reviews"):
        return False
    return seen.kind != EVENT or json.loads(seen.body).get("regarding", {}).get("kind") != "Lease"


def holder_in(seen: Seen) -> str:
    return str(json.loads(seen.body)["spec"].get("holderIdentity") or "")
