"""Every kind of plugin has a worked page with tests. That they pass is tried with all other blocks."""

from __future__ import annotations

import pytest

from tests.docs.blocks import ROOT, blocks_of

GUIDE = ROOT / "docs" / "guide"
KINDS = ["domain", "filter", "group", "score", "session", "stateful"]


def test_every_kind_of_plugin_has_a_page() -> None:
    assert sorted(page.stem for page in GUIDE.glob("*.md")) == KINDS


@pytest.mark.parametrize("page", KINDS)
def test_a_page_shows_a_policy_and_its_tests(page: str) -> None:
    code = "".join(block.code for block in blocks_of(GUIDE / f"{page}.md") if block.language == "python")
    assert "(Plugin" in code or "(DomainPlugin" in code
    assert "\ndef test_" in code
