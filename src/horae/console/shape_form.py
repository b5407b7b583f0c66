"""Forms of declared shapes: a JSON Schema with a value becomes texts by field name, fields to show, and JSON again.

A field has the dotted path of its value as name: `policies.retry.backoff`. A blank field is left out of the JSON, so that
the default applies. Lists and mappings are written line by line; what lines cannot express is shown and accepted as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Final, Literal, TypeAlias

from ..errors import InvalidSchedule, Refusal
from ..model.accounts.secret_reference import REFERENCE_KEY, secret_name
from ..schedule.durations import format_short_duration, parse_duration
from ..wire.shapes.notation import Schema
from .refusals import refuse

Texts: TypeAlias = Mapping[str, str]
NEVER: Final = "never"
"""Text of JSON null in a number or a duration: there is no limit."""
LONG_TEXT: Final = 2_500
"""Characters above which a text gets several lines."""
_SEPARATOR: Final = re.compile("[:=\uff1a\uff1d]")
"""Also in full width, as Chinese keyboards write them."""
_SECRET_IN_TEXT: Final = re.compile(r"@secret:([A-Za-z0-9_.-]+)")
_WHOLE: Final = re.compile(r"-?\d{1,18}")
_DECIMAL: Final = re.compile(r"-?\d{1,18}\.\d{1,18}")


class Absent(Enum):
    """Type of the sentinel for a field that was left blank."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
MaybeAbsent: TypeAlias = Any | Literal[Absent.ABSENT]


class FieldKind(StrEnum):
    TEXT = "text"
    LONG_TEXT = "long_text"
    NUMBER = "number"
    DURATION = "duration"
    CHOICE = "choice"
    BOOLEAN = "boolean"
    LIST = "list"
    """Values on one line, with commas between them."""
    LINES = "lines"
    MAPPING = "mapping"
    SECRET = "secret"  # noqa: S105 - the name of a kind
    JSON = "json"
    GROUP = "group"


def kind_of(schema: Schema) -> FieldKind:
    """Return how a value of this shape is entered. JSON covers every shape that no simpler field fits."""
    schema = _without_null(schema)
    if "enum" in schema:
        return FieldKind.CHOICE
    if "properties" in schema:
        return FieldKind.SECRET if set(schema["properties"]) == {REFERENCE_KEY} else FieldKind.GROUP
    types = types_of(schema) - {"null"}
    if types == {"boolean"}:
        return FieldKind.BOOLEAN
    if types and types <= {"integer", "number"}:
        return FieldKind.NUMBER
    if types == {"string", "number"}:
        return FieldKind.DURATION
    if types == {"string"}:
        return FieldKind.LONG_TEXT if schema.get("maxLength", 0) > LONG_TEXT else FieldKind.TEXT
    if types == {"array"} and types_of(schema.get("items", {})) <= {"string", "integer", "number"}:
        return FieldKind.LINES if types_of(schema["items"]) == {"string"} else FieldKind.LIST
    values = schema.get("additionalProperties")
    if types == {"object"} and isinstance(values, dict) and "string" in types_of(values):
        return FieldKind.MAPPING
    return FieldKind.JSON


def types_of(schema: Schema) -> frozenset[str]:
    declared = schema.get("type", ())
    return frozenset((declared,) if isinstance(declared, str) else declared)


def _without_null(schema: Schema) -> Schema:
    """Return the shape inside `anyOf [shape, null]`; its own description and default stay."""
    choices = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    return {**choices[0], **schema} if len(choices) == 1 else schema


def _allows_null(schema: Schema) -> bool:
    return "null" in types_of(schema) or any(each.get("type") == "null" for each in schema.get("anyOf", ()))


def join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


# --- JSON to texts -------------------------------------------------------------------------------------------------------


def to_texts(schema: Schema, value: MaybeAbsent, prefix: str = "", defaults: MaybeAbsent = ABSENT) -> dict[str, str]:
    """Return the text of every field of a shape. A value that equals its default is blank."""
    schema = _without_null(schema)
    if kind_of(schema) is FieldKind.GROUP:
        parts = value if isinstance(value, Mapping) else {}
        usual = defaults if isinstance(defaults, Mapping) else {}
        texts: dict[str, str] = {}
        for name, part in schema["properties"].items():
            texts |= to_texts(part, parts.get(name, ABSENT), join(prefix, name), usual.get(name, ABSENT))
        return texts
    default = schema.get("default", ABSENT) if defaults is ABSENT else defaults
    is_default = default is not ABSENT and value == default and type(value) is type(default)
    return {prefix: "" if value is ABSENT or is_default else format_value(schema, value)}


def format_value(schema: Schema, value: Any) -> str:
    """Return the text from which `read_text` makes the same value; JSON where no shorter text does."""
    text = _short_text(schema, value)
    if text is not None and _reads_as(schema, text, value):
        return text
    return json.dumps(value, ensure_ascii=False, indent=2)


