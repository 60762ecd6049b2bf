"""Where the API server is, for who says little."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.errors import ConfigError
from mooring.kube.access.access import Access, Secret, User
from mooring.kube.access.in_cluster import in_cluster
from mooring.kube.access.locate import find_access

INSIDE = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def account(tmp_path: Path) -> Path:
    for name, text in {"token": "t\n", "ca.crt": "ca", "namespace": "kube-system\n"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def kubeconfig(path: Path, server: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"{{clusters: [{{name: x, cluster: {{server: '{server}'}}}}], "
        "contexts: [{name: x, context: {cluster: x}}], current-context: x}"
    )
    return str(path)


def test_a_pods_service_account(account: Path) -> None:
    assert in_cluster(INSIDE, account) == Access(
        server="https://10.0.0.1:443",
        authorities=b"ca",
        namespace="kube-system",
        user=User(token=Secret(b"t\n", str(account / "token"))),
    )


def test_an_ipv6_address_is_put_in_brackets(account: Path) -> None:
    env = {**INSIDE, "KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert in_cluster(env, account).server == "https://[fd00::1]:443"


@pytest.mark.parametrize("missing", ["token", "ca.crt"])
def test_a_service_account_that_is_not_mounted(account: Path, missing: str) -> None:
    (account / missing).unlink()
    with pytest.raises(ConfigError, match=f"{missing}: it cannot be read: No such file or directory."):
        in_cluster(INSIDE, account)


def test_without_a_namespace(account: Path) -> None:
    (account / "namespace").unlink()
    assert in_cluster(INSIDE, account).namespace == "default"


def test_outside_of_a_pod(account: Path) -> None:
    with pytest.raises(ConfigError, match="this is no pod of a cluster"):
        in_cluster({}, account)


def test_what_is_named_goes_first(tmp_path: Path) -> None:
    named, listed = kubeconfig(tmp_path / "a", "https://a"), kubeconfig(tmp_path / "b", "https://b")
    env = {"KUBECONFIG": listed, **INSIDE}
    assert find_access(named, env=env).server == "https://a"
    assert find_access(env=env).server == "https://b"
    assert find_access(named, master="http://c", env=env).server == "http://c"


def test_a_server_alone() -> None:
    assert find_access(master="127.0.0.1:8080", env={}) == Access(server="http://127.0.0.1:8080")


def test_a_pod_goes_before_the_home_folder(
    tmp_path: Path, account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig(tmp_path / ".kube/config", "https://home")
    monkeypatch.setattr("mooring.kube.access.locate.in_cluster", lambda env: in_cluster(env, account))
    assert find_access(env={"HOME": str(tmp_path)}).server == "https://home"
    assert find_access(env={"HOME": str(tmp_path), **INSIDE}).server == "https://10.0.0.1:443"


def test_a_context_is_one_of_a_kubeconfig(tmp_path: Path) -> None:
    kubeconfig(tmp_path / ".kube/config", "https://home")
    assert find_access(context="x", env={"HOME": str(tmp_path), **INSIDE}).server == "https://home"


def test_nothing_anywhere(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no kubeconfig is given"):
        find_access(env={"HOME": str(tmp_path)})
