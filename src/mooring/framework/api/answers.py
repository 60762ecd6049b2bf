"""What plugins may answer at each point, checked as it comes back.

An answer outside these is the plugin's mistake: it becomes `PluginFailed`, which names the plugin and
costs the pod one cycle. The wording of the messages is kube-scheduler's.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Collection, Container, Hashable
from math import isnan
from operator import index
from reprlib import Repr
from typing import Any, Protocol

import msgspec
import numpy as np

from mooring.cluster.columns import Rows
from mooring.errors import ApiError, PluginFailed, PointTimedOut, ScopeError, wants_the_end
from mooring.framework.api.normalize import MAX_SCORE
from mooring.framework.api.status import Code, Status
from mooring.model.objects import ObjectMeta, Pod
from mooring.model.texts import LONGEST_SAID, clean, clipped, fitting, with_more

log = logging.getLogger("mooring.plugins")
_logged: set[tuple[str, str, str]] = set()
MOST_LOGGED = 10_000  # places; code that is made while it runs has no end of them

PREFIX = {
    "pre_filter": 'running PreFilter plugin "{0}": ',
    "filter": 'running "{0}" filter plugin: ',
    "post_filter": 'running PostFilter plugin "{0}": ',
    "pre_score": 'running PreScore plugin "{0}": ',
    "score": 'running Score plugins: plugin "{0}" failed with: ',
    "normalize": 'running Score plugins: plugin "{0}" failed with: ',
    "reserve": 'running Reserve plugin "{0}": ',
    "permit": 'running Permit plugin "{0}": ',
    "pre_bind_pre_flight": 'running PreBindPreFlight plugin "{0}": ',
    "pre_bind": 'running PreBind plugin "{0}": ',
    "bind": 'running Bind plugin "{0}": ',
}

MOST_REASONS = 64  # of a status
LONGEST_REASON = 1024
ROOM_FOR_REASONS = LONGEST_SAID  # characters of all of them: every node may have a status of its own
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
KNOWN = frozenset({"builtins", "numpy", "fractions", "decimal", "datetime"})  # whose values say what they are


class _Short(Repr):
    """Shows values of Python's own types, and of Mooring's by their fields. Of any other it says only what it
    is: its own words may never come to an end."""

    def repr1(self, x: Any, level: int) -> str:
        kind = type(x)
        if issubclass(kind, msgspec.Struct) and kind.__module__.startswith("mooring."):
            if level <= 0:
                return f"{kind.__name__}(...)"
            fields = kind.__struct_fields__
            inner = ", ".join(f"{name}={self.repr1(getattr(x, name), level - 1)}" for name in fields)
            return clipped(f"{kind.__name__}({inner})", self.maxother)
        if kind is np.ndarray and x.dtype.hasobject:
            return f"<{kind.__name__}>"
        if issubclass(kind, (type, Code)) or kind.__module__ in KNOWN:
            return super().repr1(x, level)
        return f"<{kind.__name__}>"


_short = _Short()
_short.maxstring = _short.maxother = _short.maxlong = 200

# Answers that were checked lately, by their ids, and what came of them: plugins give the very same again.
_checked: dict[int, tuple[Status, str, Collection[Code] | None, Status]] = {}
MOST_CHECKED = 64
SUCCESS, ERROR, WAIT = Code.SUCCESS, Code.ERROR, Code.WAIT  # quicker to find so: every answer is checked

FILTER_CODES = frozenset(
    {Code.SUCCESS, Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING, Code.ERROR}
)


class Statuses(Protocol):
    """The status of every node, as `post_filter` is told."""

    def __getitem__(self, name: str) -> Status: ...

    def __len__(self) -> int: ...

    def resolvable(self) -> list[str]:
        """Nodes on which evicting pods may help, in the order they joined."""

    def resolvable_rows(self) -> Rows:
        """Their rows."""


class PostFilterResult(msgspec.Struct, frozen=True):
    """A node to nominate for the pod ("" clears the nomination), and the pods to evict for it.

    With a `status` that rejects it is no way out: only what it says of the nomination counts.
    """

    nominated: str | None = None
    victims: tuple[Pod, ...] = ()
    status: Status | None = None


class Mask(msgspec.Struct, frozen=True):
    """The answer of a vector filter that has no per-node form: who passes, and why others do not."""

    ok: Any  # an array of booleans over the rows asked about
    status: Status


class Rejections(msgspec.Struct, frozen=True):
    """Why many nodes are rejected: each distinct status once, and for each node the index of its own."""

    distinct: tuple[Status, ...]
    numbers: Any  # an array of integers


def shown(value: Any) -> str:
    """An answer in a message: short, the same in every run, and whatever it does when it is looked at."""
    try:
        return clean(_ADDRESS.sub("", _short.repr(value)))
    except (Exception, SystemExit, PointTimedOut):
        return f"<{type(value).__name__}>"


def failed(plugin: str, point: str, what: str) -> PluginFailed:
    prefix = PREFIX.get(point, f'running {point} of plugin "{{0}}": ').format(plugin)
    return PluginFailed(plugin, point, clipped(prefix + what))


def raised(plugin: str, point: str, error: BaseException) -> PluginFailed:
    """Turns what a plugin raised into its failure, `sys.exit` included; the traceback is logged once per
    place. Only what ends it from outside goes on as it is."""
    if wants_the_end(error):
        error.add_note(failed(plugin, point, type(error).__name__).what)
        raise error
    if isinstance(error, PluginFailed):
        return error
    if isinstance(error, ApiError):
        return failed(plugin, point, str(error))  # the server's words; no fault of the plugin's code
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    place = f"{last.filename}:{last.lineno}" if last else ""
    if (plugin, point, place) not in _logged and len(_logged) < MOST_LOGGED:
        _logged.add((plugin, point, place))
        log.error("plugin %s failed at %s", plugin, point, exc_info=error)
    if isinstance(error, ScopeError):
        return failed(plugin, point, f"plugin {plugin} {error}")
    return failed(plugin, point, words_of(error))


def words_of(error: BaseException) -> str:
    """What an exception says, if it can be brought to say anything."""
    try:
        text = str(error)
    except (Exception, SystemExit):
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def passed_over(plugin: str, point: str, error: BaseException) -> None:
    """A failure that costs no pod anything: it is logged, once per point, and the answer does not count."""
    failure = raised(plugin, point, error)
    if failure is error and (plugin, point, "") not in _logged:
        _logged.add((plugin, point, ""))
        log.error("plugin %s failed at %s: %s", plugin, point, failure)


def call(plugin: str, point: str, method: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a plugin's method; what it raises becomes its failure."""
    try:
        return method(*arguments)
    except BaseException as error:
        raise raised(plugin, point, error) from error


