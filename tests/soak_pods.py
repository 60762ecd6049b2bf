"""A long row of pods of which there is only one each: memory and cost are what they were at the beginning.

    python tests/soak_pods.py [--pods 1000000] [--variety own_labels]

They go through the decoders and the engine, with nodes and objects that come and go as they do. Prints how
much memory the process has and what a pod costs, in microseconds and, since machines have their moods, in
thousandths of a fixed piece of work that is done in between. Ends with 1 when memory or that cost grew.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import one_offs
from mooring.bench import machine

FIRST = 10_000  # pods, all of which want something special: what there is then is what there is at the end
PLAIN = 63  # after that, for each of them: so a million pods are a matter of minutes
MORE_MB, MORE_OF_IT = 8.0, 1.10
DEARER = 1.25
PORTION = 1000  # pods between two looks at how fast the machine is
STATUS = Path("/proc/self/status")


def resident_mb() -> float:
    gc.collect()
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def played(world: one_offs.OneOffs, pods: int, plain: int) -> tuple[float, float]:
    """So many pods come and go. Returns what one costs, also in thousandths of a piece of work."""
    end, before, pods_s, work_s, works = world.pods + pods, world.pods, 0.0, 0.0, 0
    while world.pods < end:
        begun = time.process_time()
        world.play(min(PORTION, end - world.pods), plain=plain)
        between = time.process_time()
        machine.work()
        pods_s += between - begun
        work_s += time.process_time() - between
        works += 1
    cost_s = pods_s / (world.pods - before)
    return cost_s * 1e6, 1000 * cost_s * works / work_s


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def soak(pods: int, variety: str) -> int:
    if variety:
        one_offs.VARIETIES = (getattr(one_offs, variety),)
    world, costs, first_mb = one_offs.OneOffs(), list[float](), 0.0
    say(f"{'pods':>9} {'MB':>8} {'us/pod':>8} {'of work':>8}")
    while world.pods < pods:
        before = world.pods
        step = FIRST if before < 10 * FIRST else max(FIRST, pods // 40)
        micros, cost = played(world, min(step, pods - before), PLAIN if before and not variety else 0)
        mb = resident_mb()
        say(f"{world.pods:>9} {mb:>8.1f} {micros:>8.1f} {cost:>8.1f}")
        if before:  # before, a pod costs more: it wants something special
            costs.append(cost)
        first_mb = first_mb or mb
    world.engine.check()
    grew = mb > first_mb * MORE_OF_IT + MORE_MB
    dearer = min(costs[-3:], default=0.0) > DEARER * min(costs[:3], default=0.0)
    say(f"{world.placed} placed; {first_mb:.1f} -> {mb:.1f} MB")
    if grew or dearer:
        say("memory grew" if grew else "a pod costs more")
    return int(grew or dearer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pods", type=int, default=1_000_000)
    parser.add_argument("--variety", default="")
    asked = parser.parse_args()
    sys.exit(soak(asked.pods, asked.variety))
