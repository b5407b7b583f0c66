"""Archive of conversations: texts only, one file for each, and no failure on malformed transcripts."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from horae.agents.runner.minds.transcript_archive import archive_transcript

NOW = datetime(2026, 11, 18, 9, 5, tzinfo=UTC)


def transcript(folder: Path, *entries: object) -> Path:
    path = folder / "t.jsonl"
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in entries))
    return path


def entry(role: str, content: object) -> object:
    return {"type": role, "message": {"role": role, "content": content}}


def test_texts_are_archived_and_tool_calls_left_out(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "Sure."}, {"type": "tool_use", "name": "Bash", "input": {}}]
    prompt = "<messages><message sender='Ada'>Plan: a trip!</message></messages>"
    found = transcript(tmp_path, "{", "[]", entry("user", prompt), entry("assistant", blocks), entry("user", [{"type": "tool_result"}]))  # fmt: skip
    path = archive_transcript(found, tmp_path / "group", "Andy", NOW)
    assert path == tmp_path / "group" / "conversations" / "2026-11-18-plan-a-trip.md"
    assert path.read_text().endswith(f"---\n\n**User**: {prompt}\n\n**Andy**: Sure.\n")
    again = archive_transcript(found, tmp_path / "group", "Andy", NOW)
    assert again is not None
    assert again.name == "2026-11-18-plan-a-trip-2.md"


def test_nothing_is_written_for_an_empty_or_missing_transcript(tmp_path: Path) -> None:
    assert archive_transcript(transcript(tmp_path, "x"), tmp_path, "Andy", NOW) is None
    assert archive_transcript(tmp_path / "absent", tmp_path, "Andy", NOW) is None


def test_a_title_is_never_a_path(tmp_path: Path) -> None:
    path = archive_transcript(transcript(tmp_path, entry("user", "../../etc/passwd")), tmp_path, "Andy", NOW)
    assert path == tmp_path / "conversations" / "2026-11-18-etc-passwd.md"
    odd = archive_transcript(transcript(tmp_path, entry("user", "🙂 ?!")), tmp_path, "Andy", NOW)
    assert odd == tmp_path / "conversations" / "2026-11-18-conversation.md"
