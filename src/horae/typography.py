"""Typography of sentences: full-width punctuation next to Chinese text, and truncation at word boundaries."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_FULL_WIDTH: Final = dict(zip(",;:?!()", "，；：？！（）", strict=True))
_CHINESE: Final = "\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff5e“”‘’…"
_HAS_CHINESE: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_HAS_MARK: Final = re.compile("[,;:?!()]")
_CODE: Final = re.compile(r"`[^`]*`|\"[^\"]*\"|\w+://[\w/%.?=&#@:~+…-]*", re.ASCII)
"""Literal text that stays as it is: code in backticks or straight quotes, URLs."""
_CODE_MARK: Final = "\ue000"
_BRACKETS: Final = re.compile(r"\(([^()]*)\)")
_PUNCTUATION: Final = re.compile(
    rf"(?<=[{_CHINESE}])[,;:?!]\x20?|[,;:?!]\x20?(?=[{_CHINESE}])"
    r"|(?<=\})[,;?!]\x20?|(?<=\}):(?![A-Za-z0-9/])\x20?|[,;](?=\{)"
)
"""Punctuation next to a Chinese character or a placeholder. A colon after a placeholder may be literal, as in `{host}:80`."""


@lru_cache(maxsize=4_096)
def full_width(text: str) -> str:
    """Return a Chinese sentence or template with full-width punctuation. `{placeholders}` and code stay as they are."""
    if not _HAS_MARK.search(text):
        return text
    codes = _CODE.findall(text)
    masked = _CODE.sub(_CODE_MARK, text)
    masked = _BRACKETS.sub(lambda match: _widen_brackets(masked, match), masked)
    widened = _PUNCTUATION.sub(lambda match: _FULL_WIDTH[match.group()[0]], masked).split(_CODE_MARK)
    return "".join(part for pair in zip(widened, [*codes, ""], strict=True) for part in pair)


def _widen_brackets(text: str, match: re.Match[str]) -> str:
    """Widen brackets around Chinese, or after a Chinese word or a placeholder; not those of a call such as `app.sync()`."""
    before = text[match.start() - 1] if match.start() else ""
    within = match.group(1)
    if _HAS_CHINESE.search(within) or re.match(rf"[{_CHINESE}}}]", before):
        return f"（{within}）"
    return match.group()


ELLIPSIS: Final = "…"
_LONGEST_WORD: Final = 40
"""Longer words are cut in the middle: a token, a URL, a text in a script without spaces."""


def truncate(text: str, most: int) -> str:
    """Return the text if it has at most `most` characters, else its first whole words and an ellipsis."""
    if len(text) <= most:
        return text
    limit = most - len(ELLIPSIS)
    head = text[:limit]
    if not text[limit].isspace():
        tail = head[-_LONGEST_WORD - 1 :]
        spaces = [index for index, character in enumerate(tail) if character.isspace()]
        if spaces and head[: len(head) - len(tail) + spaces[-1]].strip():
            head = head[: len(head) - len(tail) + spaces[-1]]
    return head.rstrip() + ELLIPSIS
