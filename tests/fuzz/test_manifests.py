"""Whatever stands in manifests: they are simulated to an end, or their mistakes are told at their place."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import yaml

from fuzz.fuzzing import fuzzed
from fuzz.mutation import changed, changed_bytes
from mooring.app.making import make_engine
from mooring.config.load import default_config
from mooring.errors import ManifestError
from mooring.plugins.catalogue import make_registry
from mooring.sim.manifests.manifests import Entry, read_manifests
from mooring.sim.result import Result, to_json
from mooring.sim.simulation import Simulation

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted({path.parent for path in EXAMPLES.glob("**/01-nodes.yaml")})
COUNTS = frozenset(
    ["replicas", "completions", "parallelism", "minReplicas", "size", "numNodes", "numOfHosts", "instances"]
)
MOST_PODS = 500  # more than that is the wish of who wrote it, and takes its time
UNTIL_S = 7_200.0  # longer than anything in the examples; schedules go on for ever


def spoilt(rng: random.Random) -> str:
    """An example with something wrong in it: in its letters, or in the values of one object."""
    texts = [path.read_text() for path in sorted(rng.choice(FOLDERS).glob("*.yaml"))]
    if rng.random() < 0.2:
        return "\n---\n".join([changed_bytes(rng, texts[0].encode()).decode(errors="replace"), *texts[1:]])
    documents = [document for text in texts for document in yaml.safe_load_all(text) if document]
    number = rng.randrange(len(documents))
    documents[number] = changed(rng, documents[number])
    return yaml.safe_dump_all(documents, sort_keys=False)


def simulated(entries: tuple[Entry, ...]) -> Result:
    registry = make_registry()
    engine = make_engine(default_config(registry), registry)
    result = Simulation(engine, entries, seed=0, scheduler_names=tuple(engine.profiles), until=UNTIL_S).run()
    engine.check()
    return result


def is_small(entries: tuple[Entry, ...]) -> bool:
    return all(_number(entry.object.data) <= MOST_PODS for entry in entries)


def _number(data: Any) -> int:
    """The greatest count of pods anywhere in it."""
    if isinstance(data, list):
        return max(map(_number, data), default=0)
    if not isinstance(data, dict):
        return 0
    counts = (value for name, value in data.items() if name in COUNTS and isinstance(value, int))
    return max(*counts, *map(_number, data.values()), 0, 0)


@fuzzed(played=60)
def test_manifests_are_simulated_or_told(rng: random.Random) -> None:
    try:
        entries = read_manifests(["-"], stdin=io.StringIO(spoilt(rng)), lenient=True)
    except ManifestError as error:
        assert all(mistake.place and mistake.what for mistake in error.mistakes)
        return
    if is_small(entries):
        assert json.loads(to_json(simulated(entries)))
