"""`horae db`: back the store up, bring a backup back, look for damage, bring it up to date.

A store on a server is looked at and brought up to date alike; its backups are the server's business.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from ..command import command
from ..command_groups import new_group
from ..messages import operating_messages as words
from ..messages.messages import Message
from ..messages.operating_refusals import refuse
from ..output.printer import Printer
from ..session.store_location import (
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
    from ...app import Horae

LAST_BACKUP: Final = "last_backup"
_PATH: Final = typer.Argument(..., metavar="PATH", help="Where the copy is.")


def register(app: typer.Typer) -> None:
    family = new_group()
    command(family, "backup", asks=True)(backup)
    command(family, "restore", asks=True)(restore)
    command(family, "check")(check)
    command(family, "upgrade")(upgrade)
    command(family, "path")(path)
    app.add_typer(family, name="db", help="Back up, restore, check or upgrade the store.")


def backup(out: Printer, path: Path = _PATH) -> None:
    """Copy the store while work goes on: of one instant, complete or not there."""
    from ...wire.instants import utc  # noqa: PLC0415 - `--help` does without
    from ..session.open_store import run_with_existing_app  # noqa: PLC0415

    address = server_address(out)
    if address is not None:
        raise refuse("backup_on_server", place=address)
    here, there = existing_file(out), path.expanduser().absolute()
    if real_path(there) == real_path(here):
        raise refuse("same_file", path=there)
    if not there.parent.is_dir():
        raise refuse("unwritable_file", path=there, problem=f"{there.parent} is no folder")
    if there.exists():
        confirm_replacing(out, there)

    async def copy(app: Horae) -> int:
        with out.progress(words.BACKING_UP, 1) as bar:
            await app.store.backup(str(there), lambda done, total: bar.show_share(done / max(1, total)))
        await app.store.write_metadata(LAST_BACKUP, utc(app.clock.now()) or "")
        return sum((await app.service.overview.now(app.who)).tasks.values())

    tasks, size = run_with_existing_app(out.store, copy), there.stat().st_size
    _tell(out, words.BACKED_UP, path=there, bytes=size, size=in_bytes(size), tasks=tasks)


def restore(out: Printer, path: Path = _PATH) -> None:
    """Put a backup in the place of the store; what was there is kept beside it."""
    from ..transfer.restore import check_backup, check_no_live_node, replace_store, unused_name  # noqa: PLC0415

    address = server_address(out)
    if address is not None:
        raise refuse("restore_on_server", place=address)
    # Where the store is a link, the file that it leads to is what is replaced and kept.
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
            # A yes may take its time, and somebody may have come meanwhile.
            check_no_live_node(here)
        before = replace_store(draft, here)
    finally:
        draft.unlink(missing_ok=True)
    said = words.RESTORED_NEW if before is None else words.RESTORED
    _tell(out, said, path=here, backup=there, kept=None if before is None else before)


def check(out: Printer) -> None:
    """Look for damage and contradictions; exit code 1 when there are any."""
    from ..session.open_store import run_with_existing_app  # noqa: PLC0415

    here = locate_existing_store(out)
    doubts = run_with_existing_app(out.store, lambda app: app.store.check())
    if out.json:
        out.data({**location_json(here), "doubts": list(doubts)})
    elif doubts:
        for doubt in doubts:
            out.line(doubt)
    else:
        out.line(out.translate(words.ALL_IS_WELL, path=here))
    if doubts:
        raise typer.Exit(1)


def upgrade(out: Printer) -> None:
    """Bring the store up to the schema of this version; opening it does the same."""
    from ..session.open_store import run_with_existing_app  # noqa: PLC0415

    here = locate_existing_store(out)
    before = read_schema(out, here)
    run_with_existing_app(out.store, _nothing)
    after = read_schema(out, here)
    if out.json:
        out.data({**location_json(here), "before": before, "after": after})
    else:
        said = words.UP_TO_DATE if before == after else words.UPGRADED
        out.line(("✓ ", out.translate(said, path=here, before=before, after=after)))


def path(out: Printer) -> None:
    """Say where the store is."""
    here = locate_store(out)
    if out.json:
        # Whether anything is on a server is known only to the server.
        out.data({**location_json(here), "exists": here.exists() if isinstance(here, Path) else None})
    else:
        out.line(str(here))


async def _nothing(_app: Horae) -> None:
    """To open it was all."""


def _tell(out: Printer, said: Message, **facts: object) -> None:
    if out.json:
        out.data({name: value if isinstance(value, int | None) else str(value) for name, value in facts.items()})
    else:
        out.line(("✓ ", out.translate(said, **facts)))


def confirm_replacing(out: Printer, path: Path) -> None:
    """A file that is there goes only with a yes."""
    if not out.yes and not out.asks:
        raise refuse("file_exists", path=path)
    out.confirm(words.REPLACE_FILE, path=path)


def in_bytes(size: int) -> str:
    number, unit = float(size), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            break
        number /= 1000
    return f"{number:.0f} {unit}" if unit == "B" or number >= 10 else f"{number:.1f} {unit}"
