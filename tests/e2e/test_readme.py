"""What the README says to do on a cluster, done on the cluster it says to start."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e import binaries
from e2e.process import Process
from e2e.waiting import wait_for

ROOT = Path(__file__).parents[2]
HELM = re.compile(r"^(helm install .*?)\s*(?:#.*)?$", re.MULTILINE)


@pytest.fixture
def env(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment that `make cluster` tells people to have."""
    command = [sys.executable, str(ROOT / "tests" / "e2e" / "serve.py"), "--nodes", "3"]
    served = Process("cluster", command, tmp_path / "cluster.log")
    served.start()
    try:
        wait_for(
            lambda: "Ctrl-C ends it all" in served.output(), within=120, saying="a cluster", tail=served.tail
        )
        said = re.search(r"export KUBECONFIG=(\S+) PATH=(\S+):", served.output())
        assert said is not None
        yield os.environ | {
            "KUBECONFIG": said[1],
            "PATH": f"{said[2]}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
        }
    finally:
        served.signal(signal.SIGINT)
        assert served.running is not None
        served.running.wait(60)


def test_the_chart_can_be_installed_on_the_cluster(env: dict[str, str]) -> None:
    text = (ROOT / "README.md").read_text().replace("\\\n", " ")
    (written,) = HELM.findall(text)
    words = shlex.split(written, comments=True)
    words[0] = str(binaries.program("helm"))
    run(words, env)
    found = run(["kubectl", "get", "deployment", "mooring", "-n", "mooring-system", "-o", "name"], env)
    assert found.strip() == "deployment.apps/mooring"
    run([words[0], "uninstall", "mooring", "-n", "mooring-system"], env)


def run(words: list[str], env: dict[str, str]) -> str:
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