def status(plugin: str, point: str, answer: Any, codes: Collection[Code] | None = None) -> Status | None:
    """A checked status: None for success, PluginFailed for an error or for what is no status at all."""
    if answer is None:
        return None
    if (known := _checked.get(id(answer))) is not None:
        one, whose, allowed, ready = known
        if answer is one and plugin is whose and codes is allowed:
            return ready
    found = _new_status(plugin, point, answer, codes)
    if found is not None and type(answer) is Status:  # nothing of it ever changes
        if len(_checked) >= MOST_CHECKED:
            _checked.clear()
        _checked[id(answer)] = answer, plugin, codes, found
    return found


def _new_status(plugin: str, point: str, answer: Any, codes: Collection[Code] | None) -> Status | None:
    kind = type(answer)
    if kind is not Status and not issubclass(kind, Status):  # `isinstance` would ask the answer itself
        raise failed(plugin, point, f"returned {shown(answer)}, which is neither a Status nor None")
    if kind is not Status:  # whatever its fields do when they are read is still its plugin's doing
        answer = call(plugin, point, _plain, answer)
    code = answer.code
    if type(code) is not Code:
        raise failed(plugin, point, f"returned a Status whose code is {shown(code)}, which is no Code")
    given: Status = answer if _sound(answer.reasons) else _mended(plugin, point, answer)
    if code is SUCCESS:
        return None
    if code is WAIT and not is_number(given.timeout_s):
        what = f"whose timeout_s is {shown(given.timeout_s)}, which is no number of seconds"
        raise failed(plugin, point, f"returned a Status {what}")
    if code is ERROR or (codes is not None and code not in codes):
        what = given.message or code.name.capitalize()
        raise failed(plugin, point, what if code is ERROR else f"returned {code.name}: {what}")
    return given.by(plugin) if type(given.plugin) is str else msgspec.structs.replace(given, plugin=plugin)


def _plain(answer: Status) -> Status:
    return Status(answer.code, answer.reasons, answer.plugin, answer.timeout_s)


def _sound(reasons: Any) -> bool:
    if type(reasons) is not tuple or len(reasons) > MOST_REASONS:
        return False
    room = ROOM_FOR_REASONS
    for reason in reasons:
        if type(reason) is not str or len(reason) > LONGEST_REASON or not reason.isascii():
            return False
        room -= len(reason)
    return room >= 0


