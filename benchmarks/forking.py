"""What a fork of the cluster costs: 5,000 nodes with 50,000 pods, unless told otherwise.

    python -m benchmarks.forking [--nodes N] [--pods N] [--runs N]

Told are the best and the middle of some runs, in milliseconds of CPU.
"""

from __future__ import annotations

import time
from statistics import median

import click

from mooring.cluster.cluster import Cluster
from mooring.testing.builders import node, pod

ZONES = 10
APPS = 50


def busy_cluster(nodes: int, pods: int) -> Cluster:
    """Nodes in zones, and pods of some apps spread over them; counted by app, as spreading does."""
    cluster = Cluster()
    for app in range(APPS):
        cluster.counts.selector(app, lambda _, labels, app=app: labels.get("app") == f"app-{app}")
    with cluster.statement() as statement:
        for number in range(nodes):
            built = node(f"node-{number}").label("zone", f"zone-{number % ZONES}")
            statement.put_node(built.label("kubernetes.io/hostname", f"node-{number}").build())
        for number in range(pods):
            built_pod = pod(f"pod-{number}").requests(cpu="100m").label("app", f"app-{number % APPS}")
            name = f"node-{number % nodes}"
            statement.take(built_pod.build().on_node(name), name, bound=True)
    return cluster


@click.command()
@click.option("--nodes", default=5000)
@click.option("--pods", default=50_000)
@click.option("--runs", default=20)
def main(nodes: int, pods: int, runs: int) -> None:
    """Forks a cluster some times."""
    cluster = busy_cluster(nodes, pods)
    took_ms = []
    for _ in range(runs):
        start = time.process_time()
        fork = cluster.fork()
        took_ms.append(1000 * (time.process_time() - start))
        assert len(fork.pods) == pods
    best, middle = min(took_ms), median(took_ms)
    click.echo(f"{nodes} nodes, {pods} pods: {best:.1f} ms at best, {middle:.1f} ms in the middle of {runs}")


if __name__ == "__main__":
    main()
