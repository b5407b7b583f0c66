"""Comparison of a Chinese page with its English page: what must be the same in both languages.

A translation has no line of its own to compare, so these parts are: headings by their level, code blocks, tables by their
rows, and in each section the code spans, the numbers and the linked pages. A changed option, limit or code of one page is
therefore found in the other one.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from tests.docs.pages import DOCS

_FENCE: Final = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^(#{1,4}) +(.+)$", re.MULTILINE)
_SPAN: Final = re.compile(r"(`+)(.+?)\1(?!`)")
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_NUMBER: Final = re.compile(r"(?<![A-Za-z0-9_.])\d+(?:,\d{3})*(?:\.\d+)?")
_LANGUAGE: Final = re.compile(r"`?export LC_MESSAGES=zh_CN\.UTF-8(?:`|\n)")
_ZONE: Final = re.compile(r"Europe/Berlin|Asia/Shanghai")
_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_QUOTED_HAN: Final = re.compile(r"""(["'])[^"'\n]*[\u4e00-\u9fff][^"'\n]*\1|[^\s"'=]*[\u4e00-\u9fff]\S*""")
_COMMENT: Final = re.compile(r"(?:^|\s+)#(?!!).*$", re.MULTILINE)
_SEPARATOR: Final = re.compile(r"\|(?:-+\|)+")
_CELLS: Final = re.compile(r"(?<!\\)\|")

TESTS_COLUMN: Final = "shown by"
"""The last column of English tables that name tests; a Chinese page may leave it out."""


class Part(NamedTuple):
    """A section up to the next heading; `text` has no code blocks, no headings and no tables."""

    level: int
    title: str
    text: str
    tables: tuple[tuple[str, ...], ...]

    @property
    def whole(self) -> str:
        return "\n".join([self.text, *(row for table in self.tables for row in table)])


def chinese_pages() -> list[str]:
    """Names of the pages in both languages, without the endings."""
    return sorted(path.name.removesuffix(".zh-CN.md") for path in DOCS.glob("*.zh-CN.md"))


def english_path(name: str) -> Path:
    return DOCS / f"{name}.md"


def chinese_path(name: str) -> Path:
    return DOCS / f"{name}.zh-CN.md"


def parts(text: str, left_out: tuple[str, ...] = ()) -> list[Part]:
    """Sections of a page, without those whose title is left out, and what is below these."""
    found: list[Part] = []
    split = _HEADING.split(_FENCE.sub("", text))
    hidden_below = 0
    for marks, title, body in zip(split[1::3], split[2::3], split[3::3], strict=True):
        level = len(marks)
        if hidden_below and level > hidden_below:
            continue
        hidden_below = level if title in left_out else 0
        if not hidden_below:
            found.append(_part(level, title, body))
    return found


def _part(level: int, title: str, body: str) -> Part:
    prose: list[str] = []
    tables: list[list[str]] = []
    before = ""
    for line in body.splitlines():
        if not line.startswith("|"):
            prose.append(line)
        elif before.startswith("|"):
            tables[-1].append(line)
        else:
            tables.append([line])
        before = line
    return Part(level, title, "\n".join(prose), tuple(tuple(_rows(table)) for table in tables))


def _rows(table: list[str]) -> list[str]:
    """Rows without the separator, and without the column of the tests."""
    rows = [row for row in table if not _SEPARATOR.fullmatch(row.strip())]
    if _CELLS.split(rows[0])[-2].strip() != TESTS_COLUMN:
        return rows
    return ["|".join(_CELLS.split(row)[:-2]) + "|" for row in rows]


def blocks(text: str) -> list[tuple[str, str]]:
    """Language and code of each block. A Chinese page may select its language and another zone."""
    return [(language, _ZONE.sub("ZONE", _LANGUAGE.sub("", body))) for _, language, body in _FENCE.findall(text)]


def same_block(english: tuple[str, str], chinese: tuple[str, str]) -> bool:
    """Whether both show the same code: comments, texts in Chinese and the output of commands in Chinese may differ."""
    (language, code), (other_language, translated) = english, chinese
    if language != other_language:
        return False
    if code == translated:
        return True
    if language == "text":
        return bool(_HAN.search(translated))
    return re.fullmatch(_pattern(_COMMENT.sub("", translated)), _COMMENT.sub("", code)) is not None


def _pattern(code: str) -> str:
    """Regular expression of a block in which any text may stand where the translation has a text with Chinese characters."""
    pieces: list[str] = []
    end = 0
    for found in _QUOTED_HAN.finditer(code):
        pieces += [re.escape(code[end : found.start()]), r"""(?:"[^"\n]*"|'[^'\n]*'|\S+)"""]
        end = found.end()
    return "".join([*pieces, re.escape(code[end:])])


def differences(english: str, chinese: str, left_out: tuple[str, ...] = ()) -> list[str]:
    """What a section of one page has and that of the other lacks."""
    found: list[str] = []
    for ours, theirs in zip_longest(parts(english, left_out), parts(chinese)):
        if ours is None or theirs is None or ours.level != theirs.level:
            return [*found, f"headings: {ours and ours.title!r} is {theirs and theirs.title!r}"]
        where = f"{ours.title!r}, {theirs.title!r}"
        found += [
            f"{where}: {each}" for each in [*_tables_differ(ours, theirs), *_facts_differ(ours.whole, theirs.whole)]
        ]
    return found


def _tables_differ(english: Part, chinese: Part) -> list[str]:
    if len(english.tables) != len(chinese.tables):
        return [f"{len(english.tables)} tables are {len(chinese.tables)}"]
    found: list[str] = []
    for ours, theirs in zip(english.tables, chinese.tables, strict=True):
        if len(ours) != len(theirs):
            found.append(f"{len(ours)} rows are {len(theirs)}: {ours[0]}")
            continue
        for row, translated in zip(ours, theirs, strict=True):
            if len(_CELLS.split(row)) != len(_CELLS.split(translated)):
                found.append(f"columns differ: {row}")
            found += [f"{each} in the row {translated}" for each in _spans_differ(row, translated)]
    return found


def _facts_differ(english: str, chinese: str) -> list[str]:
    found = _spans_differ(english, chinese)
    lacking = set(_NUMBER.findall(_plain(english))) - set(_NUMBER.findall(_plain(chinese)))
    if lacking:
        found.append(f"numbers missing: {sorted(lacking)}")
    links, other_links = (_linked(text) for text in (english, chinese))
    if links != other_links:
        found.append(f"links differ: {sorted(links ^ other_links)}")
    return found


def _spans_differ(english: str, chinese: str) -> list[str]:
    """A span with Chinese characters may stand in place of an English one."""
    ours, theirs = ({found[1] for found in _SPAN.findall(_LANGUAGE.sub("", text))} for text in (english, chinese))
    own = {span for span in theirs - ours if _HAN.search(span)}
    missing, added = ours - theirs, theirs - ours - own
    found = [f"code missing: {sorted(missing)}"] if len(missing) > len(own) else []
    return [*found, f"code added: {sorted(added)}"] if added else found


def _plain(text: str) -> str:
    return _LINK.sub("]", _SPAN.sub(" ", text))


def _linked(text: str) -> set[str]:
    """Linked pages, whatever their language; not the page itself in the other language."""
    targets = {target.partition("#")[0].replace(".zh-CN.md", ".md") for target in _LINK.findall(text)}
    return {target for target in targets if target}


def links_to_english(name: str) -> list[str]:
    """Links of a Chinese page to English pages that exist in Chinese, apart from the link to its own English page."""
    targets = [target.partition("#")[0] for target in _LINK.findall(chinese_path(name).read_text(encoding="utf-8"))]
    translated = {f"{each}.md" for each in chinese_pages() if each != name}
    return [target for target in targets if target in translated]
