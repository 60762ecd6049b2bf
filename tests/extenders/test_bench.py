"""`mooring bench Extender` places every pod in every variant. Nothing here looks at how long it takes."""

from __future__ import annotations

import json

from mooring.bench.extender import run_extender
from mooring.bench.extender_server import answer


def test_every_pod_of_every_variant_is_bound() -> None:
    measured = run_extender(nodes=30, pods=25)
    assert [row.case for row in measured] == ["Extender plugin", "Extender HTTP", "Extender HTTP x20"]
    assert all((row.nodes, row.pods, row.bound) == (30, 25, 25) for row in measured)
    assert measured[0].extender_share == 0
    assert all(0 < (row.extender_share or 0) < 1 for row in measured[1:])


def test_the_extender_closes_every_tenth_node() -> None:
    found = json.loads(answer(b'{"Pod":{},"Nodes":null,"NodeNames":["node-9","node-10"]}'))
    assert found == {"NodeNames": ["node-9"], "FailedNodes": {"node-10": "node(s) are closed"}}