def _mended(plugin: str, point: str, status: Status) -> Status:
    """Of reasons without end, the beginning; reasons that are none are a mistake."""
    reasons = status.reasons
    if not (type(reasons) is tuple and all(issubclass(type(reason), str) for reason in reasons)):
        what = f"whose reasons are {shown(reasons)}, which is not a tuple of strings"
        raise failed(plugin, point, f"returned a Status {what}")
    plain = [clipped(str.__str__(reason), LONGEST_REASON) for reason in reasons[:MOST_REASONS]]
    kept = with_more(fitting(plain, ROOM_FOR_REASONS), len(reasons))
    return msgspec.structs.replace(status, reasons=tuple(kept))


def is_number(value: Any) -> bool:
    """An integer or a fraction, NumPy's and infinite ones too. A yes or no is none."""
    kind = type(value)
    if kind is float:
        return bool(value == value)
    return kind is int or (issubclass(kind, (float, np.integer, np.floating)) and not isnan(value))


def score(plugin: str, answer: Any, *, raw: bool) -> int:
    """A checked score: an integer, within 0..100 unless it is still to be normalised."""
    if type(answer) is not int:
        try:
            if issubclass(type(answer), (bool, np.bool_)):  # Python counts with them; no score all the same
                raise TypeError
            answer = int(index(answer))
        except BaseException as error:
            if wants_the_end(error):
                raise
            raise failed(plugin, "score", f"returned {shown(answer)}, which is not an integer") from None
    if not raw and not 0 <= answer <= MAX_SCORE:
        raise out_of_range(plugin, answer)
    if raw and not -(2**63) <= answer < 2**63:
        raise failed(plugin, "score", f"returned {shown(answer)}, which does not fit into 64 bits")
    found: int = answer
    return found


def out_of_range(plugin: str, value: int) -> PluginFailed:
    return PluginFailed(
        plugin,
        "score",
        f'plugin "{plugin}" returns an invalid score {shown(value)}, '
        f"it should in the range of [0, {MAX_SCORE}] after normalizing",
    )


def uid(plugin: str, point: str, answer: Any) -> str:
    """The uid of an answer that is a pod."""
    if not are_pods((answer,)):
        raise failed(plugin, point, f"returned {shown(answer)}, which is no pod")
    found: str = answer.metadata.uid
    return found


def same_pod(plugin: str, point: str, pod: Pod, answer: Pod) -> Pod:
    """The pod as a plugin has changed it: not some other pod, and one that could have come off the wire."""
    if answer is pod:
        return pod
    if uid(plugin, point, answer) != pod.metadata.uid or answer.key != pod.key:
        raise failed(plugin, point, f"returned {shown(answer.key)} for {pod.key}, which is another pod")
    return call(plugin, point, _sound_pod, answer)  # type: ignore[no-any-return]


def _sound_pod(pod: Pod) -> Pod:
    """Fails on what no pod off the wire is, and on amounts that are none."""
    assert msgspec.json.decode(msgspec.json.encode(pod), type=Pod).spec.request is not None
    return pod


def are_pods(answer: Any) -> bool:
    """Whether it is a tuple of pods that can be told apart."""
    return type(answer) is tuple and all(
        type(pod) is Pod and type(pod.metadata) is ObjectMeta and type(pod.metadata.uid) is str
        for pod in answer
    )


def way_out(plugin: str, answer: PostFilterResult, nodes: Container[str]) -> PostFilterResult:
    """A checked way out: a node that is there, pods, and a status that is one."""
    named = answer.nominated is None or type(answer.nominated) is str
    if not named or not are_pods(answer.victims):
        raise failed(plugin, "post_filter", f"returned {shown(answer)}, which names no node and pods")
    if answer.nominated and answer.nominated not in nodes:
        what = f"nominates the pod to {shown(answer.nominated)}, which is no node"
        raise failed(plugin, "post_filter", what)
    if answer.status is not None and status(plugin, "post_filter", answer.status) is None:
        return msgspec.structs.replace(answer, status=None)
    return answer


def version(plugin: str, owner: Any) -> Hashable:
    """What a plugin says its answers depend on besides node and pod: something that can be told apart."""
    found: Hashable = call(plugin, "version", getattr, owner, "version")
    call(plugin, "version", hash, found)  # what can be changed in place would look the same ever after
    return found


def moved(before: object, after: object) -> bool:
    """Whether versions differ. Those that cannot be compared do."""
    try:
        return bool(before != after)
    except Exception:
        return True


def yes(plugin: str, point: str, answer: Any) -> bool:
    """A checked yes or no."""
    if answer is True or answer is False:
        return bool(answer)
    if not issubclass(type(answer), (bool, np.bool_)):
        raise failed(plugin, point, f"returned {shown(answer)}, which is neither True nor False")
    return bool(answer)
