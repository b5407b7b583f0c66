"""Sentences that count something agree with the number 1."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import horae
from horae.cli.messages import messages
from horae.cli.output.printer import Printer
from horae.doctor.messages import TASKS_FAILED
from horae.message import Message
from horae.plural import NOUNS, apply_number_agreement
from horae.service.accounts.refusals import refuse

SOURCE = Path(horae.__file__).parent
COUNTED = re.compile(r"\{(\w+)(?::[^{}]*)?\}(?: [a-z-]+){0,2}? ([a-z]+s)\b")
LIMITS = frozenset({"characters"})
"""Counted in limits alone, which are never 1."""
NO_NOUNS = frozenset(
    "answers as belongs comes contains counts describes does ends ends exists gives goes has holds is its lets looks names "
    "needs says stands stays takes tells this was redirects jumps ms finds ours sees leaves reads shows makes means "
    "sends misses allows fires opens across always less unless refers begins seems keeps asks equals fails loses status "
    "address claims works applies wants https requires appears waits receives knows removes executes lacks".split()
)


@pytest.mark.parametrize(
    ("template", "facts", "expected"),
    [
        ("{number} functions registered", {"number": 1}, "1 function registered"),
        ("{number} functions registered", {"number": 2}, "2 functions registered"),
        ("{number} functions registered", {"number": 0}, "0 functions registered"),
        ("{n} due entries wait for a node", {"n": 1}, "1 due entry waits for a node"),
        ("{n} are due, and no node can run them", {"n": 1}, "1 is due, and no node can run it"),
        ("the next {n} are skipped", {"n": 1}, "the next 1 is skipped"),
        ("the next {n} of {name} are skipped", {"n": 1, "name": "tea"}, "the next 1 of tea is skipped"),
        ("{errors} errors, {warnings} warnings", {"errors": 1, "warnings": 3}, "1 error, 3 warnings"),
        ("{name} runs now", {"name": "1"}, "1 runs now"),
        ("{seconds:g} seconds", {"seconds": 1}, "1 second"),
    ],
)
def test_noun_and_verb_agree_with_the_count(template: str, facts: dict[str, object], expected: str) -> None:
    assert apply_number_agreement(template, facts).format(**facts) == expected


@pytest.mark.parametrize(
    ("done", "total", "expected"),
    [(1, 1, "1 of 1 task left"), (0, 1, "0 of 1 task left"), (1, 2, "1 of 2 tasks left"), (2, 3, "2 of 3 tasks left")],
)
def test_noun_behind_a_total_agrees_with_the_total(done: int, total: int, expected: str) -> None:
    assert (
        apply_number_agreement("{done} of {total} tasks left", {"done": done, "total": total}).format(
            done=done, total=total
        )
        == expected
    )


def test_sentences_of_the_command_line_agree_with_one() -> None:
    for out in (Printer(), Printer(store="sqlite:////tmp/other.db")):
        assert out.translate(TASKS_FAILED, number=1, names="tea") == "1 task has given up: tea"
        assert out.translate(messages.SKIPS_LEFT, number=1) == "the next 1 occurrence is skipped"
    assert Message("{n} runs", "{n} 次运行").in_language("zh", n=1) == "1 次运行"


def test_refusals_agree_with_one() -> None:
    refusal = refuse("too_many_tokens", owner="ada", most=1)
    assert refusal.message == "'ada' already has 1 token, and no more are kept."


def test_every_counted_noun_of_a_sentence_has_a_singular() -> None:
    unknown = {
        (path.name, found.group())
        for path in SOURCE.rglob("*.py")
        for text in _sentences(path)
        for found in COUNTED.finditer(text)
        if found[2] not in NOUNS | NO_NOUNS
    }
    assert not unknown, "add the noun to horae.plural.NOUNS, or the verb to this test"


def test_no_count_is_followed_by_a_plural_outside_of_sentences() -> None:
    """An f-string does not agree with its number."""
    noun = re.compile(rf"^ (?:[a-z-]+ )?({'|'.join(NOUNS - LIMITS)})\b")
    found = {
        (path.relative_to(SOURCE).as_posix(), part.value)
        for path in (SOURCE / "cli").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.JoinedStr)
        for before, part in zip(node.values, node.values[1:], strict=False)
        if isinstance(before, ast.FormattedValue)
        and isinstance(part, ast.Constant)
        and isinstance(part.value, str)
        and noun.search(part.value)
    }
    assert not found


def _sentences(path: Path) -> Iterator[str]:
    """Texts with places, except f-strings, whose places are expressions."""
    source = path.read_text(encoding="utf-8")
    if not COUNTED.search(source):
        return
    tree = ast.parse(source)
    joined = {id(each) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for each in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in joined:
            yield node.value
