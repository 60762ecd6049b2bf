"""Requests of the scheduler, as `/metrics` tells of them."""

from __future__ import annotations

from mooring.app.serving import read_traffic
from mooring.kube.http.rest_client_metrics import Traffic
from mooring.web.exposition import encode


def test_requests_are_told_under_client_gos_names() -> None:
    traffic = Traffic("https://api:6443")
    traffic.answered("POST", 201, 0.03, 100, 50)
    traffic.answered("POST", 0, 40.0, 100, 0)
    traffic.retried("POST", 0)
    text = encode(read_traffic(traffic), "")[0].decode()
    for line in (
        "# HELP rest_client_requests_total [ALPHA] Number of HTTP requests, partitioned by status code,"
        " method, and host.",
        'rest_client_requests_total{code="201",host="api:6443",method="POST"} 1.0',
        'rest_client_requests_total{code="<error>",host="api:6443",method="POST"} 1.0',
        'rest_client_request_retries_total{code="<error>",host="api:6443",verb="POST"} 1.0',
        'rest_client_request_duration_seconds_bucket{host="api:6443",le="0.1",verb="POST"} 1.0',
        'rest_client_request_duration_seconds_bucket{host="api:6443",le="60.0",verb="POST"} 2.0',
        'rest_client_request_size_bytes_bucket{host="api:6443",le="256.0",verb="POST"} 2.0',
        'rest_client_response_size_bytes_bucket{host="api:6443",le="64.0",verb="POST"} 1.0',
    ):
        assert line in text.splitlines()
