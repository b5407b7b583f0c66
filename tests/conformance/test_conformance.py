"""Horae answers every question of the conformance kit, and the kit itself is sound: its files and its scorer."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

import horae
from conformance.derive import derive_fires, format_instant, is_refused, load_zone
from conformance.scoring.adapter import AdapterUnavailableError
from conformance.scoring.answers import Crashed
from conformance.scoring.cases import Case, Kit, load_kit
from conformance.scoring.command import NOT_AVAILABLE, main
from conformance.scoring.known import KNOWN
from conformance.scoring.scorecard import Scorecard, as_json, as_text, failure_as_text, score
from conformance.scoring.table import OutdatedNoteError, write_table
from conformance.scoring.verdicts import Verdict

ROOT = Path(__file__).parents[2]
KIT = load_kit()
FIRES = [case for case in KIT.cases if case.fires is not None]
REFUSED = [case for case in KIT.cases if case.fires is None]

# Adapters that misbehave, each in its own way. The first shifts out of gaps, loses folds and accepts everything.
WRONG = """
import json, sys
print(json.dumps({"library": "wrong", "version": "1.0"}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    shifted = ["2026-03-08T07:30:00+00:00", "2026-03-09T01:30:00-05:00"]
    fires = {"fires": shifted if asked["expression"] == "30 2 * * *" else []}
    print(json.dumps({"id": asked["id"], **(fires if asked["gap"] == "next" else {"unsupported": "no choice"})}), flush=True)
"""
CRASHING = """
import json, sys
print(json.dumps({"library": "crashing", "version": "1.0"}), flush=True)
for line in sys.stdin:
    print(len(line) / 0, flush=True)
"""
HANGING = """
import json, sys, threading
print(json.dumps({"library": "hanging", "version": "1.0"}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["zone"] == "America/New_York":
        threading.Event().wait()
    print(json.dumps({"id": asked["id"], "refused": "always"}), flush=True)
"""
BABBLING = """
import itertools, json, sys
print(json.dumps({"library": "babbling", "version": "1.0"}), flush=True)
for _, talk in zip(sys.stdin, itertools.cycle(['{"id": "another", "fires": []}', "[]", "what?", '{"id": 1}'])):
    print(talk, flush=True)
"""


def preview(case: Case) -> list[datetime]:
    return horae.preview(
        case.expression,
        zone=case.zone,
        after=datetime.fromisoformat(case.after),
        until=datetime.fromisoformat(case.until),
        limit=None,
        gap=case.gap,  # type: ignore[arg-type]  # the kit's words are the product's
        fold=case.fold,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("case", FIRES, ids=lambda case: case.id)
def test_horae_fires_exactly_when_the_kit_says(case: Case) -> None:
    assert case.fires is not None
    assert [format_instant(instant) for instant in preview(case)] == list(case.fires), case.why


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
def test_horae_refuses_what_must_be_refused(case: Case) -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        preview(case)
    assert refusal.value.hint, case.why


class TestTheFiles:
    def test_there_are_enough_of_both_kinds(self) -> None:
        assert len(FIRES) >= 250
        assert len(REFUSED) >= 80

    def test_ids_are_unique(self) -> None:
        ids = [case.id for case in KIT.cases]
        assert len(ids) == len(set(ids))

    def test_no_question_is_asked_twice(self) -> None:
        asked = [(*case.window, case.gap, case.fold) for case in KIT.cases]
        assert len(asked) == len(set(asked))

    def test_fires_are_ordered_and_lie_within_the_window(self) -> None:
        for case in FIRES:
            for fires in (case.fires or (), *case.otherwise):
                instants = [datetime.fromisoformat(fire) for fire in fires]
                after, until = datetime.fromisoformat(case.after), datetime.fromisoformat(case.until)
                assert instants == sorted(set(instants)), case.id
                assert all(after < instant <= until for instant in instants), case.id

    def test_instants_are_utc_and_spelt_alike(self) -> None:
        for case in FIRES:
            for text in (case.after, case.until, *(case.fires or ())):
                assert text.endswith("Z"), case.id
                assert format_instant(datetime.fromisoformat(text)) == text, case.id

    def test_zones_and_policies_are_known_and_each_case_says_why(self) -> None:
        for case in KIT.cases:
            assert load_zone(case.zone).key == case.zone
            assert case.gap in {"next", "shift", "skip"}, case.id
            assert case.fold in {"first", "last", "both"}, case.id
            assert case.why, case.id

    def test_refused_cases_are_one_group_and_nothing_else_is_in_it(self) -> None:
        assert {case.group for case in REFUSED} == {"refused"}
        assert "refused" not in {case.group for case in FIRES}

    def test_an_independent_brute_force_derives_the_core_again(self) -> None:
        core = [case for case in KIT.cases if case.id.startswith("core-")]
        assert len(core) > 40
        for case in core:
            if case.fires is None:
                assert is_refused(case.expression), case.id
            else:
                assert [format_instant(instant) for instant in derive_fires(case.question())] == list(case.fires), (
                    case.id
                )


def scored(adapter: str, limit: float = 20.0) -> Scorecard:
    """Scores one of the adapters above on four cases, one of each kind that matters here."""
    wanted = {"core-ny-gap", "core-ny-gap-shift", "core-ny-fold", "core-refused-30-february"}
    return score([sys.executable, "-c", adapter], KIT, limit, lambda case: case.id in wanted)


def verdicts(card: Scorecard) -> dict[str, Verdict]:
    return {result.case.id: result.verdict for result in card.results}


class TestTheScorer:
    def test_horae_is_right_everywhere_through_its_own_adapter(self) -> None:
        core = score(KNOWN[0].command, KIT, 20.0, lambda case: case.id.startswith("core-"))
        assert core.library.name == "horae"
        assert core.failures() == []

    def test_a_wrong_adapter_gets_what_it_deserves(self) -> None:
        card = scored(WRONG)
        assert verdicts(card) == {
            "core-ny-gap": Verdict.OTHER_POLICY,  # it shifts
            "core-ny-gap-shift": Verdict.UNSUPPORTED,
            "core-ny-fold": Verdict.WRONG,
            "core-refused-30-february": Verdict.ACCEPTED_WRONGLY,
        }
        assert "wrong 1.0" in as_text(card)
        assert as_json(card)["total"]["wrong"] == 1
        assert "expected: a refusal" in failure_as_text(card.failures()[-1])

    def test_a_crash_costs_one_case_and_the_adapter_is_started_again(self) -> None:
        card = scored(CRASHING)
        assert list(verdicts(card).values()) == [Verdict.CRASHED] * 4
        answer = card.results[0].answer
        assert isinstance(answer, Crashed)
        assert "ZeroDivisionError" in answer.why

    def test_a_hang_ends_with_the_time_limit_and_the_next_case_is_asked(self) -> None:
        card = scored(HANGING, limit=0.5)
        assert verdicts(card)["core-ny-gap"] == Verdict.HUNG
        assert verdicts(card)["core-refused-30-february"] == Verdict.RIGHT

    def test_talk_that_is_no_answer_counts_as_a_crash(self) -> None:
        assert set(verdicts(scored(BABBLING)).values()) == {Verdict.CRASHED}

    def test_an_adapter_that_does_not_come_up_is_said_to_be_missing(self) -> None:
        with pytest.raises(AdapterUnavailableError, match="No such file"):
            score(["no-such-program"], KIT, 1.0)
        with pytest.raises(AdapterUnavailableError, match="without a word"):
            score([sys.executable, "-c", "pass"], KIT, 1.0)

    def test_the_command_line_says_when_an_adapter_is_missing(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--adapter", "no-such-program"]) == NOT_AVAILABLE
        assert "not available" in capsys.readouterr().err

    def test_groups_add_up(self) -> None:
        card = scored(WRONG)
        assert sum(card.count(group).total() for group in card.groups()) == card.count().total() == len(card.results)


class TestTheTable:
    def test_it_fills_every_place_of_its_template(self, tmp_path: Path) -> None:
        page = tmp_path / "page.md"
        write_table(page, KIT, [scored(WRONG)])
        text = page.read_text(encoding="utf-8")
        assert "<!--" not in text
        assert "| wrong (elsewhere) | 1.0 | **0** | 2 | 1 | 0 | 1 | 1 | 0 |" in text

    def test_a_note_that_the_run_does_not_bear_out_stops_it(self, tmp_path: Path) -> None:
        card = score(KNOWN[0].command, KIT, 20.0, lambda case: case.id in notes_about("croniter"))
        boaster = replace(card, library=replace(card.library, name="croniter"))
        with pytest.raises(OutdatedNoteError, match="came out as right"):
            write_table(tmp_path / "page.md", KIT, [boaster])

    def test_the_page_in_the_repository_is_of_this_kit(self) -> None:
        page = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
        assert f"asks {len(KIT.cases)} questions" in page
        [row] = [line for line in page.splitlines() if line.startswith("| horae (this repository) |")]
        assert f"| **{len(KIT.cases)}** | 0 |" in row


def notes_about(library: str) -> set[str]:
    notes = json.loads((ROOT / "conformance" / "scoring" / "notes.json").read_text(encoding="utf-8"))["notes"]
    return {note["case"] for note in notes if note["library"] == library}


def test_every_adapter_that_is_named_exists() -> None:
    folder = ROOT / "conformance" / "adapters"
    named = {known.file for known in KNOWN}
    assert named == {path.name for path in folder.glob("*_adapter.*")}


def test_a_kit_of_nothing_has_no_groups() -> None:
    assert Kit(tzdata="", cases=()).groups() == []
