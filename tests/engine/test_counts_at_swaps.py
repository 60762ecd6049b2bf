"""What plugins ask to be counted, when their table comes into force and when it never does."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import BUILT_IN, Stage, config, made, pod
from engine.test_swap import swap
from mooring.framework.api.plugin import Plugin
from mooring.model.objects import Pod


def version(label: str, *, at_once: bool) -> type[Plugin]:
    """A version of a policy that looks at pods with a label; each has the same keys."""

    def matches(namespace: str, labels: Any) -> bool:
        return bool(labels.get(label))

    def carried(pod: Pod) -> tuple[str, ...]:
        return ("has",) if pod.labels.get(label) else ()

    def ask(self: Any) -> None:
        counts = self.handle.counts
        self.number = self.handle.register_selector("mine", matches)
        self.selected = counts.selector("mine", matches)
        self.carried = counts.carrier("mine", carried)
        self.tally = counts.tally("mine", carried)

    def begin(self: Any, args: Any, handle: Any) -> None:
        Plugin.__init__(self, args, handle)
        if at_once:
            ask(self)

    def pre_filter(self: Any, cycle: Any, pod: Pod) -> None:
        if not at_once:
            ask(self)

    return made("Counts", __init__=begin, pre_filter=pre_filter)


def found(stage: Stage) -> tuple[Any, ...]:
    plugin = stage.plugin("Counts")
    carried = plugin.carried.get("has")
    is_b = plugin.number in stage.engine.cluster.labelsets.intern("default", {"b": "1"}).matches
    return plugin.selected.total, carried and carried.total, plugin.tally.get("has"), is_b


@pytest.mark.parametrize("at_once", [True, False])
def test_a_new_version_counts_by_its_own_functions(at_once: bool) -> None:
    stage = Stage(version("a", at_once=at_once)).nodes("n")
    stage.place(pod("p", "10m", labels={"a": "1"}))
    stage.place(pod("q", "10m", labels={"a": "1", "b": "1"}))
    stage.place(pod("r", "10m"))
    assert found(stage) == (2, 2, 2, False)
    swap(stage, version("b", at_once=at_once))
    stage.place(pod("s", "10m", labels={"b": "1"}))
    stage.place(pod("t", "10m", labels={"a": "1"}))
    assert found(stage) == (2, 2, 2, True)
    swap(stage, version("nothing", at_once=at_once))
    stage.place(pod("u", "10m", labels={"b": "1"}))
    assert found(stage) == (0, None, None, False)


def test_a_table_that_is_not_put_in_force_has_nothing_counted() -> None:
    stage = Stage().nodes("n")
    stage.place(pod("p", "10m", labels={"a": "1"}))

    def known() -> tuple[int, ...]:
        counts, labelsets = stage.engine.cluster.counts, stage.engine.cluster.labelsets
        return len(labelsets._selectors), len(counts._carriers), len(counts._tallies), labelsets.version

    plan, registry = config((*BUILT_IN, version("a", at_once=True)))
    before = known()
    table = stage.engine.table(plan.profiles, registry)
    asked = table.profiles["default-scheduler"].plugins["Counts"]
    assert known() == before
    assert (asked.selected.total, asked.carried, asked.tally) == (0, {}, {})
    stage.engine.swap(table, 0.0)
    assert stage.plugin("Counts") is asked
    assert found(stage) == (1, 1, 1, False)


def test_two_plugins_of_a_table_are_given_the_same_counts() -> None:
    enabled = "- schedulerName: {}\n  plugins: {{multiPoint: {{enabled: [{{name: Counts}}]}}}}\n"
    text = "profiles:\n" + "".join(map(enabled.format, ("default-scheduler", "second")))
    stage = Stage().nodes("n")
    stage.place(pod("p", "10m", labels={"a": "1"}))
    swap(stage, version("a", at_once=True), text=text)
    one, other = (profile.plugins["Counts"] for profile in stage.engine.profiles.values())
    assert (one.number, one.selected, one.carried) == (other.number, other.selected, other.carried)
    assert one.tally is other.tally


def test_a_table_whose_plugins_cannot_count_a_pod_is_not_put_in_force() -> None:
    stage = Stage().nodes("n")
    plan, registry = config((*BUILT_IN, version("a", at_once=True)))
    table = stage.engine.table(plan.profiles, registry)
    stage.place(pod("p", "10m", labels={"a": "1"}))
    table._counts._functions.append(lambda pod: 1 // 0)
    before = stage.engine.hooks
    with pytest.raises(ValueError, match="a plugin cannot count the pods that are there: ZeroDivision"):
        stage.engine.swap(table, 0.0)
    assert stage.engine.hooks is before
    assert stage.place(pod("q", "10m")) == "n"
    stage.engine.check(afresh=True)
