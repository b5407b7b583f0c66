"""Parser of documentation pages: sections, their code blocks and the documented output."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
_BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^## +(.+)$", re.MULTILINE)
_FILE: Final = re.compile(r"# (\w+\.\w+)\n")


class Section(NamedTuple):
    """`files` are blocks whose first line is a comment with their name; `blocks` are all the others."""

    page: str
    title: str
    blocks: tuple[str, ...]
    files: dict[str, str]
    printed: str

    @property
    def name(self) -> str:
        return f"{self.page}: {self.title}"


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def clean_environment() -> dict[str, str]:
    """Environment without variables that could change what a page prints."""
    ours = ("HORAE_", "PYTEST_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours) and name != "TZ"}


def sections(page: str) -> list[Section]:
    """Every section that has Python in it. What follows a block of Python as text is what it prints."""
    parts = _HEADING.split(text_of(page))
    named = zip(["(top)", *parts[1::2]], parts[::2], strict=True)
    found = [_section(page, title, _BLOCK.findall(text)) for title, text in named]
    return [each for each in found if each.blocks or each.files]


def _section(page: str, title: str, found: list[tuple[str, str]]) -> Section:
    blocks: list[str] = []
    files: dict[str, str] = {}
    printed = ""
    before = ""
    for language, text in found:
        file = _FILE.match(text)
        if language == "python" and file is not None:
            files[file[1]] = text
        elif language == "python":
            blocks.append(text)
        elif language == "text" and before == "python":
            printed += text
        before = language
    return Section(page, title, tuple(blocks), files, printed)
