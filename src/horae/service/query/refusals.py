"""Refusals of queries: code, sentence and hint in two languages, with the offset in the query."""

from __future__ import annotations

from typing import Final

from ...errors import InvalidTask, Refusal
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry, build_refusal

CATALOGUE: Final = RefusalCatalogue(
    {
        "query_unreadable": RefusalEntry(
            InvalidTask,
            "The query cannot be parsed from '{value}' on.",
            'Write key:value; a comma means or, a space and, a minus not. Close every quote; a value with spaces, commas or colons needs quotes: name:"a, b".',
            "从“{value}”开始无法读懂查询。",
            '请写成 key:value;逗号表示“或”,空格表示“且”,减号表示“非”。引号要成对;含空格、逗号或冒号的值需加引号:name:"a, b"。',
        ),
        "query_too_long": RefusalEntry(
            InvalidTask,
            "A query has at most {most} characters.",
            "Shorten the query.",
            "查询最多 {most} 个字符。",
            "请缩短查询。",
        ),
        "unknown_query_key": RefusalEntry(
            InvalidTask,
            "There is no query key '{key}'.",
            'The keys are: {allowed}. A text with a colon in it needs quotes: "{key}:…".',
            "没有名为“{key}”的查询键。",
            '可用的键:{allowed}。含冒号的文本需加引号:"{key}:…"。',
        ),
        "query_key_unanswered": RefusalEntry(
            InvalidTask,
            "The query key '{key}' is not supported here.",
            "The supported keys are: {allowed}.",
            "这里不能按“{key}”查找。",
            "可用的键:{allowed}。",
        ),
        "bad_query": RefusalEntry(
            InvalidTask,
            "'{value}' is not a valid value of {key}.",
            "Wanted: {wanted}.",
            "{key} 不可能是“{value}”。",
            "应为:{wanted}。",
        ),
        "query_no_or": RefusalEntry(
            InvalidTask,
            "'{key}' accepts one value only, and a comma means or.",
            "Run one query for each value; a comma in a value needs quotes. Keys with several values: {allowed}.",
            "“{key}”一次只能是一个值,而逗号表示“或”。",
            "请分别查询;值中的逗号需加引号。可有多个值的键:{allowed}。",
        ),
        "query_no_not": RefusalEntry(
            InvalidTask,
            "'{key}' cannot be negated.",
            "A minus can precede: {allowed}. A text that begins with a minus needs quotes.",
            "不能排除“{key}”。",
            "减号可用于:{allowed}。以减号开头的文本需加引号。",
        ),
        "query_key_twice": RefusalEntry(
            InvalidTask,
            "'{key}' is given twice.",
            "Give it once, in the query or as a separate parameter; separate several states with commas, and put a text in quotes.",
            "“{key}”出现了两次。",
            "请只说一次:写在查询中,或作为单独的参数;多个状态用逗号分隔,一段文本用引号括起。",
        ),
    }
)


def refuse(code: str, source: str, at: int, **facts: object) -> Refusal:
    """Build the refusal for `code` that points to a place in the query; the caller raises it."""
    query_refusal = build_refusal(code, CATALOGUE[code], {"name": "q", **facts})
    query_refusal.position, query_refusal.source = min(at, len(source)), source
    return query_refusal
