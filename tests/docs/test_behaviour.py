"""Every line of "How it behaves" names a test that exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import ROOT, text_of

_NODE: Final = re.compile(r"`((?:tests|src/horae/testing)/[\w/]+\.py)::(test_\w+)`")
_RULE: Final = "|---|---|---|"
PAGE: Final = text_of("behaviour.md")
LINES: Final = [
    line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| situation | what happens |")
]


@cache
def names_in(path: Path) -> frozenset[str]:
    """Functions of the module and methods of its classes: what pytest would find there."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    found = [*body, *(each for outer in body if isinstance(outer, ast.ClassDef) for each in outer.body)]
    return frozenset(each.name for each in found if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("line", LINES)
def test_every_line_names_existing_tests(line: str) -> None:
    cells = [cell.strip() for cell in line.strip("|").split(" | ")]
    assert len(cells) == 3
    assert all(cells)
    named = _NODE.findall(cells[2])
    assert named, "a line must name a test"
    assert _NODE.sub("", cells[2]).strip(", ") == ""
    for path, name in named:
        assert name in names_in(ROOT / path), f"{path}::{name}"


def test_tables_have_three_columns_and_unique_situations() -> None:
    assert len(LINES) > 60
    assert len({line.split(" | ")[0] for line in LINES}) == len(LINES), "a situation appears twice"
    assert PAGE.count(_RULE) == PAGE.count("\n## ")
