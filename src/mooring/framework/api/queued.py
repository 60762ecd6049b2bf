"""What a plugin that sorts the queue sees of a pod in it."""

from __future__ import annotations

from typing import Protocol

from mooring.model.objects import Pod


class Queued(Protocol):
    """A pod in the queue."""

    @property
    def pod(self) -> Pod: ...

    @property
    def timestamp(self) -> float:
        """When it joined the queue, in seconds."""

    @property
    def group(self) -> tuple[float, str] | None:
        """Since when it waits together with others, and what they are called."""
