"""Objects that cannot be taken in cost themselves, and nothing else."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from mooring.engine.decisions import Bind, Refuse, Wait
from mooring.engine.engine import Engine
from mooring.engine.events import (
    NodeAdded,
    NodeChanged,
    NodeDeleted,
    NotRead,
    ObjectDeleted,
    PodAdded,
    PodChanged,
    PodDeleted,
)
from mooring.engine.intake import refusals
from mooring.errors import InvariantError
from mooring.framework.metrics.families import NOT_TAKEN_IN
from mooring.framework.metrics.meter import Meter
from mooring.kube.decode.decoders import Decoders
from mooring.kube.resources import NODES, PODS
from mooring.model.objects import Object, ObjectMeta
from mooring.plugins.catalogue import plans_with
from mooring.testing.builders import NodeBuilder, PodBuilder

DECODERS = Decoders()
POISON: dict[str, Any] = {  # what is wrong with a pod
    "negative": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "-1"}}}]},
    "nonsense": {"containers": [{"name": "a", "resources": {"requests": {"memory": "lots"}}}]},
    "of another type": {"containers": "none", "tolerations": 5},
    "in a volume": {"volumes": [{"name": "v", "persistentVolumeClaim": 7}]},
    "deep": {"resourceClaims": msgspec.Raw(b'[{"a":' + b"[" * 9_900 + b"]" * 9_900 + b"}]")},
    "affinity": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [7]}}},
}


@pytest.fixture
def meter() -> Meter:
    return Meter(lambda: 0.0)


@pytest.fixture
def engine(meter: Meter) -> Engine:
    plans, registry = plans_with((), {}, {})
    engine = Engine(plans, registry, meter=meter)
    engine.handle(NodeAdded(NodeBuilder("n").has(cpu=4, memory="8Gi").build()), 0.0)
    return engine


def read(spec: Any, name: str = "bad", version: str = "1") -> Any:
    meta = {"name": name, "namespace": "default", "uid": f"u-{name}", "resourceVersion": version}
    plain = {"metadata": meta, "spec": {"schedulerName": "default-scheduler", **spec}}
    return DECODERS.of(PODS)(msgspec.Raw(msgspec.json.encode(plain)))


def placed(engine: Engine, name: str, cpu: int = 1) -> str | None:
    engine.handle(PodAdded(PodBuilder(name).requests(cpu=cpu).build()), 0.0)
    found = None
    while (decisions := engine.schedule(0.0)) is not None:
        binds = [each.node for each in decisions if isinstance(each, Bind) and each.pod.name == name]
        found = binds[0] if binds else found
    engine.check()
    return found


def refused(meter: Meter, kind: str) -> int:
    return meter.count(NOT_TAKEN_IN, kind).value


def test_two_pods_that_ask_for_everything_do_not_end_the_process(engine: Engine, meter: Meter) -> None:
    spec = {"nodeName": "n", "containers": [{"name": "a", "resources": {"requests": {"memory": "8E"}}}]}
    for number in range(2):
        engine.handle(PodAdded(read(spec, f"p{number}")), 0.0)
        engine.check()
    assert placed(engine, "small") == "n"  # it asks for no memory
    for number in range(2):
        engine.handle(PodDeleted(read(spec, f"p{number}")), 0.0)
    assert engine.cluster.nodes.of_resource("memory").requested.at[0] == 0
    assert refused(meter, "Pod") == 0


@pytest.mark.parametrize("wrong", POISON)
def test_a_pod_on_a_node_that_cannot_be_read_takes_all_of_it(
    wrong: str, engine: Engine, meter: Meter, caplog: pytest.LogCaptureFixture
) -> None:
    pod = read({"nodeName": "n", **POISON[wrong]})
    for version in range(3):
        event = PodChanged if version else PodAdded
        engine.handle(event(msgspec.structs.replace(pod)), 0.0)
        engine.check()
    if "u-bad" in engine.cluster.pods.by_uid and not refused(meter, "Pod"):
        return  # it makes no difference to anybody
    assert len([each for each in caplog.records if each.levelno >= logging.ERROR]) == 1
    assert refused(meter, "Pod") == 3
    assert placed(engine, "other") is None
    engine.handle(PodDeleted(pod), 0.0)
    assert placed(engine, "after") == "n"


@pytest.mark.parametrize("wrong", POISON)
def test_a_pod_that_waits_says_why_it_cannot_be_placed(wrong: str, engine: Engine, meter: Meter) -> None:
    pod = read(POISON[wrong])
    decisions = [*engine.handle(PodAdded(pod), 0.0), *(engine.schedule(0.0) or ())]
    waits = [each for each in decisions if isinstance(each, Wait)]
    if not waits:  # nobody minds
        assert any(isinstance(each, Bind) for each in decisions)
    for wait in waits:
        assert wait.reason in ("SchedulerError", "Unschedulable")
        assert wait.message
    assert placed(engine, "other") == "n"
    engine.handle(PodDeleted(pod), 0.0)
    engine.check()
    assert "u-bad" not in engine.cluster.pods.by_uid
    assert engine.queue.get("u-bad") is None


def test_a_pod_that_can_be_read_again_counts_as_what_it_is(engine: Engine) -> None:
    engine.handle(PodAdded(read({"nodeName": "n", **POISON["negative"]})), 0.0)
    assert placed(engine, "early") is None
    engine.handle(PodChanged(read({"nodeName": "n"}, version="2")), 0.0)
    engine.check()
    assert engine.cluster.nodes.of_resource("cpu").requested.at[0] == 0
    assert placed(engine, "later") == "n"


@pytest.mark.parametrize("wrong", [{"cpu": "-4"}, {"memory": "lots"}, "none", ["cpu"]])
def test_a_node_that_cannot_be_read_takes_nothing_until_it_can(wrong: Any, engine: Engine) -> None:
    plain = {"metadata": {"name": "n"}, "status": {"allocatable": wrong}}
    node = DECODERS.of(NODES)(msgspec.Raw(msgspec.json.encode(plain)))
    engine.handle(NodeChanged(node), 0.0)
    engine.check()
    assert placed(engine, "waits") is None
    engine.handle(NodeChanged(NodeBuilder("n").has(cpu=4).build()), 0.0)
    assert placed(engine, "fits") == "n"


def test_it_is_shown_on_the_object_once(engine: Engine) -> None:
    """Whatever it is; a pod that waits says so in its own way."""
    plain = {"metadata": {"name": "n", "uid": "u-n"}, "status": {"allocatable": {"cpu": "-4"}}}
    node = DECODERS.of(NODES)(msgspec.Raw(msgspec.json.encode(plain)))
    running, waiting = read({"nodeName": "n", **POISON["negative"]}), read(POISON["affinity"], "waits")
    who = ObjectMeta(name="c", namespace="default", uid="u-c")
    claim = Object(api_version="v1", kind="PersistentVolumeClaim", metadata=who, data={})
    nobody = Object(api_version="v1", kind="Service", metadata=ObjectMeta(), data={})
    events = [
        NodeChanged(node),
        PodAdded(running),
        PodAdded(waiting),
        NotRead(claim, "no"),
        NotRead(nobody, "no"),
    ]
    told = [each for _ in range(2) for event in events for each in engine.handle(event, 0.0)]
    refused = [each for each in told if isinstance(each, Refuse)]
    shown = [(each.about.kind, each.about.metadata.uid, each.message.partition(":")[0]) for each in refused]
    assert shown == [
        ("Node", "u-n", "cannot be taken in"),
        ("Pod", running.uid, "cannot be taken in"),
        ("PersistentVolumeClaim", "u-c", "cannot be read"),
    ]
    assert list(engine.refusals.standing) == ["u-n", "u-bad", "u-waits", "u-c"]
    engine.handle(NodeDeleted(node), 0.0)
    engine.handle(PodDeleted(running), 0.0)
    engine.handle(PodChanged(read({}, "waits", "2")), 0.0)
    engine.handle(ObjectDeleted(claim), 0.0)
    assert not engine.refusals.standing


def test_objects_that_were_never_read_do_not_pile_up(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever deletes one is not heard: it is not known what it was."""
    monkeypatch.setattr(refusals, "STANDING", 3)
    for number in range(10):
        meta = ObjectMeta(name=f"o{number}", namespace="default", uid=f"u{number}")
        engine.handle(
            NotRead(Object(api_version="v1", kind="PodGroup", metadata=meta, data={}), "nonsense"), 0.0
        )
    assert list(engine.refusals.standing) == ["u7", "u8", "u9"]


def test_a_plugin_that_cannot_count_a_pod_costs_the_pod_its_details_only(engine: Engine) -> None:
    def terms_of(pod: Any) -> tuple[str, ...]:
        if "odd" in pod.labels:
            raise ZeroDivisionError("of all things")
        return (pod.name,)

    terms = engine.cluster.counts.carrier("names", terms_of)
    before = {term: dict(counts.by_row) for term, counts in terms.items()}
    odd = PodBuilder("odd").label("odd").requests(cpu=3).running_on("n").build()
    engine.handle(PodAdded(odd), 0.0)
    engine.check()
    assert {term: dict(counts.by_row) for term, counts in terms.items()} == before | {"odd": {0: 1}}
    assert "pod-default-odd" in engine.cluster.pods.by_uid
    assert placed(engine, "two", cpu=2) is None  # its request could be read, and counts
    assert placed(engine, "one", cpu=1) == "n"


def test_a_contradiction_ends_the_process(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def contradict(*_: Any) -> None:
        raise InvariantError("of Mooring's own")

    monkeypatch.setitem(engine._ingest.takers, PodAdded, contradict)
    with pytest.raises(InvariantError):
        engine.handle(PodAdded(PodBuilder("p").build()), 0.0)
