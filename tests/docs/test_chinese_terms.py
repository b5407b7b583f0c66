"""One Chinese word for one thing, in the messages of the package and in the Chinese pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import DOCS, ROOT

TERMS: Final = {"频道": "渠道", "审批": "批准", "载荷": "负载", "有效负载": "负载"}
"""Words that are not used, with the word that is."""
OTHER_MEANINGS: Final = re.compile(r"Redis 频道|Slack")
"""Lines about a channel of Redis or of Slack, which is not a chat channel of Horae."""


def chinese_files() -> Iterator[Path]:
    yield from sorted((ROOT / "src" / "horae").rglob("*.py"))
    yield from sorted(DOCS.glob("*.zh-CN.md"))
    yield ROOT / "README.zh-CN.md"


def other_words(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if not OTHER_MEANINGS.search(line)]
    return [f"{word} is {term}: {line.strip()}" for line in lines for word, term in TERMS.items() if word in line]


def test_one_chinese_word_for_one_thing() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in chinese_files()}
    assert sum("渠道" in text for text in texts.values()) > 10
    assert {path.name: found for path, text in texts.items() if (found := other_words(text))} == {}


@pytest.mark.parametrize(
    ("line", "count"),
    [("等待审批", 1), ("群组 频道:编号", 1), ("载荷", 1), ("事件的 Redis 频道", 0), ("等待批准的负载,渠道", 0)],
)
def test_another_word_is_found(line: str, count: int) -> None:
    assert len(other_words(line)) == count
