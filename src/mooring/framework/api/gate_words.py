"""Gates whose words change while they hold pods: as members of a gang come in, say."""

from __future__ import annotations

from abc import ABC, abstractmethod

from mooring.model.objects import Pod


class SaysWhatFor(ABC):
    """A plugin with a `pre_enqueue`. Without this, what that said last is what a pod waits for."""

    @abstractmethod
    def held_for(self, pod: Pod) -> str:
        """What the gate holds the pod for by now; "" for what it said. Changes nothing."""
