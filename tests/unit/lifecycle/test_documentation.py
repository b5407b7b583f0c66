"""The lifecycle page matches the code: transitions, sentences, defaults, entry states."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from horae.model import run, task
from horae.model.entry import EntryKind, EntryState
from horae.model.policy import DEFAULT_POLICIES, ONE_SHOT_POLICIES, OVERLAPS, Policies
from horae.model.reason import SENTENCES
from horae.schedule.durations import parse_duration
from tests.unit.lifecycle.chain_world import chain_moves
from tests.unit.lifecycle.task_steps import SCHEDULES, STEPS, Chosen, Step, live
from tests.unit.lifecycle.task_world import MINUTE, SECOND, World, hour

PAGE: Final = (Path(__file__).parents[3] / "docs" / "lifecycle.md").read_text(encoding="utf-8")
TASKS, RUNS, STANDS = re.findall(r"```mermaid\nstateDiagram-v2\n(.*?)```", PAGE, re.DOTALL)
ARROW: Final = re.compile(r"^    (\S+) --> (\w+|\[\*\])(?:: .+)?$", re.MULTILINE)
EDGE: Final = "[*]"
LIVES: Final = 400
OFTEN: Final = {"time passes": 5, "one is claimed": 3, "all is claimed": 4, "a run succeeds": 2, "cancel": 0.1}


def arrows(drawing: str) -> set[tuple[str, str]]:
    found = ARROW.findall(drawing)
    assert len(found) == len(drawing.strip().splitlines()), "a line that is no arrow"
    assert len(found) == len(set(found)), "an arrow that is drawn twice"
    return set(found)


def transitions(table: Mapping[Any, frozenset[Any]], births: Iterable[str]) -> set[tuple[str, str]]:
    between = {(str(state), str(following)) for state, all_of in table.items() for following in all_of}
    ends = {(str(state), EDGE) for state, all_of in table.items() if not all_of}
    return between | ends | {(EDGE, str(state)) for state in births}


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(text: str, width: int) -> list[tuple[str, ...]]:
    """The table of so many columns, without its head."""
    found = [
        tuple(cell.strip() for cell in line.strip("|").split("|")) for line in text.splitlines() if line[:1] == "|"
    ]
    return [row for row in found if len(row) == width and row[0].startswith("`")]


def test_the_states_of_a_task() -> None:
    assert arrows(TASKS) == transitions(task.TRANSITIONS, [task.NEW_TASK_STATUS.state])


def test_the_states_of_a_run() -> None:
    assert arrows(RUNS) == transitions(run.TRANSITIONS, run.INITIAL_STATES)


def test_the_reasons() -> None:
    assert rows(section("Reasons"), 3) == [(f"`{reason}`", *sentences) for reason, sentences in SENTENCES.items()]


@pytest.mark.parametrize(("column", "policies"), [(1, DEFAULT_POLICIES), (2, ONE_SHOT_POLICIES)])
def test_the_defaults(column: int, policies: Policies) -> None:
    drawn = {row[0].strip("`"): row[column].strip("`") for row in rows(section("Policies"), 4)}
    assert list(drawn) == list(defaults(policies))
    for name, value in defaults(policies).items():
        if isinstance(value, timedelta):
            assert parse_duration(drawn[name]) == value
        elif isinstance(value, bool):
            assert drawn[name] == str(value).lower()
        elif isinstance(value, float):
            assert float(drawn[name]) == value
        else:
            assert drawn[name] == ("none" if value in (None, ()) else str(value))


def defaults(policies: Policies) -> dict[str, object]:
    """Every policy by its name, one level deep, in the order of the fields."""
    flat: dict[str, object] = {}
    for field in fields(policies):
        value = getattr(policies, field.name)
        inner = (
            {f"{field.name}.{each.name}": getattr(value, each.name) for each in fields(value)}
            if is_dataclass(value)
            else {}
        )
        flat.update(inner or {field.name: None if value == () else value})
    return flat


# --- overlap ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("overlap", "ten", "eleven"), rows(section("Policies"), 3))
def test_what_overlap_does(overlap: str, ten: str, eleven: str) -> None:
    """Nine, ten and eleven o'clock of the table are 13:00, 14:00 and 15:00 here."""
    world = World(overlap=overlap.strip("`")).claim_at(hour(13)).claim_at(hour(14))
    assert ten.startswith(became(world, "14:00"))
    assert ("asked to end" in ten) == (world.live[0].cancel is not None)
    before = became(world, "14:00")
    world.claim_at(hour(15))
    assert eleven.startswith(became(world, "15:00"))
    if became(world, "14:00") != before:
        assert f"the one of ten is {became(world, '14:00')}" in eleven


def became(world: World, when: str) -> str:
    for row in world.ledger:
        if row.startswith(when):
            return "runs" if row.endswith("running") else f"skipped: `{row.split()[-1]}`"
    return "waits"


def test_every_overlap_is_in_the_table() -> None:
    assert [row[0].strip("`") for row in rows(section("Policies"), 3)] == list(OVERLAPS)


# --- entries ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def moves() -> set[tuple[EntryKind, EntryState | None, EntryState | None]]:
    """All that happens to entries in many lives; the same ones each time, so that nothing here is left to chance."""
    return {move for seed in range(LIVES) for move in live(*a_life(random.Random(seed))).moves} | chain_moves()


def a_life(dice: random.Random) -> tuple[Chosen, list[tuple[Step, Chosen]]]:
    names, weights = list(STEPS), [OFTEN.get(name, 1) for name in STEPS]
    happening = dice.choices(names, weights, k=40)
    return a_choice(dice), [(Step(name, dice.randrange(6), dice.randrange(12)), a_choice(dice)) for name in happening]


def a_choice(dice: random.Random) -> Chosen:
    return Chosen(
        schedule=dice.choice(sorted(SCHEDULES)),
        overlap=dice.randrange(5),
        mode=dice.randrange(4),
        attempts=dice.choice([1, 2, 3]),
        backoff=dice.choice([0 * SECOND, 40 * SECOND]),
        lane=dice.choice([None, "lane"]),
        start_within=dice.choice([None, 5 * MINUTE]),
    )


def test_entry_states_are_documented(moves: set[tuple[EntryKind, EntryState | None, EntryState | None]]) -> None:
    seen = {kind: {stand for each, *stands in moves if each is kind for stand in stands if stand} for kind in EntryKind}
    # Whatever can be claimed may have to wait its owner's turn: that is up to the stores.
    drawn = {
        EntryKind(row[0].strip("`")): set(re.findall(r"`(\w+)`", row[2])) for row in rows(section("Agenda entries"), 3)
    }
    assert drawn == {kind: {*stands, EntryState.READY} for kind, stands in seen.items()}


def test_entry_transitions_are_documented(moves: set[tuple[EntryKind, EntryState | None, EntryState | None]]) -> None:
    seen = {(str(before or EDGE), str(after or EDGE)) for _, before, after in moves if before is not after}
    in_stores = {(EntryState.TIMED, EntryState.READY), (EntryState.READY, EntryState.TIMED)}
    assert arrows(STANDS) == seen | in_stores
