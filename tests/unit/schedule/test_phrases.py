"""Phrases of users in both languages, kept as data with their meaning."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import horae
from horae.schedule import to_json

DATA = Path(__file__).parents[2] / "data" / "phrases.json"
PHRASES: list[dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))["phrases"]
NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize("phrase", PHRASES, ids=[phrase["text"] for phrase in PHRASES])
def test_phrase_has_its_recorded_meaning(phrase: dict[str, Any]) -> None:
    if "refused" in phrase:
        with pytest.raises(horae.InvalidSchedule) as refusal:
            horae.parse(phrase["text"], zone="Asia/Shanghai", now=NOW)
        assert refusal.value.code == phrase["refused"]
    else:
        assert to_json(horae.parse(phrase["text"], zone="Asia/Shanghai", now=NOW)) == phrase["schedule"]
