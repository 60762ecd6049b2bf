"""`/configz`: the configuration in use, as a KubeSchedulerConfiguration in JSON."""

from __future__ import annotations

import msgspec

from mooring.config.load import SchedulerConfig
from mooring.config.written import document

NAME = "kubescheduler.config.k8s.io"


def configz(config: SchedulerConfig) -> bytes:
    return msgspec.json.encode({NAME: document(config)})
