"""Label sets of pods and the selectors that look at them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster import labelsets
from mooring.cluster.labelsets import LabelSets


def selects_web(namespace: str, labels: Mapping[str, str]) -> bool:
    return labels.get("app") == "web"


def selects_shop(namespace: str, labels: Mapping[str, str]) -> bool:
    return namespace == "shop"


def test_equal_labels_are_one_set_in_any_order() -> None:
    sets = LabelSets()
    first = sets.intern("shop", {"app": "web", "tier": "1"})
    assert sets.intern("shop", {"tier": "1", "app": "web"}) is first
    assert sets.intern("other", {"app": "web", "tier": "1"}) is not first
    assert sets.intern("shop", {"app": "web"}) is not first


def test_sets_know_the_selectors_that_match_them() -> None:
    sets = LabelSets()
    web, shop = sets.register("web", selects_web), sets.register("shop", selects_shop)
    assert sets.intern("shop", {"app": "web"}).matches == (web, shop)
    assert sets.intern("shop", {"app": "db"}).matches == (shop,)
    assert sets.intern("other", {}).matches == ()


def test_a_selector_registered_later_is_matched_against_known_sets() -> None:
    sets = LabelSets()
    web, db = sets.intern("shop", {"app": "web"}), sets.intern("shop", {"app": "db"})
    assert (web.matches, db.matches) == ((), ())
    number = sets.register("web", selects_web)
    assert (web.matches, db.matches) == ((number,), ())


def test_labels_nobody_selects_on_make_no_difference() -> None:
    sets = LabelSets()
    sets.register("web", selects_web)
    names = [sets.intern("shop", {"app": "web", "pod-name": f"web-{i}"}) for i in range(3)]
    assert len({labelset.id for labelset in names}) == 3
    assert len({labelset.matches for labelset in names}) == 1


def test_registering_again_changes_nothing() -> None:
    sets = LabelSets()
    web = sets.intern("shop", {"app": "web"})
    number = sets.register("web", selects_web)
    version, matches = sets.version, web.matches
    assert sets.register("web", selects_web) == number
    assert (sets.version, web.matches) == (version, matches)


def test_the_version_moves_with_each_new_selector() -> None:
    sets = LabelSets()
    versions = [sets.version]
    for key, test in (("web", selects_web), ("shop", selects_shop)):
        sets.register(key, test)
        versions.append(sets.version)
    assert len(set(versions)) == 3


def test_a_set_keeps_its_own_copy_of_the_labels() -> None:
    sets = LabelSets()
    labels = {"app": "web"}
    known = sets.intern("shop", labels)
    labels["app"] = "db"
    number = sets.register("web", selects_web)
    assert known.matches == (number,)


def test_sets_that_nobody_holds_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is met anew has another id, and the same selectors match it."""
    monkeypatch.setattr(labelsets, "UNUSED_SETS", 3)
    sets = LabelSets()
    number = sets.register("web", selects_web)
    first, held = sets.intern("shop", {"app": "web"}).id, sets.intern("shop", {"app": "db"})
    ids = {sets.intern("shop", {"job": str(job)}).id for job in range(20)}
    assert len(sets._sets) < 10
    again = sets.intern("shop", {"app": "web"})
    assert again.id not in ids | {first}
    assert sets.intern("shop", {"app": "db"}) is held
    assert again.matches == (number,)
    db = sets.register("db", lambda namespace, labels: "app" in labels)
    assert (again.matches, held.matches) == ((number, db), (db,))


def test_labels_looked_at_twice_in_a_row_are_looked_up_once() -> None:
    sets = LabelSets()
    labels = {"app": "web"}
    first = sets.intern("shop", labels)
    assert sets.intern("shop", labels) is first
    assert sets.intern("other", labels) is not first
    assert sets.intern("shop", labels) is first


def test_selectors_are_forgotten_with_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelsets, "UNUSED_SELECTORS", 2)
    sets = LabelSets()
    web = sets.intern("shop", {"app": "web"})
    stays = sets.register("stays", selects_web)
    for turn in range(20):
        number = sets.register(turn, selects_shop, None if turn % 2 else ("app", "web"))
        assert number in web.matches
        sets.forget([number])
        assert len(web.matches) <= 5
    assert stays in web.matches
    assert len(sets._selectors) == 1
    assert sets.intern("shop", {"app": "db"}).matches == ()
    assert sets.register(0, selects_shop) > stays


@given(
    st.lists(
        st.tuples(st.sampled_from(["set", "selector"]), st.sampled_from("ab"), st.sampled_from("xyz")),
        max_size=30,
    ),
    st.sampled_from([3, 100]),
)
def test_needing_a_label_makes_no_difference_but_to_speed(
    steps: list[tuple[str, str, str]], most: int
) -> None:
    """Sets and selectors come in any order, and sets are met anew at any time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labelsets, "UNUSED_SETS", most)
        sets = LabelSets()
        asked: list[tuple[str, str]] = []
        for kind, name, value in steps:
            needs = name, value
            if kind == "selector":
                sets.register(needs, lambda _, labels, n=name, v=value: labels.get(n) == v, needs)
                asked += [needs] if needs not in asked else []
            for labels in ({name: value}, {"a": "x", name: value}, {"other": value}):
                found = sets.intern("default", labels)
                assert found.matches == tuple(i for i, (n, v) in enumerate(asked) if labels.get(n) == v)
