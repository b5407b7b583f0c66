"""`horae config`: every setting, what it is here, and who said so; what is secret is masked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import typer

from ...typography import full_width
from ..command import command
from ..messages import operating_messages as words
from ..output.command_hints import display_url
from ..output.printer import Printer

if TYPE_CHECKING:
    from ...settings import Settings

MASK: Final = "********"
_TELLING: Final = re.compile(r"secret|token|password|passwd|credential|api_?key|private_?key|key$", re.IGNORECASE)
"""A `key_file` only says where the key is."""
_ADDRESSES: Final = ("webhook", "redis")
"""Whose paths say more than where."""


def register(app: typer.Typer) -> None:
    command(app, "config")(config)


def config(
    out: Printer,
    show: str | None = typer.Argument(None, metavar="[show]", help="The same, said in full."),
    origin: bool = typer.Option(False, "--origin", help="Say where each value comes from."),
) -> None:
    """Show every setting."""
    from ..session.open_store import settings_of  # noqa: PLC0415 - `--help` does without

    if show not in (None, "show"):
        raise typer.BadParameter(f"'{show}' is no part of config; there is only 'show'.")
    rows = [*shown_server(out), *shown_settings(out, settings_of(out.store))]
    if out.json:
        out.data([row if origin else {name: row[name] for name in row if name != "origin"} for row in rows])
        return
    columns = ["setting", "value", *(["origin"] if origin else []), "meaning"]
    titles = dict(zip(("setting", "value", "origin", "meaning"), words.CONFIG_TITLES, strict=True))
    out.table(
        [out.translate(titles[name]) for name in columns], [[_text(row[name]) for name in columns] for row in rows]
    )


def shown_server(out: Printer) -> list[dict[str, Any]]:
    """Where commands go, and that there is a token for it; the token itself is nobody's to see."""
    from ..session.servers import SERVER_VARIABLE, TOKEN_VARIABLE, has_token, server_of, token_origin  # noqa: PLC0415

    server = server_of(out)
    meanings = (out.translate(words.SERVER_MEANING), out.translate(words.TOKEN_MEANING))
    if server is None:
        nobody = out.translate(words.FROM_DEFAULT)
        return [
            {"setting": name, "value": None, "origin": nobody, "meaning": meaning}
            for name, meaning in zip((SERVER_VARIABLE, TOKEN_VARIABLE), meanings, strict=True)
        ]
    shown = MASK if has_token(server) else None
    return [
        {"setting": SERVER_VARIABLE, "value": server.url, "origin": server.origin, "meaning": meanings[0]},
        {"setting": TOKEN_VARIABLE, "value": shown, "origin": token_origin(server), "meaning": meanings[1]},
    ]


def shown_settings(out: Printer, settings: Settings) -> list[dict[str, Any]]:
    from ...settings import SETTINGS  # noqa: PLC0415

    known = {setting.path: setting for setting in SETTINGS}
    rows = []
    for path in [*known, *(path for path in sorted(settings.overrides) if path not in known)]:
        setting, chosen = known.get(path), settings.overrides.get(path)
        value = chosen.value if chosen is not None else setting.default if setting is not None else None
        meaning = "" if setting is None else setting.meaning if out.language == "en" else full_width(setting.meaning_zh)
        said_by = out.translate(words.FROM_DEFAULT) if chosen is None else chosen.origin
        rows.append({"setting": path, "value": masked(path, value), "origin": said_by, "meaning": meaning})
    return rows


def masked(path: str, value: Any) -> Any:
    """What would open a door is not shown: values of telling names, and what addresses say beside their host."""
    if value is None:
        return None
    name = path.rpartition(".")[2]
    if _TELLING.search(name):
        return MASK
    if path == "store" and isinstance(value, str):
        return display_url(value)
    if isinstance(value, str):
        return _plain_address(value, hides_path=name.lower().endswith(_ADDRESSES))
    if isinstance(value, Mapping):
        return {key: masked(f"{path}.{key}", each) for key, each in value.items()}
    return [masked(path, each) for each in value] if isinstance(value, list | tuple) else value


def _plain_address(value: str, *, hides_path: bool) -> str:
    """Users, passwords and queries open doors; of a webhook even the path does."""
    if "://" not in value:
        return value
    try:
        parts = urlsplit(value)
    except ValueError:
        return MASK
    beside = "@" in parts.netloc or parts.query or parts.fragment
    if not beside and not (hides_path and parts.path.strip("/")):
        return value
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/…"


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return ", ".join(map(str, value)) or "-" if isinstance(value, list | tuple) else str(value)
