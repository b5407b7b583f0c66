"""Rendering of pages: one Jinja2 environment, autoescaped and strict, and responses with the headers of every page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from hashlib import blake2b
from importlib.resources import files
from typing import Any, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response

from ..choices import Language
from ..model.agents.group import GROUP_OWNER_PREFIX
from ..model.events.event import EventKind
from ..version import __version__
from ..wire.accounts import DEPLOYMENTS_PATH
from . import formats
from .messages import TEXTS
from .notice import drop_notice, read_notice
from .outcomes import run_sign, task_sign
from .viewer import Viewer

PART_PARAMETER: Final = "part"
NOW_HEADER: Final = "x-now"
"""Instant of the server, from which scripts compute the offset of the browser's clock."""
HTML: Final = "text/html; charset=utf-8"
SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""No inline script or style, so that stored text can never become code."""
_HEADERS: Final = {
    "Content-Security-Policy": SECURITY_POLICY,
    "Cache-Control": "no-store",
    "Vary": "Cookie, Accept-Language",
    "Cross-Origin-Opener-Policy": "same-origin",
    # With `no-referrer`, browsers would send the forms of a page with the origin `null`.
    "Referrer-Policy": "same-origin",
}
EVENT_KINDS: Final = " ".join(kind.value for kind in EventKind)
KEY_HELP: Final = (
    (("Ctrl", "K"), "key_palette"),
    (("g", "n"), "key_go_now"),
    (("g", "t"), "key_go_tasks"),
    (("g", "r"), "key_go_runs"),
    (("g", "c"), "key_go_calendar"),
    (("g", "l"), "key_go_lanes"),
    (("g", "a"), "key_go_activity"),
    (("/",), "key_search"),
    (("j", "k"), "key_move"),
    (("x",), "key_select"),
    (("Enter",), "key_open"),
    (("n",), "key_new"),
    (("e",), "key_edit"),
    (("p",), "key_pause"),
    (("Shift", "R"), "key_run"),
    (("w",), "key_why"),
    (("l",), "key_log"),
    (("y",), "key_copy_link"),
    ((".",), "key_live"),
    (("z",), "key_zone"),
    (("d",), "key_theme"),
    (("?",), "key_help"),
)
"""Keys of every page with the name of what they do; `keys.js` acts on them."""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("horae.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "share": formats.format_share,
        "number": formats.format_count,
        "limit": formats.format_limit,
        "utc": formats.machine_time,
    }
    return environment


@cache
def static_files() -> dict[str, bytes]:
    """Return the static files by name."""
    folder = files("horae.console").joinpath("static")
    return {each.name: each.read_bytes() for each in sorted(folder.iterdir(), key=lambda file: file.name)}


@cache
def static_version() -> str:
    """Return a hash of all static files: their URLs change with their content, so that browsers may keep them for ever.

    One for all, because modules import each other by relative path.
    """
    digest = blake2b(digest_size=6)
    for name, content in static_files().items():
        digest.update(b"%s %d " % (name.encode(), len(content)) + content)
    return digest.hexdigest()


def render(viewer: Viewer, template: str, data: Mapping[str, Any], parts: Sequence[str] = ()) -> str:
    """Render a template, or only some blocks of it."""
    page = _environment().get_template(template)
    context = page.new_context({**_globals(viewer), **data})
    if not parts:
        return "".join(page.root_render_func(context))
    return "".join(text for part in parts for text in page.blocks[part](context))


def _globals(viewer: Viewer) -> dict[str, Any]:
    language = viewer.language

    def translate(text: str, /, **facts: object) -> str:
        return TEXTS[text].in_language(language, **facts)

    def static(name: str) -> str:
        return f"{viewer.base}/static/{static_version()}/{name}"

    return {
        "page": "",
        "here": viewer.url("/"),
        "notice": None,
        "navigation": navigation(viewer),
        "viewer": viewer,
        "t": translate,
        "static": static,
        "url": viewer.url,
        "version": __version__,
        "event_kinds": EVENT_KINDS,
        "deployments_path": DEPLOYMENTS_PATH,
        "key_help": KEY_HELP,
        "script_texts": script_texts(language),
        "duration": partial(formats.format_duration, language=language),
        "lateness": partial(formats.format_lateness, language=language),
        "clock": partial(formats.format_clock, viewer=viewer),
        "instant": partial(formats.format_instant, viewer=viewer),
        "distance": partial(formats.format_distance, viewer=viewer),
        "run_sign": partial(run_sign, language=language),
        "task_sign": partial(task_sign, language=language),
        "without": _without,
        "with_value": _with_value,
    }


@cache
def script_texts(language: Language) -> tuple[tuple[str, str], ...]:
    """Return the texts of the scripts, with their placeholders, which the scripts fill in."""
    texts = ((name, text) for name, text in TEXTS.items() if name.startswith("js_"))
    return tuple((name, text.en if language == "en" else text.zh) for name, text in texts)


class PageLink(NamedTuple):
    path: str
    name: str


class Navigation(NamedTuple):
    """Pages that the viewer may use. On a phone, the main ones are in the bar and the others behind its last button."""

    main: list[PageLink]
    others: list[PageLink]


def navigation(viewer: Viewer) -> Navigation:
    if viewer.is_simple:
        return Navigation([PageLink("/simple", "simple")], [])
    main = ["tasks", "runs", "calendar"]
    has_chats = viewer.is_admin or viewer.principal.owner.startswith(GROUP_OWNER_PREFIX)
    others = [
        *(["lanes"] if viewer.is_admin else []),
        *(["chats"] if has_chats else []),
        "streams",
        "stations",
        "activity",
        "approvals",
        "settings",
        "simple",
    ]
    return Navigation(
        [PageLink("/", "now"), *(PageLink(f"/{name}", name) for name in main)],
        [PageLink(f"/{name}", name) for name in others],
    )


def _without(query: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in query.items() if key != name}


def _with_value(query: Mapping[str, Any], name: str, value: object) -> dict[str, Any]:
    return {**query, name: value}


def requested_parts(request: Request) -> list[str]:
    """Return the names of the blocks that a script asks for; a browser that opens the URL gets the whole page."""
    is_script = request.headers.get("sec-fetch-dest", "empty") == "empty"
    names = request.query_params.get(PART_PARAMETER, "")
    return names.split(",") if is_script and names else []


def page_response(
    request: Request, viewer: Viewer, template: str, data: Mapping[str, Any], status: int = 200
) -> Response:
    """Respond with a page; with `?part=NAME,NAME`, which scripts add, only with those blocks of it.

    The instant in the header tells the scripts the offset of the browser's clock.
    """
    headers = {**_HEADERS, NOW_HEADER: formats.machine_time(viewer.now)}
    url = request.url.remove_query_params(PART_PARAMETER)
    data = {"here": f"{url.path}?{url.query}" if url.query else url.path, **data}
    parts = requested_parts(request)
    if parts and set(parts) <= _environment().get_template(template).blocks.keys():
        return Response(render(viewer, template, data, parts), status, headers, HTML)
    # The notice waits for the next page that a person sees with a session: without one its undo could not be sent, and a
    # script that fetches a page, such as a preview, would take it away.
    shows_notice = viewer.is_signed_in and request.headers.get("sec-fetch-dest", "document") == "document"
    notice = read_notice(request) if shows_notice else None
    content = render(viewer, template, {"notice": notice, **data})
    response = Response(content, status, headers, HTML)
    if notice is not None:
        drop_notice(request, response)
    return response
