"""Mistakes in a plugin class are found before it runs, at their place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.errors import PolicyError
from mooring.framework.api.plugin import Plugin
from mooring.framework.running.inspection import check_plugin, implemented_points, place_of, signs_itself

Policy = Callable[[str], type[Plugin]]
Place = Callable[[Path, str], str]


def mistakes(plugin: type[Plugin]) -> list[tuple[str, str]]:
    with pytest.raises(PolicyError) as error:
        check_plugin(plugin)
    return [(mistake.place, mistake.what) for mistake in error.value.mistakes]


AWAITS = "is async, but it decides, and deciding never awaits: only pre_bind, bind and post_bind may"

MISTAKES: dict[str, tuple[str, str, str]] = {
    "too few parameters": (
        "def filter(self, pod, node): ...",
        "def filter",
        "P.filter takes (pod, node); it is called with (cycle, pod, node)",
    ),
    "too many parameters": (
        "def score(self, cycle, pod, node, state): ...",
        "def score",
        "P.score takes (cycle, pod, node, state); it is called with (cycle, pod, node)",
    ),
    "a parameter by name only": (
        "def reserve(self, cycle, pod, *, node_name): ...",
        "def reserve",
        "P.reserve takes (cycle, pod, *, node_name); it is called with (cycle, pod, node_name)",
    ),
    "annotations are left out": (
        "def permit(self, pod: int) -> None: ...",
        "def permit",
        "P.permit takes (pod); it is called with (cycle, pod, node_name)",
    ),
    "a static method": (
        "@staticmethod\n    def filter(cycle, pod): ...",
        "@staticmethod",
        "P.filter takes (cycle, pod); it is called with (cycle, pod, node)",
    ),
    "a class method": (
        "@classmethod\n    def filter(cls, pod): ...",
        "@classmethod",
        "P.filter takes (pod); it is called with (cycle, pod, node)",
    ),
    "an async filter": (
        "async def filter(self, cycle, pod, node): ...",
        "async def filter",
        f"P.filter {AWAITS}",
    ),
    "an async reserve": (
        "async def reserve(self, cycle, pod, node_name): ...",
        "async def reserve",
        f"P.reserve {AWAITS}",
    ),
    "a point in camel case": (
        "def score(self, cycle, pod, node): ...\n    def preFilter(self, cycle, pod): ...",
        "def preFilter",
        'P.preFilter is no extension point. Did you mean "pre_filter"?',
    ),
    "a misspelt point": (
        "def score(self, cycle, pod, node): ...\n    def fliter(self, cycle, pod, node): ...",
        "def fliter",
        'P.fliter is no extension point. Did you mean "filter"?',
    ),
    "a scope that is none": (
        "scope = 'row'\n    def filter(self, cycle, pod, node): ...",
        "class P",
        "P.scope is 'row': it must be one of Scope.STATIC, ROW, DOMAIN or CLUSTER",
    ),
    "amounts alone, in a word": (
        "amounts_only = 'yes'\n    def filter(self, cycle, pod, node): ...",
        "class P",
        "P.amounts_only is 'yes': it must be True or False",
    ),
    "amounts alone, one at a time": (
        "scope, amounts_only = Scope.ROW, True\n    def score(self, cycle, pod, node): ...",
        "def score",
        "P.amounts_only needs score_nodes: amounts are judged many at a time",
    ),
    "amounts alone of more than a row": (
        "amounts_only = True\n    def filter_nodes(self, cycle, pod, nodes): ...",
        "class P",
        "P.amounts_only is for plugins of Scope.ROW",
    ),
    "a name that is none": (
        "name = 7\n    def filter(self, cycle, pod, node): ...",
        "class P",
        "P.name is 7: it must be a word",
    ),
    "arguments that are no Args": (
        "class Args: pass\n    def filter(self, cycle, pod, node): ...",
        "class P",
        "P.Args must be a subclass of PluginArgs",
    ),
    "unreserve without reserve": (
        "def unreserve(self, cycle, pod, node_name): ...",
        "def unreserve",
        "P has unreserve but no reserve",
    ),
    "a pre-flight without pre_bind": (
        "def pre_bind_pre_flight(self, cycle, pod, node_name): ...",
        "def pre_bind_pre_flight",
        "P has pre_bind_pre_flight but no pre_bind",
    ),
    "normalize without score": (
        "def normalize(self, values): ...",
        "def normalize",
        "P has normalize but no score",
    ),
    "no point at all": ("x = 1", "class P", "P implements no extension point"),
}


@pytest.mark.parametrize(("body", "at", "what"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_place(
    policy: Policy, place: Place, tmp_path: Path, body: str, at: str, what: str
) -> None:
    plugin = policy(f"class P(Plugin):\n    {body}\n")
    assert mistakes(plugin) == [(place(tmp_path / "policy.py", at), what)]


def test_all_mistakes_are_told_at_once(policy: Policy, place: Place, tmp_path: Path) -> None:
    plugin = policy("""
        class P(Plugin):
            scope = 3

            async def filter(self, pod): ...

            def unreserve(self, cycle, pod, node_name): ...
    """)
    file = tmp_path / "policy.py"
    expected = [place(file, "class P"), *[place(file, "async def")] * 2, place(file, "def unreserve")]
    assert [where for where, _ in mistakes(plugin)] == expected


GOOD = {
    "the usual": "def filter(self, cycle, pod, node): ...",
    "other names": "def filter(self, state, p, n): ...",
    "more with defaults": "def filter(self, cycle, pod, node, strict=True): ...",
    "a default where one is needed": "def filter(self, cycle, pod, node=None): ...",
    "whatever comes": "def filter(self, *args): ...",
    "static": "@staticmethod\n    def filter(cycle, pod, node): ...",
    "of the class": "@classmethod\n    def filter(cls, cycle, pod, node): ...",
    "async where it may": "async def bind(self, cycle, pod, node_name): ...",
    "reserve and unreserve": (
        "def reserve(self, cycle, pod, node_name): ...\n    def unreserve(self, cycle, pod, node_name): ..."
    ),
    "a normaliser as an attribute": (
        "score = lambda self, cycle, pod, node: 1\n    normalize = lambda values: values"
    ),
    "a normaliser as a method": (
        "def score_nodes(self, cycle, pod, nodes): ...\n    def normalize(self, values): ..."
    ),
    "methods of its own": "def filter(self, cycle, pod, node): ...\n    def reserved(self): ...",
    "private ones with a cycle": (
        "def filter(self, cycle, pod, node): ...\n    def _filters(self, cycle): ..."
    ),
    "unlike any point": "def filter(self, cycle, pod, node): ...\n    def invoice(self, cycle): ...",
}


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
def test_what_works_passes(policy: Policy, body: str) -> None:
    check_plugin(policy(f"class P(Plugin):\n    {body}\n"))


def test_inherited_points_count(policy: Policy) -> None:
    plugin = policy("""
        class Base(Plugin):
            def filter(self, cycle, pod, node): ...

        class P(Base):
            def score(self, cycle, pod, node): ...
    """)
    derived = next(cls for cls in plugin.__subclasses__())
    assert implemented_points(derived) == ["filter", "score"]
    check_plugin(derived)


def test_whether_a_class_signs_itself(policy: Policy) -> None:
    assert not signs_itself(policy("class P(Plugin): ..."))
    assert signs_itself(policy("class P(Plugin):\n    def sign(self, pod): return 1"))


def test_the_place_of_a_class_without_source_is_its_name() -> None:
    made = type("Made", (Plugin,), {"__module__": "nowhere"})
    assert place_of(made) == "nowhere.Made"
