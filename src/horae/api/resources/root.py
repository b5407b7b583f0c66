"""`GET /`: name, version, readiness and links of this server, as HTML or JSON, without a token and without user data."""

from __future__ import annotations

from html import escape
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...choices import Language
from ...version import __version__
from ...web.language import request_language
from ...web.middleware import console_path
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ..openapi import Operation
from .health import is_ready

routes: Final = RouteGroup("", "health", authenticated=False)

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Vary": "Accept, Accept-Language",
}
_LINKS: Final[dict[str, tuple[str, str, str]]] = {
    "docs": ("/docs", "Every route of the HTTP API", "HTTP 接口的全部路由"),
    "openapi": ("/openapi.json", "The same for programs (OpenAPI)", "供程序使用的接口描述（OpenAPI）"),
    "llms": ("/llms.txt", "The same in short, for assistants", "供助手阅读的简短说明"),
    "health": ("/healthz", "Whether the process is alive", "进程是否存活"),
    "readiness": ("/readyz", "Whether it can work, part by part", "各部分是否就绪"),
    "api": ("/v1/whoami", "Who you are, with your token", "查看令牌对应的身份"),
}
_STATES: Final[dict[bool, dict[Language, str]]] = {
    True: {"en": "ready", "zh": "就绪"},
    False: {"en": "not ready; /readyz says which part is missing", "zh": "未就绪；/readyz 说明缺少哪一部分"},
}
_PAGE: Final = """<!doctype html>
<html lang="{lang}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Horae {version}</title>
<style>
body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; color-scheme: light dark }}
dt {{ font-family: ui-monospace, monospace }}
dd {{ margin: 0 0 .5rem 0 }}
</style></head>
<body><main><h1>Horae {version}</h1>
<p>{about}</p>
<p>{status}</p>
<dl>
{links}
</dl></main></body></html>
"""
_ABOUT: Final[dict[Language, str]] = {
    "en": "A durable, precise scheduler. This is its HTTP API; requests to it need a token.",
    "zh": "持久、精确的任务调度器。这里是它的 HTTP 接口；请求需要令牌。",
}
_STATUS: Final[dict[Language, str]] = {"en": "Status: {status}", "zh": "状态：{status}"}


@routes.get("/", Operation("root", "What this server is, and where to go from here", "Root", public=True))
async def root(request: Request) -> Response:
    """Redirect a browser to the console, or show it a page where there is none; respond with JSON to everything else."""
    is_browser, console = prefers_html(request.headers.get("accept", "")), console_path(request)
    if is_browser and console is not None:
        target = f"{request.scope.get('root_path', '')}{console}/"
        return RedirectResponse(target, 303, {"Cache-Control": "no-store", "Vary": "Accept"})
    ready = await is_ready(request)
    if is_browser:
        page = _render_page(ready=ready, lang=request_language(request))
        return Response(page, media_type="text/html; charset=utf-8", headers=_HEADERS)
    data: dict[str, Any] = {
        "name": "horae",
        "version": __version__,
        "status": "ready" if ready else "not ready",
        "links": {name: path for name, (path, _, _) in _LINKS.items()},
    }
    return json_response(data, headers={"Cache-Control": "no-store", "Vary": "Accept, Accept-Language"})


def prefers_html(accept: str) -> bool:
    """Return whether the Accept header names HTML, and no later than JSON. A client that accepts `*/*` gets JSON."""
    types = [part.partition(";")[0].strip().lower() for part in accept[:1000].split(",")]
    html_positions = [number for number, each in enumerate(types) if each in ("text/html", "application/xhtml+xml")]
    return bool(html_positions) and (
        "application/json" not in types or html_positions[0] < types.index("application/json")
    )


def _render_page(*, ready: bool, lang: Language) -> str:
    column = 1 if lang == "en" else 2
    links = "\n".join(
        f'<dt><a href="{escape(link[0])}">{escape(link[0])}</a></dt><dd>{escape(link[column])}</dd>'
        for link in _LINKS.values()
    )
    return _PAGE.format(
        lang="en" if lang == "en" else "zh-CN",
        version=escape(__version__),
        about=escape(_ABOUT[lang]),
        status=escape(_STATUS[lang].format(status=_STATES[ready][lang])),
        links=links,
    )
