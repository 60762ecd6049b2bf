"""What `mooring run` is told on the command line, in kube-scheduler's words.

A field is named as its flag; flags that have no effect here are only remembered, to be remarked on.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mooring.config.durations import Duration, format_duration
from mooring.config.feature_gates import FeatureGates
from mooring.config.scheduler import ClientConnection, LeaderElection
from mooring.recordings.writing import LARGEST_MB
from mooring.web.delegated import Terms
from mooring.web.identities import FrontProxy
from mooring.web.tls import Pair, TlsSettings

OPEN_PATHS = ("/healthz", "/readyz", "/livez")
SECURE_PORT = 10259


class ElectionFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Flags that go before the file's `leaderElection`; None leaves what the file says."""

    leader_elect: bool | None = None
    leader_elect_lease_duration: Duration | None = None
    leader_elect_renew_deadline: Duration | None = None
    leader_elect_retry_period: Duration | None = None
    leader_elect_resource_lock: str | None = None
    leader_elect_resource_name: str | None = None
    leader_elect_resource_namespace: str | None = None

    def over(self, settings: LeaderElection) -> LeaderElection:
        """`leader_elect_lease_duration` is the field `lease_duration`, and so on."""
        given = {
            name.removeprefix("leader_elect_"): value
            for name, value in msgspec.structs.asdict(self).items()
            if value is not None
        }
        return msgspec.structs.replace(settings, **given)


class ServingFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Where it is served, and with which certificates."""

    bind_address: str = "0.0.0.0"
    secure_port: int = SECURE_PORT
    permit_port_sharing: bool = False
    cert_dir: Path | None = None
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    tls_sni_cert_key: tuple[Pair, ...] = ()
    tls_min_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    tls_cipher_suites: tuple[str, ...] = ()

    def tls(self) -> TlsSettings:
        return TlsSettings(
            cert_file=self.tls_cert_file,
            key_file=self.tls_private_key_file,
            cert_dir=self.cert_dir,
            by_name=self.tls_sni_cert_key,
            least_version=self.tls_min_version,
            cipher_suites=self.tls_cipher_suites,
        )


class TrustFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Who is believed to be whom, and who is asked what they may do."""

    authentication_kubeconfig: Path | None = None
    authentication_skip_lookup: bool = False
    authentication_tolerate_lookup_failure: bool = True
    authentication_token_webhook_cache_ttl: Duration = Duration(10)
    client_ca_file: Path | None = None
    requestheader_client_ca_file: Path | None = None
    requestheader_allowed_names: tuple[str, ...] = ()
    requestheader_username_headers: tuple[str, ...] = ("x-remote-user",)
    requestheader_uid_headers: tuple[str, ...] = ()
    requestheader_group_headers: tuple[str, ...] = ("x-remote-group",)
    requestheader_extra_headers_prefix: tuple[str, ...] = ("x-remote-extra-",)
    authorization_kubeconfig: Path | None = None
    authorization_always_allow_paths: tuple[str, ...] = OPEN_PATHS
    authorization_webhook_cache_authorized_ttl: Duration = Duration(10)
    authorization_webhook_cache_unauthorized_ttl: Duration = Duration(10)

    def terms(self) -> Terms:
        return Terms(
            token=self.authentication_token_webhook_cache_ttl,
            authorized=self.authorization_webhook_cache_authorized_ttl,
            unauthorized=self.authorization_webhook_cache_unauthorized_ttl,
        )

    def front_proxy(self) -> FrontProxy:
        return FrontProxy(
            allowed_names=self.requestheader_allowed_names,
            username_headers=self.requestheader_username_headers,
            uid_headers=self.requestheader_uid_headers,
            group_headers=self.requestheader_group_headers,
            extra_prefixes=self.requestheader_extra_headers_prefix,
        )


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    config: Path | None = None
    kubeconfig: Path | None = None
    master: str = ""
    policies: Path | None = None
    write_config_to: Path | None = None
    election: ElectionFlags = ElectionFlags()
    serving: ServingFlags = ServingFlags()
    trust: TrustFlags = TrustFlags()
    gates: FeatureGates | None = None
    kube_api_qps: float | None = None
    kube_api_burst: int | None = None
    profiling: bool = True
    disabled_metrics: tuple[str, ...] = ()
    seed: int | None = None
    record: Path | None = None
    record_max_mb: int = LARGEST_MB
    without_effect: dict[str, str] = {}  # flags that were given, and why they change nothing

    def connection(self, settings: ClientConnection) -> ClientConnection:
        """How the API server is reached. As in kube-scheduler, a file goes before the flags it replaces."""
        if self.config is not None:
            return settings
        given = {"qps": self.kube_api_qps, "burst": self.kube_api_burst}
        return msgspec.structs.replace(
            settings, **{name: value for name, value in given.items() if value is not None}
        )

    def kubeconfig_file(self, settings: ClientConnection) -> Path | None:
        """The kubeconfig to use: the file's, else the flag's; None for the pod's own service account."""
        if settings.kubeconfig:
            return Path(settings.kubeconfig)
        return self.kubeconfig

    def remarks(self) -> list[str]:
        """What is worth a line in the log."""
        ignored = [f"--{flag} has no effect: {why}" for flag, why in self.without_effect.items()]
        others = self.gates.other if self.gates is not None else {}
        return ignored + [f"feature gate {name} has no effect on scheduling" for name in others]

    def flags(self) -> dict[str, str]:
        """What was said on the command line, by flag."""
        named = {name.replace("_", "-"): _shown(value) for name, value in _flat(self)}
        return {name: value for name, value in named.items() if value}


def _flat(struct: msgspec.Struct) -> Iterator[tuple[str, Any]]:
    for name, value in msgspec.structs.asdict(struct).items():
        if isinstance(value, FeatureGates):
            yield "feature_gates", {**value.given, **value.other}
        elif isinstance(value, msgspec.Struct):
            yield from _flat(value)
        elif name != "without_effect":
            yield name, value


def _shown(value: Any) -> str:
    """A value as it stands behind a flag; "" when it was not given."""
    if value is None or value == () or value == {}:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Duration):
        return format_duration(value)
    if isinstance(value, Pair):
        return f"{value.certificate},{value.key}" + f":{','.join(value.names)}" * bool(value.names)
    if isinstance(value, tuple):
        return ",".join(map(_shown, value))
    if isinstance(value, dict):
        return ",".join(f"{key}={_shown(one)}" for key, one in value.items())
    return value.name if isinstance(value, ssl.TLSVersion) else str(value)
