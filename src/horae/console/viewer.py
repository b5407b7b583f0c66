"""Viewer of a page: the signed-in principal with language, zone and theme, from the URL, the cookies and the account."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias, cast
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from starlette.requests import Request

from ..choices import LANGUAGES, Language
from ..errors import InvalidSchedule
from ..model.accounts.principal import Principal, Scope
from ..schedule.zones import find_zone
from ..web.language import request_language
from ..web.request_context import app_context
from ..web.trusted_proxies import routed_deployment
from .application import has_simple_view_only

Theme: TypeAlias = Literal["auto", "light", "dark"]
LANGUAGE_COOKIE: Final = "horae_lang"
ZONE_COOKIE: Final = "horae_zone"
THEME_COOKIE: Final = "horae_theme"
KEYS_COOKIE: Final = "horae_keys"
KEYS_CHOICES: Final = ("on", "off")
THEMES: Final = ("auto", "light", "dark")
ANONYMOUS: Final = Principal("", scopes=frozenset())
"""Principal of a browser that is not signed in."""


class Viewer(NamedTuple):
    """`base` is the prefix under which the console is mounted; `csrf` the token that its forms carry."""

    principal: Principal
    language: Language
    zone: str
    theme: Theme
    base: str
    csrf: str
    now: datetime
    is_simple: bool = False
    """The console has only the simple view."""
    has_keys: bool = True
    """Whether single-key shortcuts are on; people who speak to their computer switch them off."""
    deployment: str = ""
    """Name of this deployment at the router in front, if there is one."""

    @property
    def tz(self) -> ZoneInfo:
        return ZoneInfo(self.zone)

    @property
    def lang_tag(self) -> str:
        return "zh-CN" if self.language == "zh" else "en"

    @property
    def is_signed_in(self) -> bool:
        return self.principal is not ANONYMOUS

    @property
    def is_admin(self) -> bool:
        return self.principal.owner_filter is None

    @property
    def can_write(self) -> bool:
        return Scope.WRITE in self.principal.scopes

    @property
    def can_run(self) -> bool:
        return Scope.RUN in self.principal.scopes

    def url(self, path: str, **query: object) -> str:
        """Return the URL of a page of the console; parameters that are None are left out."""
        given = {name: value for name, value in query.items() if value is not None}
        return f"{self.base}{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")


def make_viewer(request: Request, principal: Principal, zone: str, csrf: str) -> Viewer:
    return Viewer(
        principal,
        viewer_language(request, principal),
        zone,
        viewer_theme(request),
        request.scope.get("root_path", ""),
        csrf,
        app_context(request).clock.now(),
        has_simple_view_only(request),
        request.cookies.get(KEYS_COOKIE) != "off",
        routed_deployment(request),
    )


def viewer_language(request: Request, principal: Principal) -> Language:
    """Return the language: `?lang`, else the cookie, else that of the account, else the browser's."""
    for text in (request.query_params.get("lang"), request.cookies.get(LANGUAGE_COOKIE), principal.language):
        if text in LANGUAGES:
            return text
    return request_language(request)


def viewer_theme(request: Request) -> Theme:
    text = request.cookies.get(THEME_COOKIE)
    return cast("Theme", text) if text in THEMES else "auto"


def viewer_zone(request: Request, *defaults: str | None) -> str:
    """Return the zone: `?tz`, else the cookie, else the first of the defaults that is set. Unknown zones are ignored."""
    for text in (request.query_params.get("tz"), request.cookies.get(ZONE_COOKIE), *defaults):
        if text and is_zone(text):
            return text
    return "UTC"


def is_zone(text: str) -> bool:
    try:
        find_zone(text)
    except InvalidSchedule:
        return False
    return True
