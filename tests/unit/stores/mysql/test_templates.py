"""SQL templates of MySQL: values are rendered as literals and never parsed again."""

from __future__ import annotations

from enum import StrEnum

import pytest

from horae.stores.mysql.literals import render_literal
from horae.stores.mysql.templates import Template, TemplateArguments, parse_templates


class Word(StrEnum):
    ONE = "one"


def filled(text: str, *values: object) -> str:
    return Template(text).render(TemplateArguments(values))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "NULL"),
        (-(2**63), "-9223372036854775808"),
        (True, "1"),
        (Word.ONE, "'one'"),
        ("it's", "'it\\'s'"),
        ("\\", "'\\\\'"),
        ("\0\n\r\x1a\"'", "'\\0\\n\\r\\Z\\\"\\''"),
        ("花 🌱", "'花 🌱'"),
    ],
)
def test_literals_are_rendered_for_the_server(value: object, written: str) -> None:
    assert render_literal(value) == written


@pytest.mark.parametrize("value", [1.5, b"bytes", object()])
def test_value_without_literal_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        render_literal(value)


@pytest.mark.parametrize(
    ("text", "values", "whole"),
    [
        ("a = $1 AND b = $2 OR a = $1", (1, "x"), "a = 1 AND b = 'x' OR a = 1"),
        ("a IN ($1)", ([1, 2],), "a IN (1,2)"),
        ("a IN ($1)", ([],), "a IN (NULL)"),
        ("(a, b) IN ($1+2)", ([1, 2], ["x", None]), "(a, b) IN ((1,'x'),(2,NULL))"),
        ("(a, b) IN ($1+2)", ([], []), "(a, b) IN ((NULL,NULL))"),
        ("VALUES $1()", (["x", "y"],), "VALUES ('x'),('y')"),
        ("NOT $1? OR a = $1", (None,), "NOT FALSE OR a = NULL"),
        ("NOT $1? OR a = $1", ("",), "NOT TRUE OR a = ''"),
        ("a <= $1^", ([3, 5, 4],), "a <= 5"),
        ("LIMIT $1*4 OFFSET $1-1", (3,), "LIMIT 12 OFFSET 2"),
        ("VALUES $nulls", (2,), "VALUES (NULL),(NULL)"),
        (
            "[[ (SELECT $each LIMIT $2) ]] ORDER",
            (["x", "y"], 5),
            " (SELECT 'x' LIMIT 5)  UNION ALL  (SELECT 'y' LIMIT 5)  ORDER",
        ),
        ("'$[*]' PATH '$'", (), "'$[*]' PATH '$'"),
    ],
)
def test_placeholders_are_filled(text: str, values: tuple[object, ...], whole: str) -> None:
    assert filled(text, *values) == whole


def test_results_fill_later_placeholders() -> None:
    first, second = parse_templates("SELECT a, b;; UPDATE WHERE (a, b) IN ($found)")
    assert first.render(TemplateArguments()) == "SELECT a, b"
    assert (
        second.render(TemplateArguments(previous_rows=[(1, "x"), (2, "y")]))
        == "UPDATE WHERE (a, b) IN ((1,'x'),(2,'y'))"
    )
    assert Template("a IN ($found_1)").render(TemplateArguments(previous_rows=[(1, "x"), (2, "y")])) == "a IN (1,2)"


def test_rows_are_rendered_as_one_insert() -> None:
    given = TemplateArguments([1, "x", 1, "y"], width=2)
    assert Template("VALUES {rows}").render(given) == "VALUES (1,'x'),(1,'y')"
    assert Template("FROM ({selects})").render(given) == "FROM (SELECT 1 AS c1,'x' AS c2 UNION ALL SELECT 1,'y')"
    assert Template("a IN ({column_1}), b IN ({column_2})").render(given) == "a IN (1), b IN ('x','y')"


@pytest.mark.parametrize(
    "hostile", ["{rows}", "{column_1}", "{selects}", "$1", "$found", "[[ $each ]]", "a;; b", "@tasks"]
)
def test_placeholders_inside_values_are_not_filled(hostile: str) -> None:
    assert filled("a = $1, b = $2", hostile, "other") == f"a = '{hostile}', b = 'other'"
    assert (
        Template("{rows} {column_1}").render(TemplateArguments([hostile, 2], width=2)) == f"('{hostile}',2) '{hostile}'"
    )
    assert Template("[[ $each ]]").render(TemplateArguments(([hostile],))) == f" '{hostile}' "
