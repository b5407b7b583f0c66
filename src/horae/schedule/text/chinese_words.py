"""Vocabulary of the Chinese grammar, and its numerals: 三, 十五, 两, 二十."""

from __future__ import annotations

from typing import Final

from ..calendar_days import Unit
from .clock_words import DayPart

NUMBER: Final = r"(?:\d+|[零〇一二两三四五六七八九十百]+)"
WEEKDAY_SIGNS: Final = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6, "七": 6}
WEEK: Final = r"(?:周|星期|礼拜)"
DAY_PARTS: Final[dict[str, DayPart]] = {
    "凌晨": "small_hours",
    "清晨": "morning",
    "清早": "morning",
    "早上": "morning",
    "早晨": "morning",
    "上午": "morning",
    "中午": "noon",
    "下午": "afternoon",
    "傍晚": "evening",
    "晚上": "evening",
    "晚间": "evening",
    "夜里": "night",
    "夜间": "night",
    "深夜": "night",
    "半夜": "night",
    "午夜": "night",
}
# Hours that a refusal suggests for each part of the day.
USUAL_HOURS: Final[dict[DayPart, tuple[int, int]]] = {
    "small_hours": (3, 5),
    "morning": (8, 9),
    "noon": (12, 1),
    "afternoon": (2, 3),
    "evening": (7, 8),
    "night": (10, 11),
}
NAMED_DAYS: Final = {"今天": 0, "今日": 0, "明天": 1, "明日": 1, "后天": 2, "大后天": 3}
# Words that name both a day and a part of it, such as 今晚.
DAYS_WITH_PARTS: Final[dict[str, tuple[int, DayPart]]] = {
    "今早": (0, "morning"),
    "今晚": (0, "evening"),
    "明早": (1, "morning"),
    "明晚": (1, "evening"),
}
PAST_DAYS: Final = {"昨天": -1, "昨日": -1, "前天": -2, "前日": -2, "大前天": -3}
PAST_DAYS_WITH_PARTS: Final[dict[str, tuple[int, DayPart]]] = {
    "昨早": (-1, "morning"),
    "昨晚": (-1, "evening"),
    "前晚": (-2, "evening"),
}
SECONDS: Final = {"毫秒": 0.001, "秒钟": 1, "秒": 1, "分钟": 60, "分": 60, "刻钟": 900, "小时": 3600, "钟头": 3600}
EXACT_DAYS: Final = {"天": 86_400, "日": 86_400, "周": 604_800, "星期": 604_800, "礼拜": 604_800}
# English units in mixed text: 每5min.
ENGLISH_UNITS: Final = {"ms": 0.001, "s": 1, "sec": 1, "m": 60, "min": 60, "mins": 60, "h": 3600, "hr": 3600}
PERIODS: Final[dict[str, Unit]] = {
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
}
GAPS: Final = {"跳变时顺延": "next", "跳变时平移": "shift", "跳变时跳过": "skip"}
FOLDS: Final = {"重复时取首次": "first", "重复时取末次": "last", "重复时取两次": "both"}
VOCABULARY: Final = [
    "现在",
    "立即",
    "马上",
    "每天",
    "每周",
    "每月",
    "每年",
    "每隔",
    "工作日",
    "周末",
    "最后一天",
    "倒数第",
    "从",
    "起",
    "开始",
    "直到",
    "为止",
    "共",
    "次",
    "除",
    "外",
    "后",
    "今天",
    "明天",
    "后天",
    "下周",
    "本周",
    "早上",
    "上午",
    "中午",
    "下午",
    "晚上",
    "凌晨",
    "点",
    "半",
    "时间",
    "结束后",
    "抖动",
    "每逢",
    "含跳过",
]

_DIGITS: Final = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}


def chinese_number(text: str) -> int | None:
    """Parse a number up to 999; None for other text, such as 十十."""
    if text.isascii() and text.isdigit():
        return int(text) if len(text) <= 10 else None
    if len(text) > 1 and all(sign in _DIGITS for sign in text):
        return int("".join(str(_DIGITS[sign]) for sign in text)) if len(text) <= 4 else None  # 二〇二六
    hundreds, rest = _split(text, "百")
    tens, ones = _split(rest, "十", bare=1)
    last = ones.lstrip("零〇")
    if hundreds is None or tens is None or len(last) > 1 or (last and last not in _DIGITS):
        return None
    return hundreds * 100 + tens * 10 + (_DIGITS[last] if last else 0)


def _split(text: str, sign: str, bare: int | None = None) -> tuple[int | None, str]:
    """(digit before `sign`, text after it); without a digit (十五) it is `bare`."""
    head, found, tail = text.partition(sign)
    if not found:
        return 0, text
    if not head.strip("零〇"):
        return bare, tail
    digit = head.lstrip("零〇")
    return _DIGITS.get(digit), tail
