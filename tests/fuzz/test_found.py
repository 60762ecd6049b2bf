"""What fuzzing has found, kept: each was once an error that nobody had foreseen."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from fuzz.objects import BASES, changed
from fuzz.test_api_objects import on_a_node, survives
from fuzz.test_manifests import simulated
from mooring.config.load import load_config
from mooring.errors import ConfigError, ManifestError
from mooring.kube.access.kubeconfig import load_kubeconfig
from mooring.kube.http.answer_parser import AnswerReader
from mooring.kube.resources import PODS
from mooring.plugins.catalogue import make_registry
from mooring.sim.manifests.manifests import read_manifests

VOLUME = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\nspec: "
STATEFUL = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s}
spec:
  template: {spec: {containers: []}}
  volumeClaimTemplates: [{metadata: {name: %s}, spec: %s}]
"""
MANIFESTS = {
    "a claim template without a shape": (
        STATEFUL % ("data", "1.5"), "spec.volumeClaimTemplates[0].spec 1.5 is not a mapping."
    ),
    "a claim template whose name is no text": (
        STATEFUL % ("{key: data}", "{}"), "expected a string, got a mapping"
    ),
    "a capacity that is a list": (
        VOLUME + "{capacity: {storage: [1]}}", "spec.capacity.storage [1] is not a quantity."
    ),
    "a node affinity of a volume that is text": (
        VOLUME + "{nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [zone]}]}}}",
        "expected a mapping",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests(name: str) -> None:
    text, told = MANIFESTS[name]
    with pytest.raises(ManifestError) as caught:
        read_manifests(["-"], stdin=io.StringIO(text), lenient=True)
    assert [told in mistake.what for mistake in caught.value.mistakes] == [True], caught.value


NOTHING_WRONG = {
    "a node affinity of a volume with nothing where values are": (
        VOLUME + "{nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: "
        "[{key: zone, operator: Exists, values: null}]}]}}}"
    ),
    "a selector of a claim with nothing in it": (
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\n"
        "spec: {selector: {matchLabels: null, matchExpressions: null}}"
    ),
    "a service that has nothing to say": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: null",
    "a network that is text": (
        "apiVersion: scheduling.koordinator.sh/v1alpha1\nkind: ClusterNetworkTopology\n"
        "metadata: {name: default}\nspec: rack"
    ),
    "a network whose layers are text": (
        "apiVersion: scheduling.koordinator.sh/v1alpha1\nkind: ClusterNetworkTopology\n"
        "metadata: {name: default}\nspec: {networkTopologySpec: [rack]}"
    ),
}
CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n}
status: {allocatable: {cpu: 1, memory: 1Gi, pods: 5}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: a}}
spec: {containers: [{name: c, resources: {requests: {cpu: 100m}}}]}
---
"""


@pytest.mark.parametrize("name", NOTHING_WRONG)
def test_manifests_that_are_simulated(name: str, caplog: pytest.LogCaptureFixture) -> None:
    entries = read_manifests(["-"], stdin=io.StringIO(CLUSTER + NOTHING_WRONG[name]), lenient=True)
    assert simulated(entries).placements == {"default/p": "n"}
    assert not caplog.records


def test_a_resource_of_an_extender_that_has_no_name() -> None:
    text = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- {urlPrefix: "http://a", managedResources: [{name: ../../x, ignoredByScheduler: true}]}
"""
    with pytest.raises(ConfigError, match="invalid extended resource name"):
        load_config(text, "scheduler.yaml", make_registry())


def test_a_length_of_five_thousand_digits() -> None:
    reader = AnswerReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n") == []
    assert reader.mistake


def test_a_status_that_is_none_and_no_length() -> None:
    """It ended with the connection, and so did whoever read it."""
    reader = AnswerReader()
    assert reader.feed(b"HTTP/1.1 021 Created\r\n\r\nuntil the end") == []
    assert (reader.end(), reader.mistake) == (None, "the answer's status is 21")


def test_users_in_the_place_of_the_kind_of_a_kubeconfig(tmp_path: Path) -> None:
    """Their tokens are nobody's business."""
    file = tmp_path / "config"
    file.write_text("apiVersion: v1\nkind: &users [{name: x, user: {token: secret}}]\nusers: *users\n")
    with pytest.raises(ConfigError, match='expected kind "Config"') as caught:
        load_kubeconfig(str(file), env={})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("node", ["", "n-1"])
@pytest.mark.parametrize("first", [[], [(PODS, BASES[PODS])]], ids=["new", "known"])
def test_a_member_of_a_gang_whose_requests_cannot_be_read(first: list[Any], node: str) -> None:
    way = ("spec", "initContainers", 0, "resources", "requests", "cpu")
    survives(*first, on_a_node((PODS, changed(BASES[PODS], way, "5Xi")), node))


@pytest.mark.parametrize("way", [("spec", "schedulingGroup"), ("metadata", "creationTimestamp")])
def test_a_member_that_says_something_else_of_its_gang_later(way: tuple[str, str]) -> None:
    survives((PODS, changed(BASES[PODS], way, None)), (PODS, BASES[PODS]))


@pytest.mark.parametrize("way", [("metadata", "annotations"), ("spec", "schedulerName")])
def test_a_pod_on_a_node_that_becomes_a_member_or_changes_its_scheduler(way: tuple[str, str]) -> None:
    other = changed(BASES[PODS], way, "" if way[1] == "schedulerName" else None)
    survives(on_a_node((PODS, other), "n-1"), (PODS, BASES[PODS]))
