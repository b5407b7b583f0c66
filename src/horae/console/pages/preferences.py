"""Preferences of the viewer: language, time zone, theme and shortcuts, stored in cookies of the browser."""

from __future__ import annotations

from typing import Final

from starlette.responses import RedirectResponse, Response

from ...choices import LANGUAGES
from ..page import PageRequest, form
from ..request import NEXT_FIELD, local_path, set_preference
from ..viewer import KEYS_CHOICES, KEYS_COOKIE, LANGUAGE_COOKIE, THEME_COOKIE, THEMES, ZONE_COOKIE, is_zone


async def save(page: PageRequest) -> Response:
    """Store the choices of the form that are valid, and return to the page that it came from."""
    chosen = page.form
    response = RedirectResponse(local_path(chosen.text(NEXT_FIELD), page.viewer.base), 303)
    if chosen.text("lang") in LANGUAGES:
        set_preference(page.request, response, LANGUAGE_COOKIE, chosen.text("lang"))
    if chosen.text("theme") in THEMES:
        set_preference(page.request, response, THEME_COOKIE, chosen.text("theme"))
    if chosen.text("keys") in KEYS_CHOICES:
        set_preference(page.request, response, KEYS_COOKIE, chosen.text("keys"))
    if chosen.text("tz") and is_zone(chosen.text("tz")):
        set_preference(page.request, response, ZONE_COOKIE, chosen.text("tz"))
    return response


ROUTES: Final = (form("/preferences", save),)
