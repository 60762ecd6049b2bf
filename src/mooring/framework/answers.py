"""What plugins may answer at each point, checked as it comes back.

An answer outside these is the plugin's mistake: it becomes `PluginFailed`, which names the plugin and
costs the pod one cycle. The wording of the messages is kube-scheduler's.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Collection
from operator import index
from typing import Any, Protocol

import msgspec

from mooring.cluster.columns import Rows
from mooring.errors import ApiError, PluginFailed, ScopeError, wants_the_end
from mooring.framework.normalize import MAX_SCORE
from mooring.framework.status import Code, Status
from mooring.model.objects import Pod

log = logging.getLogger("mooring.plugins")
_logged: set[tuple[str, str, str]] = set()

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

    def of_each(self) -> list[Status]:
        return [self.distinct[number] for number in self.numbers.tolist()]


def failed(plugin: str, point: str, what: str) -> PluginFailed:
    return PluginFailed(
        plugin, point, PREFIX.get(point, f'running {point} of plugin "{{0}}": ').format(plugin) + what
    )


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
    if (plugin, point, place) not in _logged:
        _logged.add((plugin, point, place))
        log.error("plugin %s failed at %s", plugin, point, exc_info=error)
    if isinstance(error, ScopeError):
        return failed(plugin, point, f"plugin {plugin} {error}")
    text = str(error)
    return failed(plugin, point, f"{type(error).__name__}: {text}" if text else type(error).__name__)


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
    if not isinstance(answer, Status):
        raise failed(plugin, point, f"returned {answer!r}, which is neither a Status nor None")
    if (mistake := _mistake_in(answer)) is not None:
        raise failed(plugin, point, f"returned a Status {mistake}")
    if answer.code is SUCCESS:
        return None
    if answer.code is ERROR or (codes is not None and answer.code not in codes):
        what = answer.message or answer.code.name.capitalize()
        raise failed(plugin, point, what if answer.code is ERROR else f"returned {answer.code.name}: {what}")
    return answer.by(plugin)


def _mistake_in(status: Status) -> str | None:
    """What is wrong with a status that is one in name only."""
    if not isinstance(status.code, Code):
        return f"whose code is {status.code!r}, which is no Code"
    if not (isinstance(status.reasons, tuple) and all(isinstance(r, str) for r in status.reasons)):
        return f"whose reasons are {status.reasons!r}, which is not a tuple of strings"
    if status.code is WAIT and not isinstance(status.timeout_s, (int, float)):
        return f"whose timeout_s is {status.timeout_s!r}, which is no number of seconds"
    return None


def score(plugin: str, answer: Any, *, raw: bool) -> int:
    """A checked score: an integer, within 0..100 unless it is still to be normalised."""
    if type(answer) is not int:
        if isinstance(answer, bool):  # Python counts with them; a yes or no is no score all the same
            raise failed(plugin, "score", f"returned {answer!r}, which is not an integer")
        try:
            answer = index(answer)
        except TypeError:
            raise failed(plugin, "score", f"returned {answer!r}, which is not an integer") from None
    if not raw and not 0 <= answer <= MAX_SCORE:
        raise out_of_range(plugin, answer)
    if raw and not -(2**63) <= answer < 2**63:
        raise failed(plugin, "score", f"returned {answer!r}, which does not fit into 64 bits")
    return int(answer)


def out_of_range(plugin: str, value: int) -> PluginFailed:
    return PluginFailed(
        plugin,
        "score",
        f'plugin "{plugin}" returns an invalid score {value}, '
        f"it should in the range of [0, {MAX_SCORE}] after normalizing",
    )
