"""`horae secret`: stores encrypted values that tasks refer to by name; values are never printed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ...command import CommandGroup
from ...messages import operating_messages as words
from ...messages.operating_refusals import refuse
from ...output.printer import Printer
from ...output.styled_text import replace_unprintable
from ...parameters import FILE

if TYPE_CHECKING:
    from ....service.accounts.secrets import SecretName
    from ...session.command_session import CommandSession

_name_argument: Final = click.argument("name", metavar="NAME", help="A-Z a-z 0-9 _ . -")
_agent_option: Final = click.option(
    "--agent", required=True, metavar="AGENT", help="The name of an agent, as its tasks show it."
)
_owner_option: Final = click.option("--owner", help="Owner of the secret. Default: you.")


secret_commands: Final = CommandGroup("secret", help="Manage secrets: tasks name them but never hold their values.")


@secret_commands.command("set")
@_name_argument
@click.argument("source", nargs=-1, metavar="[-]", help="- reads the value from standard input.")
@click.option("--from-file", type=FILE, metavar="FILE", help="Read the value from a file.")
@_owner_option
def set_secret(out: Printer, *, name: str, source: tuple[str, ...], from_file: Path | None, owner: str | None) -> None:
    """Set a secret: from a hidden prompt, a file, or standard input."""
    from ...session.command_session import run_in_session  # noqa: PLC0415 - `--help` does without

    if source not in ((), ("-",)):
        raise refuse("secret_as_argument", name=name, owner_option=_typed_owner(owner))
    value = _read_value(out, name, from_file, owner, piped=source == ("-",))
    saved = run_in_session(out, lambda app: _set(app, name, value, owner), create=True)
    if out.json:
        out.data(_shape(saved))
    else:
        out.line(("✓ ", out.translate(words.SECRET_SET, name=saved.name)))


@secret_commands.command("ls")
@_owner_option
def list_secrets(out: Printer, *, owner: str | None) -> None:
    """List the names of secrets, never their values."""
    from ...session.command_session import has_store, run_in_session  # noqa: PLC0415

    names = run_in_session(out, lambda app: _all_names(app, owner)) if has_store(out) else []
    if out.json:
        out.data([_shape(each) for each in names])
    elif out.quiet:
        out.ids([each.name for each in names])
    elif names:
        rows = [
            [each.name, each.owner, f"{each.updated:%Y-%m-%d %H:%M}Z", ", ".join(each.agents) or "–"] for each in names
        ]
        out.table([out.translate(title) for title in words.SECRET_TITLES], rows)
    else:
        out.note(words.NO_SECRETS, owner_option=_typed_owner(owner))


@secret_commands.command("rm", asks=True)
@_name_argument
@_owner_option
def remove(out: Printer, *, name: str, owner: str | None) -> None:
    """Remove a secret."""
    from ...session.command_session import run_in_session  # noqa: PLC0415

    out.confirm(words.REMOVE_SECRET, name=name)
    run_in_session(out, lambda app: app.service.secrets.remove(app.principal, name, owner))
    if out.json:
        out.data({"removed": name})
    else:
        out.line(("✓ ", out.translate(words.SECRET_GONE, name=name)))


@secret_commands.command("grant")
@_name_argument
@_agent_option
@_owner_option
def grant(out: Printer, *, name: str, agent: str, owner: str | None) -> None:
    """Let the tasks of an agent use a secret."""
    from ...session.command_session import run_in_session  # noqa: PLC0415

    secret = run_in_session(out, lambda app: app.service.secrets.grant(app.principal, name, agent, owner))
    _show_grants(out, secret, out.translate(words.SECRET_GRANTED, name=name, agent=agent))


@secret_commands.command("revoke")
@_name_argument
@_agent_option
@_owner_option
def revoke(out: Printer, *, name: str, agent: str, owner: str | None) -> None:
    """Take a secret back from an agent; its runs that need it fail from now on."""
    from ...session.command_session import run_in_session  # noqa: PLC0415

    secret = run_in_session(out, lambda app: app.service.secrets.revoke_grant(app.principal, name, agent, owner))
    _show_grants(out, secret, out.translate(words.SECRET_GRANT_REVOKED, name=name, agent=agent))


def _show_grants(out: Printer, secret: SecretName, line: str) -> None:
    if out.json:
        out.data(_shape(secret))
    elif out.quiet:
        out.ids([secret.name])
    else:
        out.line(("✓ ", line))


@secret_commands.command("rotate")
def rotate(out: Printer) -> None:
    """Make a new key and encrypt all secrets with it; engines keep running."""
    from ....encryption import KeyFile  # noqa: PLC0415
    from ....service.accounts.secrets import rotate_key  # noqa: PLC0415
    from ...session.open_store import run_with_existing_app  # noqa: PLC0415
    from ...session.servers import refuse_server_for  # noqa: PLC0415
    from ...session.store_location import locate_existing_store  # noqa: PLC0415

    refuse_server_for(out, "horae secret rotate")
    here = locate_existing_store(out)
    path = _key_path(out, here)
    number = run_with_existing_app(out.settings, lambda app: rotate_key(app.service.secrets, KeyFile(path)))
    if out.json:
        out.data({"resealed": number, "key_file": str(path)})
    else:
        out.line(("✓ ", out.translate(words.ROTATED, number=number, path=path)))
    if isinstance(here, str):
        out.note(words.SHARE_THE_KEY, path=path)


def _key_path(out: Printer, here: Path | str) -> Path:
    """Return the key file: next to a SQLite file unless configured; a store on a server requires the setting."""
    from ....encryption.key_location import configured_path, key_path  # noqa: PLC0415
    from ....encryption.refusals import refuse as refuse_key  # noqa: PLC0415

    named = out.settings.value("key_file")
    path = configured_path(named) if isinstance(here, str) else key_path(str(here), named)
    if path is None:
        raise refuse_key("key_file_not_named")
    return path


async def _set(app: CommandSession, name: str, value: str, owner: str | None) -> SecretName:
    await app.check_key()
    return await app.service.secrets.set(app.principal, name, value, owner)


async def _all_names(app: CommandSession, owner: str | None) -> list[SecretName]:
    found: list[SecretName] = []
    after: str | None = None
    while True:
        page = await app.service.secrets.names(app.principal, owner, after, 1_000)
        found += page.items
        after = page.after
        if after is None:
            return found


def _shape(secret: SecretName) -> dict[str, Any]:
    from ....wire.instants import utc  # noqa: PLC0415

    shape = {"name": secret.name, "owner": secret.owner, "updated": utc(secret.updated)}
    return {**shape, "agents": list(secret.agents)}


def _typed_owner(owner: str | None) -> str:
    """Return the typed `--owner` option for the commands of a hint."""
    return "" if owner is None else f" --owner {shlex.quote(owner)}"


def _read_value(out: Printer, name: str, file: Path | None, owner: str | None, *, piped: bool) -> str:
    """Read the value from a file, standard input or a prompt; one newline at the end is removed."""
    if file is not None:
        try:
            return file.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise refuse("unreadable_file", path=file, problem=getattr(error, "strerror", None) or "no UTF-8") from None
    if piped:
        return sys.stdin.read().removesuffix("\n").removesuffix("\r")
    if not out.asks:
        raise refuse("no_secret_value", name=name, owner_option=_typed_owner(owner))
    from getpass import getpass  # noqa: PLC0415 - only for an interactive prompt

    # getpass turns the echo off before it prompts, and discards earlier input.
    return getpass(replace_unprintable(out.translate(words.VALUE_OF, name=name)), stream=sys.stderr)
