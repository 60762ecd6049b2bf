"""Kubeconfig files: what they give, how they are merged, and every mistake at its place."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.errors import ConfigError
from mooring.kube.access.access import Access, ExecPlugin, Secret, User
from mooring.kube.access.kubeconfig import load_kubeconfig

PEM = b"-----BEGIN CERTIFICATE-----"
DATA = base64.b64encode(PEM).decode()


def config(cluster: Any = None, user: Any = None, context: Any = None, name: str = "x") -> dict[str, Any]:
    """A kubeconfig with one of each."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443", **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, **(context or {})}}],
        "current-context": name,
    }


def write(path: Path, data: Any) -> str:
    path.write_text(data if isinstance(data, str) else yaml.safe_dump(data, sort_keys=False))
    return str(path)


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def load_it(data: Any, **more: Any) -> Access:
        return load_kubeconfig(write(tmp_path / "config", data), **more)

    return load_it


def test_the_least(load: Any) -> None:
    assert load(config()) == Access(server="https://x:6443")


def test_every_field_of_a_cluster(load: Any) -> None:
    said = {
        "server": "https://x:6443/path/",
        "certificate-authority-data": DATA,
        "tls-server-name": "kubernetes",
        "proxy-url": "http://proxy:3128",
        "disable-compression": True,
        "unknown": "is passed over",
    }
    assert load(config(said, context={"namespace": "team"})) == Access(
        server="https://x:6443/path",
        authorities=PEM,
        server_name="kubernetes",
        proxy="http://proxy:3128",
        compression=False,
        namespace="team",
    )


def test_not_verifying(load: Any) -> None:
    assert not load(config({"insecure-skip-tls-verify": True})).verify


@pytest.mark.parametrize(
    ("said", "user"),
    [
        ({"token": "t"}, User(token=Secret(b"t"))),
        ({"username": "ann", "password": "p"}, User(username="ann", password=Secret(b"p"))),
        (
            {"client-certificate-data": DATA, "client-key-data": DATA},
            User(certificate=Secret(PEM), key=Secret(PEM)),
        ),
        (
            {"as": "ann", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"a/b": ["1", "2"]}},
            User(
                impersonation=(
                    ("Impersonate-User", "ann"),
                    ("Impersonate-Uid", "7"),
                    ("Impersonate-Group", "a"),
                    ("Impersonate-Group", "b"),
                    ("Impersonate-Extra-a%2Fb", "1"),
                    ("Impersonate-Extra-a%2Fb", "2"),
                )
            ),
        ),
    ],
)
def test_users(load: Any, said: dict[str, Any], user: User) -> None:
    assert load(config(user=said)).user == user


def test_files_are_beside_the_kubeconfig(tmp_path: Path, load: Any) -> None:
    for name in ("ca", "cert", "key", "token"):
        (tmp_path / name).write_bytes(name.encode())
    user = {"client-certificate": "cert", "client-key": str(tmp_path / "key"), "tokenFile": "./token"}
    access = load(config({"certificate-authority": "ca"}, user))
    assert access.authorities == b"ca"
    assert access.user.certificate == Secret(b"cert", str(tmp_path / "cert"))
    assert access.user.key == Secret(b"key", str(tmp_path / "key"))
    assert access.user.token == Secret(b"token", str(tmp_path / "token"))


def test_data_goes_before_a_file(load: Any) -> None:
    access = load(config({"certificate-authority": "nowhere", "certificate-authority-data": DATA}))
    assert access.authorities == PEM


def test_base64_on_several_lines(load: Any) -> None:
    folded = "\n".join([DATA[:8], DATA[8:], ""])
    assert load(config({"certificate-authority-data": folded})).authorities == PEM


def test_a_context_can_be_named(load: Any) -> None:
    both = config()
    other = config(name="y")
    for field in ("clusters", "users", "contexts"):
        both[field] += other[field]
    assert load(both, context="y").server == "https://y:6443"


def test_a_context_without_a_user(load: Any) -> None:
    assert load(config(context={"user": ""})).user == User()


def test_a_server_can_be_given(load: Any) -> None:
    assert load(config(user={"token": "t"}), master="http://127.0.0.1:8080") == Access(
        server="http://127.0.0.1:8080", user=User(token=Secret(b"t"))
    )


@pytest.mark.parametrize(
    ("cluster", "user", "server"),
    [
        ({"server": "x:6443"}, {}, "http://x:6443"),
        ({"server": "x:6443", "certificate-authority-data": DATA}, {}, "https://x:6443"),
        ({"server": "x"}, {"client-certificate-data": DATA, "client-key-data": DATA}, "https://x"),
        ({"server": "x", "insecure-skip-tls-verify": True}, {}, "https://x"),
    ],
)
def test_an_address_without_a_scheme(load: Any, cluster: Any, user: Any, server: str) -> None:
    assert load(config(cluster, user)).server == server


