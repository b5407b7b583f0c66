"""Collects every text that Horae can show, and the schedules and `horae` commands that stand in it as examples.

The texts are the string literals of every module of the package, found by walking the package, so that a new catalogue is
looked at without being registered anywhere. Docstrings and comments are not shown to users and are left out.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import horae
from horae.schedule.text.moment import read_time_span

PACKAGE = Path(horae.__file__).parent
# Text that is written for other programs, or that holds patterns and not sentences.
_NOT_SHOWN = (
    "cli/messages/completion_scripts.py",
    "schedule/text/",
    "simulation/",
    "outgoing/signatures.py",
    "cli/session/store_location.py",
    "wire/shapes/",
)
# Quoted words that a sentence explains, and that are no example of a schedule.
_EXPLAINED = {"每隔", "工作日", "at once"}

_QUOTED = re.compile(r"""“([^“”]+)”|"([^"\n]+)"|`([^`\n]+)`|(?<![\w’])'([^'\n]+)'(?!\w)""")
_EXAMPLE = re.compile(
    r"(?:for example|such as|例如|Try|可以试试)[:：]?\s+([^\"“'`]+?)(?:[.。;；]?$|[;；。]|\. )", re.MULTILINE
)
_CRON_FIELD = r"[\d*,/#LW-]+|(?:MON|TUE|WED|THU|FRI|SAT|SUN|JAN|JUL)(?:-[A-Z]{3})?"
_CRON = re.compile(rf"(?:{_CRON_FIELD})(?: (?:{_CRON_FIELD})){{4,5}}")
_SCHEDULE = re.compile(
    r"(?:every|each|tomorrow|today|tonight|next|this|last|first|at|in|on|from|until|except|between|starting) \S"
    r"|\d+ times|@(?:daily|hourly|weekly|monthly|yearly)\b|RRULE:|FREQ=|DTSTART[;:]|R\d*/\d"
    r"|每|明天|后天|今天|今晚|下周|本周|从\d|直到|工作日|周[一二三四五六日](?:至周|[ \d上下早晚])|\d+ ?(?:分钟|小时|天)后",
    re.IGNORECASE,
)
_JSON = re.compile(r'\{\{?"kind".*?\}?\}(?=[^}]|$)')
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
# What may stand in a template where a fact is filled in; an example is right when one of them makes it so.
_FACTS = {
    "day": ("Friday", "周五", "25号"),
    "unit": ("day", "天"),
    "zone": ("Europe/Berlin",),
    "interval": ("1h",),
    "until": ("2027-01-01",),
}
_ANY_FACT = ("09:00",)
# A modifier is an example of what can be added: it has to be understood behind one of these.
_MODIFIER = re.compile(r"(?:from|until|except|between|starting) |\d+ times|从|直到|\d+ ?次|共|除")
_BASES = ("every 5m", "every day at 09:00", "RRULE:FREQ=DAILY", "每5分钟", "每天9点")
_PAST_DAY = re.compile("today|yesterday|last |今天|昨天|上周")
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Text:
    """One literal; in an f-string every expression is written as a placeholder."""

    module: str
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.module}:{self.line}"


def texts(package: Path = PACKAGE) -> Iterator[Text]:
    for path in sorted(package.rglob("*.py")):
        module = path.relative_to(package).as_posix()
        if not module.startswith(_NOT_SHOWN):
            yield from texts_of(path.read_text(encoding="utf-8"), module)


def texts_of(source: str, module: str) -> Iterator[Text]:
    tree = ast.parse(source)
    hidden = {id(found) for node in ast.walk(tree) if (found := _docstring(node)) is not None}
    hidden |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield Text(module, node.lineno, "".join(_piece(part) for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden:
            yield Text(module, node.lineno, node.value)


def _docstring(node: ast.AST) -> ast.AST | None:
    """The literal of a docstring: of a module, class, function, or of the attribute above it."""
    return node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) else None


def _piece(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    inner = part.value if isinstance(part, ast.FormattedValue) else part
    name = inner.attr if isinstance(inner, ast.Attribute) else inner.id if isinstance(inner, ast.Name) else "value"
    return f"{{{name}}}"


def schedules_in(text: Text) -> Iterator[str]:
    """Every quoted schedule; a placeholder that is the whole example is left out."""
    for match in _QUOTED.finditer(text.text):
        quoted = next(group for group in match.groups() if group is not None).strip()
        if quoted not in _EXPLAINED and (_SCHEDULE.match(quoted) or _CRON.fullmatch(quoted)):
            yield quoted
    outside = _QUOTED.sub(" ", text.text)
    yield from (match.group() for match in _CRON.finditer(outside))
    yield from (match[1].strip() for match in _EXAMPLE.finditer(text.text) if _SCHEDULE.match(match[1]))
    yield from (match.group().replace("{{", "{").replace("}}", "}") for match in _JSON.finditer(text.text))


def is_understood(example: str) -> bool:
    """As a schedule, or where it names a day that may have passed, as the moment of a question."""
    return any(map(_parses, _fillings(example))) or (_PAST_DAY.match(example) is not None and _is_moment(example))


def _is_moment(example: str) -> bool:
    return read_time_span(example, "Asia/Shanghai", NOW) is not None


def _fillings(example: str) -> Iterator[str]:
    if example.startswith("{"):
        yield example
        return
    names = [name[1:-1] for name in _PLACEHOLDER.findall(example)]
    for facts in product(*(_FACTS.get(name, _ANY_FACT) for name in names)):
        filled = example.replace("…", "09:00")
        for fact in facts:
            filled = _PLACEHOLDER.sub(fact, filled, count=1)
        yield filled
        if _MODIFIER.match(filled):
            yield from (f"{base} {filled}" for base in _BASES)


def _parses(example: str) -> bool:
    try:
        horae.parse(json.loads(example) if example.startswith("{") else example, zone="Asia/Shanghai", now=NOW)
    except (horae.InvalidSchedule, ValueError):
        return False
    return True


def wrong_schedules(found: Iterable[Text]) -> list[str]:
    return [
        f"{text.place}: {example}" for text in found for example in schedules_in(text) if not is_understood(example)
    ]
