"""The binding cycle: pre-bind, one merged write, bind, post-bind. Run by whoever performs decisions.

It may await, so it never decides: whatever goes wrong comes back to the engine as `BindFailed`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from types import CoroutineType
from typing import Any, NamedTuple

from mooring.errors import MooringError
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.handle import Api
from mooring.framework.api.status import Code, Status
from mooring.framework.running.inspection import built_in
from mooring.framework.running.profile import Hook, Profile
from mooring.framework.running.watching import TimedPoint
from mooring.model.objects import Pod

Binder = Callable[[Pod, str], Awaitable[bool]]  # an extender; False leaves the pod to the bind plugins


LONGEST_BINDING_S = 900.0  # where policies take part; as long as a pod may wait at permit
NOT_DONE = f"not done after {LONGEST_BINDING_S:g} s"
ENDED = "binding: the attempt has ended meanwhile"


class BindingState(NamedTuple):
    """Who binds a pod, and what plugins wrote down about it when it was placed."""

    profile: Profile
    cycle: Cycle
    takes_long: bool = False  # some plugin has something to do before the bind

    def at_work(self) -> list[str]:
        """The plugins that may have the pod wait before it is bound."""
        hooks = (hook for hook in self.profile.at("pre_bind") if hook.name not in self.cycle.skip_pre_bind)
        return [hook.name for hook in hooks if self.takes_long or not built_in(type(hook.plugin))]


class BindingFailed(MooringError):
    """The pod could not be bound; the message says which plugin says so."""


def seconds_of_sleep(seconds: Any) -> float:
    """How long a plugin wants to sleep: no longer than no binding lasts. ValueError when it is no number."""
    if not answers.is_number(seconds):
        raise ValueError(f"{answers.shown(seconds)} is no number of seconds")
    return float(max(0.0, min(seconds, 2 * LONGEST_BINDING_S)))


async def run_binding(
    profile: Profile,
    cycle: Cycle,
    pod: Pod,
    node_name: str,
    patch: dict[str, Any],
    api: Api,
    extender: Binder | None = None,
) -> None:
    """Binds a pod for good, or raises BindingFailed. An extender that binds goes before the plugins."""
    if pre_binders := profile.at("pre_bind"):
        with TimedPoint(profile.meter, profile.name, "PreBind"):
            await _pre_bind(pre_binders, cycle, pod, node_name)
    if patch:
        try:
            await api.patch("Pod", pod.key, patch)
        except Exception as error:
            raise BindingFailed(f"patching the pod before binding: {error}") from error
    if extender is None or not await _bound_by(extender, pod, node_name):
        with TimedPoint(profile.meter, profile.name, "Bind"):
            await _bind(profile.at("bind"), cycle, pod, node_name)
    if post_binders := profile.at("post_bind"):
        with TimedPoint(profile.meter, profile.name, "PostBind"):
            await _post_bind(post_binders, cycle, pod, node_name)


async def _pre_bind(hooks: Iterable[Hook], cycle: Cycle, pod: Pod, node_name: str) -> None:
    for hook in hooks:
        if hook.name in cycle.skip_pre_bind:
            continue
        status = await _ask(hook, "pre_bind", cycle, pod, node_name)
        if status is not None and status.code is not Code.SKIP:
            raise BindingFailed(_text(hook, "pre_bind", status))


async def _post_bind(hooks: Iterable[Hook], cycle: Cycle, pod: Pod, node_name: str) -> None:
    for hook in hooks:
        try:
            await _ask(hook, "post_bind", cycle, pod, node_name)
        except BindingFailed:
            continue  # the pod is bound: what goes wrong now is logged and changes nothing


async def _bound_by(extender: Binder, pod: Pod, node_name: str) -> bool:
    try:
        return await extender(pod, node_name)
    except MooringError as error:
        raise BindingFailed(str(error)) from error


async def _bind(binders: Iterable[Hook], cycle: Cycle, pod: Pod, node_name: str) -> None:
    """The first binder that does not skip binds the pod."""
    for hook in binders:
        status = await _ask(hook, "bind", cycle, pod, node_name)
        if status is None:
            return
        if status.code is not Code.SKIP:
            raise BindingFailed(_text(hook, "bind", status))
    raise BindingFailed("every bind plugin skipped the pod")


async def _ask(hook: Hook, point: str, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
    try:
        answer = hook.method(cycle, pod, node_name)
        if answer is not None and (isinstance(answer, CoroutineType) or inspect.isawaitable(answer)):
            answer = await answer
        return None if answer is None else answers.status(hook.name, point, answer)
    except BaseException as error:
        raise BindingFailed(str(answers.raised(hook.name, point, error))) from error


def _text(hook: Hook, point: str, status: Status) -> str:
    return str(answers.failed(hook.name, point, status.message or f"returned {status.code.name}"))