def test_nulls_are_nothing(load: Any) -> None:
    data = config()
    data["users"] = None
    data["clusters"][0]["cluster"]["certificate-authority"] = None
    data["contexts"][0]["context"]["user"] = None
    assert load(data) == Access(server="https://x:6443")


# Several files


def test_the_first_file_that_names_something_has_the_say(tmp_path: Path) -> None:
    first, second = config(name="x"), config({"server": "https://other"}, {"token": "no"}, name="x")
    second["clusters"][0]["cluster"]["tls-server-name"] = "is not mixed in"
    second["users"].append({"name": "later", "user": {"token": "yes"}})
    first["contexts"].append({"name": "mixed", "context": {"cluster": "x", "user": "later"}})
    second["current-context"] = "nowhere"
    listed = [write(tmp_path / "1", first), str(tmp_path / "missing"), write(tmp_path / "2", second)]
    env = {"KUBECONFIG": os.pathsep.join(listed)}
    assert load_kubeconfig(env=env) == Access(server="https://x:6443")
    assert load_kubeconfig(env=env, context="mixed").user == User(token=Secret(b"yes"))


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    listed = [write(tmp_path / "1", "# nothing\n"), write(tmp_path / "2", config())]
    assert load_kubeconfig(env={"KUBECONFIG": os.pathsep.join(listed)}).server == "https://x:6443"


@pytest.mark.parametrize("listed", ["", "/nowhere/a:/nowhere/b"])
def test_no_file_at_all(listed: str) -> None:
    with pytest.raises(ConfigError, match="there is no kubeconfig"):
        load_kubeconfig(env={"KUBECONFIG": listed})


# Exec plugins

V1 = "client.authentication.k8s.io/v1"
EXEC = {"command": "get-token", "apiVersion": V1, "interactiveMode": "Never"}


def test_an_exec_plugin(load: Any) -> None:
    said = {
        **EXEC,
        "args": ["--a", "b"],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": ""}],
        "installHint": "get it",
    }
    assert load(config(user={"exec": said})).user.exec == ExecPlugin(
        command="get-token",
        api_version=V1,
        args=("--a", "b"),
        env=(("A", "1"), ("B", "")),
        install_hint="get it",
        interactive_mode="Never",
    )


def test_a_command_with_a_path_is_beside_the_kubeconfig(tmp_path: Path, load: Any) -> None:
    said = {**EXEC, "command": "./bin/get-token"}
    assert load(config(user={"exec": said})).user.exec.command == str(tmp_path / "bin/get-token")


def test_v1beta1_needs_no_interactive_mode(load: Any) -> None:
    said = {"command": "x", "apiVersion": "client.authentication.k8s.io/v1beta1"}
    assert load(config(user={"exec": said})).user.exec.interactive_mode == "IfAvailable"


def test_what_a_plugin_is_told_about_the_cluster(load: Any) -> None:
    cluster = {
        "certificate-authority-data": DATA,
        "tls-server-name": "k",
        "extensions": [
            {"name": "other", "extension": {"no": 1}},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}},
        ],
    }
    told = load(config(cluster, {"exec": {**EXEC, "provideClusterInfo": True}})).user.exec.cluster
    assert told == {
        "server": "https://x:6443",
        "certificate-authority-data": DATA,
        "tls-server-name": "k",
        "config": {"audience": "a"},
    }


# Mistakes

TEXT = """\
apiVersion: v1
kind: Config
clusters:
- name: x
  cluster: {cluster}
users:
- name: x
  user: {user}
contexts:
- name: x
  context: {context}
current-context: {current}
"""


def text(
    cluster: str = "{server: https://x}",
    user: str = "{}",
    context: str = "{cluster: x, user: x}",
    current: str = "x",
) -> str:
    return TEXT.format(cluster=cluster, user=user, context=context, current=current)


