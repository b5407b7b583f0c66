"""Pages have a text for each kind of schedule and each origin of a run, also for those that are added later."""

from __future__ import annotations

import pytest

from horae.console.messages import TEXTS
from horae.console.pages.now import _SIGNS as SIGNS
from horae.model.run import Origin
from horae.model.task import PauseCause
from horae.schedule.canonical import _KEYS as SCHEDULE_KINDS
from horae.service.runs.overview import NeedKind


@pytest.mark.parametrize("kind", SCHEDULE_KINDS)
def test_form_names_the_kind_of_a_schedule(kind: str) -> None:
    assert f"edit_kind_{kind}" in TEXTS


@pytest.mark.parametrize("origin", Origin)
def test_pages_name_the_origin_of_a_run(origin: Origin) -> None:
    assert f"run_origin_{origin}" in TEXTS
    assert origin is Origin.SCHEDULED or f"origin_{origin}" in TEXTS


@pytest.mark.parametrize("cause", PauseCause)
def test_pages_name_the_cause_of_a_pause(cause: PauseCause) -> None:
    assert f"pause_{cause}" in TEXTS


@pytest.mark.parametrize("kind", NeedKind)
def test_pages_name_what_needs_a_person(kind: NeedKind) -> None:
    assert f"need_{kind}" in TEXTS
    assert kind in SIGNS
