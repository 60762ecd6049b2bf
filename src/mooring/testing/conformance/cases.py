"""Cases: what happens to a cluster, step after step, drawn at random from the words a policy knows.

A case is data: it can be played again, made smaller, and shown as what a test would write.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from mooring.model.objects import Node, Pod
from mooring.testing.builders import NodeBuilder, PodBuilder, node, pod
from mooring.testing.conformance.vocabulary import Heard, Vocabulary

GPU, ZONE = "nvidia.com/gpu", "topology.kubernetes.io/zone"
USUAL_KEYS = ("tier", "app", ZONE)
STEPS = 24
Call = tuple[str, tuple[Any, ...], dict[str, Any]]
Builder = NodeBuilder | PodBuilder


class Draft(NamedTuple):
    """A pod or a node as a test writes it: calls of a builder, or one that was given."""

    kind: str
    name: str
    calls: tuple[Call, ...] = ()
    given: Builder | None = None
    space: str = "default"

    def __str__(self) -> str:
        calls = "".join(f".{method}({_arguments(given, more)})" for method, given, more in self.calls)
        space = "" if self.space == "default" else f', "{self.space}"'
        own = f'{self.kind}("{self.name}"{space})'
        base = own if self.given is None else f"your {self.kind} {self.name}"
        return base + calls

    def build(self, vocabulary: Vocabulary) -> Any:
        builder: Any = self._builder()
        for method, given, more in self.calls:
            getattr(builder, method)(*given, **more)
        built: Pod | Node = builder.build()
        meta = built.metadata
        labels = Heard(meta.labels, f"{self.kind} label", vocabulary)
        annotations = Heard(meta.annotations, f"{self.kind} annotation", vocabulary)
        meta = msgspec.structs.replace(meta, labels=labels, annotations=annotations)
        return msgspec.structs.replace(built, metadata=meta)

    def _builder(self) -> Builder:
        if self.given is None:
            return node(self.name) if self.kind == "node" else pod(self.name, self.space)
        builder = copy.deepcopy(self.given)
        space = builder._metadata.get("namespace", "")
        builder._metadata |= {"name": self.name, "uid": f"{self.kind}-{space}-{self.name}"}
        if self.kind == "node" and "kubernetes.io/hostname" in builder._metadata["labels"]:
            builder._metadata["labels"]["kubernetes.io/hostname"] = self.name
        return builder


def _arguments(given: tuple[Any, ...], more: dict[str, Any]) -> str:
    if more and not all(name.isidentifier() for name in more):
        return ", ".join((*map(repr, given), f"**{more!r}"))
    return ", ".join((*map(repr, given), *(f"{name}={value!r}" for name, value in more.items())))


class Step(NamedTuple):
    """One thing that happens. `drafts` come, or change; `names` go."""

    what: str  # put, drop, ask, run, change, retry, pass
    drafts: tuple[Draft, ...] = ()
    name: str = ""
    fate: str = "bound"  # of pods that are asked about: bound, or refused by the API server
    amount: int = 0

    def __str__(self) -> str:
        drafts = ", ".join(map(str, self.drafts))
        match self.what:
            case "put":
                return f"there is {drafts}"
            case "ask" | "retry":
                times = f", {self.amount} times" if self.amount > 1 else ""
                return (
                    f"{drafts} to be placed{'' if self.fate == 'bound' else ', not bound in the end'}{times}"
                )
            case "run":
                return f"{self.amount} x {drafts} running on {self.name}"
            case "change":
                return f"{self.name} becomes {drafts}"
            case "drop":
                return f"{self.name} goes"
        return f"{self.amount} s pass"


class Drawing:
    """Draws one case: few kinds of pods that come again and again, and nodes that change around them."""

    def __init__(self, seed: int, vocabulary: Vocabulary, examples: Sequence[Builder]) -> None:
        self._draw = draw = random.Random(f"conformance {seed}")
        self._vocabulary = vocabulary
        self._pods = [each for each in examples if isinstance(each, PodBuilder)]
        self._nodes = [each for each in examples if isinstance(each, NodeBuilder)]
        values = (*vocabulary.words, *(str(number) for number in vocabulary.numbers))
        own = draw.sample(values, min(len(values), 4))
        self._values = (*own, *vocabulary.plain, "1", "3")
        self._keys = {role: self._some_keys(tuple(read)) for role, read in vocabulary.read.items()}
        self._resources = tuple(key for key in vocabulary.keys if "/" in key)[:3]
        self._tight = seed % 5 == 1  # nodes fill up, so that pods have to make room
        self._alike = seed % 5 == 2  # the same pod again and again
        self._crowd = seed % 5 == 3  # nodes hold many pods
        self._wake = seed % 5 == 4  # pods wait for this policy alone, and nodes change
        if self._wake:
            self._values = self._values[:2]
        self._kinds = [self._pod() for _ in range(1 if self._alike else draw.randint(2, 4))]
        self._count = 0
        self._live: list[str] = []
        self._there: list[str] = []

    def case(self) -> list[Step]:
        steps = [
            self._put() for _ in range(self._draw.randint(1, 2) if self._wake else self._draw.randint(2, 5))
        ]
        if self._crowd:
            steps.append(self._run_many())
        if self._alike or self._wake:  # so many that whatever has a limit is full
            limit = self._most(60) if self._alike else self._most(12) * len(self._live)
            steps.append(self._ask(limit + 2))
        choices = [self._ask] * 8 + [self._put, self._change, self._drop_node] + [self._drop_pod] * 2
        choices += [self._change, self._drop_pod] * 4 if self._wake else []
        choices += [self._run, self._change_pod, self._pass]
        for number in range(STEPS):
            made = self._retry() if number == STEPS // 2 else self._draw.choice(choices)()
            steps.append(made)
        return steps

    def _some_keys(self, read: tuple[str, ...]) -> tuple[str, ...]:
        """Keys that were read come first; words that may be keys, and keys everybody has, now and then."""
        draw = self._draw
        more = draw.sample(self._vocabulary.keys, min(len(self._vocabulary.keys), 2))
        return (*draw.sample(read, min(len(read), 5)), *more, draw.choice(USUAL_KEYS))

    def _name(self, kind: str) -> str:
        self._count += 1
        words, drawn = self._vocabulary.names, self._draw.random()
        if not words or drawn > 0.3:
            return f"{kind}-{self._count}"
        word = self._draw.choice(words)
        return f"{word}-{self._count}" if drawn < 0.2 else f"{kind}-{self._count}-{word}"

    def _put(self) -> Step:
        name = self._name("node")
        self._live.append(name)
        return Step("put", (self._node(name),))

    def _node(self, name: str) -> Draft:
        draw = self._draw
        if self._nodes and draw.random() < 0.6:
            return Draft("node", name, (), draw.choice(self._nodes))
        cpu = draw.choice((1, 2, 4)) if self._tight else draw.choice((2, 8, 64))
        room = {"cpu": 64, "memory": "640Gi"} if self._wake or self._alike else {}
        calls: list[Call] = [("has", (), {"cpu": cpu, "memory": draw.choice(("4Gi", "64Gi")), **room})]
        calls += self._words("node", 0.6)
        if self._wake:
            return Draft("node", name, tuple(calls))
        for effect in ("NoSchedule", "PreferNoSchedule"):
            if draw.random() < 0.15:
                key = draw.choice((*self._keys["node label"], "dedicated"))
                calls.append(("taint", (key, draw.choice(self._values), effect), {}))
        for resource in (*self._resources, GPU):
            if draw.random() < 0.3:
                calls.append(("has", (), {resource: draw.choice((1, 4, 8))}))
        if draw.random() < 0.05:
            calls.append(("cordoned", (), {}))
        kinds = [word for word in self._vocabulary.words if word[0].isupper()]
        rare: list[Call] = [
            ("image", (draw.choice(self._images()), 300 * 2**20), {}),
            ("condition", (draw.choice(("Ready", *kinds)), draw.choice(("True", "False"))), {}),
            ("spec", (), {"providerID": f"{draw.choice(self._values)}://zone/{name}"}),
        ]
        calls += [call for call in rare if draw.random() < 0.2]
        return Draft("node", name, tuple(calls))

    def _images(self) -> tuple[str, ...]:
        return "app:1", "app:2", *self._vocabulary.images

    def _words(self, kind: str, often: float) -> list[Call]:
        draw, values = self._draw, self._values
        return [
            (what, (key, draw.choice(values)), {})
            for what in ("label", "annotation")
            for key in dict.fromkeys(self._keys[f"{kind} {what}"])
            if draw.random() < often
        ]

    def _pod(self, name: str = "") -> Draft:
        draw = self._draw
        if self._pods and draw.random() < 0.6:
            return Draft("pod", name, (), draw.choice(self._pods))
        cpu = draw.choice(("1", "2", "3")) if self._tight else draw.choice(("10m", "100m", "1"))
        calls: list[Call] = []
        if draw.random() < 0.9:
            calls.append(("requests", (), {"cpu": cpu, "memory": draw.choice(("64Mi", "2Gi"))}))
        calls += self._words("pod", 0.6)
        if draw.random() < 0.7:
            near = [number + by for number in self._vocabulary.numbers[:4] for by in (-1, 0, 1)]
            calls.append(("priority", (draw.choice((-1, 10, 99, 100, 1000, *near)),), {}))
        if draw.random() < 0.4:
            calls.append(("tolerates", (draw.choice(("dedicated", "", *self._keys["node label"])),), {}))
        for resource in (*self._resources, GPU):
            if draw.random() < 0.2:
                calls.append(("requests", (), {resource: draw.choice((1, 2))}))
        calls += [] if self._wake else self._rarer()
        space = draw.choice(("other", *self._vocabulary.names)) if draw.random() < 0.15 else "default"
        return Draft("pod", name, tuple(calls), space=space)

    def _rarer(self) -> list[Call]:
        draw, keys = self._draw, self._keys["node label"]
        kinds = [word for word in self._vocabulary.words if word[0].isupper()]
        label = draw.choice(self._keys["pod label"]), draw.choice(self._values)
        rare: list[Call] = [
            ("selects", (draw.choice(keys), draw.choice(self._values)), {}),
            ("prefers", (draw.choice(keys), draw.choice(self._values)), {}),
            ("host_port", (draw.choice((80, 443)),), {}),
            ("spread", (ZONE, dict([label])), {"soft": draw.random() < 0.5}),
            ("apart", ("kubernetes.io/hostname", dict([label])), {}),
            ("prefers_near", (ZONE, dict([label])), {}),
            ("gated", ("later",), {}),
            ("owned_by", (draw.choice(("ReplicaSet", "DaemonSet", "Job", *kinds)), "web"), {}),
            ("image", (draw.choice(self._images()),), {}),
            ("limits", (), {"cpu": "4"}),
            ("spec", (), {"hostNetwork": True}),
            ("spec", (), {"preemptionPolicy": "Never"}),
            ("spec", (), {"priorityClassName": draw.choice(self._values)}),
            ("spec", (), {"terminationGracePeriodSeconds": draw.choice((0, 3600))}),
            ("spec", (), {"volumes": [{"name": "scratch", "emptyDir": {}}]}),
        ]
        return [call for call in rare if draw.random() < 0.1]

    def _wanted(self) -> Draft:
        again = self._alike or self._draw.random() < 0.85
        made = self._draw.choice(self._kinds) if again else self._pod()
        return made._replace(name=self._name("pod"))

    def _ask(self, more: int | None = None) -> Step:
        first = self._wanted()
        more = self._draw.choice((0, 0, 1, 2)) if more is None else more
        drafts = (first, *(first._replace(name=self._name("pod")) for _ in range(more)))
        self._there.extend(draft.name for draft in drafts)
        return Step("ask", drafts, fate="bound" if self._draw.random() < 0.85 else "refused")

    def _retry(self) -> Step:
        return Step("retry", (self._wanted(),), fate="refused", amount=12)

    def _run(self) -> Step:
        draft = self._wanted()
        self._there.append(draft.name)
        return Step("run", (draft,), self._draw.choice(self._live), amount=1)

    def _run_many(self) -> Step:
        plain = self._kinds[0]._replace(name=self._name("crowd"))
        return Step("run", (plain,), self._draw.choice(self._live), amount=max(12, self._most(200) + 1))

    def _most(self, limit: int) -> int:
        """The largest number up to a limit that the policy knows."""
        return max([number for number in self._vocabulary.numbers if number <= limit], default=4)

    def _change(self) -> Step:
        name = self._draw.choice(self._live)
        return Step("change", (self._node(name),), name)

    def _change_pod(self) -> Step:
        if not self._there:
            return self._pass()
        name = self._draw.choice(self._there)
        return Step("change", (self._pod(name),), name)

    def _drop_node(self) -> Step:
        if len(self._live) < 3:
            return self._change() if self._wake else self._put()
        name = self._draw.choice(self._live)
        self._live.remove(name)
        return Step("drop", name=name)

    def _drop_pod(self) -> Step:
        if not self._there:
            return self._ask()
        name = self._draw.choice(self._there)
        self._there.remove(name)
        return Step("drop", name=name)

    def _pass(self) -> Step:
        return Step("pass", amount=self._draw.choice((2, 20, 400)))
