"""What the check finds: where, what, and what to do about it."""

from __future__ import annotations

import msgspec


class ConformanceError(AssertionError):
    """The policy breaks a promise; the message says which, in which case, and what to do."""


class Finding(msgspec.Struct, frozen=True):
    """One promise that is broken. `kind` names the promise: a smaller case has to break the same one."""

    kind: str
    point: str
    what: str
    advice: str
    about: str = ""  # the pod and the node it shows with

    @property
    def text(self) -> str:
        about = f" ({self.about})" if self.about else ""
        return f"{self.point}: {self.what}{about}. {self.advice}"


class Broken(Exception):
    """A case has found something."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text)
        self.finding = finding


SCOPE = "Declare what is read (scope, sign, reads), or do not read it"
RAISES = "Whatever a pod or a node says, a point answers; what is missing has to be expected"
ANSWER = "docs/plugin-guide.md tells what each point may answer"
FORMS = "Both forms must say the same of every node; the per-node form alone is enough"
PURE = "Asking must change nothing: what belongs to one attempt goes into cycle.write, counts into a Book"
CLOCK = (
    "A run would not repeat: read cycle.now or handle.now, draw from handle.random, read objects by a lister"
)
BETWEEN = "Keep what one point tells a later one in cycle.write, not on self: others are tried meanwhile"
SIGNED = "Put what is read into what sign returns, or leave sign out"
SIGN = "sign must be a function of the pod alone, and hashable"
SPEC_ONLY = "Take @reads_spec_only off, or read nothing but pod.spec in sign"
KEPT = (
    "The scope promises that nothing but the node, the pods on it (ROW) and the pod count: move state into a "
    "Book, call handle.touch, give the plugin a version, or use Scope.CLUSTER"
)
ORDER = "A normaliser keeps the order of its values, or reverses it, for whichever nodes are feasible"
UNDONE = "What reserve sets aside, unreserve gives back; a Book does so by itself"
GONE = "Forget a pod in unreserve and pod_gone, or keep a Book, which follows every pod by itself"
MUTATES = "Pods and nodes are for reading: a change would be seen by everybody, and told to nobody"
WOKEN = "Let events ask for what can help, and the hint answer Hint.QUEUE for it; without events all is heard"
GATED = "Call handle.activate when the gate opens, or register for the event that opens it"
BOOKS = "A book follows from the pods and nodes alone: each hook has an opposite that takes it back"
SORTED = "Exactly one of two different pods comes first, and always the same one"
SHOW_ONE = (
    "Show the check what it takes, if the policy is right: check_conformance(policy, args={name: Args(...)}, "
    "examples=[pod(...), node(...)])"
)
REPEATS = "Keep nothing on the class or in the module: the same events must give the same decisions"
BINDS = "Bind with handle.api.bind, or answer skip() and leave it to the next binder"
SILENT = "judges and pre_filters answer False only for signatures of which the points say nothing"
VERSION = "version moves when answers change for a reason outside node and pod, and only then"
