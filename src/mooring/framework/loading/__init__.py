"""Finds plugins, looks them over, tries them, and makes profiles of them."""
