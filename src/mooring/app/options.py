"""What `mooring run` is told on the command line, in kube-scheduler's words."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mooring.config.feature_gates import FeatureGates
from mooring.config.scheduler import ClientConnection, LeaderElection

OPEN_PATHS = ("/healthz", "/readyz", "/livez")
SECURE_PORT = 10259


class ElectionFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Flags that go before the file's `leaderElection`; None leaves what the file says."""

    leader_elect: bool | None = None
    lease_duration: float | None = None
    renew_deadline: float | None = None
    retry_period: float | None = None
    resource_lock: str | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None

    def over(self, settings: LeaderElection) -> LeaderElection:
        given = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        return msgspec.structs.replace(settings, **given)


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    config: Path | None = None
    kubeconfig: Path | None = None
    master: str = ""
    policies: Path | None = None
    election: ElectionFlags = ElectionFlags()
    gates: FeatureGates | None = None
    qps: float | None = None
    burst: int | None = None
    bind_address: str = "0.0.0.0"
    secure_port: int = SECURE_PORT
    cert_dir: Path | None = None
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    always_allow_paths: tuple[str, ...] = OPEN_PATHS
    profiling: bool = True
    seed: int | None = None

    def connection(self, settings: ClientConnection) -> ClientConnection:
        """How the API server is reached. As in kube-scheduler, a file goes before the flags it replaces."""
        if self.config is not None:
            return settings
        given = {"qps": self.qps, "burst": self.burst}
        return msgspec.structs.replace(
            settings, **{name: value for name, value in given.items() if value is not None}
        )

    def kubeconfig_file(self, settings: ClientConnection) -> Path | None:
        """The kubeconfig to use: the file's, else the flag's; None for the pod's own service account."""
        if settings.kubeconfig:
            return Path(settings.kubeconfig)
        return self.kubeconfig

    def flags(self) -> dict[str, str]:
        """What was said on the command line, by flag."""
        own = {"election", "gates"}
        given = {name: value for name, value in msgspec.structs.asdict(self).items() if name not in own}
        for name, value in msgspec.structs.asdict(self.election).items():
            given[name if name == "leader_elect" else f"leader_elect_{name}"] = value
        return {
            name.replace("_", "-"): str(value) for name, value in given.items() if value not in (None, "")
        }
