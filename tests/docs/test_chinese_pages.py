"""Each Chinese page has the code, the tables, the numbers and the links of its English page, and each page leads to the other."""

from __future__ import annotations

from itertools import zip_longest
from typing import Final

import pytest

from tests.docs.translations import (
    blocks,
    chinese_pages,
    chinese_path,
    differences,
    english_path,
    links_to_english,
    same_block,
)

PAGES: Final = [name for name in chinese_pages() if name != "README"]
LEFT_OUT: Final[dict[str, tuple[str, ...]]] = {
    "behaviour": (
        "Stopped, killed, restarted",
        "Many machines",
        "Slow, silent, broken",
        "Several processes",
        "Changes by users",
        "HTTP",
        "Commands",
        "Agents",
        "The host of agents",
        "Texts to chats",
        "Turns of agents",
        "Groups",
        "Plans",
        "Planted defects",
    ),
    "plans": ("Line by line",),
}
"""Sections that a Chinese page does not have: it links to the English one."""


def texts(name: str) -> tuple[str, str]:
    return english_path(name).read_text(encoding="utf-8"), chinese_path(name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_both_languages_have_the_same_code_blocks(name: str) -> None:
    english, chinese = (blocks(text) for text in texts(name))
    for ours, theirs in zip_longest(english, chinese):
        assert ours is not None, theirs
        assert theirs is not None, ours
        assert same_block(ours, theirs), (ours, theirs)


@pytest.mark.parametrize("name", PAGES)
def test_both_languages_have_the_same_facts(name: str) -> None:
    english, chinese = texts(name)
    assert differences(english, chinese, LEFT_OUT.get(name, ())) == []


@pytest.mark.parametrize("name", PAGES)
def test_both_pages_lead_to_each_other(name: str) -> None:
    english, chinese = texts(name)
    assert f"]({name}.zh-CN.md)" in english
    assert f"]({name}.md)" in chinese


@pytest.mark.parametrize("name", PAGES)
def test_a_chinese_page_leads_to_pages_in_chinese(name: str) -> None:
    assert links_to_english(name) == []


def test_the_index_lists_every_chinese_page() -> None:
    index = chinese_path("README").read_text(encoding="utf-8")
    assert [name for name in PAGES if f"]({name}.zh-CN.md)" not in index] == []


def test_a_section_that_is_left_out_exists_in_english() -> None:
    for name, titles in LEFT_OUT.items():
        headings = texts(name)[0].splitlines()
        assert [title for title in titles if f"## {title}" not in headings] == []


ENGLISH: Final = """# Gates

中文：[page](page.zh-CN.md)

See [lanes](lanes.md). At most 8 in 1,000.

| option | meaning |
|---|---|
| `--gate` | a check |
| `--wait` | a time |

```sh
horae add "every 1h" --name x  # a comment
```
"""
CHINESE: Final = """# 门控

English: [page](page.md)

见[通道](lanes.zh-CN.md)。1,000 个中最多 8 个。

| 选项 | 含义 |
|---|---|
| `--gate` | 检查 |
| `--wait` | 时间 |

```sh
horae add "每小时" --name x  # 注释
```
"""


def pair(english: str, chinese: str) -> list[str]:
    found = differences(english.replace("](page.zh-CN.md)", "](page.md)"), chinese)
    ours, theirs = blocks(english), blocks(chinese)
    same = len(ours) == len(theirs) and all(same_block(*each) for each in zip(ours, theirs, strict=True))
    return found if same else [*found, "code blocks"]


def test_a_translation_of_a_page_has_no_difference() -> None:
    assert pair(ENGLISH, CHINESE) == []


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("# Gates", "# Gates\n\n## More", "headings"),
        ("At most 8", "At most 9", "numbers missing: ['9']"),
        ("1,000", "1,001", "numbers missing: ['1,001']"),
        ("lanes.md", "chains.md", "links differ"),
        ("| `--wait` | a time |\n", "", "2 rows are 3"),
        ("`--wait`", "`--wait-for`", "code missing"),
        ("| a check |", "| a check | more |", "columns differ"),
        ("See ", "See `x` and ", "code missing: ['x']"),
        ("--name x", "--name y", "code blocks"),
        ("```sh\n", "```sh\nhorae ls\n", "code blocks"),
    ],
)
def test_a_changed_english_page_is_noticed(before: str, after: str, named: str) -> None:
    assert before in ENGLISH
    assert named in "; ".join(pair(ENGLISH.replace(before, after), CHINESE))
