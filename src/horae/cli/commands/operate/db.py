"""`horae db`: backup, restore, integrity check and schema upgrade of the store; a database server makes its own backups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ....message import Message
from ....ports.doctor import LAST_BACKUP
from ....quantities import in_bytes
from ...command import CommandGroup
from ...messages import operating_messages as words
from ...messages.operating_refusals import refuse
from ...output.printer import Printer
from ...parameters import FILE
from ...session.store_location import (
    existing_file,
    locate_existing_store,
    locate_store,
    location_json,
    read_schema,
    real_path,
    server_address,
    store_file,
)

if TYPE_CHECKING:
    from ....app import Horae

_path_argument: Final = click.argument("path", type=FILE, metavar="PATH", help="File of the backup.")


db_commands: Final = CommandGroup("db", help="Back up, restore, check or upgrade the store.")


@db_commands.command("backup", asks=True)
@_path_argument
def backup(out: Printer, *, path: Path) -> None:
    """Copy the store while it is in use: a complete copy of one instant, or none."""
    from ....runtime.stores import REDIS  # noqa: PLC0415 - `--help` does without
    from ....wire.instants import utc  # noqa: PLC0415
    from ...session.open_store import run_with_existing_app  # noqa: PLC0415

    there = path.expanduser().absolute()
    address = server_address(out)
    if address is None:
        if real_path(there) == real_path(existing_file(out)):
            raise refuse("same_file", path=there)
    elif not address.startswith(REDIS):
        raise refuse("backup_on_server", place=address)
    if not there.parent.is_dir():
        raise refuse("unwritable_file", path=there, problem=f"{there.parent} is no folder")
    if there.exists():
        confirm_replacing(out, there)

    async def copy(app: Horae) -> int:
        with out.progress(words.BACKING_UP, 1) as bar:
            await app.store.backup(str(there), lambda done, total: bar.show_share(done / max(1, total)))
        await app.store.write_metadata(LAST_BACKUP, utc(app.clock.now()) or "")
        return sum((await app.service.overview.now(app.who)).tasks.values())

    tasks, size = run_with_existing_app(out.settings, copy), there.stat().st_size
    _show(out, words.BACKED_UP, path=there, bytes=size, size=in_bytes(size), tasks=tasks)


@db_commands.command("restore", asks=True)
@_path_argument
def restore(out: Printer, *, path: Path) -> None:
    """Replace the store with a backup; the old file is kept next to it."""
    from ...transfer.restore import check_backup, check_no_live_node, replace_store, unused_name  # noqa: PLC0415

    address = server_address(out)
    if address is not None:
        raise refuse("restore_on_server", place=address)
    # Where the store is a symbolic link, its target is replaced and kept.
    here, there = real_path(store_file(out)), path.expanduser().absolute()
    if not there.is_file():
        raise refuse("no_such_file", path=there)
    if real_path(there) == here:
        raise refuse("same_file", path=there)
    draft = check_backup(there, here)
    try:
        if here.exists():
            check_no_live_node(here)
            out.confirm(words.RESTORE_OVER, backup=there, path=here, kept=unused_name(here))
            # A node may have started while the command waited for the confirmation.
            check_no_live_node(here)
        before = replace_store(draft, here)
    finally:
        draft.unlink(missing_ok=True)
    message = words.RESTORED_NEW if before is None else words.RESTORED
    _show(out, message, path=here, backup=there, kept=None if before is None else before)


@db_commands.command("check")
def check(out: Printer) -> None:
    """Check for damage and contradictions; exit code 1 when there are any."""
    from ...session.open_store import run_with_existing_app  # noqa: PLC0415

    here = locate_existing_store(out)
    doubts = run_with_existing_app(out.settings, lambda app: app.store.check())
    if out.json:
        out.data({**location_json(here), "doubts": list(doubts)})
    elif doubts:
        for doubt in doubts:
            out.line(doubt)
    else:
        out.line(out.translate(words.ALL_IS_WELL, path=here))
    if doubts:
        raise click.exceptions.Exit(1)


@db_commands.command("upgrade")
def upgrade(out: Printer) -> None:
    """Upgrade the store to the schema of this version; opening it does the same."""
    from ...session.open_store import run_with_existing_app  # noqa: PLC0415

    here = locate_existing_store(out)
    before = read_schema(out, here)
    run_with_existing_app(out.settings, _open_only)
    after = read_schema(out, here)
    if out.json:
        out.data({**location_json(here), "before": before, "after": after})
    else:
        message = words.UP_TO_DATE if before == after else words.UPGRADED
        out.line(("✓ ", out.translate(message, path=here, before=before, after=after)))


@db_commands.command("path")
def path(out: Printer) -> None:
    """Show where the store is."""
    here = locate_store(out)
    if out.json:
        # The existence of a store on a server is not checked here.
        out.data({**location_json(here), "exists": here.exists() if isinstance(here, Path) else None})
    else:
        out.line(str(here))


async def _open_only(_app: Horae) -> None:
    """Do nothing: opening the store runs the migrations."""


def _show(out: Printer, message: Message, **facts: object) -> None:
    if out.json:
        out.data({name: value if isinstance(value, int | None) else str(value) for name, value in facts.items()})
    else:
        out.line(("✓ ", out.translate(message, **facts)))


def confirm_replacing(out: Printer, path: Path) -> None:
    """Ask before an existing file is replaced; refuse where the command cannot ask."""
    if not out.yes and not out.asks:
        raise refuse("file_exists", path=path)
    out.confirm(words.REPLACE_FILE, path=path)
