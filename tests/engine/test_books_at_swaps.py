"""Books when other plugins come into force, and on forks: made with the arguments of who is there."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

import pytest

from engine.stage import BUILT_IN, Stage, config, made, node, pod
from engine.test_swap import counting, swap
from mooring.cluster.books.book import Book
from mooring.engine.decisions import Bind
from mooring.framework.api.plugin import Plugin, PluginArgs
from mooring.model.objects import Pod
from mooring.workloads.gang_places import GangPlaces

OWN = GangPlaces.name  # the engine's own book


class Weighed(Book[str, int]):
    """How much pods weigh on each node."""

    def __init__(self, weight: int) -> None:
        self.weight = weight

    def added(self, pod: Pod, node: Any) -> None:
        self.add(node.name, self.weight)

    def removed(self, pod: Pod, node: Any) -> None:
        self.add(node.name, -self.weight)


class Weighs(Plugin):
    class Args(PluginArgs, frozen=True):
        weight: int = 1

    def __init__(self, args: Args, handle: Any) -> None:
        super().__init__(args, handle)
        self.book = handle.book(Weighed, args.weight)

    def reserve(self, cycle: Any, pod: Pod, node_name: str) -> None:
        return None

    def unreserve(self, cycle: Any, pod: Pod, node_name: str) -> None:
        self.book.touch(node_name)


def _profile(name: str, weight: int) -> str:
    enabled = f"- schedulerName: {name}\n  plugins: {{multiPoint: {{enabled: [{{name: Weighs}}]}}}}\n"
    return f"{enabled}  pluginConfig: [{{name: Weighs, args: {{weight: {weight}}}}}]\n"


def weighing(weight: int) -> str:
    return f"profiles:\n{_profile('default-scheduler', weight)}"


def test_a_swap_gives_a_book_the_arguments_of_who_comes() -> None:
    stage = Stage(Weighs, text=weighing(1)).nodes("n")
    stage.running(pod("there"), "n")
    bind = stage.try_pod(pod("p"))
    assert isinstance(bind, Bind)
    swap(stage, Weighs, text=weighing(10))
    assert dict(stage.plugin("Weighs").book.items()) == {"n": 20}
    stage.bind_failed(bind)
    assert dict(stage.plugin("Weighs").book.items()) == {"n": 10}
    assert stage.engine.story("default/p") is not None
    stage.engine.check()


def test_a_table_that_is_not_put_in_force_gives_no_book_other_arguments() -> None:
    stage = Stage(Weighs, text=weighing(1)).nodes("n")
    plan, registry = config((*BUILT_IN, Weighs), weighing(10))
    stage.engine.table(plan.profiles, registry)
    stage.place(pod("p"))
    assert dict(stage.plugin("Weighs").book.items()) == {"n": 1}


def test_a_book_keeps_its_arguments_while_a_plugin_that_has_it_stays() -> None:
    def profiles(**weights: int) -> str:
        return "".join(["profiles:\n", *(_profile(name, weight) for name, weight in weights.items())])

    stage = Stage(Weighs, text=profiles(first=2, second=3)).nodes("n")
    swap(stage, Weighs, text=profiles(first=2, second=4))
    stage.place(pod("p", scheduler_name="first"))
    first, second = (stage.engine.profiles[name].plugins["Weighs"].book for name in ("first", "second"))
    assert (second is first, dict(first.items())) == (True, {"n": 2})
    swap(stage, Weighs, text=profiles(second=5))
    assert dict(second.items()) == {"n": 5}


def test_a_fork_has_books_with_the_arguments_of_its_plugins() -> None:
    stage = Stage(Weighs, text=weighing(1)).nodes("n")
    stage.running(pod("there"), "n")
    plan, registry = config((*BUILT_IN, Weighs), weighing(10))
    fork = stage.engine.fork(plan.profiles, registry)
    book = fork.profiles["default-scheduler"].plugins["Weighs"].book
    assert (book.weight, dict(book.items())) == (10, {"n": 10})
    fork.check()
    assert dict(stage.plugin("Weighs").book.items()) == {"n": 1}


def test_a_fork_shares_nothing_that_a_book_was_made_with() -> None:
    class Listing(Book[str, int]):
        """Written by its plugin alone."""

        def __init__(self) -> None:
            self.seen: list[str] = []

        def begun(self, before: Any) -> None:
            self.set("kept", before["kept"])

    class Lists(Plugin):
        def __init__(self, args: Any, handle: Any) -> None:
            super().__init__(args, handle)
            self.book = handle.book(Listing)

        def permit(self, cycle: Any, pod: Pod, node_name: str) -> None:
            return None

    stage = Stage(Lists).nodes("n")
    stage.plugin("Lists").book.set("kept", 1)
    forked = stage.engine.fork().profiles["default-scheduler"].plugins["Lists"].book
    forked.seen.append("there")
    assert (dict(forked.items()), stage.plugin("Lists").book.seen) == ({"kept": 1}, [])


def test_books_of_plugins_that_are_gone_are_told_no_more() -> None:
    stage = Stage(counting(1)).nodes("n")
    book = stage.plugin("Counts").book
    bind = stage.try_pod(pod("p"))
    assert isinstance(bind, Bind)
    swap(stage)
    books = stage.engine.cluster.books
    assert (list(books.by_name), "p" in books.taking) == ([OWN], False)
    stage.place(pod("q"))
    assert dict(book.items()) == {"n": 1}
    stage.bind_failed(bind)
    assert stage.engine.story("default/p") is not None  # looks back to where it was told
    assert list(stage.engine.fork().cluster.books.by_name) == [OWN]
    stage.engine.check(afresh=True)
    swap(stage, counting(10))
    assert dict(stage.plugin("Counts").book.items()) == {"n": 10}


def test_who_looks_back_on_a_fork_changes_no_book_of_the_original() -> None:
    stage = Stage(counting(1)).nodes("n")
    old = stage.plugin("Counts").book
    position = stage.engine.cluster.history.position
    stage.place(pod("p", "10m"))
    swap(stage, counting(10))
    seen = stage.engine.cluster.as_of(position).books.by_name["PerNode"]
    assert (seen is old, type(seen) is type(old), dict(seen.items())) == (False, True, {})
    assert dict(old.items()) == {"n": 1}
    assert dict(stage.engine.cluster.books.by_name["PerNode"].items()) == {"n": 10}


def test_books_that_were_replaced_are_not_kept_for_long() -> None:
    stage = Stage(counting(1)).nodes("n")
    stage.place(pod("p", "10m"))
    old = [ref(stage.plugin("Counts").book)]
    for step in range(2, 6):
        swap(stage, counting(step))
        stage.place(pod(f"p{step}", "10m"))
        old.append(ref(stage.plugin("Counts").book))
    gc.collect()
    assert [each() is not None for each in old] == [False, False, False, True, True]


class Numbers(Book[str, int]):
    """A number for each pod."""

    def taken(self, pod: Pod, node_name: str) -> None:
        self.set(pod.uid, 1 + max((number for _, number in self.items()), default=0))

    def given_back(self, pod: Pod, node_name: str) -> None:
        self.drop(pod.uid)

    def recalled(self, pod: Pod, node_name: str, before: Any) -> None:
        self.set(pod.uid, before[pod.uid])


def numbering() -> type[Plugin]:
    """Loaded anew each time, its book too."""
    book: Any = type("Numbers", (Numbers,), {})

    def begin(self: Any, args: Any, handle: Any) -> None:
        Plugin.__init__(self, args, handle)
        self.book = handle.book(book)

    return made("Gives", __init__=begin, reserve=lambda *a: None)


def test_a_book_of_choices_that_comes_late_chooses_for_the_pods_that_are_there() -> None:
    stage = Stage().nodes("n")
    stage.running(pod("p"), "n")
    stage.running(pod("q"), "n")
    swap(stage, numbering())
    assert dict(stage.plugin("Gives").book.items()) == {"p": 1, "q": 2}


def test_a_book_of_choices_that_is_loaded_anew_keeps_what_was_chosen() -> None:
    stage = Stage(numbering()).nodes("n")
    for name in "pq":
        stage.running(pod(name), "n")
    stage.delete(pod("p").on_node("n"))
    swap(stage, numbering())
    assert dict(stage.plugin("Gives").book.items()) == {"q": 2}


@pytest.mark.parametrize("again", [False, True])
def test_a_book_that_cannot_take_in_a_node_is_not_read(again: bool) -> None:
    class Racks(Book[str, str]):
        def node_added(self, node: Any) -> None:
            self.set(node.name, node.labels["rack"])

        def node_removed(self, node: Any) -> None:
            self.drop(node.name)

    class Reads(Plugin):
        def __init__(self, args: Any, handle: Any) -> None:
            super().__init__(args, handle)
            self.book = handle.book(Racks)

        def filter(self, cycle: Any, pod: Pod, node: Any) -> None:
            self.book.get(node.name)

    stage = Stage(*([] if again else [Reads])).nodes(node("a", labels={"rack": "1"}), node("b"))
    if again:
        swap(stage, Reads)
    waiting = pod("p")
    assert "the book Racks failed" in stage.wait(waiting).message
    stage.nodes(node("b", labels={"rack": "2"}))
    stage.tick(60.0)
    assert list(stage.all()) == ["p"]
    assert dict(stage.plugin("Reads").book.items()) == {"a": "1", "b": "2"}


def test_a_book_with_the_same_arguments_is_not_made_anew_to_tell_a_story() -> None:
    told: list[str] = []

    class Listens(Book[str, int]):
        def __init__(self, weight: int) -> None:
            self.weight = weight

        def added(self, pod: Pod, node: Any) -> None:
            told.append(pod.name)
            self.add(node.name, self.weight)

        def removed(self, pod: Pod, node: Any) -> None:
            self.add(node.name, -self.weight)

    def begin(self: Any, args: Any, handle: Any) -> None:
        Plugin.__init__(self, args, handle)
        self.book = handle.book(Listens, 3)

    stage = Stage(made("Counts", __init__=begin, filter=lambda *a: None)).nodes("n")
    stage.place(pod("p"))
    stage.place(pod("q"))
    before = len(told)
    assert stage.engine.story("default/p") is not None
    assert stage.engine.fork().cluster.books.by_name["Listens"].count("n") == 6
    assert len(told) == before
