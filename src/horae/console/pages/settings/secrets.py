"""Secrets: names, set, delete, and grants to agents; a value is never shown."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from ....errors import HoraeError
from ...notice import Undo
from ...page import FORM_ERRORS, PageRequest, check_confirmation, form, page
from .tabs import render_tab

PAGE_SIZE: Final = 50


async def show(request: PageRequest, error: HoraeError | None = None) -> Response:
    after = request.request.query_params.get("after")
    names = await request.service.secrets.names(request.viewer.principal, None, after or None, PAGE_SIZE)
    data = {
        "secrets": names.items,
        "after": names.after,
        "query": {"after": after} if after else {},
        "has_key": request.service.secrets.has_key,
    }
    return render_tab(request, "secrets", data, error)


async def save(request: PageRequest) -> Response:
    """Set a secret. A refused form is shown again without its value."""
    sent, principal = request.form, request.viewer.principal
    owner = sent.text("owner") or None
    try:
        secret = await request.service.secrets.set(principal, sent.text("name"), sent.get("value", ""), owner)
    except FORM_ERRORS as error:
        return await show(request, error)
    return request.redirect("/settings/secrets", request.notice("settings_secret_saved", secret=secret.name))


async def remove(request: PageRequest) -> Response:
    name, owner = request.form.text("name"), request.form.text("owner") or None
    try:
        check_confirmation(request, name)
        await request.service.secrets.remove(request.viewer.principal, name, owner)
    except FORM_ERRORS as error:
        return await show(request, error)
    return request.redirect("/settings/secrets", request.notice("settings_secret_removed", secret=name))


async def grant(request: PageRequest) -> Response:
    return await _set_grant(request, granted=True)


async def ungrant(request: PageRequest) -> Response:
    return await _set_grant(request, granted=False)


async def _set_grant(request: PageRequest, *, granted: bool) -> Response:
    secrets, sent = request.service.secrets, request.form
    name, agent, owner = sent.text("name"), sent.text("agent"), sent.text("owner") or None
    try:
        await (secrets.grant if granted else secrets.revoke_grant)(request.viewer.principal, name, agent, owner)
    except FORM_ERRORS as error:
        return await show(request, error)
    fields = {"name": name, "agent": agent, "owner": owner or request.viewer.principal.owner}
    undo = Undo("/settings/secrets/ungrant" if granted else "/settings/secrets/grant", fields)
    text = "settings_secret_granted" if granted else "settings_secret_ungranted"
    return request.redirect("/settings/secrets", request.notice(text, undo, secret=name, agent=agent))


ROUTES: Final = (
    page("/settings/secrets", show),
    form("/settings/secrets/set", save),
    form("/settings/secrets/remove", remove),
    form("/settings/secrets/grant", grant),
    form("/settings/secrets/ungrant", ungrant),
)
