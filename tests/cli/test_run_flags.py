"""The command line of kube-scheduler 1.36 is taken as it is, down to kubeadm's."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mooring.app.running
from cli.conftest import Ran
from mooring import logs
from mooring.app.options import RunOptions
from mooring.cli.flags import WITHOUT_EFFECT
from mooring.cli.run import command
from mooring.config.durations import Duration
from mooring.config.load import load_config
from mooring.plugins.catalogue import make_registry

FLAGS = (Path(__file__).parent / "kube_scheduler_flags.txt").read_text().split()
Mooring = Callable[..., Ran]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[RunOptions]]:
    """What `run` is told, instead of scheduling."""
    heard: list[RunOptions] = []

    def run(options: RunOptions) -> int:
        heard.append(options)
        return 0

    monkeypatch.setattr(mooring.app.running, "run", run)
    yield heard
    logs.quiet()


def test_every_flag_of_kube_scheduler_is_taken() -> None:
    known = {word.removeprefix("--") for option in command.params for word in option.opts}
    assert set(FLAGS) - known <= {"help"}


def test_kubeadm(mooring: Mooring, told: list[RunOptions], tmp_path: Path) -> None:
    file = tmp_path / "scheduler.conf"
    file.write_text("{}")
    assert mooring(
        "run",
        f"--authentication-kubeconfig={file}",
        f"--authorization-kubeconfig={file}",
        "--bind-address=127.0.0.1",
        f"--kubeconfig={file}",
        "--leader-elect=true",
    ) == (0, "", "")
    (options,) = told
    assert options.kubeconfig == options.trust.authentication_kubeconfig == file
    assert options.serving.bind_address == "127.0.0.1"
    assert options.election.leader_elect is True
    assert options.remarks() == []


VALUES = {
    "http2-max-streams-per-connection": "1000",
    "pod-max-in-unschedulable-pods-duration": "5m0s",
}


@pytest.mark.parametrize("flag", WITHOUT_EFFECT)
def test_what_has_no_effect_is_said(mooring: Mooring, told: list[RunOptions], flag: str) -> None:
    assert mooring("run", f"--{flag}={VALUES.get(flag, 'true')}").code == 0
    (remark,) = told[0].remarks()
    assert remark.startswith(f"--{flag} has no effect: ")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--tls_min_version=VersionTLS13"], {"tls-min-version": "TLSv1_3"}),  # _ is -, as in Go
        (
            ["--tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"],
            {"tls-cipher-suites": "TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
        ),
        (
            ["--tls-sni-cert-key=a.crt,a.key:*.a.example,b", "--tls-sni-cert-key=c.crt,c.key"],
            {"tls-sni-cert-key": "a.crt,a.key:*.a.example,b,c.crt,c.key"},
        ),
        (["--leader-elect"], {"leader-elect": "true"}),
        (["--leader-elect-lease-duration=1m30s"], {"leader-elect-lease-duration": "1m30s"}),
        (["--authentication-token-webhook-cache-ttl=20s"], {"authentication-token-webhook-cache-ttl": "20s"}),
        (
            ["--feature-gates=kube:PodLevelResources=false", "--feature-gates=MemoryQoS=true"],
            {"feature-gates": "PodLevelResources=false,MemoryQoS=true"},
        ),
        (["--disabled-metrics=a,b"], {"disabled-metrics": "a,b"}),
        (["--requestheader-allowed-names=proxy"], {"requestheader-allowed-names": "proxy"}),
        (["--profiling=false"], {"profiling": "false"}),
        (["--permit-port-sharing"], {"permit-port-sharing": "true"}),
    ],
    ids=lambda value: value[0].partition("=")[0] if isinstance(value, list) else "",
)  # fmt: skip
def test_what_is_said_is_shown(
    mooring: Mooring, told: list[RunOptions], words: list[str], shown: dict[str, str]
) -> None:
    assert mooring("run", *words) == (0, "", "")
    assert shown.items() <= told[0].flags().items()


def test_defaults_are_kube_schedulers(mooring: Mooring, told: list[RunOptions]) -> None:
    assert mooring("run").code == 0
    (options,) = told
    assert options == RunOptions()
    assert options.serving.secure_port == 10259
    assert options.serving.tls_min_version is ssl.TLSVersion.TLSv1_2
    assert options.trust.authentication_tolerate_lookup_failure
    assert options.trust.terms().token == Duration(10)


@pytest.mark.parametrize(
    ("word", "what"),
    [
        ("--tls-min-version=VersionTLS9", 'unknown tls version "VersionTLS9"'),
        ("--tls-cipher-suites=TLS_NO", "Cipher suite TLS_NO not supported or doesn't exist"),
        ("--tls-sni-cert-key=only.crt", "expected comma separated certificate and key file paths"),
        ("--vmodule=a", '"a" has to be pattern=N'),
        ("--v=loud", "is not a level from 0 to 10"),
        ("--feature-gates=NoSuchGate=true", "unrecognized feature gate: NoSuchGate"),
        ("--leader-elect-lease-duration=soon", "invalid duration"),
    ],
)
def test_mistakes(mooring: Mooring, told: list[RunOptions], word: str, what: str) -> None:
    ran = mooring("run", word)
    assert (ran.code, told) == (2, [])
    assert what in " ".join(ran.err.split())


@pytest.mark.parametrize("words", [["-v=2"], ["-v", "2"], ["--v=2"], ["-v2"]])
def test_verbosity_as_go_takes_it(mooring: Mooring, told: list[RunOptions], words: list[str]) -> None:
    assert mooring("run", *words).code == 0
    assert logs.verbosity() == 2
    assert mooring("run", "--v=99").code == 0  # as much as there is
    assert logs.verbosity() == 10


def test_single_modules_say_more(mooring: Mooring, told: list[RunOptions], capsys: Any) -> None:
    assert mooring("run", "--v=1", "--vmodule=test_run*=5,web/no_such=3").code == 0
    log = logging.getLogger("mooring.test")
    log.log(logs.V5, "a detail of this module")
    log.log(logs.V10, "too fine even here")
    other = logging.LogRecord("mooring.other", logs.V2, "/x/other.py", 1, "elsewhere", (), None)
    log.handle(other)
    said = capsys.readouterr().err
    assert "a detail of this module" in said
    assert "too fine" not in said
    assert "elsewhere" not in said
    logs.set_verbosity(2)  # while it runs: all other modules
    log.handle(other)
    assert "elsewhere" in capsys.readouterr().err


def test_the_version(mooring: Mooring, told: list[RunOptions]) -> None:
    for word in ("--version", "--version=raw"):
        ran = mooring("run", word)
        assert (ran.code, told) == (0, [])
        assert ran.out.startswith("Mooring 0.")


def test_the_configuration_is_written_and_can_be_read(mooring: Mooring, tmp_path: Path) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    words = ("--leader-elect-lease-duration=20s", "--kube-api-qps=70")
    assert mooring("run", *words, f"--write-config-to={first}").code == 0
    assert first.stat().st_mode & 0o777 == 0o600
    config = load_config(first.read_text(), str(first), make_registry(None))
    assert config.leader_election.lease_duration == 20
    assert config.client_connection.qps == 70
    assert mooring("run", f"--config={first}", f"--write-config-to={second}").code == 0
    assert second.read_text() == first.read_text()
    assert mooring("check", first).code == 0
    ran = mooring("run", f"--write-config-to={tmp_path}/no/such/folder.yaml")
    assert (ran.code, "cannot be written" in ran.err) == (2, True)
