"""System prompt: name, group, zone, local time and memory files, each within its limit."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from horae.agents.runner.minds.system_prompt import (
    MAX_MEMORY_CHARACTERS,
    Surroundings,
    is_zone,
    write_appended_prompt,
    write_system_prompt,
)

from .sandbox import an_input

NOW = datetime(2026, 11, 18, 1, 5, tzinfo=UTC)


def places(folder: Path, zone: str = "Asia/Shanghai") -> Surroundings:
    for name, text in (("group", "The cat is Mimi."), ("shared", "Be polite.")):
        (folder / name).mkdir()
        (folder / name / "CLAUDE.md").write_text(text)
    return Surroundings(folder / "group", folder / "shared", zone)


def test_prompt_has_name_group_local_time_and_memories(tmp_path: Path) -> None:
    text = write_system_prompt(an_input("x"), places(tmp_path), NOW)
    for part in ("You are 小时", "'family'", "Asia/Shanghai", "2026-11-18 09:05, Wednesday", "Mimi", "Be polite."):
        assert part in text
    assert "scheduled task" not in text
    assert "nobody can answer" in write_system_prompt(
        an_input("x", is_scheduled_task=True), Surroundings(tmp_path, tmp_path), NOW
    )


def test_mind_that_reads_the_memory_of_its_group_gets_the_shared_one_only(tmp_path: Path) -> None:
    text = write_appended_prompt(an_input("x"), places(tmp_path), NOW)
    assert "Be polite." in text
    assert "Mimi" not in text


def test_long_memory_is_cut_and_a_missing_one_left_out(tmp_path: Path) -> None:
    found = places(tmp_path)
    (found.group / "CLAUDE.md").write_text("m" * (MAX_MEMORY_CHARACTERS * 2))
    (found.shared / "CLAUDE.md").unlink()
    text = write_system_prompt(an_input("x"), found, NOW)
    assert len(text) < MAX_MEMORY_CHARACTERS + 2_000
    assert "The rest of this file was left out" in text
    assert "Shared memory" not in text


def test_utc_needs_no_zone_data() -> None:
    assert is_zone("UTC")
    assert not is_zone("Nowhere/Land")
    assert not is_zone("/etc/passwd")
