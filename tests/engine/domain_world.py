"""Nodes and pods for random worlds in which pods look at each other."""

from __future__ import annotations

from typing import Any

from mooring.model.objects import Node
from mooring.testing import node
from mooring.testing.builders import PodBuilder

HOST, ZONE, RACK = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"
KEYS = (HOST, ZONE, RACK)
NAMES = [f"n{i}" for i in range(6)]
SPACES = ["default", "default", "default", "other", "third"]
WEB, DB = {"app": "web"}, {"app": "db"}
EVERYWHERE: dict[str, Any] = {"namespaceSelector": {}}
TEAM = {"namespaceSelector": {"matchLabels": {"team": "x"}}}
NOT_TEAM = {
    "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]}
}
SOME = {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}}


def web(made: PodBuilder) -> PodBuilder:
    return made.label("app", "web")


def db(made: PodBuilder) -> PodBuilder:
    return made.label("app", "db")


def v(made: PodBuilder, version: str) -> PodBuilder:
    return web(made).label("v", version)


# Makers of pods, by theme: the pods of a world look at each other.
SPREAD: list[Any] = [
    web,
    lambda p: web(p).spread(ZONE, WEB),
    lambda p: web(p).spread(HOST, WEB),
    lambda p: web(p).spread(ZONE, WEB, 2).spread(HOST, WEB, 1, soft=True),
    lambda p: web(p).spread(ZONE, WEB, soft=True).spread(HOST, DB, 2, soft=True),
    lambda p: web(p).spread(RACK, WEB).spread(ZONE, WEB),
    lambda p: web(p).spread(RACK, WEB, soft=True),
    lambda p: db(p).spread(ZONE, WEB, 1, minDomains=3),
    lambda p: db(p).spread(HOST, {}, 1).spread(ZONE, None, soft=True),
    lambda p: web(p).spread(HOST, WEB, 1, nodeTaintsPolicy="Honor"),
    lambda p: web(p).tolerates("red").spread(ZONE, WEB, soft=True, nodeTaintsPolicy="Honor"),
    lambda p: web(p).selects("pool", "x").spread(ZONE, WEB),
    lambda p: web(p).selects("pool", "x").spread(ZONE, WEB, nodeAffinityPolicy="Ignore"),
    lambda p: v(p, "1").spread(HOST, WEB, matchLabelKeys=["v"]),
    lambda p: v(p, "2").spread(HOST, WEB, matchLabelKeys=["v"]),
]
DEFAULTS: list[Any] = [web, db, lambda p: web(p).owned_by("ReplicaSet", "rs"), lambda p: v(p, "1")]
AFFINITY: list[Any] = [
    web,
    lambda p: web(p).apart(HOST, WEB),
    lambda p: db(p).apart(HOST, WEB),
    lambda p: db(p).apart(HOST, DB),
    lambda p: web(p).apart(ZONE, DB),
    lambda p: db(p).apart(RACK, WEB).prefers_near(ZONE, WEB, 30),
    lambda p: db(p).near(ZONE, WEB),
    lambda p: web(p).near(ZONE, WEB),
    lambda p: web(p).near(RACK, WEB).near(ZONE, **SOME),
    lambda p: web(p).prefers_near(HOST, WEB, 7).prefers_apart(ZONE, DB, 50),
    lambda p: v(p, "1").apart(HOST, WEB, mismatchLabelKeys=["v"]),
    lambda p: web(p).spread(ZONE, WEB).apart(HOST, WEB).prefers_near(ZONE, DB, 9),
]
ACROSS: list[Any] = [
    web,
    db,
    lambda p: web(p).apart(ZONE, WEB, **EVERYWHERE),
    lambda p: db(p).near(HOST, WEB, namespaces=["other"]),
    lambda p: db(p).prefers_apart(HOST, WEB, 100, **TEAM),
    lambda p: web(p).apart(ZONE, DB, **TEAM),
    lambda p: db(p).apart(HOST, WEB, **NOT_TEAM),
    lambda p: web(p).near(ZONE, WEB, **TEAM),
]
THEMES = [SPREAD, SPREAD, DEFAULTS, AFFINITY, AFFINITY, ACROSS, [*SPREAD, *DEFAULTS, *AFFINITY, *ACROSS]]

# Labels of nodes: missing, or one of a few values; "own" is the node's name. Tidy worlds have only "own".
HOSTS = ["own", "own", "own", "own", "", "same", "n0", "n1"]
ZONES = ["a", "a", "b", "b", "c", ""]
RACKS = ["own", "own", "r1", "r2", ""]


def make_node(tidy: bool, name: int, host: int, zone: int, rack: int, more: int, _: int) -> Node:
    made = node(NAMES[name]).without_label(HOST).has(pods=(5, 40)[more % 4 > 0])
    hosts, racks = ("own", "own") if tidy else (HOSTS[host], RACKS[rack])
    for key, value in ((HOST, hosts), (ZONE, ZONES[zone]), (RACK, racks)):
        if value:
            made.label(key, NAMES[name] if value == "own" else value)
    if more in (1, 2, 3):
        made.label("pool", "x")
    if more in (3, 4):
        made.taint("red")
    return made.build() if more != 5 else made.cordoned().build()
