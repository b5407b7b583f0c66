"""Archive of a conversation before it is compacted: the transcript of the claude program as Markdown in the group's directory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from .mind import MAX_ANSWER_CHARACTERS

FOLDER: Final = "conversations"
MAX_FILES: Final = 1000
_MAX_BYTES: Final = 16 * 1024 * 1024
_MAX_ARCHIVE: Final = 1024 * 1024
_SLUG_WORDS: Final = 6
_MARKUP: Final = re.compile(r"<[^<>]*>")


class Line(NamedTuple):
    role: str
    text: str


def archive_transcript(transcript: Path, group: Path, assistant: str, now: datetime) -> Path | None:
    """Write `conversations/<date>-<slug>.md`; return its path, or None if there is nothing to write."""
    lines = list(read_transcript(transcript))
    if not lines:
        return None
    folder = group / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    title = _title(lines) or f"conversation {now:%H%M}"
    names = {"user": "User", "assistant": assistant}
    body = "\n\n".join(f"**{names[line.role]}**: {line.text}" for line in lines)
    text = f"# {title}\n\nArchived: {now:%Y-%m-%d %H:%M}\n\n---\n\n{body[-_MAX_ARCHIVE:]}\n"
    stem = f"{now:%Y-%m-%d}-{_slug(title)}"
    for number in range(1, MAX_FILES):
        path = folder / f"{stem}{'' if number == 1 else f'-{number}'}.md"
        try:
            with path.open("x", encoding="utf-8", errors="replace") as file:
                file.write(text)
        except FileExistsError:
            continue
        return path
    return None


def read_transcript(transcript: Path) -> Iterator[Line]:
    """Yield the texts of people and of the assistant; tool calls and malformed lines are left out."""
    try:
        with transcript.open("rb") as file:
            data = file.read(_MAX_BYTES)
    except OSError:
        return
    for row in data.splitlines():
        try:
            entry = json.loads(row)
            role, content = entry["message"]["role"], entry["message"]["content"]
        except (ValueError, RecursionError, TypeError, KeyError):
            continue
        text = _text(content).strip()
        if role in {"user", "assistant"} and text and not entry.get("isMeta"):
            yield Line(role, text[:MAX_ANSWER_CHARACTERS])


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(each.get("text", "")) for each in parts if isinstance(each, dict) and each.get("type") == "text")


def _title(lines: list[Line]) -> str:
    first = next((line.text for line in lines if line.role == "user"), "")
    return " ".join(_MARKUP.sub(" ", first).split()[:_SLUG_WORDS])[:60]


def _slug(title: str) -> str:
    """Letters and digits of any script, joined by hyphens."""
    words = re.findall(r"[^\W_]+", title.lower())
    return "-".join(words)[:50] or "conversation"
