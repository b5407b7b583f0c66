"""Forms of declared shapes: every value of a shape survives the way through its texts, and new fields appear by themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.console.messages.edit_fields import LABELS
from horae.console.shape_form import (
    ABSENT,
    FieldKind,
    FieldWords,
    FormContext,
    kind_of,
    make_fields,
    read_value,
    to_texts,
)
from horae.console.tasks.fields import TaskWords
from horae.console.tasks.form import OMITTED, POLICIES, TARGET_KINDS, body_of, further_shape, texts_of_task
from horae.errors import Refusal
from horae.model.task import Target
from horae.testing.factories import a_task
from horae.wire.schemas import SHAPES
from horae.wire.shapes.notation import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    TEXT,
    Schema,
    choice,
    closed,
    list_of,
    nullable,
    or_null,
)
from horae.wire.shapes.targets import SECRET, SECRET_TEXT, TARGET_SPECS
from horae.wire.tasks.task import read_task

MAPPING: Schema = {"type": "object", "additionalProperties": TEXT}
SECRETS: Schema = {"type": "object", "additionalProperties": SECRET_TEXT}
DURATION: Schema = {"type": ["string", "number", "null"]}
SHAPE = closed(
    {
        "text": TEXT,
        "number": nullable(NUMBER),
        "whole": INTEGER,
        "duration": DURATION,
        "choice": choice("a", "b", None),
        "flag": BOOLEAN,
        "lines": list_of(TEXT),
        "codes": list_of({"type": ["integer", "string"]}),
        "mapping": MAPPING,
        "headers": SECRETS,
        "sign": or_null(SECRET),
        "anything": {},
        "group": closed({"inner": INTEGER, "deep": closed({"deepest": TEXT})}, required=()),
    },
    required=(),
)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=30)
stripped = texts.map(str.strip).filter(bool)
references = st.builds(lambda name: {"secret": name}, st.from_regex(r"[a-z_.-]{1,10}", fullmatch=True))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
values = st.fixed_dictionaries(
    {},
    optional={
        "text": stripped,
        "number": st.none() | st.floats(-1e6, 1e6).map(lambda each: round(each, 3)),
        "whole": st.integers(-(10**9), 10**9),
        "choice": st.sampled_from(["a", "b"]),
        "flag": st.booleans(),
        "lines": st.lists(texts, min_size=1, max_size=4),
        "codes": st.lists(st.integers(0, 999) | stripped, min_size=1, max_size=4),
        "mapping": st.dictionaries(texts, texts, min_size=1, max_size=4),
        "headers": st.dictionaries(texts, texts | references | st.lists(texts | references, max_size=3), min_size=1),
        "sign": references,
        "anything": json_values,
        "group": st.fixed_dictionaries({"inner": st.integers(0, 99)}, optional={"deep": st.just({"deepest": "x"})}),
    },
)


@given(values)
def test_every_value_survives_its_texts(value: dict[str, Any]) -> None:
    read = read_value(SHAPE, to_texts(SHAPE, value))
    assert (value or ABSENT) == read


def test_kind_of_a_field_follows_its_shape() -> None:
    kinds = {name: kind_of(each) for name, each in SHAPE["properties"].items()}
    assert kinds == {
        "text": FieldKind.TEXT,
        "number": FieldKind.NUMBER,
        "whole": FieldKind.NUMBER,
        "duration": FieldKind.DURATION,
        "choice": FieldKind.CHOICE,
        "flag": FieldKind.BOOLEAN,
        "lines": FieldKind.LINES,
        "codes": FieldKind.LIST,
        "mapping": FieldKind.MAPPING,
        "headers": FieldKind.MAPPING,
        "sign": FieldKind.SECRET,
        "anything": FieldKind.JSON,
        "group": FieldKind.GROUP,
    }


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("duration", "never", None),
        ("duration", "90", 90),
        ("duration", "2m", "2m"),
        ("number", "1.5", 1.5),
        ("number", "never", None),
        ("whole", "never", "never"),
        ("whole", "many", "many"),
        ("mapping", "a=1\n\n b : two: three\nflag", {"a": "1", "b": "two: three", "flag": ""}),
        ("mapping", "团队：运维", {"团队": "运维"}),
        ("mapping", '{"a: b": " c "}', {"a: b": " c "}),
        (
            "headers",
            "Authorization: Bearer @secret:token\nX: @secret:a",
            {"Authorization": ["Bearer ", {"secret": "token"}], "X": {"secret": "a"}},
        ),
        ("lines", "date\n--utc\n\n", ["date", "--utc"]),
        ("codes", "2xx, 404", ["2xx", 404]),
        ("sign", "key", {"secret": "key"}),
        ("text", "   ", ABSENT),
        ("anything", "null", None),
    ],
)
def test_text_of_a_field_is_read_by_its_shape(name: str, text: str, expected: Any) -> None:
    read = read_value(SHAPE, {name: text})
    assert (ABSENT if read is ABSENT else read[name]) == expected


def test_broken_json_is_refused_at_its_field() -> None:
    with pytest.raises(Refusal) as refused:
        read_value(SHAPE, {"anything": "{'a': 1}"})
    assert (refused.value.code, refused.value.facts["name"]) == ("bad_json_field", "anything")


def test_new_field_of_a_shape_appears_with_its_description_and_default() -> None:
    shape = closed({"color": choice("red", "blue") | {"default": "red", "description": "Colour of the bell."}})
    context = FormContext({}, TaskWords("zh"), {"color": "wrong"}, {})
    (field,) = make_fields(shape, context, "target.bell")
    assert (field.name, field.label, field.help) == ("target.bell.color", "color", "Colour of the bell.")
    assert (field.placeholder, field.is_required, [each.value for each in field.options]) == (
        "red",
        True,
        ["red", "blue"],
    )


def test_value_that_equals_its_default_is_blank() -> None:
    shape = closed({"limit": INTEGER | {"default": 3}, "group": closed({"wait": DURATION})}, required=())
    usual = {"limit": 3, "group": {"wait": "PT5M"}}
    assert to_texts(shape, usual, "p", usual) == {"p.limit": "", "p.group.wait": ""}
    assert to_texts(shape, {"limit": 3, "group": {"wait": "PT10M"}}, "p", usual)["p.group.wait"] == "10m"


def test_form_has_every_field_of_the_declared_task() -> None:
    context = FormContext({}, FieldWords(), {}, {})
    shown = {each.name for each in make_fields(further_shape(is_new=True, is_admin=True), context)}
    policies = {each.name for each in make_fields(POLICIES, context, "policies", omitted=OMITTED)}
    targets = {"target", "http", "command", "function", "say", "event", "agent"}
    placed = {"name", "when", "after", "mode", "zone", "payload", "policies"}
    assert shown == set(SHAPES["NewTask"]["properties"]) - targets - placed
    assert policies == {f"policies.{name}" for name in POLICIES["properties"]} - OMITTED
    assert set(TARGET_SPECS) < set(TARGET_KINDS)


def test_prompt_of_an_agent_is_a_field_of_its_own_and_part_of_the_payload() -> None:
    agent = {"group": "family", "prompt": "Say good morning.\nBriefly.", "context_mode": "group"}
    fields = {f"target.agent.{name}": value for name, value in agent.items()}
    texts = {"name": "x", "when": "every day at 9:00", "target.kind": "agent", **fields}
    body = body_of(texts)
    assert body["target"] == {"kind": "agent", "group": "family", "context_mode": "group"}
    assert body["payload"] == {"prompt": "Say good morning.\nBriefly."}
    request = read_task(body)
    assert request.owner == "group:family"
    task = a_task(target=request.target, payload=request.payload)
    shown = texts_of_task(task, "en")
    assert {name: shown[name] for name in fields} == fields
    assert shown["payload"] == ""


def test_budget_and_imported_chat_of_an_agent_survive_the_form() -> None:
    target = {"kind": "agent", "group": "family", "context_mode": "group", "budget": {"tokens": 20000, "cost": 2.5}}
    spec = {**{name: value for name, value in target.items() if name != "kind"}, "chat": "tg:7"}
    task = a_task(target=Target("agent", json.dumps(spec)), payload='{"prompt": "hi"}')
    texts = texts_of_task(task, "en")
    assert texts["target.agent.budget.cost"] == "2.5"
    assert body_of({**texts, "target.agent.budget.runs": "4"})["target"] == {
        **target,
        "chat": "tg:7",
        "budget": {"tokens": 20000, "cost": 2.5, "runs": 4},
    }


def test_every_declared_field_has_a_label_and_a_help_of_its_own() -> None:
    context = FormContext({}, FieldWords(), {}, {})
    shapes = {**{f"target.{kind}": shape for kind, shape in TARGET_SPECS.items()}, "policies": POLICIES}
    fields = [each for prefix, shape in shapes.items() for each in make_fields(shape, context, prefix, omitted=OMITTED)]
    names = {part.name for field in fields for part in (field, *field.fields)}
    assert names - LABELS.keys() == set()


def test_unchanged_form_of_a_task_is_its_definition() -> None:
    task = a_task()
    body = body_of(texts_of_task(task, "zh"), task)
    assert body["name"] == task.name
    assert set(body) <= {"name", "when", "target", "payload", "policies", "labels", "lane"}
