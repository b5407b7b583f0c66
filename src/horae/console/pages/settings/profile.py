"""Profile: time zone of the account and of this browser, language and theme, role and quotas."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from ....choices import LANGUAGES
from ....errors import HoraeError
from ....schedule.zones import find_zone
from ...notice import Undo
from ...page import FORM_ERRORS, PageRequest, form, page
from ...quota_forms import quota_fields
from ...request import cookie_path, set_preference
from ...viewer import LANGUAGE_COOKIE, THEME_COOKIE, THEMES, ZONE_COOKIE
from .tabs import render_tab

COMMON_ZONES: Final = (
    "Asia/Shanghai",
    "Asia/Hong_Kong",
    "Asia/Tokyo",
    "Asia/Singapore",
    "Asia/Kolkata",
    "Europe/London",
    "Europe/Berlin",
    "America/New_York",
    "America/Los_Angeles",
    "Australia/Sydney",
    "UTC",
)


async def show(request: PageRequest, error: HoraeError | None = None) -> Response:
    principal = request.viewer.principal
    account = await request.service.accounts.get(principal, principal.owner)
    data = {
        "account": account,
        "zones": COMMON_ZONES,
        "server_zone": request.service.zone,
        "fields": quota_fields(account.quotas, dict(account.quota_overrides)),
        "scopes": sorted(scope.value for scope in principal.scopes),
    }
    return render_tab(request, "profile", data, error)


async def save(request: PageRequest) -> Response:
    """Store zone and language in the account, or in this browser where the viewer may not; the theme in this browser."""
    principal, zone, language = request.viewer.principal, request.form.text("zone"), request.form.text("lang")
    before = await request.service.accounts.get(principal, principal.owner)
    try:
        if zone:
            find_zone(zone)
        if request.viewer.can_write and (zone, language) != (before.zone or "", before.language or ""):
            await request.service.accounts.put(principal, principal.owner, zone=zone, language=language)
    except FORM_ERRORS as error:
        return await show(request, error)
    spoken = before.language or "" if request.viewer.can_write else request.viewer.language
    former = {"zone": before.zone or "", "lang": spoken, "theme": request.viewer.theme}
    response = request.redirect(
        "/settings", request.notice("settings_profile_saved", Undo("/settings/profile", former))
    )
    _store_choices(request, response, zone)
    return response


def _store_choices(request: PageRequest, response: Response, zone: str) -> None:
    language = request.form.text("lang")
    # What the account says must not be hidden by an earlier choice of this browser.
    _store(
        request,
        response,
        LANGUAGE_COOKIE,
        "" if request.viewer.can_write else language if language in LANGUAGES else "",
    )
    _store(request, response, ZONE_COOKIE, zone)
    if request.form.text("theme") in THEMES:
        set_preference(request.request, response, THEME_COOKIE, request.form.text("theme"))


def _store(request: PageRequest, response: Response, cookie: str, value: str) -> None:
    """Store a choice in this browser; without one, the browser shows that of the account, else the default."""
    if value:
        set_preference(request.request, response, cookie, value)
    else:
        response.delete_cookie(cookie, cookie_path(request.request), httponly=True, samesite="strict")


ROUTES: Final = (page("/settings", show), form("/settings/profile", save))
