"""Which API server is meant when little or nothing is said."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from mooring.errors import ConfigError
from mooring.kube.access.access import Access
from mooring.kube.access.in_cluster import in_cluster, is_in_cluster
from mooring.kube.access.kubeconfig import load_kubeconfig
from mooring.kube.access.kubeconfig_entries import server_url

NOWHERE = "no kubeconfig is given, $KUBECONFIG is not set, this is not a pod, and {home} is not there."


def find_access(
    kubeconfig: str = "", *, master: str = "", context: str = "", env: Mapping[str, str] = os.environ
) -> Access:
    """The kubeconfig that is named, else $KUBECONFIG, else the pod's service account, else ~/.kube/config.

    `master` overrides the server of the kubeconfig; alone it is a server that asks for no credentials.
    """
    if kubeconfig or env.get("KUBECONFIG"):
        return load_kubeconfig(kubeconfig, context=context, master=master, env=env)
    if master and not context:
        return Access(server=server_url(master, "--master", has_tls=False))
    if is_in_cluster(env) and not context:
        return in_cluster(env)
    home = Path(env.get("HOME", "~")).expanduser() / ".kube" / "config"
    if not home.exists():
        raise ConfigError.at("", NOWHERE.format(home=home))
    return load_kubeconfig(str(home), context=context, master=master)
