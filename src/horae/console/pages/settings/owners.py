"""Owners: list, create, edit with role and quotas, revoke and restore; for admins."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from ....errors import HoraeError, NotFound
from ....model.accounts.account import Owner
from ....model.accounts.principal import MEMBER_QUOTAS, Role, Scope
from ....model.refusals import refuse as refuse_task
from ...notice import Undo
from ...outcomes import Sign
from ...page import FORM_ERRORS, PageRequest, form, page
from ...quota_forms import quota_fields, quota_inputs, read_quota_form
from ...refusals import refuse
from .tabs import render_settings, render_tab

PAGE_SIZE: Final = 50
_SIGNS: Final = {
    "active": ("●", "good"),
    "viewer": ("○", "dim"),
    "exhausted": ("⧖", "warn"),
    "storage_full": ("▮", "warn"),
    "revoked": ("✕", "bad"),
}


async def show(request: PageRequest, error: HoraeError | None = None) -> Response:
    request.viewer.principal.require_scope(Scope.ADMIN)
    after = request.request.query_params.get("after")
    owners = await request.service.accounts.page(request.viewer.principal, after or None, PAGE_SIZE)
    data = {
        "owners": [(each, _sign(request, each)) for each in owners.items],
        "after": owners.after,
        "query": {"after": after} if after else {},
    }
    return render_tab(request, "owners", data, error)


async def show_one(request: PageRequest, error: HoraeError | None = None) -> Response:
    """Show the form of one owner; without `?name=`, of a new one."""
    request.viewer.principal.require_scope(Scope.ADMIN)
    name = request.request.query_params.get("name") or request.form.text("former")
    owner = await request.service.accounts.get(request.viewer.principal, name) if name else None
    given = request.form if error is not None else None
    quotas = MEMBER_QUOTAS if owner is None else owner.quotas
    chosen = {} if owner is None else dict(owner.quota_overrides)
    data: dict[str, Any] = {
        "owner": owner,
        "sign": None if owner is None else _sign(request, owner),
        "values": dict(given) if given is not None else _inputs(owner),
        "roles": [each.value for each in Role],
        "fields": quota_fields(quotas, chosen, given),
    }
    return render_settings(request, "settings/owner.html", "owners", data, error)


async def save(request: PageRequest) -> Response:
    """Create or change an owner; `former` names the owner that the form was made for, and is empty for a new one."""
    sent, principal = request.form, request.viewer.principal
    former = sent.text("former")
    principal.require_scope(Scope.ADMIN)
    before = await request.service.accounts.get(principal, former) if former else None
    name = former or sent.text("name")
    chosen = {} if before is None else dict(before.quota_overrides)
    try:
        if before is None:
            await _check_new(request, name)
        await request.service.accounts.put(
            principal,
            name,
            role=_read_role(sent.text("role")),
            zone=sent.text("zone"),
            note=sent.text("note"),
            quotas=read_quota_form(sent, chosen),
            expected=_read_version(sent.text("version")),
        )
    except FORM_ERRORS as error:
        return await show_one(request, error)
    undo = None if before is None else Undo("/settings/owners/save", {"former": name, **_inputs(before)})
    text = "settings_owner_made" if before is None else "settings_owner_saved"
    return request.redirect("/settings/owners", request.notice(text, undo, owner=name))


async def revoke(request: PageRequest) -> Response:
    try:
        owner = await request.service.accounts.revoke(request.viewer.principal, request.form.text("name"))
    except FORM_ERRORS as error:
        return await show(request, error)
    undo = Undo("/settings/owners/restore", {"name": owner.name})
    return request.redirect("/settings/owners", request.notice("settings_owner_is_revoked", undo, owner=owner.name))


async def restore(request: PageRequest) -> Response:
    owner = await request.service.accounts.restore(request.viewer.principal, request.form.text("name"))
    undo = Undo("/settings/owners/revoke", {"name": owner.name})
    return request.redirect("/settings/owners", request.notice("settings_owner_is_restored", undo, owner=owner.name))


async def _check_new(request: PageRequest, name: str) -> None:
    try:
        await request.service.accounts.get(request.viewer.principal, name)
    except NotFound:
        return
    raise refuse("account_exists", name=name)


def _inputs(owner: Owner | None) -> dict[str, str]:
    """Return the fields of the form as they are stored."""
    if owner is None:
        return {"role": Role.MEMBER.value, "zone": "", "note": "", **quota_inputs({})}
    chosen = quota_inputs(dict(owner.quota_overrides))
    return {"role": owner.role.value, "zone": owner.zone or "", "note": owner.note, **chosen}


def _sign(request: PageRequest, owner: Owner) -> Sign:
    state = _state(owner)
    return Sign(*_SIGNS[state], request.text(f"settings_owner_{state}"))


def _state(owner: Owner) -> str:
    if owner.revoked is not None:
        return "revoked"
    if owner.storage_full is not None:
        return "storage_full"
    if owner.exhausted_on is not None:
        return "exhausted"
    return "viewer" if owner.role is Role.VIEWER else "active"


def _read_role(text: str) -> Role:
    if text not in tuple(Role):
        raise refuse_task("bad_choice", name="role", value=text, allowed=", ".join(Role))
    return Role(text)


def _read_version(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None


ROUTES: Final = (
    page("/settings/owners", show),
    page("/settings/owner", show_one),
    form("/settings/owners/save", save),
    form("/settings/owners/revoke", revoke),
    form("/settings/owners/restore", restore),
)
