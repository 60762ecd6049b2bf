"""What a live scheduler serves: health, metrics, configuration, debug pages; and who may read it.

The API server is asked about strangers over connections of their own, with bounds of their own: however many
come, what the scheduler itself reads and writes does not wait for them.
"""

from __future__ import annotations

from mooring.app.live import LiveScheduler
from mooring.app.options import RunOptions
from mooring.config.feature_gates import FeatureGates
from mooring.config.load import SchedulerConfig
from mooring.framework.metrics.meter import Meter
from mooring.kube.access.access import Access
from mooring.kube.access.locate import find_access
from mooring.kube.client import Client
from mooring.kube.http.rest_client_metrics import Traffic
from mooring.kube.http.transport import Transport
from mooring.web.delegated import Delegated
from mooring.web.health import (
    PING,
    Health,
    handler_sync,
    informer_sync,
    leader_election,
    shutdown,
    view_freshness,
)
from mooring.web.lookup import Lookup
from mooring.web.reading import Buckets, Reading
from mooring.web.server import Serving, ServingSettings, Shown

REVIEW_CONNECTIONS = 8
REVIEW_S = 10.0  # for an answer of the API server about a stranger


class Trust:
    """Who is believed, and who is asked: the API server of the flags, else the one that is scheduled."""

    def __init__(self, options: RunOptions, access: Access) -> None:
        flags = options.trust
        self._transports: list[Transport] = []
        known = self._client(str(flags.authentication_kubeconfig or ""), access)
        same = flags.authorization_kubeconfig == flags.authentication_kubeconfig
        allowed = known if same else self._client(str(flags.authorization_kubeconfig or ""), access)
        self.authorize = Delegated(known, allowed, terms=flags.terms())
        self.lookup = Lookup(
            None if flags.authentication_skip_lookup else known,
            client_ca=flags.client_ca_file,
            proxy=flags.front_proxy(),
            proxy_ca=flags.requestheader_client_ca_file,
            tolerate=flags.authentication_tolerate_lookup_failure,
        )

    async def close(self) -> None:
        for transport in self._transports:
            await transport.close()

    def _client(self, kubeconfig: str, access: Access) -> Client:
        found = find_access(kubeconfig) if kubeconfig else access
        transport = Transport(found, connections=REVIEW_CONNECTIONS)
        self._transports.append(transport)
        return Client(transport, retries=0, timeout=REVIEW_S)


def make_serving(
    options: RunOptions, live: LiveScheduler, config: SchedulerConfig, meter: Meter, trust: Trust
) -> Serving:
    """The server of a scheduler."""
    settings = ServingSettings(
        bind_address=options.serving.bind_address,
        port=options.serving.secure_port,
        share_port=options.serving.permit_port_sharing,
        tls=options.serving.tls(),
        open_paths=options.trust.authorization_always_allow_paths,
        profiling=options.profiling and config.enable_profiling,
        disabled_metrics=frozenset(options.disabled_metrics),
        flags=options.flags(),
    )
    shown = Shown(
        engine=live.engine,
        meter=meter,
        config=config,
        decisions=live.decisions,
        health=_health(live, config),
        leads=live.leads,
        gates=options.gates or FeatureGates(),
        view_ages=live.lookout.ages,
        requests=lambda: read_traffic(live.traffic),
    )
    return Serving(settings, shown, authorize=trust.authorize, lookup=trust.lookup)


def read_traffic(traffic: Traffic) -> list[Reading]:
    counts = [Reading(family, list(series)) for family, series in traffic.counts().items()]
    timed = [
        Reading(family, [(labels, Buckets(samples.counts, samples.sum)) for labels, samples in series])
        for family, series in traffic.samples().items()
    ]
    return [*counts, *timed]


def _health(live: LiveScheduler, config: SchedulerConfig) -> Health:
    """A leader that hangs is unhealthy; who has not caught up, or is ending, is not ready."""
    alive = [PING]
    if live.elector is not None:
        alive.append(leader_election(config.leader_election.resource_name, live.elector.overdue))

    # With delayCacheUntilActive a replica that does not lead has nothing to catch up with.
    def caught_up() -> bool:
        return live.is_in_sync or (config.delay_cache_until_active and not live.leads())

    ready = (
        informer_sync(caught_up),
        handler_sync(caught_up),
        view_freshness(lambda: live.lookout.failing),
        shutdown(lambda: live.is_stopping),
    )
    return Health(healthz=alive, livez=alive, readyz=(*alive, *ready))
