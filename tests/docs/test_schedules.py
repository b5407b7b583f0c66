"""Every row of the tables in schedules.md and in its Chinese page is correct."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import horae
from horae.schedule import to_json

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "schedules.md").read_text(encoding="utf-8")
CHINESE_PAGE = (DOCS / "schedules.zh-CN.md").read_text(encoding="utf-8")
NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
ZONE = "Asia/Shanghai"
UNDERSTOOD, _, REFUSED = PAGE.partition("## Refused")
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|$", re.MULTILINE)


@pytest.mark.parametrize(("text", "means"), ROW.findall(UNDERSTOOD))
def test_text_is_described_as_documented(text: str, means: str) -> None:
    assert horae.describe(text, zone=ZONE, now=NOW) == means


@pytest.mark.parametrize(("text", "means"), ROW.findall(CHINESE_PAGE.partition("## 拒绝")[0]))
def test_text_is_described_in_chinese_as_documented(text: str, means: str) -> None:
    assert horae.describe(text, zone=ZONE, now=NOW, language="zh") == means


def test_the_chinese_page_has_the_same_texts_and_codes() -> None:
    understood, _, refused = CHINESE_PAGE.partition("## 拒绝")
    assert [text for text, _ in ROW.findall(understood)] == [text for text, _ in ROW.findall(UNDERSTOOD)]
    assert ROW.findall(refused) == ROW.findall(REFUSED)


@pytest.mark.parametrize(("text", "code"), ROW.findall(REFUSED))
def test_text_is_refused_with_the_documented_code(text: str, code: str) -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        horae.parse(text, zone=ZONE, now=NOW)
    assert refusal.value.code == code


def test_json_is_canonical() -> None:
    found = re.search(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    lines = found[1].splitlines()
    assert len(lines) == 8
    for line in lines:
        assert to_json(horae.parse(json.loads(line))) == json.loads(line)
