"""Audit rows as a page and as files show them: links to objects, differences between values, CSV without formulas."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from io import StringIO
from typing import Any, Final, NamedTuple

from ..model.text.invisible_characters import escape_hidden
from ..service.accounts.audit import CHANGES, AuditRow
from ..service.accounts.rights import TOKEN_PREFIX
from ..wire.accounts import audit_json

SESSION_ACTOR: Final = "ses_"
LOCAL_ACTOR: Final = "local"
CSV_FIELDS: Final = (
    "number",
    "at",
    "action",
    "subject",
    "owner",
    "by",
    "actor",
    "agent",
    "via",
    "request",
    "detail",
    "hash",
)
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
"""First characters with which a spreadsheet takes a cell for a formula."""
_HIDDEN_DETAILS: Final = frozenset({CHANGES, "fields"})
_PAGES: Final = {
    "token": "/settings/tokens",
    "session": "/settings/sessions",
    "link": "/settings/sessions",
    "secret": "/settings/secrets",
    "lane": "/lanes",
    "node": "/lanes",
    "agent": "/approvals",
}
"""Page with the objects of a group of actions that have no page of their own."""


class ValueChange(NamedTuple):
    """One value before and after a change; None: it was not set."""

    path: str
    before: str | None
    after: str | None


def object_path(row: AuditRow) -> tuple[str, dict[str, str]] | None:
    """Return path and query of the page that shows the object of a row; None if none does."""
    group = row.action.partition(".")[0]
    if row.subject.startswith("tsk_") and row.action != "task.delete":
        return f"/tasks/{row.subject}", {}
    if group == "webhook" and row.action != "webhook.remove":
        return f"/settings/webhooks/{row.subject}", {}
    if group == "stream" and row.action != "stream.remove":
        return "/stream", {"name": row.subject, "owner": row.owner}
    if group == "owner":
        return "/settings/owner", {"name": row.subject}
    return (_PAGES[group], {}) if group in _PAGES else None


def run_of(row: AuditRow) -> str | None:
    """Return the run that a row is about, besides its task."""
    run = row.detail.get("run")
    return run if isinstance(run, str) and run.startswith("run_") else None


def actor_kind(row: AuditRow) -> str:
    """Return who acted: an agent, a token of a program, a person in a browser, or a user of the machine itself."""
    if row.agent is not None:
        return "agent"
    if row.actor.startswith(SESSION_ACTOR) or row.via == "console":
        return "browser"
    if row.actor.startswith(TOKEN_PREFIX):
        return "token"
    return "local" if row.actor == LOCAL_ACTOR else "system"


def value_changes(row: AuditRow) -> list[ValueChange]:
    """Return the values that differ, one per line; nested values are compared field by field."""
    changes = row.detail.get(CHANGES)
    if not isinstance(changes, Mapping):
        return []
    found: list[ValueChange] = []
    for name, pair in changes.items():
        if isinstance(pair, list) and len(pair) == 2:
            found.extend(_compare(str(name), pair[0], pair[1]))
    return found


def changed_names(row: AuditRow) -> list[str]:
    """Return the names of changed fields whose values the row does not hold."""
    changes, fields = row.detail.get(CHANGES), row.detail.get("fields")
    known = {"schedule" if name == "when" else name for name in changes} if isinstance(changes, Mapping) else set()
    return [str(name) for name in fields if name not in known] if isinstance(fields, list) else []


def other_details(row: AuditRow) -> list[tuple[str, str]]:
    """Return the facts of a row, besides its changes, as text."""
    changes = row.detail.get(CHANGES)
    shown = {*_HIDDEN_DETAILS, *changes} if isinstance(changes, Mapping) else _HIDDEN_DETAILS
    return [
        (str(name), _text(value))
        for name, value in row.detail.items()
        if name not in shown and value not in (None, "", [], {})
    ]


def _compare(path: str, before: Any, after: Any) -> Iterator[ValueChange]:
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys((*before, *after)):
            yield from _compare(f"{path}.{name}", before.get(name), after.get(name))
    else:
        yield ValueChange(path, _text_or_none(before), _text_or_none(after))


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _text(value: Any) -> str:
    return escape_hidden(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


# --- files -------------------------------------------------------------------------------------------------------


def ndjson_line(row: AuditRow) -> str:
    return json.dumps(audit_json(row), ensure_ascii=False, separators=(",", ":")) + "\n"


def csv_header() -> str:
    return _csv_line(CSV_FIELDS)


def csv_line(row: AuditRow) -> str:
    shape = audit_json(row)
    shape["detail"] = json.dumps(shape["detail"], ensure_ascii=False) if shape["detail"] else ""
    return _csv_line(tuple("" if shape[name] is None else str(shape[name]) for name in CSV_FIELDS))


def _csv_line(cells: tuple[str, ...]) -> str:
    content = StringIO()
    csv.writer(content).writerow([guard_formula(each) for each in cells])
    return content.getvalue()


def guard_formula(cell: str) -> str:
    """Return the cell with an apostrophe in front where a spreadsheet would run it as a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA_STARTS) else cell
