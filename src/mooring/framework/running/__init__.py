"""Calls plugins: in either form, within their budget, with what they answer checked."""
