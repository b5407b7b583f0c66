"""JSON form of function registrations: declared defaults of a decorator, and the signature for payloads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from ....errors import Refusal
from ....model.gate import Gate
from ....model.policy import Missed, Notify, RetryPolicy, gate_from_json, gate_to_json, notify_to_json
from ....schedule.durations import format_iso_duration
from ..task_request import NEVER, NO_OPTIONS, MissedRequest, Options, RetryRequest, read_missed_parts

_DIGEST_CHARACTERS: Final = 16
_PYTHON: Final = ".py"
_INTERACTIVE: Final = "__main__"


class Argument(NamedTuple):
    """One argument: `wanted` names its type in messages; `accepts` are the JSON types that fit, None if unknown."""

    name: str
    required: bool
    wanted: str
    accepts: frozenset[str] | None = None


class Signature(NamedTuple):
    """`takes_more`: arguments of other names are accepted too."""

    arguments: tuple[Argument, ...] = ()
    takes_more: bool = False


class Defaults(NamedTuple):
    """Defaults that the decorator of a function declares for its tasks."""

    zone: str | None = None
    lane: str | None = None
    labels: Mapping[str, str] | None = None
    options: Options = NO_OPTIONS


NO_DEFAULTS: Final = Defaults()


class Registration(NamedTuple):
    """A registered function.

    `registered` is when this declaration began to count; `alias_of`: an earlier name of that function.
    """

    name: str
    module: str
    signature: Signature
    defaults: Defaults
    registered: datetime
    alias_of: str | None = None

    @property
    def source(self) -> str | None:
        return module_source(self.module)


def module_source(module: str) -> str | None:
    """Return the path of its file or the dotted name of its module; None if no node can be started with it.

    That is an interactive prompt, or a script without `.py`.
    """
    is_script = PurePath(module).name != module and not module.endswith(_PYTHON)
    return None if module == _INTERACTIVE or is_script else module


class FormerName(NamedTuple):
    """A name that an earlier version may have given to the function `current`, and the modules it may have recorded."""

    name: str
    current: str
    modules: tuple[str, ...] = ()

    def is_from(self, module: str, *, running: bool) -> bool:
        """Whether a registration from this module is the same function.

        True for the same module. A file of the same name elsewhere counts as an earlier location, unless nodes run with
        it.
        """
        is_same_file = _file_name(module) in {*map(_file_name, self.modules)} - {""}
        return module in self.modules or (is_same_file and not running)


def _file_name(module: str) -> str:
    return PurePath(module).name if module.endswith(_PYTHON) else ""


def signature_json(signature: Signature) -> dict[str, Any]:
    return {
        "arguments": [
            {
                "name": each.name,
                "required": each.required,
                "wanted": each.wanted,
                "accepts": None if each.accepts is None else sorted(each.accepts),
            }
            for each in signature.arguments
        ],
        "takes_more": signature.takes_more,
    }


def read_signature(body: Mapping[str, Any]) -> Signature:
    arguments = tuple(
        Argument(
            each["name"],
            each["required"],
            each["wanted"],
            None if each["accepts"] is None else frozenset(each["accepts"]),
        )
        for each in body["arguments"]
    )
    return Signature(arguments, body["takes_more"])


def defaults_json(defaults: Defaults) -> dict[str, Any]:
    return {
        "zone": defaults.zone,
        "lane": defaults.lane,
        "labels": None if defaults.labels is None else dict(defaults.labels),
        "policies": options_json(defaults.options),
    }


def read_defaults(body: Mapping[str, Any]) -> Defaults:
    return Defaults(body["zone"], body["lane"], body["labels"], read_options(body["policies"]))


def registration_json(registration: Registration) -> dict[str, Any]:
    return {
        "module": registration.module,
        **signature_json(registration.signature),
        "defaults": defaults_json(registration.defaults),
        "registered": registration.registered.isoformat(),
        **({} if registration.alias_of is None else {"alias_of": registration.alias_of}),
    }


def read_registration(name: str, body: str) -> Registration:
    record = json.loads(body)
    registered = datetime.fromisoformat(record["registered"]).astimezone(UTC)
    defaults = read_defaults(record["defaults"])
    return Registration(name, record["module"], read_signature(record), defaults, registered, record.get("alias_of"))


def options_json(options: Options) -> dict[str, Any]:
    """Return the chosen policies as JSON; `never` stays a word, and a round trip returns the same."""
    if isinstance(options.missed, str):
        # Invalid text is refused when a task is created with it, not when a function is registered.
        with suppress(Refusal):
            options = options._replace(missed=read_missed_parts(options.missed))
    return {name: _value_json(value) for name, value in options._asdict().items() if value is not None}


def _value_json(value: Any) -> Any:
    if isinstance(value, timedelta):
        return format_iso_duration(value)
    if isinstance(value, Notify):
        return notify_to_json(value)
    if isinstance(value, Gate):
        return gate_to_json(value)
    if isinstance(value, Missed):
        value = MissedRequest(**_with_never(value, "within"))
    elif isinstance(value, RetryPolicy):
        value = RetryRequest(**_with_never(value, "attempts"))
    if isinstance(value, MissedRequest | RetryRequest):
        return {name: _value_json(part) for name, part in value._asdict().items() if part is not None}
    return value


def _with_never(value: Missed | RetryPolicy, limit: str) -> dict[str, Any]:
    """Return every field by name, with `never` where there is no such limit."""
    chosen = {each.name: getattr(value, each.name) for each in fields(value)}
    return {name: NEVER if name == limit and part is None else part for name, part in chosen.items()}


def read_options(body: Mapping[str, Any]) -> Options:
    chosen = dict(body)
    if isinstance(chosen.get("missed"), Mapping):
        chosen["missed"] = MissedRequest(**chosen["missed"])
    if isinstance(chosen.get("retry"), Mapping):
        chosen["retry"] = RetryRequest(**chosen["retry"])
    if isinstance(chosen.get("notify"), Mapping):
        given = chosen["notify"]
        chosen["notify"] = Notify(tuple(given["to"]), tuple(given["on"]), given.get("text", ""))
    if isinstance(chosen.get("gate"), Mapping):
        chosen["gate"] = gate_from_json(chosen["gate"])
    if "lanes" in chosen:
        chosen["lanes"] = tuple(chosen["lanes"])
    return Options(**chosen) if chosen else NO_OPTIONS


def digest(value: Mapping[str, Any]) -> str:
    """Return a digest that is equal exactly when two nodes declare the same."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]
