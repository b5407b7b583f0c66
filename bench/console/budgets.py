"""Bytes of the scripts and the style sheets, as a browser receives them: compressed, each file by itself."""

from __future__ import annotations

import gzip
from typing import Final

from bench.console.scale import Sizes
from bench.results import Bar, Row, Section, counted
from horae.console.renderer import static_files

SCRIPTS: Final = Bar("at most", 60_000)
STYLES: Final = Bar("at most", 20_000)
HTML: Final = Bar("at most", 40_000)


def budgets(_sizes: Sizes) -> list[Section]:
    rows = (_row("scripts", ".js", SCRIPTS), _row("style sheets", ".css", STYLES))
    return [Section("Console: bytes of its files, compressed", rows)]


def _row(what: str, suffix: str, bar: Bar) -> Row:
    files = [content for name, content in static_files().items() if name.endswith(suffix)]
    return counted(f"{what}, {len(files)} files", sum(len(gzip.compress(each)) for each in files), "bytes", bar)
