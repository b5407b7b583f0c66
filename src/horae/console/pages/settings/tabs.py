"""Tabs of the settings, by the rights of the viewer."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from ....errors import HoraeError
from ...page import PageRequest, form_problem, form_status
from ...viewer import Viewer


def tabs_of(viewer: Viewer) -> list[tuple[str, str]]:
    """Return path and name of each tab; owners and the doctor are for admins."""
    own = [(f"/settings/{name}", name) for name in ("tokens", "webhooks", "messages", "secrets", "sessions")]
    owners = [("/settings/owners", "owners")] if viewer.is_admin else []
    doctor = [("/settings/doctor", "doctor")] if viewer.is_admin else []
    return [("/settings", "profile"), *owners, *own, *doctor, ("/settings/about", "about")]


def render_tab(request: PageRequest, tab: str, data: dict[str, Any], error: HoraeError | None = None) -> Response:
    """Render `settings/TAB.html`; `error` is the problem of a refused form, which is shown again with its input."""
    return render_settings(request, f"settings/{tab}.html", tab, data, error)


def render_settings(
    request: PageRequest, template: str, tab: str, data: dict[str, Any], error: HoraeError | None = None
) -> Response:
    common = {"page": "settings", "tab": tab, "tabs_of": tabs_of(request.viewer), "given": request.form}
    return request.render(template, {**common, **data, **form_problem(request, error)}, form_status(error))
