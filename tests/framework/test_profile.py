"""A profile: plugins made once and sorted by the points they serve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from mooring.cluster.cluster import Cluster
from mooring.config.document import Origin, read_documents
from mooring.config.profiles import ProfilePlan
from mooring.errors import ArgsError, ConfigError, FieldMistake
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin, PluginArgs, nothing_to_do
from mooring.framework.loading.profiles import make_profile, make_profiles
from mooring.framework.loading.registry import Registry
from mooring.framework.loading.rehearsal import StageHandle
from mooring.framework.running.profile import Profile
from mooring.model.objects import Pod

Make = Callable[..., Any]


class Sort(Plugin):
    def less(self, first: Any, second: Any) -> bool:
        return False


class A(Plugin):
    """Serves many points."""

    made: list[Plugin] = []

    class Args(PluginArgs):
        label: str = "spot"

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.made.append(self)

    def filter(self, cycle: Cycle, pod: Pod, node: Any) -> None: ...

    def before_filter(self, cycle: Cycle, pod: Pod, node: Any) -> None: ...

    def score(self, cycle: Cycle, pod: Pod, node: Any) -> int:
        return 1

    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None: ...

    def unreserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None: ...

    def on_session_open(self, ssn: Any) -> None: ...

    @nothing_to_do
    def permit(self, cycle: Cycle, pod: Pod, node_name: str) -> None: ...


class B(Plugin):
    """Over columns."""

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Any) -> Any:
        return nodes.alive

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Any) -> Any:
        return nodes.max_pods * 0

    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None: ...

    def on_session_open(self, ssn: Any) -> None: ...


@pytest.fixture
def build(cluster: Cluster, plan: Make) -> Callable[..., Profile]:
    registry = Registry()
    for plugin in (Sort, A, B):
        registry.add(plugin, trusted=True)
    A.made.clear()

    def build(**points: Any) -> Profile:
        points.setdefault("queueSort", ["Sort"])
        made: ProfilePlan = plan(**points)
        return make_profile(made, registry, lambda plugin: StageHandle(cluster))

    return build


def names(profile: Profile, point: str) -> list[str]:
    return [hook.name for hook in profile.at(point)]


def test_points_have_their_plugins_in_the_configured_order(build: Make) -> None:
    profile = build(filter=["A", "B"], score=["B", "A"], reserve=["B", "A"])
    assert [form.name for form in profile.filters] == ["A", "B"]
    assert [form.name for form, _ in profile.scorers] == ["B", "A"]
    assert names(profile, "reserve") == ["B", "A"]
    assert names(profile, "unreserve") == ["A"]
    assert profile.name == "mine"


def test_a_hook_is_the_bound_method_of_its_plugin(build: Make) -> None:
    profile = build(reserve=["A"])
    (hook,) = profile.at("reserve")
    assert hook.plugin is profile.plugins["A"]
    assert hook.method == hook.plugin.reserve


def test_a_plugin_serves_only_where_it_is_enabled(build: Make) -> None:
    profile = build(filter=["A"], reserve=["B"])
    assert names(profile, "reserve") == ["B"]
    assert profile.scorers == []
    assert profile.evaluating == {"A"}


def test_what_belongs_to_a_point_comes_with_it(build: Make) -> None:
    assert names(build(filter=["A"]), "before_filter") == ["A"]
    assert names(build(score=["A"]), "before_filter") == []


def test_points_without_a_name_in_the_configuration_are_active_once_a_plugin_is(build: Make) -> None:
    profile = build(filter=["B"], score=["A"])
    assert names(profile, "on_session_open") == ["B", "A"]
    assert names(build(filter=["B"]), "on_session_open") == ["B"]


def test_a_point_at_which_there_is_nothing_to_do_is_not_run(build: Make) -> None:
    assert names(build(permit=["A"]), "permit") == []


def test_weights_go_with_the_scores(build: Make) -> None:
    profile = build(score={"A": 3, "B": 2})
    assert [(form.name, weight) for form, weight in profile.scorers] == [("A", 3), ("B", 2)]


def test_a_plugin_is_made_once_however_many_points_it_serves(build: Make) -> None:
    profile = build(filter=["A"], score=["A"], reserve=["A"])
    assert A.made == [profile.plugins["A"]]
    assert {hook.plugin for hook in profile.at("reserve")} == {profile.plugins["A"]}
    assert profile.filters[0].plugin is profile.scorers[0][0].plugin is profile.plugins["A"]


def test_each_profile_has_plugins_of_its_own(build: Make) -> None:
    assert build(filter=["A"]).plugins["A"] is not build(filter=["A"]).plugins["A"]


def test_the_queue_sort_is_known(build: Make) -> None:
    profile = build()
    assert profile.queue_sort is profile.plugins["Sort"]


def test_arguments_reach_their_plugin(build: Make) -> None:
    given = A.Args(label="cheap")
    assert build(filter=["A"], args={"A": given}).plugins["A"].args is given
    assert build(filter=["A"]).plugins["A"].args == A.Args()


@pytest.mark.parametrize(
    ("ties", "plugins"),
    [("Random", ["Sort", "A"]), ("First", ["Sort", "A"]), ("A", ["Sort", "A"]), ("B", ["Sort", "A", "B"])],
)
def test_the_plugin_that_decides_ties_is_made_too(build: Make, ties: str, plugins: list[str]) -> None:
    profile = build(score=["A"], ties=ties)
    assert list(profile.plugins) == plugins
    assert len(A.made) == 1
    assert [form.name for form, _ in profile.scorers] == ["A"]


def test_a_plugin_that_cannot_be_made_is_named(cluster: Cluster, plan: Make) -> None:
    class Broken(Sort):
        def __init__(self, args: Any, handle: Any) -> None:
            raise ValueError("no such zone")

    registry = Registry()
    registry.add(Broken, trusted=True)
    with pytest.raises(ConfigError) as error:
        make_profile(plan(queueSort=["Broken"]), registry, lambda plugin: StageHandle(cluster))
    assert str(error.value) == 'initializing plugin "Broken": no such zone'


def test_what_plugins_refuse_is_told_at_its_place(cluster: Cluster, plan: Make) -> None:
    class Named(Sort):
        def __init__(self, args: Any, handle: Any) -> None:
            raise ArgsError([FieldMistake(("zone",), "no such zone"), FieldMistake(("size", 1), "too big")])

    class Whole(B):
        def __init__(self, args: Any, handle: Any) -> None:
            raise KeyError("zone")

    registry = Registry()
    for plugin in (Named, Whole):
        registry.add(plugin, trusted=True)
    (document,) = read_documents("- args: {zone: x, size: [1, 2]}\n- args: {}\n", "f")
    origins = {name: Origin(document, (i, "args")) for i, name in enumerate(("Named", "Whole"))}
    wanted = msgspec.structs.replace(plan(queueSort=["Named"], filter=["Whole"]), origins=origins)

    def make(one: ProfilePlan) -> Profile:
        return make_profile(one, registry, lambda plugin: StageHandle(cluster))

    with pytest.raises(ConfigError) as error:
        make_profiles([wanted, msgspec.structs.replace(wanted, scheduler_name="other", origins={})], make)
    assert [str(mistake) for mistake in error.value.mistakes] == [
        'f:1:16: initializing plugin "Named": no such zone',
        'f:1:29: initializing plugin "Named": too big',
        "f:2:9: initializing plugin \"Whole\": KeyError: 'zone'",
        'initializing plugin "Named": no such zone',
        'initializing plugin "Named": too big',
        "initializing plugin \"Whole\": KeyError: 'zone'",
    ]


def test_a_handle_is_made_for_each_plugin(cluster: Cluster, plan: Make) -> None:
    registry, asked = Registry(), []
    for plugin in (Sort, B):
        registry.add(plugin, trusted=True)
    made = plan(queueSort=["Sort"], filter=["B"])
    make_profile(made, registry, lambda plugin: asked.append(plugin) or StageHandle(cluster))
    assert asked == [Sort, B]
