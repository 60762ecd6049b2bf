"""Plugins that prepare, bit by bit, what they may have to know in a hurry."""

from __future__ import annotations

from abc import ABC, abstractmethod

from mooring.cluster.pods import Placed


class LooksAhead(ABC):
    """Nothing depends on it being called: what was not prepared is worked out when it is needed."""

    @abstractmethod
    def arrived(self, placed: Placed) -> None:
        """The API server shows a pod on its node. Called for every such pod: takes a microsecond."""

    @abstractmethod
    def catch_up(self) -> bool:
        """Nothing else is to be done now: a millisecond's work. True when there is more."""
