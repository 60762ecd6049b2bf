"""Whether a policy that sorts the queue sorts it."""

from __future__ import annotations

from itertools import islice, permutations, product
from typing import Any

from mooring.engine.engine import Engine
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.testing.conformance import findings
from mooring.testing.conformance.findings import Broken, Finding
from mooring.testing.conformance.subject import Subject

MOST = 5  # pods that are compared with each other


def check_order(subject: Subject, engine: Engine) -> None:
    """Raises Broken when two pods both come first, or three come round."""
    own = {"less", "sort_key"} & set(subject.points)
    if not own:
        return
    plugin: Any = subject.plugin(engine)
    waiting = list(islice(engine.queue, MOST))

    def by_key(first: QueuedPod, second: QueuedPod) -> bool:
        return bool(plugin.sort_key(first) < plugin.sort_key(second))

    less, point = (plugin.less, "less") if "less" in own else (by_key, "sort_key")
    for a, b in product(waiting, repeat=2):
        if less(a, b) and less(b, a):
            _tell(point, "puts a pod before itself" if a is b else "puts each before the other", a, b)
        if len(own) == 2 and less(a, b) != by_key(a, b):
            _tell(point, "says something else than sort_key", a, b)
    for a, b, c in permutations(waiting, 3):
        if less(a, b) and less(b, c) and not less(a, c):
            _tell(point, "goes round", a, b, c)


def _tell(point: str, what: str, *queued: QueuedPod) -> None:
    about = f"pods {', '.join(each.pod.key for each in queued)}"
    raise Broken(Finding("order", point, what, findings.SORTED, about))
