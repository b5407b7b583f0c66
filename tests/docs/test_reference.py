"""The generated reference matches the code."""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum

import pytest

from docs.reference import EVENTS, EXITS, PAUSE_CAUSES, PLACE, RUN_STATES, TASK_STATES, catalogues, page
from horae.lifecycle.explain.explanation import Verdict
from horae.model.events.event import EventKind
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.model.task import PauseCause, TaskState
from horae.settings import SETTINGS
from horae.wire.problems import ExitCode
from tests.docs.pages import ROOT, text_of

PAGE = text_of("reference.md")


def named_in(title: str) -> list[str]:
    """The names in the first column of a section's table."""
    (section,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)


def test_page_is_up_to_date() -> None:
    assert PLACE.read_text(encoding="utf-8") == page(), "write it anew: python -m docs.reference"


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Task states", TaskState),
        ("Run states", RunState),
        ("Pause causes", PauseCause),
        ("Reasons", Reason),
        ("Verdicts", Verdict),
        ("Events", EventKind),
    ],
)
def test_every_name_has_a_row(title: str, names: type[Enum]) -> None:
    assert named_in(title) == [name.value for name in names]


def test_every_setting_has_a_row() -> None:
    assert named_in("Settings") == [setting.path for setting in SETTINGS]


def test_meanings_match_the_enumerations() -> None:
    for meanings, names in (
        (EXITS, ExitCode),
        (TASK_STATES, TaskState),
        (RUN_STATES, RunState),
        (PAUSE_CAUSES, PauseCause),
        (EVENTS, EventKind),
    ):
        assert list(meanings) == list(names)


def test_every_catalogue_is_found() -> None:
    """Found by reading the source, as the page finds them by importing it."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src" / "horae").rglob("*.py")]
    declared = re.compile(r"^CATALOGUE: Final = (RefusalCatalogue\(|\{\s+code: RefusalEntry\()", re.MULTILINE)
    written = [text for text in sources if declared.search(text)]
    assert len(catalogues()) == len(written)
    codes = [code for catalogue in catalogues().values() for code in catalogue]
    assert sorted(codes) == sorted(named_in("Refusals"))


def test_a_code_belongs_to_one_catalogue_except_three_shared_codes() -> None:
    """Schedules and tasks share these three: the meaning is the same for both."""
    used = Counter(code for catalogue in catalogues().values() for code in catalogue)
    assert {code for code, times in used.items() if times > 1} == {
        "bad_choice",
        "bad_duration",
        "naive_instant",
    }
