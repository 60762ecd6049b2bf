"""What must hold whenever a simulation has come to rest: every pod that waits says what for.

It has a condition, an Event is about it, and who asks why is answered.
"""

from __future__ import annotations

from mooring.engine.engine import Engine
from mooring.sim.simulation import Simulation


def silent_pods(simulation: Simulation) -> list[str]:
    """Those that wait without a word, and which word is missing."""
    world, engine = simulation.world, simulation.engine
    told = {event.key for event in world.events if event.kind == "Pod"}
    found = []
    for pod in simulation.history.pending.values():
        there = world.pods.get(pod.key)
        if there is None or there.terminating:
            continue
        if not any(each.type == "PodScheduled" and each.message for each in there.status.conditions):
            found.append(f"{pod.key} has no condition")
        if pod.key not in told:
            found.append(f"no Event is about {pod.key}")
        if isinstance(engine, Engine):
            story = engine.story(pod.key)
            if story is None or story.node or not story.message:
                found.append(f"nobody says why {pod.key} waits: {story}")
    return found
