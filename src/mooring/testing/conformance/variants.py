"""Pods that differ from one in a single thing that the policy reads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from mooring.testing.conformance.cases import Draft
from mooring.testing.conformance.vocabulary import Vocabulary

MOST = 6
SAID = ("label", "annotation")


def variants(draft: Draft, vocabulary: Vocabulary) -> list[Draft]:
    """At most a few, the same for the same draft."""
    number = sum(map(ord, draft.name))  # which of them come first is another one for each pod
    found = list(_variants(draft, vocabulary))
    turned = found[number % len(found) :] + found[: number % len(found)] if found else []
    return [each._replace(name=f"{each.name}-or-{n}") for n, each in enumerate(islice(turned, MOST))]


def _variants(draft: Draft, vocabulary: Vocabulary) -> Iterator[Draft]:
    for index in range(len(draft.calls)):
        yield draft._replace(calls=draft.calls[:index] + draft.calls[index + 1 :])
    words = vocabulary.names[:3]
    yield from (draft._replace(name=word) for word in words)
    yield from (draft._replace(space=word) for word in ("other", *words))
    values = (*vocabulary.words, *vocabulary.plain, "1")
    for what in SAID:
        for key in vocabulary.read[f"pod {what}"]:
            for value in (values[len(key) % len(values)], values[-2]):
                yield draft._replace(calls=(*draft.calls, (what, (key, value), {})))
