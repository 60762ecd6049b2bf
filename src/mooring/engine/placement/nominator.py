"""Pods that are to run on a certain node once there is room: nominated, and not there yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mooring.model.objects import Pod

LEVELS_KNOWN = 64  # priorities
CHANGES_KNOWN = 2_500  # and up to twice as many; the pods they are about are held as long

Ahead = Mapping[str, tuple[Pod, ...]]  # by node; the same tuple as long as it is the same pods


class Nominator:
    """Nominated pods by node. One node at most per pod."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, Pod]] = {}
        self.node_by_uid: dict[str, str] = {}
        self._levels: dict[int, dict[str, tuple[Pod, ...]]] = {}  # by priority: those of no lower one
        self._changed: list[str] = []  # nodes, in the order their nominations changed
        self._reverses: list[tuple[Pod, str]] = []  # for each of these, whose it was and its node before
        self.position = 0  # how many changes there have been, those that are forgotten included

    def __bool__(self) -> bool:
        return bool(self.node_by_uid)

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Replaces the pod's nomination; an empty name takes it back."""
        self.remove(pod.metadata.uid)
        if node_name:
            self._by_node.setdefault(node_name, {})[pod.metadata.uid] = pod
            self.node_by_uid[pod.metadata.uid] = node_name
            self._follow(node_name, (pod, ""))

    def remove(self, uid: str) -> None:
        node_name = self.node_by_uid.pop(uid, None)
        if node_name is None:
            return
        pods = self._by_node[node_name]
        pod = pods.pop(uid)
        if not pods:
            del self._by_node[node_name]
        self._follow(node_name, (pod, node_name))

    def lift(self, pods: Iterable[Pod]) -> dict[str, str]:
        """Takes the nominations of some pods back for a while. Returns their nodes, by uid."""
        found = {pod.metadata.uid: self.node_of(pod.metadata.uid) for pod in pods}
        lifted = {uid: node_name for uid, node_name in found.items() if node_name}
        for uid in lifted:
            self.remove(uid)
        return lifted

    def restore(self, pods: Iterable[Pod], lifted: Mapping[str, str]) -> None:
        """Those of the pods are nominated again whose nominations were lifted."""
        for pod in pods:
            if node_name := lifted.get(pod.metadata.uid):
                self.nominate(pod, node_name)

    def since(self, position: int) -> list[str] | None:
        """The nodes whose nominations changed after so many changes; None if that is forgotten."""
        start = position - self._forgotten()
        return None if start < 0 else self._changed[start:]

    def as_of(self, position: int) -> list[tuple[Pod, str]] | None:
        """The nominations as they were after so many changes; None if that is forgotten."""
        if (start := position - self._forgotten()) < 0:
            return None
        nominated = self.node_by_uid.items()
        found = {uid: (self._by_node[node_name][uid], node_name) for uid, node_name in nominated}
        for pod, before in reversed(self._reverses[start:]):
            if before:
                found[pod.metadata.uid] = pod, before
            else:
                found.pop(pod.metadata.uid, None)
        return list(found.values())

    def node_of(self, uid: str) -> str:
        return self.node_by_uid.get(uid, "")

    def on(self, node_name: str) -> list[Pod]:
        return list(self._by_node.get(node_name, {}).values())

    def ahead_of(self, pod: Pod) -> Ahead:
        """Nominated pods of the same or a higher priority than this pod, by node."""
        level = self.level(pod.priority)
        own = self.node_by_uid.get(pod.metadata.uid)
        if own is None or own not in level:
            return level
        others = {**level, own: self.ahead_on(pod, own)}
        if not others[own]:
            del others[own]
        return others

    def ahead_on(self, pod: Pod, node_name: str) -> tuple[Pod, ...]:
        """Those of them that are nominated to one node."""
        ahead = self.level(pod.priority).get(node_name, ())
        if self.node_by_uid.get(pod.metadata.uid) != node_name:
            return ahead
        return tuple(each for each in ahead if each.metadata.uid != pod.metadata.uid)

    def level(self, priority: int) -> Ahead:
        """Nominated pods of this priority or a higher one, by node. Worked out once, then kept in step."""
        level = self._levels.get(priority)
        if level is None:
            if len(self._levels) >= LEVELS_KNOWN:
                self._levels.clear()
            level = self._levels[priority] = {}
            for node_name in self._by_node:
                self._put(level, priority, node_name)
        return level

    def _follow(self, node_name: str, reverse: tuple[Pod, str]) -> None:
        self.position += 1
        self._changed.append(node_name)
        self._reverses.append(reverse)
        if len(self._changed) > 2 * CHANGES_KNOWN:
            del self._changed[:CHANGES_KNOWN], self._reverses[:CHANGES_KNOWN]
        for priority, level in self._levels.items():
            self._put(level, priority, node_name)

    def _forgotten(self) -> int:
        """How many changes there were before those that are known."""
        return self.position - len(self._changed)

    def _put(self, level: dict[str, tuple[Pod, ...]], priority: int, node_name: str) -> None:
        pods = tuple(pod for pod in self._by_node.get(node_name, {}).values() if pod.priority >= priority)
        if pods:
            level[node_name] = pods
        else:
            level.pop(node_name, None)
