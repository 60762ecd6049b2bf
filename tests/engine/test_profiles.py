"""Several schedulers in one engine, and pods that are none of ours."""

from __future__ import annotations

from engine.stage import Stage, made, pod
from mooring.framework.api.status import unschedulable

TWO = """
profiles:
- schedulerName: default-scheduler
- schedulerName: picky
  plugins: {filter: {enabled: [{name: OnlyM}]}}
- schedulerName: packed
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""


def only_m() -> type:
    return made(
        "OnlyM", filter=lambda self, cycle, pod, node: None if node.name == "m" else unschedulable("not m")
    )


def test_each_pod_by_its_own_profile() -> None:
    stage = Stage(only_m(), text=TWO).nodes("n", "m")
    stage.running(pod("r", "1"), "m")
    assert stage.place(pod("a", "100m")) == "n"
    assert stage.place(pod("b", "100m", scheduler_name="picky")) == "m"
    assert [stage.place(pod(f"c{i}", "100m", scheduler_name="packed")) for i in range(3)] == ["m"] * 3
    refusal = stage.wait(pod("d", "3500m", scheduler_name="picky"))
    assert refusal.message == "0/2 nodes are available: 1 Insufficient cpu, 1 not m."


def test_profiles_see_one_cluster() -> None:
    stage = Stage(only_m(), text=TWO).nodes("n", "m")
    stage.add(
        *(pod(f"p{i}", "3", scheduler_name=name) for i, name in enumerate(("picky", "default-scheduler")))
    )
    assert stage.all() == {"p0": "m", "p1": "n"}
    stage.wait(pod("full", "3", scheduler_name="packed"))


def test_plugins_are_made_once_per_profile() -> None:
    stage = Stage(only_m(), text=TWO)
    fits = {stage.plugin("NodeResourcesFit", name) for name in ("default-scheduler", "picky", "packed")}
    assert len(fits) == 3
    assert stage.plugin("OnlyM", "picky").handle.profile == "picky"


def test_a_decision_names_its_profile() -> None:
    stage = Stage(only_m(), text=TWO).nodes("n", "m")
    decision = stage.try_pod(pod("p", scheduler_name="picky"))
    assert decision.profile == "picky"


def test_pods_of_other_schedulers_are_left_alone() -> None:
    stage = Stage().nodes("n")
    stage.add(stranger := pod("p", "3", scheduler_name="volcano"))
    assert stage.cycle() is None
    assert stage.where(stranger) == ""
    stage.change(stranger.on_node("n"))
    assert stage.holds(stranger) == "n"
    stage.wait(pod("q", "3"))
    stage.now = 5.0
    stage.delete(stranger.on_node("n"))
    assert stage.all() == {"q": "n"}


def test_rejections_are_lifted_by_plugins_of_the_same_profile() -> None:
    stage = Stage(only_m(), text=TWO).nodes("n")
    stage.wait(p := pod("p", scheduler_name="picky"))
    stage.now = 5.0
    stage.nodes("m")
    assert stage.where(p) == "active"
