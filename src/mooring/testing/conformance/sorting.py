"""Whether a policy that sorts the queue sorts it."""

from __future__ import annotations

from itertools import islice, permutations

from mooring.engine.engine import Engine
from mooring.testing.conformance import findings
from mooring.testing.conformance.findings import Broken, Finding
from mooring.testing.conformance.subject import Subject

MOST = 5  # pods that are compared with each other


def check_order(subject: Subject, engine: Engine) -> None:
    """Raises Broken when two pods both come first, or three come round."""
    if not {"less", "sort_key"} & set(subject.points):
        return
    plugin, waiting = subject.plugin(engine), list(islice(engine.queue, MOST))

    def less(first: object, second: object) -> bool:
        if "less" in subject.points:
            return bool(plugin.less(first, second))  # type: ignore[arg-type]
        return bool(plugin.sort_key(first) < plugin.sort_key(second))  # type: ignore[arg-type]

    point = "less" if "less" in subject.points else "sort_key"
    for queued in waiting:
        if less(queued, queued):
            what = "puts a pod before itself"
            raise Broken(Finding("order", point, what, findings.SORTED, f"pod {queued.pod.key}"))
    for a, b in permutations(waiting, 2):
        about = f"pods {a.pod.key} and {b.pod.key}"
        if less(a, b) and less(b, a):
            raise Broken(Finding("order", point, "puts each before the other", findings.SORTED, about))
        if point == "less" and "sort_key" in subject.points:
            keys = plugin.sort_key(a) < plugin.sort_key(b)  # type: ignore[arg-type]
            if keys != less(a, b):
                raise Broken(Finding("order", point, "says something else than sort_key", findings.SORTED, about))
    for a, b, c in permutations(waiting, 3):
        if less(a, b) and less(b, c) and not less(a, c):
            about = f"pods {a.pod.key}, {b.pod.key} and {c.pod.key}"
            raise Broken(Finding("order", point, "goes round", findings.SORTED, about))
