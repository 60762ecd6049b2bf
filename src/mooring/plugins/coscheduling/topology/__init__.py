"""Gangs in the network's own shape: layers of domains, and the tightest of them a gang fits into."""
