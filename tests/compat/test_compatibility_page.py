"""docs/compatibility.md lists every route, code and label of the compatible routes."""

from __future__ import annotations

from pathlib import Path

from horae.api.app import ROUTES
from horae.api.compat import refusals
from horae.api.compat.refusals import CATALOGUE
from horae.api.compat.stored_fields import SNOOZED_FROM, SOURCE_ID, SOURCE_TYPE, TASK_TYPE
from horae.model.refusals import CATALOGUE as OF_TASKS
from horae.schedule.compat import Note
from horae.schedule.compat.translation_notes import note_codes
from horae.web.refusals import CATALOGUE as OF_REQUESTS
from horae.wire.tasks.text_tasks import SURFACE, UPDATED

PAGE = (Path(__file__).parents[2] / "docs" / "compatibility.md").read_text(encoding="utf-8")


def test_page_lists_every_route() -> None:
    routes = [route for route in ROUTES if route.endpoint.__module__.startswith("horae.api.compat.")]
    assert len(routes) > 20
    for route in routes:
        # The page lists the actions of a schedule in one line.
        path = route.path if not route.path.endswith(("/disable", "/pause", "/resume")) else route.path.split("}")[1]
        path = path.replace("{task_id}", "{id}")
        assert path in PAGE, route.path


def test_page_lists_every_code_and_codes_are_unique() -> None:
    notes = {each.code for each in vars(refusals).values() if isinstance(each, Note)}
    assert notes
    for code in {*CATALOGUE, *notes}:
        assert f"`{code}`" in PAGE, code
        assert code not in {*OF_TASKS, *OF_REQUESTS, *note_codes()}


def test_page_lists_every_label() -> None:
    for label in (SURFACE, UPDATED, TASK_TYPE, SOURCE_TYPE, SOURCE_ID, SNOOZED_FROM):
        assert f"`{label}`" in PAGE
