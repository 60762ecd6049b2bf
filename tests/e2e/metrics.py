"""A scheduler's own figures, read as somebody who may."""

from __future__ import annotations

import re

from e2e.cluster import Cluster
from e2e.scheduler import Scheduler

LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)(?: \d+)?$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
READS_METRICS = "e2e-reads-metrics"


class Metrics:
    """What `/metrics` said at one moment."""

    def __init__(self, text: str) -> None:
        self.series: list[tuple[str, dict[str, str], float]] = []
        for line in text.splitlines():
            if not line.startswith("#") and (found := LINE.match(line)):
                self.series.append((found[1], dict(LABEL.findall(found[2] or "")), float(found[3])))

    @property
    def names(self) -> set[str]:
        return {name for name, _, _ in self.series}

    def __call__(self, name: str, **labels: str) -> float:
        """The sum of the series that have these labels."""
        return sum(
            value for each, has, value in self.series if each == name and labels.items() <= has.items()
        )


def reader(cluster: Cluster, *, may: bool = True) -> str:
    """A token of a service account that may read metrics, or may nothing."""
    account = "reader" if may else "nobody"
    metadata = {"name": account}
    cluster.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    if may:
        words = (
            "create",
            "clusterrole",
            READS_METRICS,
            "--verb=get",
            "--non-resource-url=/metrics,/configz,/apis/v1/*",
        )
        role = cluster.kubectl(*words, "--dry-run=client", "-o=yaml")
        words = ("create", "clusterrolebinding", READS_METRICS, f"--clusterrole={READS_METRICS}")
        whom = f"--serviceaccount={cluster.namespace}:{account}"
        cluster.kubectl("delete", "clusterrolebinding", READS_METRICS, "--ignore-not-found")
        cluster.apply(role, cluster.kubectl(*words, whom, "--dry-run=client", "-o=yaml"))
    return cluster.kubectl("create", "token", account).strip()


def metrics_of(scheduler: Scheduler, token: str) -> Metrics:
    return Metrics(scheduler.read("/metrics", token))
