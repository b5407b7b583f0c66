"""Doctor and about: the checks of the deployment, and what this process consists of."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import tzdata
from starlette.responses import Response

from ....model.accounts.account import TOKEN_RETENTION
from ....model.accounts.session import ABSOLUTE_LIMIT, IDLE_LIMIT
from ....model.events.webhook import DELIVERY_RETENTION
from ....ports.doctor import GROUPS, Check, DoctorReport, Grade, Group
from ....version import __version__
from ...outcomes import Sign
from ...page import PageRequest, form, page
from .tabs import render_tab

_SIGNS: Final[Mapping[Grade, tuple[str, str]]] = {
    "error": ("✕", "bad"),
    "warning": ("△", "warn"),
    "skipped": ("–", "dim"),
    "ok": ("✓", "good"),
}
_ORDER: Final = {grade: place for place, grade in enumerate(_SIGNS)}
_PATIENCE_SECONDS: Final = 0.02
"""A page waits this long for checks; slower ones are shown by the live part when they are ready."""
_MAX_AGE: Final = timedelta(seconds=30)


class _Link(NamedTuple):
    """A page that helps with a check, under the name that the console has for it."""

    path: str
    text: str
    query: Mapping[str, str] = {}


_LANES: Final = _Link("/lanes", "nav_lanes")
_NOW: Final = _Link("/", "nav_now")
_LINKS: Final[Mapping[str, _Link]] = {
    "nodes": _LANES,
    "stale_nodes": _LANES,
    "node_clocks": _LANES,
    "clock_step": _LANES,
    "lanes": _LANES,
    "parked": _LANES,
    "overdue": _NOW,
    "stranded": _NOW,
    "lateness": _NOW,
    "failed": _Link("/tasks", "nav_tasks", {"q": "state:failed"}),
    "orphaned": _Link("/tasks", "nav_tasks", {"q": "state:paused"}),
    "failing": _Link("/tasks", "nav_tasks", {"q": "is:failing"}),
    "targets": _Link("/runs", "nav_runs", {"q": "state:failed"}),
    "approvals": _Link("/approvals", "nav_approvals"),
    "owners": _Link("/settings/owners", "settings_owners"),
    "webhooks": _Link("/settings/webhooks", "settings_webhooks"),
    "deliveries": _Link("/chats", "nav_chats"),
    "webhooks_failing": _Link("/settings/webhooks", "settings_webhooks"),
    "secrets": _Link("/settings/secrets", "settings_secrets"),
}


class CheckRow(NamedTuple):
    """One check: its sign and sentence, and where it is not fine, how to mend it."""

    id: str
    sign: Sign
    text: str
    fix: str | None
    command: str | None
    link: _Link | None
    checked_at: datetime | None


async def show_doctor(request: PageRequest) -> Response:
    """Show the newest report, and let the checks be made again in the background when it has become old."""
    doctor = request.service.doctor
    report = await doctor.latest(request.viewer.principal, _MAX_AGE, _PATIENCE_SECONDS)
    groups = [] if report is None else group_rows(request, report)
    return render_tab(request, "doctor", {"report": report, "groups": groups, "is_running": doctor.is_running})


async def check_again(request: PageRequest) -> Response:
    await request.service.doctor.latest(request.viewer.principal, timedelta(0), _PATIENCE_SECONDS)
    return request.redirect("/settings/doctor")


async def show_about(request: PageRequest) -> Response:
    data = {
        "facts": [
            ("settings_about_version", __version__),
            ("settings_about_python", platform.python_version()),
            ("settings_about_store", request.service.store.kind),
            ("settings_about_zone", request.service.zone or "–"),
            ("settings_about_tzdata", tzdata.IANA_VERSION),
        ],
        "retention": [
            ("settings_keep_tokens", TOKEN_RETENTION),
            ("settings_keep_deliveries", DELIVERY_RETENTION),
            ("settings_session_idle", IDLE_LIMIT),
            ("settings_session_absolute", ABSOLUTE_LIMIT),
        ],
    }
    return render_tab(request, "about", data)


def group_rows(request: PageRequest, report: DoctorReport) -> list[tuple[Group, list[CheckRow]]]:
    """Return the checks by group, first what needs attention; ids stay the same between reports."""
    rows: dict[Group, list[CheckRow]] = {group: [] for group in GROUPS}
    numbers: dict[str, int] = {}
    worst: dict[Group, int] = {}
    for check in sorted(report.checks, key=lambda each: _ORDER[each.grade]):
        worst.setdefault(check.group, _ORDER[check.grade])
        numbers[check.code] = numbers.get(check.code, 0) + 1
        rows[check.group].append(_make_row(request, check, f"check-{check.code}-{numbers[check.code]}"))
    return [(group, rows[group]) for group in sorted(worst, key=lambda each: (worst[each], GROUPS.index(each)))]


def _make_row(request: PageRequest, check: Check, row_id: str) -> CheckRow:
    language = request.viewer.language
    sign = Sign(*_SIGNS[check.grade], request.text(f"doctor_grade_{check.grade}"))
    text = check.sentence(language)
    if check.grade == "ok" or check.fix is None:
        link = None if check.grade == "ok" else _LINKS.get(check.code)
        return CheckRow(row_id, sign, text, None, None, link, check.checked_at)
    # A fix that is nothing but a command is shown as that.
    shown = None if check.fix.text.en == check.fix.command else check.fix.text.in_language(language)
    return CheckRow(row_id, sign, text, shown, check.fix.command, _LINKS.get(check.code), check.checked_at)


ROUTES: Final = (
    page("/settings/doctor", show_doctor),
    form("/settings/doctor/again", check_again),
    page("/settings/about", show_about),
)
