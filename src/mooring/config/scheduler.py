"""KubeSchedulerConfiguration `kubescheduler.config.k8s.io/v1`, field by field, with its defaults.

No field is required here, so that what is right in a file can be read beside what is wrong;
`mooring.config.load` says what is missing.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec

from mooring.config.durations import Duration
from mooring.config.older import successors

API_VERSION = "kubescheduler.config.k8s.io/v1"
KIND = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER_NAME = "default-scheduler"

Weight = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class ConfigStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of everything in the file. `removed` are fields it had once, with what took their place."""

    removed: ClassVar[dict[str, str]] = {}


class LeaderElection(ConfigStruct, frozen=True):
    removed = successors.ELECTION_FIELDS

    leader_elect: bool = True
    lease_duration: Duration = Duration(15)
    renew_deadline: Duration = Duration(10)
    retry_period: Duration = Duration(2)
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnection(ConfigStruct, frozen=True):
    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50
    burst: int = 100


class ExtenderTLS(ConfigStruct, frozen=True):
    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class ManagedResource(ConfigStruct, frozen=True):
    name: str = ""
    ignored_by_scheduler: bool = False


class Extender(ConfigStruct, frozen=True):
    """An HTTP service that filters, scores, preempts or binds besides the plugins."""

    removed = successors.EXTENDER_FIELDS

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(name="enableHTTPS", default=False)
    tls_config: ExtenderTLS | None = None
    http_timeout: Duration = Duration(5)
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False


class PluginEntry(ConfigStruct, frozen=True):
    name: str = ""
    weight: Weight = 0


class PluginSet(ConfigStruct, frozen=True):
    enabled: tuple[PluginEntry, ...] = ()
    disabled: tuple[PluginEntry, ...] = ()


class Plugins(ConfigStruct, frozen=True):
    removed = successors.POINT_FIELDS

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()

    def at(self, point: str) -> PluginSet:
        """The set of a point, by the name it has in the file."""
        found = getattr(self, _ATTRIBUTES[point])
        assert isinstance(found, PluginSet)
        return found


_ATTRIBUTES = {field.encode_name: field.name for field in msgspec.structs.fields(Plugins)}


class PluginConfigEntry(ConfigStruct, frozen=True):
    name: str = ""
    args: Any = None


class ProfileEntry(ConfigStruct, frozen=True):
    scheduler_name: str = ""
    percentage_of_nodes_to_score: int | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfigEntry, ...] = ()


class KubeSchedulerConfiguration(ConfigStruct, frozen=True):
    """The file as it is written."""

    removed = successors.FIELDS

    api_version: str = ""
    kind: str = ""
    parallelism: int = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    percentage_of_nodes_to_score: int | None = None
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    profiles: tuple[ProfileEntry, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
