"""Answer lines: any name or result gives one printable line below a kilobyte."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from horae.choices import Language
from horae.mcp_server.lines import MAX_LINE_BYTES, join_rows, limit_line, shorten_line, to_single_line
from horae.model.outcome import Failed, Succeeded
from tests.mcp.tool_client import PERSON, connect_in_memory, text_of, tools_for
from tests.unit.service.service_harness import ServiceHarness

LANGUAGES: st.SearchStrategy[Language] = st.sampled_from(["en", "zh"])
ANYTHING = st.text(st.characters(exclude_categories=["Cs"]), max_size=3000)
TEN_MINUTES = timedelta(minutes=10)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=200)


def is_one_line(text: str) -> bool:
    return len(text.encode()) <= MAX_LINE_BYTES and text.isprintable()


@given(ANYTHING, LANGUAGES)
def test_line_is_complete_or_counts_the_missing_characters(text: str, language: Language) -> None:
    shown = limit_line(text, language)
    assert is_one_line(shown)
    if shown != to_single_line(text):
        shown_part = shown[: shown.rindex("…")]
        left = len(to_single_line(text)) - len(shown_part)
        assert to_single_line(text).startswith(shown_part)
        assert str(left) in shown[len(shown_part) :]


@given(ANYTHING, st.integers(2, 100))
def test_long_text_is_shortened(text: str, most: int) -> None:
    shown = shorten_line(text, most)
    assert len(shown) <= most
    assert shown.isprintable()
    if len(to_single_line(text)) <= most and len(text) <= 2 * most:
        assert shown == to_single_line(text)


@given(ANYTHING, st.lists(ANYTHING, max_size=40), LANGUAGES)
def test_list_of_any_rows_is_one_line(head: str, rows: list[str], language: Language) -> None:
    assert is_one_line(join_rows(head, rows, language))


def test_list_that_does_not_fit_counts_the_missing_rows() -> None:
    rows = [f"row {number:02} " + "x" * 90 for number in range(20)]
    shown = join_rows("All:", rows, "en")
    there = sum(f"row {number:02}" in shown for number in range(20))
    assert 5 < there < 20
    assert shown.endswith(f"; and {20 - there} more")
    assert join_rows("All:", rows[:2], "en") == f"All: {rows[0]}; {rows[1]}"


@given(NAMES, ANYTHING, LANGUAGES)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_hostile_names_and_results_stay_on_one_line(name: str, result: str, language: Language) -> None:
    """Each answer is checked by `text_of`, also a refusal."""
    harness = ServiceHarness()
    async with connect_in_memory(harness, PERSON, language) as tools:
        arguments: dict[str, Any] = {"when": "every 10m", "do": result[:500] or "x", "name": name}
        made = await tools.raw("schedule_task", **arguments)
        await tools.raw("list_tasks", q=name)
        if made.is_error:
            return
        task_id = (made.structured_content or {})["task"]["id"]
        run = await harness.run_due(TEN_MINUTES, Failed(result[:3000] or "x"))
        for tool in ("get_task", "explain_task", "pause_task", "resume_task", "run_task_now", "cancel_task"):
            await tools.raw(tool, id=task_id, **({"reason": name} if tool == "pause_task" else {}))
        await tools.raw("get_run", id=run.id)


async def test_list_of_tasks_with_long_names_is_one_line() -> None:
    async with tools_for() as (harness, tools):
        for number in range(20):
            await harness.add("every 1h", PERSON, name=f"{number} " + "\N{PILE OF POO}" * 150)
        listed_all = await tools.raw("list_tasks", limit=100)
        assert text_of(listed_all).endswith("more")
        assert len((listed_all.structured_content or {})["tasks"]) == 20


async def test_long_result_is_complete_in_the_values_and_cut_in_the_line() -> None:
    async with tools_for() as (harness, tools):
        await tools("schedule_task", when="every 10m", do="x", name="tick")
        run = await harness.run_due(TEN_MINUTES, Succeeded('"' + "y" * 5000 + '"'))
        result_of_run = await tools.raw("get_run", id=run.id)
        assert (result_of_run.structured_content or {})["run"]["result"] == "y" * 5000
        assert "…" in text_of(result_of_run)
