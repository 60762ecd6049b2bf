"""The flags of `mooring run`, in the groups kube-scheduler lists them in: each one that it has.

What means nothing here is accepted all the same, so that a command line written for kube-scheduler works as
it is; a remark in the log says that it has no effect, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from mooring.app.options import OPEN_PATHS, SECURE_PORT
from mooring.cli.run_values import CERTIFICATE_AND_KEY, CIPHER_SUITES, TLS_VERSION, WORDS
from mooring.cli.values import DURATION, EXISTING_FILE

Decorated = TypeVar("Decorated", bound=Callable[..., object])
Option = Callable[[Decorated], Decorated]

TRUTH: dict[str, Any] = {
    "type": bool,
    "is_flag": False,
    "flag_value": "true",
}  # --flag, --flag=false, as in Go

SERVING = (
    click.option(
        "--bind-address", default="0.0.0.0", show_default=True, help="Where to serve health and metrics."
    ),
    click.option(
        "--secure-port", type=click.IntRange(0, 65535), default=SECURE_PORT, show_default=True,
        help="The HTTPS port; 0 serves nothing.",
    ),
    click.option("--permit-port-sharing", **TRUTH, default=False, help="Others may listen on the port too."),
    click.option(
        "--cert-dir", type=click.Path(file_okay=False, path_type=Path), help="Where a certificate is kept."
    ),
    click.option("--tls-cert-file", type=EXISTING_FILE, help="The certificate; a self-signed one without."),
    click.option("--tls-private-key-file", type=EXISTING_FILE, help="Its key."),
    click.option(
        "--tls-sni-cert-key", type=CERTIFICATE_AND_KEY, multiple=True, metavar="CERT,KEY[:NAMES]",
        help="A certificate and its key for clients that ask for one of these names.",
    ),
    click.option(
        "--tls-min-version", type=TLS_VERSION, default="VersionTLS12",
        help="VersionTLS12 or VersionTLS13.",
    ),
    click.option("--tls-cipher-suites", type=CIPHER_SUITES, default=(), help="By Go's names."),
)  # fmt: skip

TRUST = (
    click.option(
        "--authentication-kubeconfig", type=EXISTING_FILE,
        help="The API server that knows tokens; the one that is scheduled without.",
    ),
    click.option(
        "--authentication-skip-lookup", **TRUTH, default=False,
        help="Do not look up in the cluster whose client certificates count.",
    ),
    click.option(
        "--authentication-tolerate-lookup-failure", **TRUTH, default=True,
        help="Go on when that cannot be looked up. [default: true]",
    ),
    click.option("--authentication-token-webhook-cache-ttl", type=DURATION, default="10s"),
    click.option("--client-ca-file", type=EXISTING_FILE, help="Whose client certificates count."),
    click.option("--requestheader-client-ca-file", type=EXISTING_FILE, help="Whose front proxies count."),
    click.option("--requestheader-allowed-names", type=WORDS, default=()),
    click.option("--requestheader-username-headers", type=WORDS, default="x-remote-user"),
    click.option("--requestheader-uid-headers", type=WORDS, default=()),
    click.option("--requestheader-group-headers", type=WORDS, default="x-remote-group"),
    click.option("--requestheader-extra-headers-prefix", type=WORDS, default="x-remote-extra-"),
    click.option(
        "--authorization-kubeconfig", type=EXISTING_FILE,
        help="The API server that knows who may what; the one that is scheduled without.",
    ),
    click.option(
        "--authorization-always-allow-paths", type=WORDS, default=",".join(OPEN_PATHS),
        show_default=True, help="Paths anybody may read.",
    ),
    click.option("--authorization-webhook-cache-authorized-ttl", type=DURATION, default="10s"),
    click.option("--authorization-webhook-cache-unauthorized-ttl", type=DURATION, default="10s"),
)  # fmt: skip

ELECTION = (
    click.option(
        "--leader-elect", **TRUTH, help="One of several replicas schedules at a time. [default: true]"
    ),
    click.option("--leader-elect-lease-duration", type=DURATION, help="[default: 15s]"),
    click.option("--leader-elect-renew-deadline", type=DURATION, help="[default: 10s]"),
    click.option("--leader-elect-retry-period", type=DURATION, help="[default: 2s]"),
    click.option("--leader-elect-resource-lock", type=click.Choice(["leases"]), help="[default: leases]"),
    click.option("--leader-elect-resource-name", help="[default: kube-scheduler]"),
    click.option("--leader-elect-resource-namespace", help="[default: kube-system]"),
)

STREAMS = "all lines go to standard error, as they come"
NOT_EMULATED = "Mooring behaves as Kubernetes 1.36 does"
WITHOUT_EFFECT = {
    "disable-http2-serving": (TRUTH, "HTTP/1.1 is served"),
    "http2-max-streams-per-connection": ({"type": int}, "HTTP/1.1 is served"),
    "permit-address-sharing": (TRUTH, "addresses are always shared"),
    "tls-curve-preferences": ({}, "OpenSSL chooses"),
    "contention-profiling": (TRUTH, "there are no goroutines that could contend"),
    "kube-api-content-type": ({}, "the API server is asked for JSON"),
    "pod-max-in-unschedulable-pods-duration": ({"type": DURATION}, "it is five minutes"),
    "emulated-version": ({"multiple": True}, NOT_EMULATED),
    "min-compatibility-version": ({"multiple": True}, NOT_EMULATED),
    "allow-metric-labels": ({"multiple": True}, "values of labels are bounded"),
    "allow-metric-labels-manifest": ({}, "values of labels are bounded"),
    "show-hidden-metrics-for-version": ({}, "no metric is hidden"),
    "log-flush-frequency": ({}, STREAMS),
    "log-json-info-buffer-size": ({}, STREAMS),
    "log-json-split-stream": (TRUTH, STREAMS),
    "log-text-info-buffer-size": ({}, STREAMS),
    "log-text-split-stream": (TRUTH, STREAMS),
}  # fmt: skip
IGNORED = tuple(click.option(f"--{name}", **how, hidden=True) for name, (how, _) in WITHOUT_EFFECT.items())


def all_of(options: Sequence[Option[Any]]) -> Option[Any]:
    """A group of options as one decorator."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def without_effect(flags: dict[str, Any]) -> dict[str, str]:
    """Those of the flags that were given and change nothing, with the reason."""
    given = {name.replace("_", "-") for name, value in flags.items() if value not in (None, ())}
    return {name: why for name, (_, why) in WITHOUT_EFFECT.items() if name in given}
