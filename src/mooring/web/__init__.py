"""What a running scheduler shows: health, metrics, configuration, and a debug API, over HTTPS."""
