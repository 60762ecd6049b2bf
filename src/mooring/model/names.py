"""Which spellings Kubernetes allows for label keys, label values and resource names."""

from __future__ import annotations

import re
from functools import lru_cache

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_LONGEST_NAME = 63
_LONGEST_DOMAIN = 253


@lru_cache(maxsize=2048)
def is_qualified_name(text: str) -> bool:
    """A label key or a resource name: `name` or `domain/name`."""
    domain, slash, name = text.rpartition("/")
    if slash and (len(domain) > _LONGEST_DOMAIN or not _DOMAIN.fullmatch(domain)):
        return False
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None


@lru_cache(maxsize=2048)
def is_label_value(text: str) -> bool:
    """A label value: empty, or spelled like the name part of a key."""
    return not text or (len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None)


@lru_cache(maxsize=1024)
def is_scalar_resource(name: str) -> bool:
    """A resource the scheduler counts, beside cpu, memory, ephemeral-storage and pods."""
    if "kubernetes.io/" in name or name.startswith(("hugepages-", "attachable-volumes-")):
        return True
    return is_extended_resource(name)


def is_extended_resource(name: str) -> bool:
    """A resource somebody else defines, such as `nvidia.com/gpu`."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return is_qualified_name(f"requests.{name}")  # it must still be a name when a quota limits it
