"""Every code block and command of the pages is tried, or says why it is not.

Python runs, page by page, and its tests pass; configurations and manifests are read; commands of `mooring`
are run, or parsed where they take long or need a cluster; targets, files and options of others are there.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from mooring.cli.main import COMMANDS, cli
from mooring.config.load import load_config
from mooring.plugins.catalogue import make_registry
from mooring.sim.manifests.manifests import read_manifests
from mooring.testing import cluster, node, pod
from tests.docs.blocks import ROOT, Block, blocks, blocks_of, commands, pages

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
POD = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "main", "image": "app"}]}}
TRIED = ("python", "yaml", "json", "sh")
NEVER_RUN = ("dockerfile",)  # what a toolchain reads that is not here
RUN = ("check", "simulate", "replay")  # these take a moment; the others are parsed
ALL = blocks()


def named(block: Block) -> str:
    return block.place


def at(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("block", ALL, ids=named)
def test_a_block_is_tried_or_says_why_not(block: Block) -> None:
    assert block.language in (*TRIED, *NEVER_RUN, "text"), "say what it is: sh, python, yaml, json, or text"
    if block.language in NEVER_RUN:
        assert block.excuse
    if block.excuse:
        for word in re.findall(r"tests/[\w/.]+\w", block.excuse):
            assert (ROOT / word).exists(), f"there is no {word}"
        assert re.search(r"\btests/|\bneeds\b|\btakes\b|\bends with\b", block.excuse)


PAGES_WITH_PYTHON = [page for page in pages() if any(block.language == "python" for block in blocks_of(page))]


@pytest.mark.parametrize("page", PAGES_WITH_PYTHON, ids=at)
def test_python_runs(page: Path) -> None:
    names: dict[str, Any] = {"__name__": "page", "cluster": cluster, "node": node, "pod": pod}
    for block in blocks_of(page):
        if block.language != "python":
            continue
        place = f"{block.place}"
        compile(block.code, place, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if not block.excuse:
            exec(compile(block.setup, place, "exec"), names)
            exec(compile(block.code, place, "exec"), names)
    for name in [name for name in names if name.startswith("test_")]:
        names[name]()


def merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {key: {**one.get(key, {}), **other[key]} if key in other else one[key] for key in {**one, **other}}


@pytest.mark.parametrize("block", blocks("yaml"), ids=named)
def test_yaml_is_read(block: Block, tmp_path: Path) -> None:
    for document in yaml.safe_load_all(block.code):
        if block.excuse:
            continue
        if "pluginConfig" in document:
            document = {"profiles": [document]}
        if "profiles" in document or document.get("kind") == HEADER["kind"]:
            load_config(yaml.safe_dump(HEADER | document), block.place, make_registry())
        else:
            document = document if "kind" in document else merged(POD, document)  # a part of one
            document["metadata"] = {"name": "web"} | document.get("metadata", {})
            file = tmp_path / "manifest.yaml"
            file.write_text(yaml.safe_dump(document))
            assert read_manifests([str(file)])


@pytest.mark.parametrize("block", blocks("json"), ids=named)
def test_json_is_json(block: Block) -> None:
    json.loads(block.code)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that has what commands name, and may be written to."""
    for name in ("examples", "deploy", "Makefile"):
        (tmp_path / name).symlink_to(ROOT / name)
    text = yaml.safe_dump(HEADER | {"profiles": [{"schedulerName": "default-scheduler"}]})
    for name in ("scheduler.yaml", "candidate.yaml"):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("block", blocks("sh"), ids=named)
def test_commands_work(block: Block, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)
    for words in commands(block):
        program = Path(words[0]).name
        if program in KNOWN:
            KNOWN[program](words[1:], block)
        else:
            assert block.excuse, f"nobody knows how to try {program}"


def _mooring(words: list[str], block: Block) -> None:
    name = words[0]
    assert name in COMMANDS
    if name in RUN and not block.excuse:
        try:
            code = cli.main(words, standalone_mode=False)
        except SystemExit as end:
            code = end.code
        assert code in (None, 0), words
        return
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    parser = found.make_parser(click.Context(found, resilient_parsing=True))
    parser.parse_args(args=[word for word in words[1:] if word[:1] != "["])  # BadParameter: no such option


def _make(words: list[str], block: Block) -> None:
    targets = [word for word in words if "=" not in word]
    known = re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(targets) <= set(known)


def _python(words: list[str], block: Block) -> None:
    """The file is there, and knows the options."""
    path = ROOT / words[1].replace(".", "/") if words[0] == "-m" else ROOT / words[0]
    sources = [path] if path.is_file() else list(path.glob("*.py"))
    text = "".join(source.read_text() for source in sources)
    assert text
    for option in [word for word in words if word.startswith("--")]:
        assert f'"{option}"' in text, option


def _pytest(words: list[str], block: Block) -> None:
    assert all((ROOT / word).exists() for word in words if not word.startswith("-"))


KNOWN: dict[str, Callable[[list[str], Block], None]] = {
    "mooring": _mooring,
    "make": _make,
    "python": _python,
    "pytest": _pytest,
}
FILES = re.compile(r"\b(?:examples|deploy)/[\w./-]*\w")


@pytest.mark.parametrize("block", blocks("sh", "dockerfile"), ids=named)
def test_files_that_commands_name_are_there(block: Block) -> None:
    assert [name for name in FILES.findall(block.code) if not (ROOT / name).exists()] == []


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_targets_expand() -> None:
    done = subprocess.run(["make", "-n", "demo"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "simulate examples/quickstart" in done.stdout
