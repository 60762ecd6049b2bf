"""What a plugin shows of itself over HTTP: endpoints for people who look for the cause of something.

    def endpoints(self):
        return {"gangs": self.all_gangs, "gang/:namespace/:name": self.one_gang}

are served at `/apis/v1/plugins/<plugin>/gangs` and so on, by the plugin's instance in the first
profile. Reading only, answered between two decisions: keep them quick.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec


class EndpointRequest(msgspec.Struct, frozen=True):
    """One question: what stands in the path where it says `:word`, and the query's parameters."""

    path: dict[str, str] = {}
    query: dict[str, str] = {}


# Answers with anything that can be written as JSON, or None when there is no such thing.
Endpoint = Callable[[EndpointRequest], Any]
