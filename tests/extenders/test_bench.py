"""`mooring bench Extender` places every pod in every variant. Nothing here looks at how long it takes."""

from __future__ import annotations

import json

import pytest

from mooring.bench.extender import run_extender
from mooring.bench.extender_server import answer


@pytest.mark.parametrize("pods", [22, 3])
def test_every_pod_of_every_variant_is_bound(pods: int) -> None:
    measured = run_extender(nodes=30, pods=pods)
    names = ["none", "plugin", "HTTP", "HTTP x20"]
    assert [row.case for row in measured] == [f"Extender {name}" for name in names]
    assert all((row.nodes, row.pods, row.bound) == (30, pods, pods) for row in measured)
    assert measured[0].extender_share == 0
    assert all(0 <= (row.extender_share or 0) < 1 for row in measured)


def test_the_extender_closes_every_tenth_node() -> None:
    found = json.loads(answer(b'{"Pod":{},"Nodes":null,"NodeNames":["node-9","node-10"]}'))
    assert found == {"NodeNames": ["node-9"], "FailedNodes": {"node-10": "node(s) are closed"}}
