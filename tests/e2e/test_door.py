"""Who comes to the port of a scheduler: strangers, admins with a certificate, front proxies, kubelets."""

from __future__ import annotations

import json
import re
import ssl
import urllib.error
import urllib.request
from pathlib import Path

from e2e.certificates import Pair
from e2e.cluster import Cluster
from e2e.control_plane import MASTERS
from e2e.kubectl import Kubectl
from e2e.metrics import Metrics, reader
from e2e.scheduler import Scheduler, StartScheduler, unverified
from e2e.strangers import besieged
from e2e.waiting import wait_for
from e2e.workloads import pod

PODS = 30


def test_strangers_keep_nobody_waiting(cluster: Cluster, start_mooring: StartScheduler) -> None:
    """While they do their worst: pods are bound, probes are answered, figures are read, memory is bounded."""
    cluster.add_nodes(4, cpu=64)
    running, token = start_mooring(), reader(cluster)
    running.read("/metrics", token)
    before, open_before = resident(running), open_files(running)
    with besieged(running.port):
        for number in range(PODS):
            cluster.create_pods(pod(f"web-{number}", cpu="10m"))
            assert probe(running) == 200, running.tail()
        cluster.wait_bound(PODS, within=60)
        said = wait_for(lambda: figures(running, token), within=60, saying="figures to be read")
        assert "scheduler_pending_pods" in said
    assert probe(running) == 200
    assert running.is_running()
    assert resident(running) < before + 150 * 1024 * 1024
    assert len(running.output().splitlines()) < 1000  # strangers do not fill the log
    wait_for(lambda: open_files(running) < open_before + 20, saying="connections to be gone")


def figures(running: Scheduler, token: str) -> str:
    """Whoever tries again is served in the end, as Prometheus does at its next turn."""
    try:
        return running.read("/metrics", token)
    except OSError:
        return ""


def probe(running: Scheduler) -> int:
    """As a kubelet does it: it gives up after 15 s, and tries again some times before it acts."""
    for _ in range(3):
        if (code := running.status("/livez")) == 200:
            return code
    return code


def open_files(running: Scheduler) -> int:
    return len(list(Path(f"/proc/{running.pid}/fd").iterdir()))


def resident(running: Scheduler) -> int:
    pages = Path(f"/proc/{running.pid}/statm").read_text().split()[1]
    return int(pages) * 4096


def test_the_admin_s_certificate_opens_everything(cluster: Cluster, start_mooring: StartScheduler) -> None:
    """kubectl get --raw with the kubeconfig people have, for kube-scheduler and for Mooring."""
    plane = cluster.control_plane
    running = start_mooring(kubeconfig=plane.user("system:kube-scheduler"))
    admin = asking(running, cluster, plane.authority.user("an-admin", MASTERS))
    said = wait_for(lambda: admin.run("get", "--raw", "/metrics").stdout, saying="the certificate to count")
    assert "scheduler_schedule_attempts_total" in said
    cluster.add_nodes(1)
    cluster.create_pods(pod("nowhere", cpu="64"))
    cluster.wait_unschedulable("nowhere")
    why = json.loads(admin("get", "--raw", f"/apis/v1/pods/{cluster.namespace}/nowhere/why"))
    assert why
    nobody = asking(running, cluster, plane.authority.user("somebody"))
    refused = nobody.run("get", "--raw", "/metrics")
    assert 'User "somebody" cannot get path "/metrics"' in refused.stdout + refused.stderr


def test_figures_every_component_has(
    cluster: Cluster, start_mooring: StartScheduler, start_kube_scheduler: StartScheduler
) -> None:
    """Of each feature gate kube-scheduler says the same, and the labels are the same."""
    admin = cluster.control_plane.authority.user("an-admin", MASTERS)
    conf = cluster.control_plane.user("system:kube-scheduler")
    ours = series_of(asking(start_mooring(kubeconfig=conf), cluster, admin))
    theirs = series_of(asking(start_kube_scheduler(), cluster, admin))
    enabled = {line for line in ours if line.startswith("kubernetes_feature_enabled")}
    assert len(enabled) > 100
    assert enabled <= theirs
    assert labels_of(ours, "kubernetes_build_info") == labels_of(theirs, "kubernetes_build_info")


def series_of(asks: Kubectl) -> set[str]:
    """Lines as they are, with labels in order."""
    said = wait_for(lambda: asks.run("get", "--raw", "/metrics").stdout, saying="figures")
    found = Metrics(said).series
    return {f"{name}{sorted(labels.items())}{value}" for name, labels, value in found}


def labels_of(series: set[str], name: str) -> list[str]:
    (line,) = [each for each in series if each.startswith(name)]
    return sorted(re.findall(r"\('(\w+)',", line))


def asking(running: Scheduler, cluster: Cluster, user: Pair) -> Kubectl:
    """kubectl of a user, asking the scheduler itself."""
    plane = cluster.control_plane
    path = plane.folder / f"to-{running.port}-{user.certificate.stem}.kubeconfig"
    entry = {"server": running.url, "insecure-skip-tls-verify": True}
    shown = {"client-certificate": str(user.certificate), "client-key": str(user.key)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": entry}],
        "users": [{"name": "it", "user": shown}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    }
    path.write_text(json.dumps(document))
    return Kubectl(plane.kubectl.program, path, plane.folder)


def test_a_front_proxy_speaks_for_others(cluster: Cluster, start_mooring: StartScheduler) -> None:
    plane = cluster.control_plane
    running = start_mooring(kubeconfig=plane.user("system:kube-scheduler"))
    proxy = plane.authority.user("front-proxy")
    said = {"X-Remote-User": "jane", "X-Remote-Group": MASTERS}
    wait_for(lambda: asked(running, proxy, said) == 200, saying="the proxy's word to count")
    assert asked(running, proxy, {"X-Remote-User": "jane"}) == 403
    assert asked(running, plane.authority.user("no-proxy"), said) == 403


def asked(running: Scheduler, user: Pair, headers: dict[str, str]) -> int:
    context: ssl.SSLContext = unverified()
    context.load_cert_chain(user.certificate, user.key)
    request = urllib.request.Request(running.url + "/metrics", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


# The command and the probes of the static pod that kubeadm 1.36 writes.
KUBEADM = (
    "--authentication-kubeconfig=/etc/kubernetes/scheduler.conf",
    "--authorization-kubeconfig=/etc/kubernetes/scheduler.conf",
    "--bind-address=127.0.0.1",
    "--kubeconfig=/etc/kubernetes/scheduler.conf",
    "--leader-elect=true",
)
PROBES = ("/livez", "/readyz")


def test_the_static_pod_of_kubeadm_starts(cluster: Cluster, start_mooring: StartScheduler) -> None:
    """Only the image and the command are changed; the port is another, since this machine has one for all."""
    plane = cluster.control_plane
    cluster.add_nodes(2)
    conf = plane.user("system:kube-scheduler")
    words = [word.replace("/etc/kubernetes/scheduler.conf", str(conf)) for word in KUBEADM]
    running = start_mooring(flags=words, kubeconfig=conf)
    for path in PROBES:
        running.wait_for_path(path)
    cluster.create_pods(pod("one"))
    cluster.wait_bound(1)
    lease = plane.api.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler")
    assert lease["spec"]["holderIdentity"]
    assert "has no effect" not in running.output()
