"""`horae open`: makes a one-time sign-in link of the console, prints it, and opens it in a browser on a desktop.

The link is never an argument of another program, because every user of the machine can list those: the browser opens a file
that only its user can read, and that leads on to the link.
"""

from __future__ import annotations

import os
import sys
from html import escape
from pathlib import Path
from typing import Final

import click

from ....model.refusals import refuse as refuse_task
from ....runtime.process_settings import data_file, store_url
from ....wire.accounts import sign_in_url
from ....wire.instants import utc
from ...command import Command
from ...messages import account_messages as words
from ...messages.account_refusals import refuse
from ...output.printer import Printer
from ...session.command_session import refuse_memory, run_in_session
from ...session.servers import server_of

_DESKTOP_VARIABLES: Final = ("DISPLAY", "WAYLAND_DISPLAY")
_PAGE: Final = """<!doctype html>
<html><head><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Horae</title>
<meta http-equiv="refresh" content="0;url={url}"></head><body><a href="{url}">Horae</a></body></html>
"""


@click.command("open", cls=Command)
@click.option("--print", "only_print", is_flag=True, help="Only print the link; start no browser.")
def open_console(out: Printer, *, only_print: bool) -> None:
    """Open the console in a browser, signed in by a one-time link."""
    address = _server_address(out)
    link = run_in_session(out, lambda app: app.service.sessions.make_link(app.principal))
    url = sign_in_url(address, link.code)
    opened = not only_print and has_desktop() and _open_browser(url)
    if out.json:
        out.data({"url": url, "expires": utc(link.expires), "opened": opened})
        return
    out.note(words.LINK_MADE)
    if opened:
        out.note(words.BROWSER_OPENS)
    out.line(url, whole=True)


def _server_address(out: Printer) -> str:
    """Return the address of the chosen server, or of the one that this user runs on the chosen store."""
    server = server_of(out)
    if server is not None:
        return server.url
    from ....runtime.local_servers import find_server_of  # noqa: PLC0415 - not for a chosen server

    refuse_memory(out)
    local = find_server_of(store_url(out.settings))
    if local is None:
        raise refuse("no_server_here")
    if not local.has_console:
        raise refuse_task("missing_part", library="jinja2", extra="console")
    return local.url


def has_desktop() -> bool:
    """Whether a browser with windows can be started: on Linux where a display is set, elsewhere always."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in _DESKTOP_VARIABLES)


def _open_browser(url: str) -> bool:
    """Open a private file that leads to the link; False if no browser could be started."""
    import webbrowser  # noqa: PLC0415 - only on a desktop

    try:
        return webbrowser.open(write_redirect(data_file().parent / "open-console.html", url).as_uri())
    except (OSError, webbrowser.Error):
        return False


def write_redirect(path: Path, url: str) -> Path:
    """Write a page that leads to the URL, readable by its user alone; the next link replaces it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(_PAGE.format(url=escape(url)))
    return path
