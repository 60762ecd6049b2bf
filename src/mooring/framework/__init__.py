"""The plugin contract, and what runs plugins."""