@pytest.mark.parametrize(
    ("said", "where", "what"),
    [
        (text(cluster="{server: 7}"), "5:21", "expected a string, got 7. Put it in quotes."),
        (text(cluster="{}"), "5:12", "the cluster has no server."),
        (text(cluster="{server: 'ftp://x'}"), "5:21", "server is to begin with http:// or https://, not ftp://."),
        (text(cluster="{server: 'https://'}"), "5:21", "server is not a URL."),
        (text(cluster="{server: 'https://x:port'}"), "5:21", "server is not a URL."),
        (text(cluster="{server: x, proxy-url: 'socks5://p'}"), "5:35",
         "proxy-url is to begin with http:// or https://, not socks5://."),
        (text(cluster="{server: x, insecure-skip-tls-verify: true, certificate-authority: y}"), "5:50",
         "insecure-skip-tls-verify and a certificate authority exclude each other."),
        (text(cluster="{server: x, certificate-authority-data: 'a%b'}"), "5:52", "expected base64 text."),
        (text(user="{client-certificate-data: QQ==}"), "8:9",
         "a client certificate needs client-key or client-key-data."),
        (text(user="{client-key-data: QQ==}"), "8:9",
         "a client key needs client-certificate or client-certificate-data."),
        (text(user="{token: t, username: ann}"), "8:17", "a token and a username exclude each other."),
        (text(user="{auth-provider: {name: gcp}}"), "8:25",
         "auth-provider is not supported. Use exec with the provider's plugin."),
        (text(user="{as-groups: [a]}"), "8:9", "as-uid, as-groups and as-user-extra need as."),
        (text(user="{exec: {apiVersion: client.authentication.k8s.io/v1}}"), "8:16",
         'required field "command" is missing.'),
        (text(user="{exec: {command: x, apiVersion: v9}}"), "8:41",
         'expected "client.authentication.k8s.io/v1" or "client.authentication.k8s.io/v1beta1".'),
        (text(user="{exec: {command: x, apiVersion: client.authentication.k8s.io/v1}}"), "8:16",
         'interactiveMode is to be "Never", "IfAvailable" or "Always".'),
        (text(user="{exec: {command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Yo}}"),
         "8:91", 'interactiveMode is to be "Never", "IfAvailable" or "Always", not "Yo".'),
        (text(context="{cluster: y, user: x}"), "11:22", 'there is no cluster named "y".'),
        (text(context="{user: x}"), "11:12", "the context names no cluster."),
        (text(context="{cluster: x, user: y}"), "11:31", 'there is no user named "y".'),
        (text(current="y"), "12:18", 'there is no context named "y".'),
        (text(current=""), "1:1", "no current-context is set, and none is named. Contexts: x."),
        ("kind: Pod\n", "1:7", 'expected kind "Config".'),
        ("a: 1\n---\nb: 1\n", "3:1", "a kubeconfig is one document, and here a second begins."),
        ("clusters: 7\n", "1:11", "expected a list, got 7."),
    ],
)  # fmt: skip
def test_each_mistake_has_its_place(tmp_path: Path, load: Any, said: str, where: str, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(said)
    assert str(caught.value) == f"{tmp_path}/config:{where}: {what}"


def test_every_mistake_of_a_file_is_told_at_once(load: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text(cluster="{server: 7}", user="{tokenFile: 7}", context="[]"))
    assert [mistake.place.rpartition("config")[2] for mistake in caught.value.mistakes] == [
        ":5:21",
        ":8:21",
        ":11:12",
    ]


@pytest.mark.parametrize("field", ["token", "password"])
def test_a_secret_is_never_quoted(load: Any, field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text(user=f"{{{field}: 123456}}"))
    assert "expected a string. Put it in quotes." in str(caught.value)
    assert "123456" not in str(caught.value)


def test_a_key_is_never_quoted(load: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text(user="{client-key-data: 'LS0tLS1%'}"))
    assert "LS0tLS1" not in str(caught.value)


@pytest.mark.parametrize("field", ["client-certificate", "client-key"])
def test_a_file_that_is_not_there(tmp_path: Path, load: Any, field: str) -> None:
    user = {"client-certificate-data": DATA, "client-key-data": DATA}
    del user[f"{field}-data"]
    with pytest.raises(ConfigError) as caught:
        load(config(user={**user, field: "nowhere"}))
    assert str(caught.value).endswith(f"{tmp_path}/nowhere cannot be read: No such file or directory.")


def test_a_token_file_that_is_not_there(tmp_path: Path, load: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        load(config(user={"tokenFile": "nowhere"}))
    assert str(caught.value).endswith(f"{tmp_path}/nowhere cannot be read: No such file or directory.")


def test_a_token_serves_until_its_file_is_there(tmp_path: Path, load: Any) -> None:
    access = load(config(user={"token": "t", "tokenFile": "later"}))
    assert access.user.token == Secret(b"t", str(tmp_path / "later"))


def test_a_near_name_is_proposed(load: Any) -> None:
    with pytest.raises(
        ConfigError, match='there is no cluster named "prodution". Did you mean "production"?'
    ):
        load(
            {
                **config(name="production"),
                "contexts": [{"name": "production", "context": {"cluster": "prodution"}}],
            }
        )


def test_a_context_of_the_command_line_that_is_not_there(load: Any) -> None:
    with pytest.raises(ConfigError, match='--context: there is no context named "y"'):
        load(config(), context="y")


def test_a_kubeconfig_that_is_not_there() -> None:
    with pytest.raises(
        ConfigError, match="/nowhere: the kubeconfig cannot be read: No such file or directory."
    ):
        load_kubeconfig("/nowhere")


def test_a_kubeconfig_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "config").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="the kubeconfig cannot be read"):
        load_kubeconfig(str(tmp_path / "config"))


def test_a_kubeconfig_that_is_no_yaml(load: Any) -> None:
    with pytest.raises(ConfigError, match="config:2:"):
        load("a: [1\nb: 2\n")
