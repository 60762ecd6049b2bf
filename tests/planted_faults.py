"""Plants small faults in a copy of the source, one at a time, and tells which the tests catch.

    python tests/planted_faults.py                 every fault, each with the tests of its part
    python tests/planted_faults.py backoff ties    those whose file is called so
    python tests/planted_faults.py --list          what would be planted

A suite that was made quicker must catch the same. A fault whose text is no longer there, or there twice, is
an error: it has to be planted anew. Exit code 1 when a fault is not caught, 2 when one cannot be planted.
"""

# ruff: noqa: T201 - whoever runs it reads it

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "mooring"
LONGEST_S = 600


class Fault(NamedTuple):
    """`old` is in the file exactly once; `tests` are where it is to be caught."""

    file: str
    old: str
    new: str
    tests: str


FAULTS = (
    Fault(
        "framework/api/normalize.py", "[MAX_SCORE - score for score in", "[score for score in", "framework"
    ),
    Fault("framework/api/normalize.py", "if low == high:", "if low != high:", "framework"),
    Fault(
        "framework/api/answers.py",
        "if not raw and not 0 <= answer <=",
        "if not raw and not answer <=",
        "framework",
    ),
    Fault("framework/api/cycle.py", "value.clone() if hasattr(value", "value if hasattr(value", "framework"),
    Fault("framework/api/events.py", "bool(interest.action & self.action)", "True", "engine framework"),
    Fault(
        "framework/running/forms.py",
        "if self.hides_identity else pod",
        "if False else pod",
        "framework testing",
    ),
    Fault(
        "framework/running/profile.py",
        'and not getattr(method, "nothing_to_do", False)',
        "",
        "framework engine",
    ),
    Fault("framework/running/budget.py", "if took_s > limit_s:", "if took_s < limit_s:", "framework engine"),
    Fault(
        "framework/running/binding.py",
        'raise BindingFailed("every bind',
        'BindingFailed("every bind',
        "framework",
    ),
    Fault("framework/running/agreement.py", "if found[node.row] != said:", "if False:", "framework testing"),
    Fault(
        "framework/loading/registry.py",
        "known is not plugin and source_of",
        "False and source_of",
        "framework",
    ),
    Fault("model/taints.py", "return toleration.value == taint.value", "return True", "model plugins"),
    Fault(
        "model/taints.py", "toleration.effect != taint.effect:", "toleration.effect == taint.effect:", "model"
    ),
    Fault("model/quantity.py", 'return -size if sign == "-" else size', "return size", "model"),
    Fault(
        "model/selectors.py",
        "return value is None or value not in values",
        "return value not in (values, None)",
        "model",
    ),
    Fault(
        "model/requests.py",
        'container.restart_policy == "Always"',
        'container.restart_policy != "Always"',
        "model",
    ),
    Fault("model/objects.py", "PREEMPTIBLE_BELOW = 100", "PREEMPTIBLE_BELOW = 101", "model testing"),
    Fault(
        "cluster/statement.py",
        "while len(self._reverses) > mark:",
        "while len(self._reverses) > mark + 1:",
        "cluster",
    ),
    Fault(
        "cluster/books/books.py", "uid in each for each in", "uid not in each for each in", "cluster engine"
    ),
    Fault("cluster/journal.py", "return None if start < 0 else", "return None if start < -1 else", "cluster"),
    Fault("cluster/view.py", "if p.hold is not Hold.PROMISED)", ")", "cluster engine"),
    Fault(
        "engine/queue/backoff.py", "min(count - 1, MOST_DOUBLINGS)", "min(count, MOST_DOUBLINGS)", "engine"
    ),
    Fault("engine/queue/hints.py", "return IMMEDIATELY", "return AFTER_BACKOFF", "engine"),
    Fault("engine/queue/hints.py", "if interest.hint is None:", "if interest.hint is not None:", "engine"),
    Fault(
        "engine/queue/scheduling_queue.py",
        "if now - _stuck_since(queued) >",
        "if now - _stuck_since(queued) <",
        "engine",
    ),
    Fault("engine/queue/queued_pod.py", "return self.consecutive_errors or", "return 0 or", "engine"),
    Fault("engine/permit_waiting.py", "if moment <= now and not", "if moment > now and not", "engine"),
    Fault("engine/cycle/pre_filtering.py", "names & given", "names | given", "engine"),
    Fault("engine/placement/ties.py", "if scores[row] == best]", "if scores[row] != best]", "engine"),
    Fault("engine/placement/sampling.py", "return max(FEWEST, nodes", "return min(FEWEST, nodes", "engine"),
    Fault("engine/placement/nominator.py", "uid != pod.metadata.uid)", "uid == pod.metadata.uid)", "engine"),
    Fault("engine/placement/fit_error.py", "if count > 0})", "if count > 1})", "engine"),
    Fault("engine/kept_beside_fresh.py", "if known != fresh:", "if False:", "engine testing"),
    Fault("room/choice.py", "if other.cost() < one.cost()", "if other.cost() > one.cost()", "room plugins"),
    Fault("room/victims.py", "or 0) < self.priority and", "or 0) <= self.priority and", "room plugins"),
    Fault("room/importance.py", "if 0 <= started < NOT_STARTED", "if 0 < started < NOT_STARTED", "room"),
    Fault(
        "plugins/node_affinity.py", "if labels.get(key) != value:", "if labels.get(key) == value:", "plugins"
    ),
    Fault("plugins/node_ports.py", "return one[1:] == other[1:] and", "return", "plugins"),
    Fault("plugins/taint_toleration.py", "np.asarray(kept_off == 0)", "np.asarray(kept_off >= 0)", "plugins"),
    Fault(
        "plugins/node_unschedulable.py",
        "if node.unschedulable and not",
        "if node.unschedulable or not",
        "plugins",
    ),
    Fault("plugins/image_locality.py", 'image.rfind(":") > image', 'image.rfind(":") < image', "plugins"),
    Fault(
        "plugins/balanced_allocation.py", "return [min(1.0, float(u)", "return [min(2.0, float(u)", "plugins"
    ),
    Fault("workloads/gang.py", "return len(members) >= self.members and", "return", "workloads gangs"),
    Fault(
        "workloads/gang.py",
        "return max(0, self.terms.least -",
        "return max(1, self.terms.least -",
        "workloads gangs",
    ),
    Fault(
        "config/profiles.py",
        'if (sorts := len(points["queueSort"])) != 1:',
        "if (sorts := 1) != 1:",
        "config",
    ),
    Fault("config/durations.py", "if nanoseconds > LONGEST:", "if nanoseconds < 0:", "config"),
    Fault("testing/conformance/watch.py", 'self.tell("fails"', 'str("fails"', "testing"),
)


