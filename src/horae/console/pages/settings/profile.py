"""Profile: time zone of the account and of this browser, language and theme, role and quotas."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from ....errors import HoraeError
from ....schedule.zones import find_zone
from ...form_problems import FORM_ERRORS
from ...notice import Undo
from ...page import PageRequest, form, page
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
_LANGUAGES: Final = ("en", "zh")


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
    """Store the zone in the account, where the viewer may, and all choices in this browser."""
    principal, zone = request.viewer.principal, request.form.text("zone")
    before = await request.service.accounts.get(principal, principal.owner)
    try:
        if zone:
            find_zone(zone)
        if request.viewer.can_write and zone != (before.zone or ""):
            await request.service.accounts.put(principal, principal.owner, zone=zone)
    except FORM_ERRORS as error:
        return await show(request, error)
    former = {"zone": before.zone or "", "lang": request.viewer.language, "theme": request.viewer.theme}
    response = request.redirect(
        "/settings", request.notice("settings_profile_saved", Undo("/settings/profile", former))
    )
    _store_choices(request, response, zone)
    return response


def _store_choices(request: PageRequest, response: Response, zone: str) -> None:
    if request.form.text("lang") in _LANGUAGES:
        set_preference(request.request, response, LANGUAGE_COOKIE, request.form.text("lang"))
    if request.form.text("theme") in THEMES:
        set_preference(request.request, response, THEME_COOKIE, request.form.text("theme"))
    if zone:
        set_preference(request.request, response, ZONE_COOKIE, zone)
    else:
        # Without a zone of its own, the browser shows that of the account, else that of the server.
        response.delete_cookie(ZONE_COOKIE, cookie_path(request.request), httponly=True, samesite="strict")


ROUTES: Final = (page("/settings", show), form("/settings/profile", save))
