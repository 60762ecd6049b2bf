"""A pod without its identity."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mooring.errors import ScopeError
from mooring.framework.api.pod_shape import SHOWN, PodShape
from mooring.model.objects import Pod


def test_all_but_the_identity_shows(pod: Callable[..., Pod]) -> None:
    whole = pod("web-1", priority=7)
    shape = PodShape(whole)
    assert {name: getattr(shape, name) for name in SHOWN} == {name: getattr(whole, name) for name in SHOWN}
    assert (shape.priority, shape.preemptible, shape.labels) == (7, True, {"app": "web"})


@pytest.mark.parametrize("name", ["name", "uid", "key", "metadata", "status", "terminating", "on_node"])
def test_the_identity_is_refused(pod: Callable[..., Pod], name: str) -> None:
    with pytest.raises(ScopeError) as refusal:
        getattr(PodShape(pod()), name)
    assert str(refusal.value) == (
        f"keeps its answers for all pods of one shape but reads pod.{name}: "
        "override sign(pod) to return what it reads of a pod"
    )


def test_everything_of_a_pod_is_shown_or_refused() -> None:
    public = {name for name in dir(Pod) if not name.startswith("_")}
    assert set(SHOWN) < public


def test_a_misspelt_attribute_is_an_attribute_error(pod: Callable[..., Pod]) -> None:
    with pytest.raises(AttributeError, match="a pod has no attribute 'lables'"):
        PodShape(pod()).lables  # type: ignore[attr-defined]  # noqa: B018
