"""Builder of test releases: wheels of this source with another version number and, on request, a defect."""

from __future__ import annotations

import marshal
import site
import sys
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from typing import Final
from zipfile import ZipFile

import horae

PACKAGE: Final = Path(horae.__file__).parent
NOT_OURS: Final = ("horae", "_horae", "__editable__", "pip", "setuptools", "__pycache__")
NOT_HEALTHY: Final = {"api/resources/health.py": ("200 if ready else 503", "503")}
CANNOT_BEGIN: Final = {"cli/commands/operate/up.py": ("def run_node(", "raise SystemExit(9)\ndef run_node(")}


def wheel(folder: Path, version: str, changed: Mapping[str, tuple[str, str]] | None = None, table: str = "") -> Path:
    """Build a wheel. `changed`: text replacements by file. `table`: adds a migration that creates this table."""
    path = folder / f"horae-{version}-py3-none-any.whl"
    if path.exists():
        return path
    swaps = {"version.py": (f'"{horae.__version__}"', f'"{version}"'), **(changed or {})}
    about = f"horae-{version}.dist-info"
    with ZipFile(path, "w") as file:
        for each in sorted(PACKAGE.rglob("*")):
            name = each.relative_to(PACKAGE).as_posix()
            if each.is_file() and "__pycache__" not in name:
                swap = swaps.pop(name, None)
                file.writestr(f"horae/{name}", _swapped(each.read_bytes(), swap))
                if swap is None and each.suffix == ".py":
                    file.writestr(cache_from_source(f"horae/{name}"), _compiled(each))
        for store, mark in (("sqlite", ""), ("postgres", "@")) if table else ():
            step = f"CREATE TABLE {mark}{table} (id integer PRIMARY KEY);\n"
            file.writestr(f"horae/stores/{store}/migrations/9999_{table}.sql", step)
        file.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: horae\nVersion: {version}\nProvides-Extra: all\n"
        )
        file.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{about}/entry_points.txt", "[console_scripts]\nhorae = horae.cli.main:main\n")
        file.writestr(f"{about}/RECORD", "".join(f"{name},,\n" for name in [*file.namelist(), f"{about}/RECORD"]))
    assert not swaps, f"nothing to change in {list(swaps)}"
    return path


def _compiled(path: Path) -> bytes:
    """Return the compiled module as the tests have it: each release would compile hundreds of modules again."""
    code = SourceFileLoader(path.stem, str(path)).get_code(path.stem)
    unchecked = (1).to_bytes(4, "little")
    return MAGIC_NUMBER + unchecked + source_hash(path.read_bytes()) + marshal.dumps(code)


def _swapped(text: bytes, swap: tuple[str, str] | None) -> bytes:
    if swap is None:
        return text
    before, after = (each.encode() for each in swap)
    assert before in text, before
    return text.replace(before, after)


def libraries(folder: Path) -> Path:
    """Link the dependencies of Horae from the environment of the tests, so that no registry is needed."""
    place = folder / "libraries"
    place.mkdir()
    for packages in site.getsitepackages():
        for each in Path(packages).iterdir():
            if not each.name.startswith(NOT_OURS) and not each.name.endswith(".pth"):
                (place / each.name).symlink_to(each)
    return place


def interpreter() -> str:
    """Return the base interpreter of the environment of the tests."""
    return str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")
