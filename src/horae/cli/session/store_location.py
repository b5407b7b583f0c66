"""Where a store is, for commands that are about the store itself: a file, or an address that may be shown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..messages.operating_refusals import refuse
from ..output.printer import Printer


def locate_store(out: Printer) -> Path | str:
    """A file, or the address of a store on a server."""
    return server_address(out) or store_file(out)


def server_address(out: Printer) -> str | None:
    """Without its password; None where the store is on no server."""
    from ...runtime.stores import is_on_server  # noqa: PLC0415 - `--help` does without

    url = _url(out)
    return _masked(url) if is_on_server(url) else None


def locate_existing_store(out: Printer) -> Path | str:
    here = locate_store(out)
    return here if isinstance(here, str) else existing_file(out)


def location_json(here: Path | str) -> dict[str, Any]:
    """`path` is that of a file; a store on a server has an address."""
    return {"path": str(here), "store": None} if isinstance(here, Path) else {"path": None, "store": here}


def read_schema(out: Printer, here: Path | str) -> int:
    """Before anything is done to it; 0 where there is none."""
    import asyncio  # noqa: PLC0415

    from ...clock import SystemClock  # noqa: PLC0415
    from ...runtime.store_status import read_file_status, read_server_status  # noqa: PLC0415

    if isinstance(here, Path):
        return read_file_status(str(here)).schema
    found = asyncio.run(read_server_status(_url(out), SystemClock()))
    return 0 if found is None else found.schema


def _url(out: Printer) -> str:
    from ...runtime.process_settings import store_url  # noqa: PLC0415
    from .open_store import settings_of  # noqa: PLC0415
    from .servers import refuse_server_for  # noqa: PLC0415

    refuse_server_for(out, "horae db")
    return store_url(settings_of(out.store))


def _masked(url: str) -> str:
    from ...runtime.stores import mask_url  # noqa: PLC0415

    return mask_url(url)


def store_file(out: Printer) -> Path:
    """Where the store is, or would be; only one in a file is anywhere."""
    from ...runtime.stores import sqlite_path  # noqa: PLC0415

    url = _url(out)
    found = sqlite_path(url)
    if found is None:
        raise refuse("only_a_file", url=_masked(url))
    return Path(found).absolute()


def real_path(path: Path) -> Path:
    """Links followed, as far as they lead anywhere; one that leads to itself is left to whoever opens it."""
    return Path(os.path.realpath(path))


def existing_file(out: Printer) -> Path:
    from .open_store import prepare_url  # noqa: PLC0415

    here = store_file(out)
    prepare_url(out.store, create=False)
    return here
