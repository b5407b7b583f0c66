"""Tables of documentation pages whose last column names the tests that show each line."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

from tests.docs.pages import ROOT

_NODE: Final = re.compile(r"`((?:tests|src/horae/testing)/[\w/]+\.py)::(test_\w+)`")


@cache
def names_in(path: Path) -> frozenset[str]:
    """Functions of the module and methods of its classes: what pytest would find there."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    found = [*body, *(each for outer in body if isinstance(outer, ast.ClassDef) for each in outer.body)]
    return frozenset(each.name for each in found if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))


def check_line(line: str) -> None:
    """Fail unless the line has three cells, of which the last names existing tests and nothing else."""
    cells = [cell.strip() for cell in line.strip("|").split(" | ")]
    assert len(cells) == 3
    assert all(cells)
    named = _NODE.findall(cells[2])
    assert named, "a line must name a test"
    assert _NODE.sub("", cells[2]).strip(", ") == ""
    for path, name in named:
        assert name in names_in(ROOT / path), f"{path}::{name}"
