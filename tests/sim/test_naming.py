from __future__ import annotations

import random

from mooring.sim.world.naming import SAFE_LETTERS, generated_name, made_up_uid, template_hash


def test_names_repeat_with_the_seed() -> None:
    first = [generated_name("web-", random.Random(7)) for _ in range(2)]
    assert first[0] == first[1]
    assert first[0].startswith("web-")
    assert len(first[0]) == len("web-") + 5
    assert set(first[0][4:]) <= set(SAFE_LETTERS)


def test_long_names_are_cut_before_the_suffix() -> None:
    assert len(generated_name("x" * 80, random.Random(0))) == 63


def test_hashes_are_short_and_safe() -> None:
    digest = template_hash({"a": 1})
    assert 1 <= len(digest) <= 10
    assert set(digest) <= set(SAFE_LETTERS)
    assert digest == template_hash({"a": 1}) != template_hash({"a": 2})


def test_a_name_used_again_gets_another_uid() -> None:
    assert made_up_uid("Pod", "default/a", 1) != made_up_uid("Pod", "default/a", 2)
    assert made_up_uid("Pod", "default/a", 1) == made_up_uid("Pod", "default/a", 1)