def _reads_as(schema: Schema, text: str, value: Any) -> bool:
    """Return whether a text gives the value back; a duration may be spelt in another way."""
    try:
        read = read_text(schema, text, "")
    except Refusal:
        return False
    return read is not ABSENT if kind_of(schema) is FieldKind.DURATION else bool(read == value) or value is None


def _short_text(schema: Schema, value: Any) -> str | None:
    """Return the text of a value without JSON syntax; None where there is none."""
    match kind_of(schema):
        case FieldKind.NUMBER:
            return NEVER if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        case FieldKind.DURATION:
            return NEVER if value is None else _format_duration(value)
        case FieldKind.BOOLEAN:
            return {True: "true", False: "false"}.get(value)
        case FieldKind.TEXT | FieldKind.LONG_TEXT | FieldKind.CHOICE:
            return "" if value is None else str(value)
        case FieldKind.LIST:
            return ", ".join(map(str, value)) if isinstance(value, list) else None
        case FieldKind.LINES:
            return "\n".join(map(str, value)) if isinstance(value, list) else None
        case FieldKind.MAPPING:
            return _format_mapping(value) if isinstance(value, Mapping) else None
        case FieldKind.SECRET:
            return secret_name(value) or ("" if value is None else None)
        case _:
            return None


def _format_duration(value: Any) -> str:
    try:
        return format_short_duration(parse_duration(value)) if isinstance(value, str) else f"{value:g}"
    except InvalidSchedule:
        return str(value)


def _format_mapping(value: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}: {_format_secret_text(each)}" for name, each in value.items())


def _format_secret_text(value: Any) -> str:
    parts = value if isinstance(value, list) else [value]
    return "".join(str(part) if (name := secret_name(part)) is None else f"@secret:{name}" for part in parts)


# --- texts to JSON -------------------------------------------------------------------------------------------------------


def read_value(schema: Schema, texts: Texts, prefix: str = "") -> MaybeAbsent:
    """Return the JSON of a shape from the texts of its fields. Raises `bad_json_field`."""
    schema = _without_null(schema)
    if kind_of(schema) is not FieldKind.GROUP:
        return read_text(schema, texts.get(prefix, ""), prefix)
    parts: dict[str, Any] = {}
    for name, part in schema["properties"].items():
        value = read_value(part, texts, join(prefix, name))
        if value is not ABSENT:
            parts[name] = value
    return parts or ABSENT


def read_text(schema: Schema, text: str, name: str) -> MaybeAbsent:
    """Return the value of one field. Text that does not fit the shape is kept, for the service to refuse."""
    stripped = text.strip()
    if not stripped:
        return ABSENT
    kind = kind_of(schema)
    is_json = kind is FieldKind.JSON or (kind in (FieldKind.LIST, FieldKind.LINES) and stripped.startswith("["))
    if is_json or (kind in (FieldKind.MAPPING, FieldKind.SECRET) and stripped.startswith("{")):
        try:
            return json.loads(stripped)
        except (ValueError, RecursionError) as error:
            raise refuse("bad_json_field", name=name, problem=error) from None
    return _read_short(schema, text)


def _read_short(schema: Schema, text: str) -> MaybeAbsent:
    stripped = text.strip()
    match kind_of(schema):
        case FieldKind.NUMBER | FieldKind.DURATION:
            return None if stripped == NEVER and _allows_null(schema) else _read_number(stripped)
        case FieldKind.BOOLEAN:
            return {"true": True, "false": False}.get(stripped, stripped)
        case FieldKind.CHOICE:
            return next((each for each in schema["enum"] if str(each) == stripped), stripped) if stripped else None
        case FieldKind.LIST:
            numeric = bool(types_of(schema["items"]) & {"integer", "number"})
            parts = [part.strip() for part in stripped.split(",") if part.strip()]
            return [_read_number(part) if numeric else part for part in parts]
        case FieldKind.LINES:
            return [line for line in text.split("\n") if line.strip()]
        case FieldKind.MAPPING:
            return _read_mapping(text, with_secrets="object" in types_of(schema["additionalProperties"]))
        case FieldKind.SECRET:
            return {REFERENCE_KEY: stripped} if stripped else None
        case FieldKind.LONG_TEXT:
            return text
        case _:
            return stripped if stripped or not _allows_null(schema) else None


def _read_number(text: str) -> int | float | str:
    """Return a number; other text is kept: a duration such as `5m`, or what the service has to refuse."""
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _read_mapping(text: str, *, with_secrets: bool) -> dict[str, Any]:
    """Read `name: value` or `name=value` line by line."""
    values: dict[str, Any] = {}
    for line in text.split("\n"):
        if line.strip():
            name, *rest = _SEPARATOR.split(line, maxsplit=1)
            value = rest[0].strip() if rest else ""
            values[name.strip()] = _read_secret_text(value) if with_secrets else value
    return values


