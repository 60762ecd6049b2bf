"""What a live scheduler serves: health, metrics, configuration, debug pages."""

from __future__ import annotations

from mooring.app.live import LiveScheduler
from mooring.app.options import RunOptions
from mooring.config.load import SchedulerConfig
from mooring.framework.meter import Meter
from mooring.web.delegated import Delegated
from mooring.web.health import PING, Health, handler_sync, informer_sync, leader_election, shutdown
from mooring.web.server import Serving, ServingSettings, Shown


def make_serving(
    options: RunOptions,
    live: LiveScheduler,
    config: SchedulerConfig,
    meter: Meter,
) -> Serving:
    """The server of a scheduler. Whoever may read what is asked of the API server."""
    settings = ServingSettings(
        bind_address=options.bind_address,
        port=options.secure_port,
        cert_dir=options.cert_dir,
        cert_file=options.tls_cert_file,
        key_file=options.tls_private_key_file,
        open_paths=options.always_allow_paths,
        profiling=options.profiling and config.enable_profiling,
        flags=options.flags(),
    )
    shown = Shown(
        engine=live.engine,
        meter=meter,
        config=config,
        decisions=live.decisions,
        health=_health(live, config),
        leads=live.leads,
    )
    return Serving(settings, shown, authorize=Delegated(live.client))


def _health(live: LiveScheduler, config: SchedulerConfig) -> Health:
    """A leader that hangs is unhealthy; who has not caught up, or is ending, is not ready."""
    alive = [PING]
    if live.elector is not None:
        alive.append(leader_election(config.leader_election.resource_name, live.elector.overdue))

    # With delayCacheUntilActive a replica that does not lead has nothing to catch up with.
    def caught_up() -> bool:
        return live.is_caught_up or (config.delay_cache_until_active and not live.leads())

    ready = (informer_sync(caught_up), handler_sync(caught_up), shutdown(lambda: live.is_stopping))
    return Health(healthz=alive, livez=alive, readyz=(*alive, *ready))
