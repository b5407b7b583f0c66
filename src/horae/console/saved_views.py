"""Forms that save and remove the views of a list: names for its queries."""

from __future__ import annotations

from starlette.responses import Response

from .notice import Undo
from .page import PageRequest, PageRoute, form


def view_forms(list_name: str) -> tuple[PageRoute, PageRoute]:
    """Return the routes of the forms; the page of the list has the path `/` and its name."""
    page, save_path, remove_path = f"/{list_name}", f"/{list_name}/views", f"/{list_name}/views/remove"

    async def save(request: PageRequest) -> Response:
        """Store the query under a name, and show the list with it."""
        fields, principal = request.form, request.viewer.principal
        view = await request.service.views.save(principal, list_name, fields.text("name"), fields.text("q"))
        undo = Undo(remove_path, {"name": view.name, "q": view.query}) if view.version == 1 else None
        return request.redirect(page, request.notice("view_saved", undo, view=view.name), q=view.query)

    async def remove(request: PageRequest) -> Response:
        """Remove a view, and show the list with the query that it had."""
        fields, principal = request.form, request.viewer.principal
        name = fields.text("name")
        query = (await request.service.views.get(principal, list_name, name)).query
        await request.service.views.remove(principal, list_name, name)
        notice = request.notice("view_removed", Undo(save_path, {"name": name, "q": query}), view=name)
        return request.redirect(page, notice, q=fields.get("q"))

    return form(save_path, save), form(remove_path, remove)
