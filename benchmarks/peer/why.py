"""Which plugin it is that the two disagree on."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

Parts = Mapping[str, Mapping[str, int]]  # by node, by plugin: the weighted score


class Scored(msgspec.Struct, frozen=True):
    """What the peer says about one pod when it tells every plugin's score."""

    scores: dict[str, dict[str, int]] = {}


def their_parts(program: Path, file: Path, pods: int) -> Parts:
    """The scores of the last of so many pods."""
    line = [str(program), "ties", "-scores", "-file", str(file), "-pods", str(pods)]
    said = subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout
    return msgspec.json.decode(said.splitlines()[-1], type=Scored).scores


def differences(theirs: Parts, ours: Parts) -> Iterator[str]:
    """A line for every plugin, and for nodes that only one of them thinks feasible."""
    for whose, nodes in (("kube-scheduler", theirs.keys() - ours), ("Mooring", ours.keys() - theirs)):
        if nodes:
            yield f"{len(nodes)} nodes are feasible for {whose} alone, {min(nodes)} for one"
    found: dict[str, list[str]] = defaultdict(list)
    for node in sorted(theirs.keys() & ours):
        for plugin in sorted(theirs[node].keys() | ours[node]):
            left, right = theirs[node].get(plugin, 0), ours[node].get(plugin, 0)
            if left != right:
                found[plugin].append(f"{node} has {left} there and {right} here")
    for plugin, nodes_of_it in found.items():
        yield f"{plugin} differs on {len(nodes_of_it)} nodes: {nodes_of_it[0]}"
