"""Minimum versions of apsw and SQLite: an older one is refused on open, before any file is touched."""

from __future__ import annotations

import tomllib
from pathlib import Path

import apsw
import pytest

from horae.errors import StoreUnavailable
from horae.stores.sqlite import SQLiteStore
from horae.stores.sqlite.migrate import OLDEST_APSW, require_supported_version

PYPROJECT = Path(__file__).parents[4] / "pyproject.toml"


@pytest.mark.parametrize(
    ("function", "version", "message"),
    [
        ("apswversion", "3.50.4.0", "apsw 3.50.4.0 is too old"),
        ("apswversion", "3.9.2.post1", "apsw 3.9.2.post1 is too old"),
        ("sqlite_lib_version", "3.51.2", "SQLite 3.51.2 is too old"),
    ],
)
async def test_old_library_is_refused_on_open(
    function: str, version: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apsw, function, lambda: version)
    with pytest.raises(StoreUnavailable, match=message) as refused:
        await SQLiteStore(tmp_path / "horae.db").open()
    assert f"apsw>={OLDEST_APSW}" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_installed_library_is_supported_and_required() -> None:
    require_supported_version()
    with PYPROJECT.open("rb") as file:
        wanted = tomllib.load(file)["project"]["dependencies"]
    assert f"apsw>={OLDEST_APSW}" in wanted
