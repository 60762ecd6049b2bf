"""The binding cycle: pre-bind in order, one patch, the first binder that does not skip, post-bind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.status import Status, error, skip, unschedulable
from mooring.framework.running.binding import BindingFailed, run_binding
from mooring.framework.running.profile import Profile
from mooring.model.objects import Pod

Make = Callable[..., Any]


class Api:
    """Notes what is asked of it; `fails` is what its patch raises."""

    def __init__(self, log: list[str], fails: Exception | None = None) -> None:
        self.log, self.fails = log, fails

    async def bind(self, pod: Pod, node_name: str) -> None:
        raise AssertionError("only a plugin binds")

    async def patch(self, kind: str, key: str, patch: dict[str, Any]) -> None:
        self.log.append(f"patch {kind} {key} {patch}")
        if self.fails:
            raise self.fails

    async def get(self, kind: str, key: str) -> Any:
        raise AssertionError("nobody asks")


class Step(Plugin):
    """Notes each call; `answer` is what it says, or raises."""

    log: list[str]
    answer: Any = None

    def _say(self, point: str, pod: Pod, node_name: str) -> Any:
        self.log.append(f"{self.name} {point} {pod.name} {node_name}")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def less(self, first: Any, second: Any) -> bool:
        return False


class PreBind(Step):
    def pre_bind(self, cycle: Cycle, pod: Pod, node_name: str) -> Any:
        return self._say("pre_bind", pod, node_name)


class Bind(Step):
    async def bind(self, cycle: Cycle, pod: Pod, node_name: str) -> Any:
        return self._say("bind", pod, node_name)


class PostBind(Step):
    async def post_bind(self, cycle: Cycle, pod: Pod, node_name: str) -> Any:
        return self._say("post_bind", pod, node_name)


class Binding:
    """A profile of steps, and what happened when it was run."""

    def __init__(self, make: Make, plan: Make, pod: Pod) -> None:
        self.log: list[str] = []
        self._make, self._plan, self._pod = make, plan, pod
        self._plugins: dict[str, Plugin] = {}

    def add(self, kind: type[Step], name: str, answer: Any = None) -> None:
        made = type(name, (kind,), {"log": self.log, "answer": answer})
        self._plugins[name] = self._make(made)

    async def run(self, patch: dict[str, Any] | None = None, fails: Exception | None = None) -> None:
        points: dict[str, list[str]] = {"preBind": [], "bind": [], "postBind": []}
        for name, plugin in self._plugins.items():
            kind = next(kind for kind in (PreBind, Bind, PostBind) if isinstance(plugin, kind))
            points[{PreBind: "preBind", Bind: "bind", PostBind: "postBind"}[kind]].append(name)
        plan = self._plan(queueSort=list(self._plugins)[:1], **points)
        profile = Profile(plan, self._plugins)
        cycle = Cycle("mine", 0.0)
        await run_binding(profile, cycle, self._pod, "node-1", patch or {}, Api(self.log, fails))


@pytest.fixture
def binding(make: Make, plan: Make, pod: Make) -> Binding:
    return Binding(make, plan, pod("web"))


async def test_everything_in_its_order(binding: Binding) -> None:
    binding.add(PostBind, "Z")
    binding.add(Bind, "B")
    binding.add(PreBind, "Second")
    binding.add(PreBind, "First")
    await binding.run({"metadata": {"labels": {"a": "b"}}})
    assert binding.log == [
        "Second pre_bind web node-1",
        "First pre_bind web node-1",
        "patch Pod default/web {'metadata': {'labels': {'a': 'b'}}}",
        "B bind web node-1",
        "Z post_bind web node-1",
    ]


async def test_nothing_to_patch_is_not_patched(binding: Binding) -> None:
    binding.add(Bind, "B")
    await binding.run()
    assert binding.log == ["B bind web node-1"]


async def test_skipping_at_pre_bind_is_fine(binding: Binding) -> None:
    binding.add(PreBind, "Pre", skip())
    binding.add(Bind, "B", Status())
    await binding.run()
    assert binding.log == ["Pre pre_bind web node-1", "B bind web node-1"]


async def test_the_first_binder_that_does_not_skip_binds(binding: Binding) -> None:
    binding.add(Bind, "A", skip())
    binding.add(Bind, "B")
    binding.add(Bind, "C")
    await binding.run()
    assert binding.log == ["A bind web node-1", "B bind web node-1"]


async def test_somebody_must_bind(binding: Binding) -> None:
    binding.add(Bind, "A", skip())
    binding.add(Bind, "B", skip())
    binding.add(PostBind, "Z")
    with pytest.raises(BindingFailed, match="^every bind plugin skipped the pod$"):
        await binding.run()
    assert binding.log == ["A bind web node-1", "B bind web node-1"]


FAILURES: dict[str, tuple[type[Step], Any, str]] = {
    "pre_bind rejects": (PreBind, unschedulable("no volume"), 'running PreBind plugin "X": no volume'),
    "pre_bind rejects without a word": (
        PreBind,
        unschedulable(),
        'running PreBind plugin "X": returned UNSCHEDULABLE',
    ),
    "pre_bind errs": (PreBind, error("timeout"), 'running PreBind plugin "X": timeout'),
    "pre_bind raises": (PreBind, OSError("gone"), 'running PreBind plugin "X": OSError: gone'),
    "pre_bind answers nonsense": (
        PreBind,
        "fine",
        "running PreBind plugin \"X\": returned 'fine', which is neither a Status nor None",
    ),
    "bind rejects": (Bind, unschedulable("taken"), 'running Bind plugin "X": taken'),
    "bind errs": (Bind, error("409"), 'running Bind plugin "X": 409'),
    "bind raises": (Bind, OSError("gone"), 'running Bind plugin "X": OSError: gone'),
}


@pytest.mark.parametrize(("kind", "answer", "message"), FAILURES.values(), ids=FAILURES)
async def test_a_failure_names_its_plugin_and_stops(
    binding: Binding, kind: type[Step], answer: Any, message: str
) -> None:
    binding.add(kind, "X", answer)
    binding.add(kind, "Next")
    binding.add(Bind, "B")
    binding.add(PostBind, "Z")
    with pytest.raises(BindingFailed) as failure:
        await binding.run({"a": 1})
    assert str(failure.value) == message
    before = [] if kind is PreBind else ["patch Pod default/web {'a': 1}"]
    assert binding.log == [*before, f"X {'pre_bind' if kind is PreBind else 'bind'} web node-1"]


async def test_a_patch_that_fails_keeps_the_pod_unbound(binding: Binding) -> None:
    binding.add(Bind, "B")
    with pytest.raises(BindingFailed, match="^patching the pod before binding: 409 conflict$"):
        await binding.run({"a": 1}, fails=OSError("409 conflict"))
    assert binding.log == ["patch Pod default/web {'a': 1}"]


@pytest.mark.parametrize(
    "answer", [OSError("gone"), error("no"), unschedulable("late"), "nonsense"], ids=repr
)
async def test_once_bound_nothing_fails(binding: Binding, answer: Any) -> None:
    binding.add(Bind, "B")
    binding.add(PostBind, "Y", answer)
    binding.add(PostBind, "Z")
    await binding.run()
    assert binding.log == ["B bind web node-1", "Y post_bind web node-1", "Z post_bind web node-1"]