def _read_secret_text(text: str) -> Any:
    parts = [
        {REFERENCE_KEY: part} if number % 2 else part
        for number, part in enumerate(_SECRET_IN_TEXT.split(text))
        if part or number % 2
    ]
    return parts[0] if len(parts) == 1 else parts or ""


# --- fields to show ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a choice, with its label."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class FormField:
    """A field to show. `fields` are those of a group; `placeholder` is the default that a blank field stands for."""

    name: str
    kind: FieldKind
    label: str
    help: str
    text: str = ""
    placeholder: str = ""
    is_required: bool = False
    options: tuple[Option, ...] = ()
    suggestions: tuple[str, ...] = ()
    problem: str = ""
    fields: tuple[FormField, ...] = ()

    @property
    def id(self) -> str:
        return f"field-{self.name.replace('.', '-')}"

    @property
    def is_filled(self) -> bool:
        return bool(self.text or self.problem or any(each.is_filled for each in self.fields))

    @property
    def rows(self) -> int:
        """Lines of a text area: those of its text, within bounds."""
        return min(16, max(3, self.text.count("\n") + 2))


class FieldWords:
    """Words of the fields of a form: label, help and names of choices. The base class knows the names themselves."""

    def label(self, name: str) -> str:
        return name.rpartition(".")[2].replace("_", " ")

    def help(self, name: str, schema: Schema) -> str:  # noqa: ARG002 - for subclasses
        return str(schema.get("description", ""))

    def choice(self, name: str, value: str) -> str:  # noqa: ARG002 - for subclasses
        return value


@dataclass(frozen=True, slots=True)
class FormContext:
    """Shared by the fields of one form: texts, words, problems by field name, suggested values, names of secrets."""

    texts: Texts
    words: FieldWords
    problems: Mapping[str, str]
    suggestions: Mapping[str, tuple[str, ...]]
    secrets: tuple[str, ...] = ()


def make_fields(
    schema: Schema,
    context: FormContext,
    prefix: str = "",
    *,
    omitted: Collection[str] = (),
    defaults: MaybeAbsent = ABSENT,
) -> tuple[FormField, ...]:
    """Return the fields of an object shape, in the order of its declaration. `omitted` are names of fields."""
    return tuple(_make_fields(_without_null(schema), context, prefix, omitted, defaults))


def _make_fields(
    schema: Schema, context: FormContext, prefix: str, omitted: Collection[str], defaults: MaybeAbsent
) -> Iterator[FormField]:
    usual = defaults if isinstance(defaults, Mapping) else {}
    for part, shape in schema["properties"].items():
        name = join(prefix, part)
        if name not in omitted:
            default = usual.get(part, ABSENT)
            yield make_field(shape, context, name, part in schema.get("required", ()), omitted, default)


def make_field(
    schema: Schema,
    context: FormContext,
    name: str,
    is_required: bool = False,  # noqa: FBT001, FBT002 - one flag of a field
    omitted: Collection[str] = (),
    default: MaybeAbsent = ABSENT,
) -> FormField:
    schema = _without_null(schema)
    kind, words = kind_of(schema), context.words
    return FormField(
        name,
        kind,
        words.label(name),
        words.help(name, schema),
        context.texts.get(name, ""),
        _placeholder(schema, name, words, default),
        is_required,
        _options(schema, kind, context, name),
        context.suggestions.get(name, ()),
        context.problems.get(name, ""),
        make_fields(schema, context, name, omitted=omitted, defaults=default) if kind is FieldKind.GROUP else (),
    )


def _placeholder(schema: Schema, name: str, words: FieldWords, default: MaybeAbsent) -> str:
    value = schema.get("default", ABSENT) if default is ABSENT else default
    if value is ABSENT or value is None or value in ({}, []):
        return words.choice(name, NEVER) if value is None and kind_of(schema) in _LIMITS else ""
    kind = kind_of(schema)
    if kind is FieldKind.GROUP:
        return ""
    text = format_value(schema, value)
    return words.choice(name, text) if kind is FieldKind.CHOICE else text


_LIMITS: Final = (FieldKind.NUMBER, FieldKind.DURATION)


def _options(schema: Schema, kind: FieldKind, context: FormContext, name: str) -> tuple[Option, ...]:
    if kind is FieldKind.SECRET:
        chosen = context.texts.get(name, "")
        names = (*context.secrets, *((chosen,) if chosen and chosen not in context.secrets else ()))
        return tuple(Option(each, each) for each in names)
    values = ("true", "false") if kind is FieldKind.BOOLEAN else tuple(map(str, filter(None, schema.get("enum", ()))))
    return tuple(Option(each, context.words.choice(name, each)) for each in values)
