"""`TaskFunction`, the result of `@app.task`: a callable wrapper that can also schedule calls of its function."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    NamedTuple,
    NoReturn,
    ParamSpec,
    TypeAlias,
    TypedDict,
    TypeVar,
    cast,
)

from ..errors import InvalidTask
from ..model.gate import Gate
from ..model.policy import Guarantee, Missed, Notify, Overlap, RetryPolicy
from ..model.refusals import refuse
from ..schedule import Schedule
from ..schedule.describe import describe_schedule
from ..service.tasks.functions.records import Argument, FormerName, Signature
from ..service.tasks.task_request import NO_OPTIONS, Delay, Duration, Options, When, read_delay
from ..targets.function.arguments.binder import Binding
from .module_names import former_identities, function_name, module_identity, qualified_name
from .suggestions import FUNCTION_NAMES, OPTIONS, refuse_attribute, suggest_call, suggest_option

if TYPE_CHECKING:
    from .handles import TaskHandle
    from .horae import Horae


P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=Callable[..., Any])


def _suggest_moment(call: C) -> C:
    """Refuse `f.later(countdown=10)` (no moment, a keyword of another scheduler) with the Horae spelling."""

    @functools.wraps(call)
    async def later(self: TaskFunction[Any, Any], *args: Any, **kwargs: Any) -> Any:
        if not args and "when" not in kwargs:
            for name, value in kwargs.items():
                if name not in self._app.argument_names(self) and name.lower() in OPTIONS:
                    raise suggest_call(self._shown_name, name, value) or TypeError(name)
        return await call(self, *args, **kwargs)

    return cast("C", later)


class Declaration(NamedTuple):
    """Arguments of the decorator. A task with `when` is created, or edited, when the app opens."""

    name: str
    when: When | None = None
    zone: str | None = None
    lane: str | None = None
    options: Options = NO_OPTIONS
    labels: Mapping[str, str] | None = None


class TaskFunction(Generic[P, R]):
    __wrapped__: Callable[P, R]

    def __init__(self, call: Callable[P, R], declaration: Declaration, app: Horae) -> None:
        self.declaration = declaration
        self._call = call
        self._app = app
        functools.update_wrapper(self, call)

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def module(self) -> str:
        return module_identity(self._call)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._call(*args, **kwargs)

    @_suggest_moment
    async def later(self, when: When | Delay, *args: Any, **kwargs: Any) -> TaskHandle:
        """Create a task that calls the function then, with these arguments: `await remind.later("in 20m", user=7)`.

        A number of seconds, a `timedelta` and text such as `5s` are delays from now.
        """
        moment = read_delay(when, self.declaration.zone or self._app.zone, self._app.clock.now())
        return await self._schedule(moment, args, kwargs)

    async def now(self, *args: Any, **kwargs: Any) -> TaskHandle:
        """Create a task that calls the function at once; the task is durable before this returns."""
        return await self._schedule("now", args, kwargs)

    async def _schedule(self, when: When, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TaskHandle:
        try:
            return await self._app.schedule(self, when, self._payload(args, kwargs))
        except InvalidTask as refusal:
            name = str(refusal.facts.get("argument"))
            if refusal.code != "unknown_argument" or name not in kwargs:
                raise
            raise suggest_call(self._shown_name, name, kwargs[name]) or refusal from None

    @property
    def _shown_name(self) -> str:
        return str(self.__dict__.get("__name__", "f"))

    def _payload(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments by name, as a payload holds them, without the context."""
        names = self._app.argument_names(self)
        if len(args) > len(names):
            known = ", ".join(names) or "none"
            raise refuse("too_many_arguments", function=self.name, most=len(names), count=len(args), known=known)
        return {**dict(zip(names, args, strict=False)), **kwargs}

    def __repr__(self) -> str:
        when = self.declaration.when
        runs = "" if when is None else f", {describe_schedule(when, 'en') if isinstance(when, Schedule) else when}"
        return f"<task function {self.name}{runs}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            refuse_attribute(self, "A task function", name, FUNCTION_NAMES, self.__dict__.get("__name__", "f"))


def former_name(declared: TaskFunction[Any, Any]) -> FormerName | None:
    """Return the name without its module, which earlier versions gave to functions of scripts; None for explicit names."""
    call = declared.__wrapped__
    bare = qualified_name(call)
    if declared.name == bare or declared.name != function_name(call):
        return None
    return FormerName(bare, declared.name, (declared.module, *former_modules(declared)))


def former_modules(declared: TaskFunction[Any, Any]) -> tuple[str, ...]:
    """Return other identities that earlier versions stored for its module, depending on how it was loaded."""
    return former_identities(declared.__wrapped__)


def signature_of(binding: Binding) -> Signature:
    arguments = tuple(
        Argument(name, part.required, part.converter.expected, part.converter.accepts)
        for name, part in binding.fields.items()
    )
    return Signature(arguments, binding.rest is not None)


Never: TypeAlias = Literal["never"]
_OTHER_ARGUMENTS: Final = ("key", "owner", "zone", "name", "lane", "labels", "using", "payload", "isolate", "past")


class PolicyArguments(TypedDict, total=False):
    """`retries=3` is short for four attempts; `missed` is a mode such as "latest within 1h"."""

    missed: str | Missed
    overlap: Overlap
    retries: int | Never
    retry: RetryPolicy
    give_up_after: int | Never
    timeout: Duration
    max_duration: Duration
    guarantee: Guarantee
    priority: int
    notify_after: int | Never
    start_within: Duration
    notify: Notify | Never
    gate: Gate | Mapping[str, Any] | Callable[..., Any] | Never
    where: Mapping[str, str]
    lanes: Sequence[str]


def to_options(chosen: PolicyArguments) -> Options:
    """Convert keyword arguments to `Options`; raises a refusal, with a suggestion, for an unknown one."""
    unknown = sorted(chosen.keys() - set(Options._fields))
    if unknown:
        suggested = suggest_option(unknown[0], dict(chosen)[unknown[0]], (*Options._fields, *_OTHER_ARGUMENTS))
        if suggested is not None:
            raise suggested
        raise refuse("unknown_policy", name=unknown[0])
    values: dict[str, Any] = dict(chosen)
    if "gate" in values:
        values["gate"] = _read_gate(values["gate"])
    return Options(**values) if values else NO_OPTIONS


def _read_gate(value: Any) -> Gate | str:
    """Return the gate of an argument: a `Gate`, JSON as in a request, or a task function."""
    if isinstance(value, TaskFunction):
        return Gate("function", json.dumps({"name": value.name}))
    if isinstance(value, Mapping):
        from ..wire.tasks.policies import read_gate  # noqa: PLC0415 - most tasks have no gate

        return read_gate(value)
    return value  # type: ignore[no-any-return]  # the policies refuse other values
