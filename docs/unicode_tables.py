"""Writes the table in `src/horae/model/text/invisible_characters.py` from Unicode data: `python -m docs.unicode_tables`.

Python's `unicodedata` has no derived properties. Perl ships them, so this script asks `perl` for all characters with
Default_Ignorable_Code_Point; `read_property` takes the Unicode file DerivedCoreProperties.txt instead, where one is given.
"""
# ruff: noqa: INP001, T201 - this folder holds pages, and scripts that make parts of the repository

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

PLACE: Final = Path(__file__).parents[1] / "src" / "horae" / "model" / "invisible.py"
PROPERTY: Final = "Default_Ignorable_Code_Point"
_PERL: Final = r"""
use Unicode::UCD;
print Unicode::UCD::UnicodeVersion(), "\n";
for my $point (0 .. 0x10FFFF) {
    next if $point >= 0xD800 && $point <= 0xDFFF;
    print "$point\n" if chr($point) =~ /\p{Default_Ignorable_Code_Point}/;
}
"""
_TABLE: Final = re.compile(r"# --- begin of the generated table.*?# --- end of the generated table ---", re.DOTALL)
_LINE: Final = re.compile(r"([0-9A-F]{4,6})(?:\.\.([0-9A-F]{4,6}))?\s*;\s*" + PROPERTY + r"\b")
Ranges = tuple[tuple[int, int], ...]


def ask_perl() -> tuple[str, Ranges]:
    """The version of Unicode that the installed Perl knows, and the ranges of the property."""
    answer = subprocess.run(["perl", "-e", _PERL], check=True, capture_output=True, text=True)  # noqa: S603, S607
    version, *points = answer.stdout.split()
    return version, tuple(merge(map(int, points)))


def read_property(path: Path) -> tuple[str, Ranges]:
    """The same from DerivedCoreProperties.txt."""
    text = path.read_text(encoding="utf-8")
    version = re.search(r"DerivedCoreProperties-([0-9.]+)\.txt", text)
    spans = [(int(first, 16), int(last or first, 16)) for first, last in _LINE.findall(text)]
    points = sorted(point for first, last in spans for point in range(first, last + 1))
    return "" if version is None else version[1], tuple(merge(points))


def merge(points: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Rising numbers as ranges."""
    first = last = None
    for point in points:
        if first is None or last is None:
            first = last = point
        elif point == last + 1:
            last = point
        else:
            yield first, last
            first = last = point
    if first is not None and last is not None:
        yield first, last


def table(version: str, ranges: Ranges) -> str:
    rows = "".join(f"    (0x{first:04X}, 0x{last:04X}),\n" for first, last in ranges)
    return (
        f"# --- begin of the generated table: Unicode {version} ---\n"
        f"DEFAULT_IGNORABLE: Final = (\n{rows})\n"
        "# --- end of the generated table ---"
    )


def main() -> None:
    version, ranges = read_property(Path(sys.argv[1])) if len(sys.argv) > 1 else ask_perl()
    written = table(version, ranges)
    PLACE.write_text(_TABLE.sub(lambda _found: written, PLACE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{PLACE.name}: {len(ranges)} ranges of Unicode {version}")


if __name__ == "__main__":
    main()
