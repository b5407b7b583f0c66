"""`horae config`: table of all settings with value and origin; secrets are masked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import click

from ....typography import full_width
from ...command import Command
from ...messages import operating_messages as words
from ...output.command_hints import display_url
from ...output.printer import Printer

if TYPE_CHECKING:
    from ....settings import Settings

MASK: Final = "********"
_SECRET_NAMES: Final = re.compile(r"secret|token|password|passwd|credential|api_?key|private_?key|key$", re.IGNORECASE)
"""Names of settings whose values are masked; `key_file` holds a path and is shown."""
_SECRET_PATHS: Final = ("webhook", "redis")
"""Endings of setting names whose URL path is a secret."""


@click.command("config", cls=Command)
@click.argument("show", required=False, metavar="[show]", help="Show the settings, as without it.")
@click.option("--origin", is_flag=True, help="Show where each value comes from.")
def config(out: Printer, *, show: str | None, origin: bool) -> None:
    """Show every setting."""

    if show not in (None, "show"):
        raise click.BadParameter(f"'{show}' is no part of config; there is only 'show'.")
    rows = [*server_rows(out), *setting_rows(out, out.settings)]
    if out.json:
        out.data([row if origin else {name: row[name] for name in row if name != "origin"} for row in rows])
        return
    columns = ["setting", "value", *(["origin"] if origin else []), "meaning"]
    titles = dict(zip(("setting", "value", "origin", "meaning"), words.CONFIG_TITLES, strict=True))
    out.table(
        [out.translate(titles[name]) for name in columns],
        [[_format_value(row[name]) for name in columns] for row in rows],
    )


def server_rows(out: Printer) -> list[dict[str, Any]]:
    """Return the rows for the current server and its token, which is masked."""
    from ...session.servers import SERVER_VARIABLE, TOKEN_VARIABLE, has_token, server_of, token_origin  # noqa: PLC0415

    server = server_of(out)
    meanings = (out.translate(words.SERVER_MEANING), out.translate(words.TOKEN_MEANING))
    if server is None:
        default = out.translate(words.FROM_DEFAULT)
        return [
            {"setting": name, "value": None, "origin": default, "meaning": meaning}
            for name, meaning in zip((SERVER_VARIABLE, TOKEN_VARIABLE), meanings, strict=True)
        ]
    shown = MASK if has_token(server) else None
    return [
        {"setting": SERVER_VARIABLE, "value": server.url, "origin": server.origin, "meaning": meanings[0]},
        {"setting": TOKEN_VARIABLE, "value": shown, "origin": token_origin(server), "meaning": meanings[1]},
    ]


def setting_rows(out: Printer, settings: Settings) -> list[dict[str, Any]]:
    from ....settings import SETTINGS  # noqa: PLC0415

    known = {setting.path: setting for setting in SETTINGS}
    rows = []
    for path in [*known, *(path for path in sorted(settings.overrides) if path not in known)]:
        setting, chosen = known.get(path), settings.overrides.get(path)
        value = chosen.value if chosen is not None else setting.default if setting is not None else None
        meaning = "" if setting is None else setting.meaning if out.language == "en" else full_width(setting.meaning_zh)
        origin = out.translate(words.FROM_DEFAULT) if chosen is None else chosen.origin
        rows.append({"setting": path, "value": mask_value(path, value), "origin": origin, "meaning": meaning})
    return rows


def mask_value(path: str, value: Any) -> Any:
    """Return the value with secrets masked: values of secret names, and credentials, query and path of addresses."""
    if value is None:
        return None
    name = path.rpartition(".")[2]
    if _SECRET_NAMES.search(name):
        return MASK
    if path == "store" and isinstance(value, str):
        return display_url(value)
    if isinstance(value, str):
        return _mask_address(value, hides_path=name.lower().endswith(_SECRET_PATHS))
    if isinstance(value, Mapping):
        return {key: mask_value(f"{path}.{key}", each) for key, each in value.items()}
    return [mask_value(path, each) for each in value] if isinstance(value, list | tuple) else value


def _mask_address(value: str, *, hides_path: bool) -> str:
    """Return only scheme and host of an address with credentials or a query; for webhooks also hide the path."""
    if "://" not in value:
        return value
    try:
        parts = urlsplit(value)
    except ValueError:
        return MASK
    has_secrets = "@" in parts.netloc or parts.query or parts.fragment
    if not has_secrets and not (hides_path and parts.path.strip("/")):
        return value
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/…"


def _format_value(value: Any) -> str:
    if value is None:
        return "-"
    return ", ".join(map(str, value)) or "-" if isinstance(value, list | tuple) else str(value)
