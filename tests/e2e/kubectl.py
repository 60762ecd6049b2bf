"""kubectl as a person runs it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from e2e.api import Object

TIMEOUT_SECONDS = 120


class KubectlFailed(AssertionError):
    """kubectl ended with an error; says which command and what it said."""


class Kubectl:
    """`kubectl("get", "pods")` answers what it printed; `kubectl.apply(...)` takes manifests."""

    def __init__(self, program: Path, kubeconfig: Path, home: Path) -> None:
        self.program = program
        self.kubeconfig = kubeconfig
        self.env = os.environ | {"KUBECONFIG": str(kubeconfig), "HOME": str(home)}  # its caches go there

    def __call__(self, *words: str | Path, input: str | None = None) -> str:  # noqa: A002 - subprocess's word
        done = self.run(*words, input=input)
        if done.returncode:
            raise KubectlFailed(f"kubectl {' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout

    def run(self, *words: str | Path, input: str | None = None) -> subprocess.CompletedProcess[str]:  # noqa: A002
        """Whatever it answers, errors included."""
        return subprocess.run(
            [str(self.program), *map(str, words)],
            input=input,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    def apply(self, *manifests: Object | Path | str, namespace: str = "") -> str:
        """Objects, YAML texts, or files and folders; into the namespace they name unless one is given."""
        into = ("-n", namespace) if namespace else ()
        said = [self("apply", *into, "-f", path) for path in manifests if isinstance(path, Path)]
        texts = [
            one if isinstance(one, str) else json.dumps(one) for one in manifests if not isinstance(one, Path)
        ]
        if texts:
            said.append(self("apply", *into, "-f", "-", input="\n---\n".join(texts)))
        return "".join(said)
