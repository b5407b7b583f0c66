"""English sentences that are recognized by their template."""

from __future__ import annotations

from horae.model.text.sentence_patterns import placeholders, sentence_pattern, translate

PATTERNS = (
    sentence_pattern("{name} and {name} fit", "{name} 相符", {}),
    sentence_pattern("port {number} is closed: {cause}", "端口 {number} 已关闭:{cause}", {"number": r"\d+"}),
)
CAUSES = {"refused": "被拒绝"}


def in_chinese(text: str) -> str:
    return translate(text, PATTERNS, "cause", CAUSES)


def test_facts_move_into_the_chinese_sentence() -> None:
    assert in_chinese("port 80 is closed: refused") == "端口 80 已关闭：被拒绝"
    assert in_chinese("port 80 is closed: port 81 is closed: refused") == "端口 80 已关闭：端口 81 已关闭：被拒绝"
    assert in_chinese("port 80 is closed: by hand") == "端口 80 已关闭：by hand"


def test_repeated_placeholder_has_one_value() -> None:
    assert in_chinese("a and a fit") == "a 相符"
    assert in_chinese("a and b fit") == "a and b fit"


def test_other_sentence_is_kept() -> None:
    assert in_chinese("port http is closed: refused") == "port http is closed: refused"


def test_places_of_a_template() -> None:
    assert placeholders("{a} and {b}, {{c}}") == {"a", "b"}