def planted(fault: Fault) -> str:
    """The file with the fault in it. ValueError when its text is not there exactly once."""
    text = (SOURCE / fault.file).read_text()
    if text.count(fault.old) != 1:
        raise ValueError(f"{fault.file}: {fault.old!r} is there {text.count(fault.old)} times: plant it anew")
    return text.replace(fault.old, fault.new)


def caught(fault: Fault) -> bool:
    """Whether a test of its part fails with the fault in a copy of the source."""
    with tempfile.TemporaryDirectory(prefix="planted-") as place:
        copy = Path(place) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / "mooring" / fault.file).write_text(planted(fault))
        folders = [f"tests/{name}" for name in fault.tests.split()]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *folders]
        environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=LONGEST_S, check=False
            )
        except subprocess.TimeoutExpired:
            return True  # it goes round
        if done.returncode not in (0, 1, 2):  # 2: it cannot even be imported
            raise RuntimeError(done.stdout.decode()[-2000:])
        return done.returncode != 0


def main(asked: list[str]) -> int:
    names = [name for name in asked if not name.startswith("-")]
    chosen = [fault for fault in FAULTS if not names or any(name in fault.file for name in names)]
    stale = []
    for fault in chosen:
        try:
            planted(fault)
        except (OSError, ValueError) as error:
            stale.append(str(error))
    if stale:
        print(*stale, sep="\n", file=sys.stderr)
        return 2
    missed = 0
    for fault in chosen:
        known = "" if "--list" in asked else "caught  " if caught(fault) else "MISSED  "
        missed += known.startswith("MISSED")
        print(f"{known}{fault.file}: {fault.old!r} -> {fault.new!r}", flush=True)
    print(f"{len(chosen)} faults" + ("" if "--list" in asked else f", {missed} not caught"))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
