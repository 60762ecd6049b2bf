"""Plugins that count pods per topology domain: PodTopologySpread and InterPodAffinity."""
