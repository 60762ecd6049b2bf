"""ImageLocality."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.model.objects import Container, ContainerImage, Node, Pod
from mooring.plugins.image_locality import ImageLocality, with_tag
from plugins.stage import Stage, node, pod

MIB = 2**20


def holding(name: str, **sizes_mib: int) -> Node:
    images = [
        ContainerImage(names=(f"{image}:latest",), size_bytes=mib * MIB) for image, mib in sizes_mib.items()
    ]
    return node(name, images=images)


def running(*images: str, init: tuple[str, ...] = (), volumes: tuple[str, ...] = ()) -> Pod:
    return pod(
        containers=tuple(Container(image=image) for image in images),
        init_containers=tuple(Container(image=image) for image in init),
        volumes=tuple({"name": "v", "image": {"reference": image}} for image in volumes),
    )


N = holding
AB = N("n", a=600, b=900)


@pytest.mark.parametrize(
    ("incoming", "nodes", "expected"),
    [
        pytest.param(running("a", "b"), [N("n", a=40), N("m")], 0, id="I1"),
        pytest.param(running("a", "b"), [N("n", a=250), N("m")], 5, id="I2"),
        pytest.param(running("a", "b"), [N("n", a=40, b=300), N("m")], 7, id="I3"),
        pytest.param(running("a", "b"), [N("n", a=4000), N("m")], 100, id="I4"),
        pytest.param(running("a", "b"), [N("n", a=4000), N("m"), N("o")], 66, id="I5"),
        pytest.param(running("a", "b", "c"), [AB, N("m", a=600, b=900), N("o")], 32, id="I6"),
        pytest.param(
            running("a", "b", "c"), [N("n", a=600, b=900, c=300), N("m", a=600, b=900), N("o")], 36, id="I7"
        ),
        pytest.param(running("a", "b"), [N("n", a=30, b=40), N("m", a=30)], 1, id="I8-both"),
        pytest.param(running("a", "b"), [N("n", a=30), N("m", a=30, b=40)], 0, id="I8-one"),
        pytest.param(running("b", volumes=("a",)), [N("n", a=300), N("m")], 12, id="I9"),
        pytest.param(running("b", init=("a",)), [N("n", a=300), N("m")], 6, id="I10"),
        pytest.param(running(volumes=("a",)), [N("n", a=300), N("m")], 0, id="no-containers"),
    ],
)
def test_score(incoming: Pod, nodes: list[Node], expected: int) -> None:
    stage = Stage(nodes)
    assert stage.scored(stage.make(ImageLocality), incoming)["n"] == expected


@pytest.mark.parametrize(
    ("image", "tagged"),
    [
        pytest.param("root", "root:latest", id="I11-plain"),
        pytest.param("gcr.io:80/root", "gcr.io:80/root:latest", id="I11-port"),
        pytest.param("gcr.io:80/root:v1", "gcr.io:80/root:v1", id="I11-tag"),
        pytest.param("a/b@sha256:0", "a/b@sha256:0", id="I11-digest"),
    ],
)
def test_names(image: str, tagged: str) -> None:
    assert with_tag(image) == tagged


def test_version_moves_with_what_any_node_holds() -> None:
    stage = Stage([N("n", a=250), N("m")])
    plugin: Any = stage.make(ImageLocality)
    before, alone = plugin.version, stage.scored(plugin, running("a"))["n"]
    stage.put(N("m", a=250))
    assert plugin.version != before
    assert stage.scored(plugin, running("a"))["n"] > alone


def test_signature() -> None:
    plugin = Stage().make(ImageLocality)
    assert plugin.sign(running()) is None
    assert plugin.sign(running(volumes=("a",))) is None
    assert plugin.sign(running("a", "b")) == plugin.sign(running("b:latest", init=("a",)))
    assert plugin.sign(running("a", "a")) != plugin.sign(running("a"))
