"""Location of the store for `horae db` and the like: the path of a file, or the URL of a server without its password."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..messages.operating_refusals import refuse
from ..output.printer import Printer

if TYPE_CHECKING:
    pass


def locate_store(out: Printer) -> Path | str:
    """Return the path of a file, or the URL of a store on a server."""
    return server_address(out) or store_file(out)


def server_address(out: Printer) -> str | None:
    """Return the URL without its password; None for a store that is not on a server."""
    from ...runtime.stores import is_on_server  # noqa: PLC0415 - `--help` does without

    url = _url(out)
    return _masked(url) if is_on_server(url) else None


def locate_existing_store(out: Printer) -> Path | str:
    here = locate_store(out)
    return here if isinstance(here, str) else existing_file(out)


def location_json(here: Path | str) -> dict[str, Any]:
    """Return `path` for a file, `store` for a server."""
    return {"path": str(here), "store": None} if isinstance(here, Path) else {"path": None, "store": here}


def read_schema(out: Printer, here: Path | str) -> int:
    """Return the schema version without changing the store; 0 if there is none."""
    from ...clock import SystemClock  # noqa: PLC0415
    from ...runtime.store_status import read_file_status, read_server_status  # noqa: PLC0415
    from .interruptible import run_interruptible  # noqa: PLC0415

    if isinstance(here, Path):
        return read_file_status(str(here)).schema
    status = run_interruptible(read_server_status(_url(out), SystemClock()))
    return 0 if status is None else status.schema


def _url(out: Printer) -> str:
    from ...runtime.process_settings import store_url  # noqa: PLC0415
    from .servers import refuse_server_for  # noqa: PLC0415

    refuse_server_for(out, "horae db")
    return store_url(out.settings)


def _masked(url: str) -> str:
    from ...runtime.stores import mask_url  # noqa: PLC0415

    return mask_url(url)


def store_file(out: Printer) -> Path:
    """Return the path of the store's file, which need not exist; raises a refusal for other stores."""
    from ...runtime.stores import sqlite_path  # noqa: PLC0415

    url = _url(out)
    found = sqlite_path(url)
    if found is None:
        raise refuse("only_a_file", url=_masked(url))
    return Path(found).absolute()


def real_path(path: Path) -> Path:
    """Follow links as far as they resolve; a link to itself is returned, and fails when it is opened."""
    return Path(os.path.realpath(path))


def existing_file(out: Printer) -> Path:
    from .open_store import prepare_url  # noqa: PLC0415

    here = store_file(out)
    prepare_url(out.settings, create=False)
    return here
