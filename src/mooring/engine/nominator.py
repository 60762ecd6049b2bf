"""Pods that are to run on a certain node once there is room: nominated, and not there yet."""

from __future__ import annotations

from mooring.model.objects import Pod


class Nominator:
    """Nominated pods by node. One node at most per pod."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, Pod]] = {}
        self._node_of: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._node_of)

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Replaces the pod's nomination; an empty name takes it back."""
        self.remove(pod.metadata.uid)
        if node_name:
            self._by_node.setdefault(node_name, {})[pod.metadata.uid] = pod
            self._node_of[pod.metadata.uid] = node_name

    def remove(self, uid: str) -> None:
        node_name = self._node_of.pop(uid, None)
        if node_name is None:
            return
        pods = self._by_node[node_name]
        del pods[uid]
        if not pods:
            del self._by_node[node_name]

    def node_of(self, uid: str) -> str:
        return self._node_of.get(uid, "")

    def on(self, node_name: str) -> list[Pod]:
        return list(self._by_node.get(node_name, {}).values())

    def ahead_of(self, pod: Pod) -> dict[str, list[Pod]]:
        """Nominated pods of the same or a higher priority than this pod, by node."""
        ahead = {node_name: self.ahead_on(pod, node_name) for node_name in self._by_node}
        return {node_name: pods for node_name, pods in ahead.items() if pods}

    def ahead_on(self, pod: Pod, node_name: str) -> list[Pod]:
        """Those of them that are nominated to one node."""
        uid, priority = pod.metadata.uid, pod.priority
        pods = self._by_node.get(node_name, {}).values()
        return [p for p in pods if p.metadata.uid != uid and p.priority >= priority]
