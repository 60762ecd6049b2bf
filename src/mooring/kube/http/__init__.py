"""Requests and answers: connections, credentials in headers, pace, and what the server refuses."""
