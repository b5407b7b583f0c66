"""Declared parameters: the signature of an endpoint names its path, query and body parameters, and the binder reads,
checks and documents them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import NoneType
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.types import Scope

from ..errors import Refusal
from ..wire.fields import check_fields
from ..wire.schemas import SHAPES
from .body import read_json_body, read_optional_json_body
from .refusals import refuse

Kind: TypeAlias = Literal["string", "integer", "boolean"]
Arguments: TypeAlias = dict[str, Any]
"""Keyword arguments of an endpoint."""

_KINDS: Final[dict[type, Kind]] = {str: "string", int: "integer", bool: "boolean"}
_INTEGER: Final = re.compile(r"\s*[+-]?[0-9]{1,100}(\.0+)?\s*", re.ASCII)
_BOOLEANS: Final = dict.fromkeys(("true", "1", "yes", "on", "t", "y"), True) | dict.fromkeys(
    ("false", "0", "no", "off", "f", "n"), False
)


@dataclass(frozen=True, slots=True)
class Path:
    """Metadata of a path parameter: `Annotated[str, Path(max_length=200)]`."""

    description: str = ""
    max_length: int | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """Metadata of a query parameter: `Annotated[int, Query(minimum=1)]`; `name` where the URL has another name than the
    argument. The type may be `str`, `int` or `bool`, or `list[str]` for a parameter that may be repeated."""

    description: str = ""
    minimum: int | None = None
    maximum: int | None = None
    max_length: int | None = None
    choices: tuple[str, ...] = ()
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """Metadata of the JSON body: `Annotated[Any, Body("NewTask")]` with the name of its shape.

    With a `name`, under which refusals mention it, the body has to be an object with fields of the shape; otherwise the
    endpoint checks it. An `optional` body that is missing is bound as an empty object.
    """

    shape: str
    name: str = ""
    example: Any = None
    optional: bool = False


class Parameter(NamedTuple):
    """A bound path or query parameter: its name in the URL, the keyword argument, the type, the limits and the default."""

    name: str
    argument: str
    kind: Kind
    is_list: bool
    declared: Path | Query
    default: Any = None

    def read(self, text: str) -> Any:
        """Convert a text to the declared type; raises `bad_parameter_value`."""
        if self.kind == "string":
            return self._check_text(text)
        if self.kind == "boolean":
            value = _BOOLEANS.get(text.lower())
            if value is None:
                raise self._refusal(text, "it is neither true nor false")
            return value
        if _INTEGER.fullmatch(text) is None:
            raise self._refusal(text, "it is no integer")
        return self._check_range(text, int(text.partition(".")[0]))

    def _check_text(self, text: str) -> str:
        limit = self.declared.max_length
        if limit is not None and len(text) > limit:
            raise self._refusal(text, f"it has more than {limit} characters")
        if isinstance(self.declared, Query) and self.declared.choices and text not in self.declared.choices:
            raise self._refusal(text, f"allowed: {', '.join(self.declared.choices)}")
        return text

    def _check_range(self, text: str, number: int) -> int:
        if isinstance(self.declared, Query):
            if self.declared.minimum is not None and number < self.declared.minimum:
                raise self._refusal(text, f"it is less than {self.declared.minimum}")
            if self.declared.maximum is not None and number > self.declared.maximum:
                raise self._refusal(text, f"it is more than {self.declared.maximum}")
        return number

    def _refusal(self, text: str, problem: str) -> Refusal:
        return refuse("bad_parameter_value", name=self.name, value=text, problem=problem)

    def to_json(self) -> dict[str, Any]:
        """Return the OpenAPI parameter object."""
        declared, schema = self.declared, dict[str, Any]({"type": self.kind})
        if declared.max_length is not None:
            schema["maxLength"] = declared.max_length
        if isinstance(declared, Query):
            limits = {"minimum": declared.minimum, "maximum": declared.maximum, "enum": list(declared.choices) or None}
            schema |= {name: each for name, each in limits.items() if each is not None}
        if self.is_list:
            schema = {"type": "array", "items": schema}
        if self.default is not None:
            schema["default"] = self.default
        place = "path" if isinstance(declared, Path) else "query"
        described = {"description": declared.description} if declared.description else {}
        return {"name": self.name, "in": place, "required": place == "path", **described, "schema": schema}


class Binder:
    """Binds the parameters that an endpoint declares. Query parameters that it does not declare, and repeated ones that
    are no list, are refused, so that a misspelt filter is never ignored."""

    def __init__(self, endpoint: Callable[..., Any], path: str) -> None:
        """`path` is the route's template. Raises TypeError if its parameters are not those of the endpoint."""
        self.body: Body | None = None
        self._body_argument = ""
        self.parameters: list[Parameter] = []
        arguments = inspect.signature(endpoint).parameters
        for name, hint in get_type_hints(endpoint, include_extras=True).items():
            if get_origin(hint) is Annotated:
                self._declare(name, *get_args(hint), default=arguments[name].default)
        self._path = [each for each in self.parameters if isinstance(each.declared, Path)]
        self._query = {each.name: each for each in self.parameters if isinstance(each.declared, Query)}
        self._defaults = {each.argument: each.default for each in self._query.values()}
        if {each.name for each in self._path} != set(re.findall(r"\{(\w+)", path)):
            raise TypeError(f"{endpoint.__qualname__} declares other path parameters than {path}")

    def _declare(self, name: str, hint: Any, declared: object, *, default: Any) -> None:
        if isinstance(declared, Body):
            self.body, self._body_argument = declared, name
        elif isinstance(declared, Path | Query):
            (kind,) = (each for each in get_args(hint) or (hint,) if each is not NoneType)
            is_list = get_origin(kind) is list
            in_url = declared.name if isinstance(declared, Query) else None
            value = None if default is inspect.Parameter.empty else default
            kind = _KINDS[get_args(kind)[0] if is_list else kind]
            self.parameters.append(Parameter(in_url or name, name, kind, is_list, declared, value))

    def bind_path(self, scope: Scope) -> Arguments:
        """Return the path arguments of a request, and the defaults of the query arguments."""
        arguments = self._defaults.copy()
        for parameter in self._path:
            arguments[parameter.argument] = parameter.read(scope["path_params"][parameter.name])
        return arguments

    def bind(self, scope: Scope) -> Arguments:
        """Return the path and query arguments of a request."""
        arguments = self.bind_path(scope)
        if scope["query_string"]:
            self._bind_query(scope["query_string"], arguments)
        return arguments

    def _bind_query(self, query: bytes, arguments: Arguments) -> None:
        given: dict[str, list[str]] = {}
        for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
            given.setdefault(name, []).append(value)
        _check_names(given, self._query)
        for name, values in given.items():
            parameter = self._query[name]
            read = [parameter.read(each) for each in values]
            arguments[parameter.argument] = read if parameter.is_list else read[0]

    async def bind_body(self, request: Request, declared: Body, arguments: Arguments) -> None:
        """Read the declared body and add it to the arguments."""
        body = await (read_optional_json_body(request) if declared.optional else read_json_body(request))
        if declared.optional:
            body = body or {}
        if declared.name:
            check_fields(declared.name, body, SHAPES[declared.shape]["properties"])
        arguments[self._body_argument] = body


def _check_names(given: Mapping[str, Collection[str]], known: Mapping[str, Parameter]) -> None:
    """Refuse unknown names, with the closest known one first, and repeated parameters that are no list."""
    for name, values in given.items():
        if name not in known:
            closest = get_close_matches(name[:100], known, 1)
            allowed = ", ".join([*closest, *sorted(known.keys() - closest)]) or "none"
            raise refuse("unknown_parameter", name=name, allowed=allowed)
        if len(values) > 1 and not known[name].is_list:
            raise refuse("parameter_twice", name=name)
