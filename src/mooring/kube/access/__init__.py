"""Which API server is meant, how it is reached and who asks."""
