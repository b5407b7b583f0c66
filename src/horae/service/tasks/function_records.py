"""Registrations of functions as JSON: what a decorator declares, and the signature that a payload has to fit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from ...errors import Refusal
from ...model.policy import Missed, Retry
from ...schedule.durations import iso_duration
from .task_request import NEVER, NO_OPTIONS, MissedWish, Options, RetryWish, read_missed_parts

_DIGEST_CHARACTERS: Final = 16
_PYTHON: Final = ".py"
_INTERACTIVE: Final = "__main__"


class Argument(NamedTuple):
    """`wanted` names its type for people; `accepts` are the JSON types that can fit, None where that is not known."""

    name: str
    required: bool
    wanted: str
    accepts: frozenset[str] | None = None


class Signature(NamedTuple):
    """`takes_more`: arguments of other names are accepted too."""

    arguments: tuple[Argument, ...] = ()
    takes_more: bool = False


class Defaults(NamedTuple):
    """What the decorator of a function declares for its tasks."""

    zone: str | None = None
    lane: str | None = None
    labels: Mapping[str, str] | None = None
    options: Options = NO_OPTIONS


NO_DEFAULTS: Final = Defaults()


class Registration(NamedTuple):
    """`registered` is the moment from which this declaration counts. `alias_of`: an earlier name of that function."""

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
    """The path of its file or the dotted name of its module; None for an interactive prompt and for a script that
    is no `.py` file: no node can be started with those."""
    is_script = PurePath(module).name != module and not module.endswith(_PYTHON)
    return None if module == _INTERACTIVE or is_script else module


class FormerName(NamedTuple):
    """The name that an earlier version may have given to the function `current`, and the modules it may have noted."""

    name: str
    current: str
    modules: tuple[str, ...] = ()

    def is_from(self, module: str, *, running: bool) -> bool:
        """Whether a registration from this module is the same function.

        It is where the module is the same. A file of the same name elsewhere is taken for an earlier place of this one,
        unless nodes are running with it.
        """
        same_file = _file_name(module) in {*map(_file_name, self.modules)} - {""}
        return module in self.modules or (same_file and not running)


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


def read_signature(said: Mapping[str, Any]) -> Signature:
    arguments = tuple(
        Argument(
            each["name"],
            each["required"],
            each["wanted"],
            None if each["accepts"] is None else frozenset(each["accepts"]),
        )
        for each in said["arguments"]
    )
    return Signature(arguments, said["takes_more"])


def defaults_json(defaults: Defaults) -> dict[str, Any]:
    return {
        "zone": defaults.zone,
        "lane": defaults.lane,
        "labels": None if defaults.labels is None else dict(defaults.labels),
        "policies": options_json(defaults.options),
    }


def read_defaults(said: Mapping[str, Any]) -> Defaults:
    return Defaults(said["zone"], said["lane"], said["labels"], read_options(said["policies"]))


def registration_json(registration: Registration) -> dict[str, Any]:
    return {
        "module": registration.module,
        **signature_json(registration.signature),
        "defaults": defaults_json(registration.defaults),
        "registered": registration.registered.isoformat(),
        **({} if registration.alias_of is None else {"alias_of": registration.alias_of}),
    }


def read_registration(name: str, body: str) -> Registration:
    said = json.loads(body)
    registered = datetime.fromisoformat(said["registered"]).astimezone(UTC)
    defaults = read_defaults(said["defaults"])
    return Registration(name, said["module"], read_signature(said), defaults, registered, said.get("alias_of"))


def options_json(options: Options) -> dict[str, Any]:
    """The policies that were chosen; `never` stays the word that it is. Read and written again, they are the same."""
    if isinstance(options.missed, str):
        # Text that means nothing is refused where a task is made with it, not where a function is registered.
        with suppress(Refusal):
            options = options._replace(missed=read_missed_parts(options.missed))
    return {name: _value(value) for name, value in options._asdict().items() if value is not None}


def _value(value: Any) -> Any:
    if isinstance(value, timedelta):
        return iso_duration(value)
    if isinstance(value, Missed):
        value = MissedWish(value.mode, NEVER if value.within is None else value.within, value.limit)
    elif isinstance(value, Retry):
        attempts = NEVER if value.attempts is None else value.attempts
        value = RetryWish(attempts, value.backoff, value.factor, value.max)
    if isinstance(value, MissedWish | RetryWish):
        return {name: _value(part) for name, part in value._asdict().items() if part is not None}
    return value


def read_options(said: Mapping[str, Any]) -> Options:
    chosen = dict(said)
    if isinstance(chosen.get("missed"), Mapping):
        chosen["missed"] = MissedWish(**chosen["missed"])
    if isinstance(chosen.get("retry"), Mapping):
        chosen["retry"] = RetryWish(**chosen["retry"])
    return Options(**chosen) if chosen else NO_OPTIONS


def digest(value: Mapping[str, Any]) -> str:
    """Equal exactly when two nodes say the same."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]
