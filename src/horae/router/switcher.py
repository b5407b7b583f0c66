"""Page of the router that switches the console between the deployments where this browser is signed in.

It names no other deployment, and a switch gives no right: each deployment has a session of its own.
"""

from __future__ import annotations

from html import escape
from typing import Final
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ..choices import Language
from ..message import Message
from ..web.language import request_language
from ..web.refusals import refuse
from ..wire.accounts import CONSOLE_PATH, DEPLOYMENTS_PATH
from .heads import deployment_cookie

PATH: Final = DEPLOYMENTS_PATH
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
_TITLE: Final = Message("Deployments", "部署")
_SIGNED_IN: Final = Message("You are signed in to these deployments:", "你已登录以下部署:")
_NOWHERE: Final = Message("You are signed in to no deployment.", "你尚未登录任何部署。")
_ANOTHER: Final = Message(
    "To see another deployment, sign in with a token of it:", "要查看其他部署,请用该部署的令牌登录:"
)
_TOKEN: Final = Message("Token", "令牌")
_SIGN_IN: Final = Message("Sign in", "登录")
_PAGE: Final = """<!doctype html>
<html lang="{lang}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Horae · {title}</title>
<style>
body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; color-scheme: light dark }}
button, input {{ font: inherit; min-height: 2.75rem; padding: 0 1rem }}
</style></head>
<body><main><h1>{title}</h1>
<p>{known}</p>
<form method="post" action="{path}">
{buttons}
</form>
<p>{another}</p>
<form method="post" action="{console}/sign-in">
<label>{token} <input type="password" name="token" autocomplete="off" required></label>
<button>{sign_in}</button>
</form></main></body></html>
"""
_MAX_BODY: Final = 4_096


async def respond(request: Request, signed_in: list[str]) -> Response:
    """Show the deployments, or switch to one of them."""
    if request.method == "GET":
        return _show(signed_in, request_language(request))
    if request.method != "POST":
        raise refuse("bad_method", method=request.method, path=PATH, allowed="GET, POST", allowed_methods="GET, POST")
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower():
        raise refuse("no_such_path", path=PATH)
    names = parse_qs((await request.body())[:_MAX_BODY].decode("latin-1")).get("deployment", [])
    response = RedirectResponse(f"{CONSOLE_PATH}/", 303)
    if len(names) == 1 and names[0] in signed_in:
        response.raw_headers.append(deployment_cookie(names[0], is_secure=request.url.scheme == "https"))
    return response


def _show(signed_in: list[str], language: Language) -> Response:
    buttons = "\n".join(
        f'<button name="deployment" value="{escape(name)}">{escape(name)}</button>' for name in signed_in
    )
    page = _PAGE.format(
        lang="zh-CN" if language == "zh" else "en",
        title=_TITLE.in_language(language),
        known=(_SIGNED_IN if signed_in else _NOWHERE).in_language(language),
        path=PATH,
        buttons=buttons,
        another=_ANOTHER.in_language(language),
        console=CONSOLE_PATH,
        token=_TOKEN.in_language(language),
        sign_in=_SIGN_IN.in_language(language),
    )
    return HTMLResponse(page, headers=_HEADERS)
