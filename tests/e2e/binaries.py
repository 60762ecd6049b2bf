"""The programs of a control plane, built from published Go modules once and kept outside the checkout.

    python tests/e2e/binaries.py [NAME...]     builds what is missing, with a line of progress for each

`MOORING_E2E_CACHE` names the folder they are kept in. Which versions is said by the go.mod files in
`controlplane/`, and go.sum pins every module they need.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parent / "controlplane"
TAIL_LINES = 30


class CannotBuild(Exception):
    """Says in one message why there is no such program."""


@dataclass(frozen=True)
class Program:
    """One command of one Go module; `stamp` are the variables that hold the version it reports."""

    name: str
    module: str  # folder below `controlplane`
    requirement: str  # the module whose version is the program's
    package: str
    stamp: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        text = (MODULES / self.module / "go.mod").read_text()
        found = re.search(rf"^(?:require)?\s*{re.escape(self.requirement)} (v\S+)", text, re.MULTILINE)
        if found is None:
            raise CannotBuild(f"{self.module}/go.mod does not require {self.requirement}")
        return found[1]

    @property
    def path(self) -> Path:
        return cache() / f"{self.module}-{self.version}" / self.name

    def link_flags(self) -> str:
        """Without symbol tables, which halve nothing but the size, and with the version it is."""
        major, minor, *_ = self.version.lstrip("v").split(".")
        said = {"gitVersion": self.version, "gitMajor": major, "gitMinor": minor}
        variables = (f"-X {name}={said.get(name.rpartition('.')[2], self.version)}" for name in self.stamp)
        return " ".join(("-s", "-w", *variables))


@dataclass(frozen=True)
class OwnProgram(Program):
    """One whose Go files are ours, in the folder `module`. It is kept under what it was made from, so that
    another version of a file is another program."""

    @property
    def path(self) -> Path:
        folder = Path(self.module)
        made_from = sorted([*folder.glob("*.go"), folder / "go.mod", folder / "go.sum"])
        digest = hashlib.sha256(b"\0".join(file.read_bytes() for file in made_from)).hexdigest()
        return cache() / f"{self.name}-{self.version}-{digest[:12]}" / self.name


def kubernetes(name: str) -> Program:
    words = ("gitVersion", "gitMajor", "gitMinor")
    stamp = tuple(f"k8s.io/component-base/version.{word}" for word in words)
    return Program(name, "kubernetes", "k8s.io/kubernetes", f"k8s.io/kubernetes/cmd/{name}", stamp)


PROGRAMS = {
    program.name: program
    for program in (
        Program("etcd", "etcd", "go.etcd.io/etcd/server/v3", "."),
        kubernetes("kube-apiserver"),
        kubernetes("kube-controller-manager"),
        kubernetes("kube-scheduler"),
        kubernetes("kubectl"),
        Program("kwok", "kwok", "sigs.k8s.io/kwok", "sigs.k8s.io/kwok/cmd/kwok",
                ("sigs.k8s.io/kwok/pkg/consts.Version",)),
        Program("helm", "helm", "helm.sh/helm/v3", "helm.sh/helm/v3/cmd/helm",
                ("helm.sh/helm/v3/internal/version.version",)),
    )
}  # fmt: skip


def cache() -> Path:
    """Where programs are kept."""
    named = os.environ.get("MOORING_E2E_CACHE")
    if named:
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mooring" / "e2e"


def program(name: str) -> Path:
    """Where this program is, built first when it is missing."""
    build([name])
    return PROGRAMS[name].path


def build(names: Iterable[str] = PROGRAMS) -> None:
    """Builds what is missing of these."""
    build_missing(PROGRAMS[name] for name in names)


def build_missing(programs: Iterable[Program]) -> None:
    missing = [each for each in programs if not each.path.exists()]
    if missing and shutil.which("go") is None:
        wanted = ", ".join(each.name for each in missing)
        raise CannotBuild(f"building {wanted} needs Go 1.26 or newer: there is no `go` on the PATH")
    for each in missing:
        build_one(each)


def build_one(each: Program) -> None:
    each.path.parent.mkdir(parents=True, exist_ok=True)
    say(f"building {each.name} {each.version}")
    started = time.monotonic()
    fresh = each.path.with_name(f".{each.name}.{os.getpid()}")  # two builds at once do not see half a program
    command = ["go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", each.link_flags()]
    done = subprocess.run(
        [*command, "-o", str(fresh), each.package],
        cwd=MODULES / each.module,
        env=os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        fresh.unlink(missing_ok=True)
        tail = "\n".join(done.stdout.splitlines()[-TAIL_LINES:])
        raise CannotBuild(f"{each.name} {each.version} does not build:\n{tail}")
    fresh.replace(each.path)
    minutes, seconds = divmod(round(time.monotonic() - started), 60)
    say(f"built {each.name} {each.version} in {minutes}m{seconds:02d}s")


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        say(f"no program named {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
        return 2
    try:
        build(names or PROGRAMS)
    except CannotBuild as error:
        say(str(error))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
