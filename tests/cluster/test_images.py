"""Container images present on nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mooring.cluster.cluster import Cluster
from mooring.cluster.images import Images
from mooring.model.objects import ContainerImage, Node, NodeStatus, ObjectMeta

Make = Callable[..., Any]


@pytest.fixture
def images(node: Make) -> Images:
    """Row 0 reports `app` with size 10, then row 1 with size 20."""
    images = Images()
    images.put(0, None, node("a", images={"app": 10}))
    images.put(1, None, node("b", images={"app": 20, "db": 5}))
    return images


def seen(images: Images, name: str) -> tuple[int, list[int]] | None:
    image = images.find(name)
    return None if image is None else (image.size_bytes, sorted(image.rows))


def test_the_size_is_that_of_the_first_reporter(images: Images) -> None:
    assert seen(images, "app") == (10, [0, 1])
    assert seen(images, "db") == (5, [1])
    assert seen(images, "other") is None
    assert images.nodes == 2


def test_the_size_stays_when_the_first_reporter_goes(images: Images, node: Make) -> None:
    images.put(0, node("a", images={"app": 10}), None)
    assert seen(images, "app") == (10, [1])
    assert images.nodes == 1


def test_an_image_nobody_has_is_forgotten_and_measured_anew(images: Images, node: Make) -> None:
    images.put(0, node("a", images={"app": 10}), node("a"))
    images.put(1, node("b", images={"app": 20, "db": 5}), None)
    assert seen(images, "app") is None
    images.put(2, None, node("c", images={"app": 30}))
    assert seen(images, "app") == (30, [2])


def test_every_name_of_an_image_finds_it() -> None:
    images = Images()
    image = ContainerImage(names=("app:1", "app@sha256:0"), size_bytes=7)
    images.put(0, None, Node(metadata=ObjectMeta(name="a"), status=NodeStatus(images=(image,))))
    assert seen(images, "app:1") == seen(images, "app@sha256:0") == (7, [0])


def test_of_a_name_listed_twice_the_first_size_counts() -> None:
    images = Images()
    listed = tuple(ContainerImage(names=("app",), size_bytes=size) for size in (7, 9))
    images.put(0, None, Node(metadata=ObjectMeta(name="a"), status=NodeStatus(images=listed)))
    assert seen(images, "app") == (7, [0])


@pytest.mark.parametrize(
    ("old", "new", "moves"),
    [
        pytest.param(None, {}, True, id="a node without images joins: shares change"),
        pytest.param({}, None, True, id="a node without images goes"),
        pytest.param({"app": 1}, {"app": 1, "db": 2}, True, id="an image is pulled"),
        pytest.param({"app": 1}, {}, True, id="an image is removed"),
        pytest.param({"app": 1}, {"app": 1}, False, id="something else of the node changes"),
        pytest.param({}, {}, False, id="something else of a node without images changes"),
    ],
)
def test_the_version_moves_only_when_answers_may_change(
    node: Make, old: dict[str, int] | None, new: dict[str, int] | None, moves: bool
) -> None:
    images = Images()
    before = None if old is None else node("a", images=old)
    if before is not None:
        images.put(0, None, before)
    version = images.version
    images.put(0, before, None if new is None else node("a", "8", images=new))
    assert (images.version != version) == moves


def test_forgotten_sizes_come_back_when_it_is_undone(cluster: Cluster, node: Make) -> None:
    with cluster.statement() as statement:
        statement.put_node(node("a", images={"app": 10}))
        statement.put_node(node("b", images={"app": 20}))
        statement.drop_node("a")
    find = cluster.nodes.images.find
    statement = cluster.statement()
    statement.drop_node("b")
    assert find("app") is None
    statement.roll_back()
    assert seen(cluster.nodes.images, "app") == (10, [1])
    statement.put_node(node("b"))
    assert find("app") is None
    statement.roll_back()
    assert seen(cluster.nodes.images, "app") == (10, [1])
