"""Chinese punctuation: in a Chinese sentence, commas, colons and brackets have their full width."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_FULL: Final = dict(zip(",;:?!()", "，；：？！（）", strict=True))
_CHINESE: Final = "\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff5e“”‘’…"
_HAS_CHINESE: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_HAS_MARK: Final = re.compile("[,;:?!()]")
_CODE: Final = re.compile(r"`[^`]*`|\"[^\"]*\"|\w+://[\w/%.?=&#@:~+…-]*", re.ASCII)
"""What is typed as it stands: code in backticks or straight quotes, addresses."""
_HIDDEN: Final = "\ue000"
_BRACKETS: Final = re.compile(r"\(([^()]*)\)")
_BESIDE: Final = re.compile(
    rf"(?<=[{_CHINESE}])[,;:?!]\x20?|[,;:?!]\x20?(?=[{_CHINESE}])"
    r"|(?<=\})[,;?!]\x20?|(?<=\}):(?![A-Za-z0-9/])\x20?|[,;](?=\{)"
)
"""Beside a Chinese sign, or beside a place: a colon behind a place may also be part of what is typed, such as `{host}:80`."""


@lru_cache(maxsize=4_096)
def full_width(text: str) -> str:
    """The punctuation of a Chinese sentence, or of its template, at full width. `{places}` and code stay as they are."""
    if not _HAS_MARK.search(text):
        return text
    codes = _CODE.findall(text)
    hidden = _CODE.sub(_HIDDEN, text)
    hidden = _BRACKETS.sub(lambda found: _bracketed(hidden, found), hidden)
    widened = _BESIDE.sub(lambda found: _FULL[found.group()[0]], hidden).split(_HIDDEN)
    return "".join(part for pair in zip(widened, [*codes, ""], strict=True) for part in pair)


def _bracketed(text: str, found: re.Match[str]) -> str:
    """Brackets around Chinese, or behind a Chinese word or a place; not those of a call such as `app.sync()`."""
    before = text[found.start() - 1] if found.start() else ""
    within = found.group(1)
    if _HAS_CHINESE.search(within) or re.match(rf"[{_CHINESE}}}]", before):
        return f"（{within}）"
    return found.group()
