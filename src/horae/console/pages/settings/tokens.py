"""Tokens: list, make (the text is shown once, on the response to the form) and revoke."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from starlette.responses import Response

from ....errors import HoraeError
from ....model.accounts.account import Token
from ....model.accounts.principal import SCOPES_OF, Role, Scope
from ....model.refusals import refuse as refuse_task
from ...outcomes import Sign
from ...page import FORM_ERRORS, PageRequest, check_confirmation, form, page
from .tabs import render_settings, render_tab

PAGE_SIZE: Final = 50
_SIGNS: Final = {"valid": ("●", "good"), "expired": ("⧖", "dim"), "revoked": ("✕", "dim")}


async def show(request: PageRequest, error: HoraeError | None = None) -> Response:
    query, principal = request.request.query_params, request.viewer.principal
    owner, after = query.get("owner", "").strip() or None, query.get("after") or None
    tokens = await request.service.tokens.page(principal, owner, after, PAGE_SIZE)
    filters = {name: value for name, value in (("owner", owner), ("after", after)) if value}
    data = {
        "tokens": [(each, _sign(request, each)) for each in tokens.items],
        "owner": owner,
        "after": tokens.after,
        "query": filters,
        "scopes": [each for each in Scope if each in SCOPES_OF[principal.role or Role.ADMIN] & principal.scopes],
        "chosen": request.form.all("scope") if error is not None else None,
        "used": principal.actor,
    }
    return render_tab(request, "tokens", data, error)


async def make(request: PageRequest) -> Response:
    """Make a token and show its text, which no later page can show."""
    sent = request.form
    try:
        token, text = await request.service.tokens.make(
            request.viewer.principal,
            owner=sent.text("owner") or None,
            name=sent.text("name"),
            scopes=_read_scopes(sent.all("scope")),
            expires=_read_expiry(request),
            agent=sent.text("agent") or None,
        )
    except FORM_ERRORS as error:
        return await show(request, error)
    return render_settings(request, "settings/token_made.html", "tokens", {"token": token, "text": text})


async def revoke(request: PageRequest) -> Response:
    principal, token_id = request.viewer.principal, request.form.text("token")
    token = await request.service.tokens.get(principal, token_id)
    try:
        check_confirmation(request, token.name)
        await request.service.tokens.revoke(principal, token.id)
    except FORM_ERRORS as error:
        return await show(request, error)
    return request.redirect("/settings/tokens", request.notice("settings_token_is_revoked", token=token.name))


def _sign(request: PageRequest, token: Token) -> Sign:
    state = "revoked" if token.revoked else "valid" if token.is_valid(request.viewer.now) else "expired"
    return Sign(*_SIGNS[state], request.text(f"settings_token_{state}"))


def _read_scopes(values: list[str]) -> list[Scope]:
    """Return the chosen scopes; the service refuses a token without any."""
    for each in values:
        if each not in tuple(Scope):
            raise refuse_task("bad_choice", name="scopes", value=each, allowed=", ".join(Scope))
    return [Scope(each) for each in values]


def _read_expiry(request: PageRequest) -> datetime | None:
    """Return the end of the chosen day in the zone of the viewer."""
    text = request.form.text("expires")
    if not text:
        return None
    try:
        end = datetime.combine(date.fromisoformat(text) + timedelta(days=1), time(), request.viewer.tz)
        return end.astimezone(UTC)
    except (ValueError, OverflowError):
        raise refuse_task("bad_policy", name="expires", value=text, wanted="2026-12-31") from None


ROUTES: Final = (
    page("/settings/tokens", show),
    form("/settings/tokens/make", make),
    form("/settings/tokens/revoke", revoke),
)
