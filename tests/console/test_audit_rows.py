"""Audit rows as text: differences, kinds of actors, links, CSV cells; and quotas in forms."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae.console.audit_rows import (
    ValueChange,
    actor_kind,
    changed_names,
    csv_line,
    guard_formula,
    object_path,
    other_details,
    value_changes,
)
from horae.console.quota_forms import quota_fields, quota_inputs, read_quota_form
from horae.console.request import Form
from horae.model.accounts.account import Limit
from horae.model.accounts.principal import Quotas
from horae.service.accounts.audit import AuditFilter, AuditRow

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)


def row(
    action: str = "task.edit", subject: str = "tsk_1", detail: dict[str, Any] | None = None, **more: Any
) -> AuditRow:
    first = AuditRow(1, NOON, action, subject, "ada", "ada", "tok_1", "http", "req_1", None, detail or {}, "00")
    return first._replace(**more)


def test_nested_values_are_compared_field_by_field() -> None:
    changes = {
        "policies": [{"overlap": "skip", "retry": {"attempts": 4}}, {"overlap": "skip", "retry": {"attempts": 2}}],
        "lane": [None, "press\u202e"],
        "broken": 5,
    }
    assert value_changes(row(detail={"changes": changes})) == [
        ValueChange("policies.retry.attempts", "4", "2"),
        ValueChange("lane", None, "press\\u202e"),
    ]
    assert value_changes(row(detail={"changes": "no"})) == []


def test_names_of_fields_without_values_and_other_details_are_listed() -> None:
    one = row(detail={"fields": ["schedule", "payload"], "version": 3, "changes": {"when": ["a", "b"]}, "until": None})
    assert changed_names(one) == ["payload"]
    assert other_details(one) == [("version", "3")]


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({}, "token"),
        ({"agent": "robot"}, "agent"),
        ({"actor": "ses_1", "via": "console"}, "browser"),
        ({"via": "console"}, "browser"),
        ({"actor": "local"}, "local"),
        ({"actor": ""}, "system"),
    ],
)
def test_actor_is_named_by_its_kind(more: dict[str, Any], kind: str) -> None:
    assert actor_kind(row(**more)) == kind


@pytest.mark.parametrize(
    ("action", "subject", "place"),
    [
        ("task.edit", "tsk_1", ("/tasks/tsk_1", {})),
        ("task.delete", "tsk_1", None),
        ("run.retry", "tsk_1", ("/tasks/tsk_1", {})),
        ("owner.put", "ada", ("/settings/owner", {"name": "ada"})),
        ("webhook.edit", "whk_1", ("/settings/webhooks/whk_1", {})),
        ("webhook.remove", "whk_1", None),
        ("lane.limit", "press", ("/lanes", {})),
        ("stream.set", "chat:1", ("/stream", {"name": "chat:1", "owner": "ada"})),
        ("stream.remove", "chat:1", None),
        ("unheard.of", "x", None),
    ],
)
def test_object_links_to_its_page(action: str, subject: str, place: object) -> None:
    assert object_path(row(action, subject)) == place


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@sum", "\tx", "\rx"])
def test_cells_that_a_spreadsheet_would_run_are_guarded(cell: str) -> None:
    assert guard_formula(cell) == f"'{cell}"
    assert guard_formula("a=1") == "a=1"
    assert cell.strip() in csv_line(row(subject=cell))


def test_filter_matches_groups_actors_and_beginnings() -> None:
    one = row(agent="robot")
    for wanted in (
        AuditFilter("task"),
        AuditFilter("task.edit"),
        AuditFilter(actor="robot"),
        AuditFilter(actor="ada"),
        AuditFilter(actor="tok_1"),
        AuditFilter(subject="tsk_"),
    ):
        assert wanted.matches(one)
    for wanted in (
        AuditFilter("tas"),
        AuditFilter(actor="rob"),
        AuditFilter(subject="sk_1"),
        AuditFilter("task", "bob"),
    ):
        assert not wanted.matches(one)


def test_quota_form_sends_changed_limits_only() -> None:
    chosen: dict[str, Limit] = {"active_tasks": 5, "shortest_interval": timedelta(minutes=5), "tokens": None}
    inputs = quota_inputs(chosen)
    assert (inputs["quota_active_tasks"], inputs["quota_shortest_interval"], inputs["quota_tokens"]) == (
        "5",
        "5m",
        "none",
    )
    assert read_quota_form(Form(list(inputs.items())), chosen) == {}
    sent = {
        **inputs,
        "quota_active_tasks": "",
        "quota_tokens": "7",
        "quota_runs_per_day": "never",
        "quota_longest_life": "1d",
    }
    assert read_quota_form(Form(list(sent.items())), chosen) == {
        "active_tasks": "usual",
        "runs_per_day": None,
        "longest_life": "1d",
        "tokens": 7,
    }
    assert read_quota_form(Form([]), chosen) == {}, "a form without the fields changes nothing"


def test_quota_fields_keep_the_input_of_a_refused_form() -> None:
    (field, *_) = quota_fields(Quotas(timedelta(seconds=10)), {}, {"quota_shortest_interval": "soon"})
    assert (field.value, field.effective) == ("soon", "10s")
