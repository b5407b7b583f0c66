"""Maps the result of a function call, a returned value or a raised exception, to the outcome of its run."""

from __future__ import annotations

import os
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from inspect import iscoroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from ...model.limits import ERROR_CHARACTERS, NOTE_CHARACTERS, shorten, to_storable
from ...model.outcome import Failed, Outcome, Skipped, Succeeded
from .arguments.encode import encode_result
from .signals import Fail, Retry, Skip

_OWN_FOLDER: Final = str(Path(__file__).parent) + os.sep
_STDLIB: Final = sysconfig.get_path("stdlib") + os.sep
_SITE_PACKAGES: Final = (sysconfig.get_path("purelib") + os.sep, sysconfig.get_path("platlib") + os.sep)
_OUTER_FRAMES: Final = 3
_INNER_FRAMES: Final = 5
_MAX_CAUSES: Final = 3
_NO_RESULT: Final = Succeeded()


def call_for_outcome(call: Callable[[], Any]) -> Outcome:
    """Call the function and return an outcome whatever it raises: for threads and child processes."""
    try:
        return outcome_of_value(call())
    except BaseException as error:  # noqa: BLE001 - SystemExit in a function must not end its node
        return outcome_of_error(error)


def outcome_of_value(value: Any) -> Outcome:
    if value is None:
        return _NO_RESULT
    if iscoroutine(value):
        value.close()
        error = "it returned a coroutine that is never awaited; register the async function itself"
        return Failed(error, permanent=True)
    return Succeeded(encode_result(value))


def outcome_of_error(error: BaseException) -> Outcome:
    try:
        return _outcome_of_error(error)
    except BaseException as second:  # noqa: BLE001 - formatting a foreign exception may raise anything
        return Failed(f"{type(error).__name__}, which cannot be told: {type(second).__name__}")


def _outcome_of_error(error: BaseException) -> Outcome:
    leaves = list(_leaves(error))
    if all(isinstance(each, Skip) for each in leaves):
        return Skipped(to_storable("; ".join(filter(None, (describe_error(each) for each in leaves))), NOTE_CHARACTERS))
    permanent = any(isinstance(each, Fail) for each in leaves)
    waits = [each.after for each in leaves if isinstance(each, Retry) and each.after is not None]
    return Failed(
        to_storable(_error_text(error, leaves), ERROR_CHARACTERS),
        permanent=permanent,
        retry_after=max(waits) if waits and not permanent else None,
    )


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the single exceptions of (nested) exception groups, as a task group raises them."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


def _error_text(error: BaseException, leaves: list[BaseException]) -> str:
    """Format the exception, with stack frames unless the function raised `Retry` or `Fail` itself."""
    headline = (
        describe_error(error)
        if leaves == [error]
        else "; ".join([describe_error(error), *(describe_error(each) for each in leaves)])
    )
    if all(isinstance(each, Retry | Fail) for each in leaves):
        return headline
    return "\n".join([headline, *_frames(leaves[0].__traceback__)])


def describe_error(error: BaseException) -> str:
    """Format an exception as `ValueError: text` with its causes; `Retry`, `Skip` and `Fail` as their reason alone."""
    parts = [_describe_one(error)]
    cause = error.__cause__
    while cause is not None and len(parts) <= _MAX_CAUSES:
        parts.append(f"caused by {_describe_one(cause)}")
        cause = cause.__cause__
    return ", ".join(parts)


def _describe_one(error: BaseException) -> str:
    match error:
        case Skip():
            return _reason_text(error.reason)
        case Retry():
            return _reason_text(error.reason) or "it asked to be tried again"
        case Fail():
            return _reason_text(error.reason) or "it gave up"
        case _:
            # Cut first, so that a huge message is not copied again.
            return shorten("".join(traceback.format_exception_only(error)), ERROR_CHARACTERS).strip()


def _reason_text(reason: object) -> str:
    """Return the reason as text; a verdict counts also when its reason cannot be formatted."""
    try:
        return shorten(str(reason), ERROR_CHARACTERS)
    except BaseException as error:  # noqa: BLE001 - it may be any object, and raise anything
        return f"<{type(reason).__name__} that cannot be shown: {type(error).__name__}>"


def _frames(trace: TracebackType | None) -> list[str]:
    """Format the stack frames of the user's own files; the innermost frame if there are none."""
    all_frames = traceback.extract_tb(trace)
    frames = [each for each in all_frames if _is_user_code(each.filename)] or [*all_frames][-1:]
    shown = [f'  File "{each.filename}", line {each.lineno}, in {each.name}\n    {each.line}' for each in frames]
    if len(shown) > _OUTER_FRAMES + _INNER_FRAMES:
        omitted = len(shown) - _OUTER_FRAMES - _INNER_FRAMES
        shown[_OUTER_FRAMES:-_INNER_FRAMES] = [f"  … {omitted} more …"]
    return shown


def _is_user_code(filename: str) -> bool:
    if filename.startswith((_OWN_FOLDER, "<frozen")):
        return False
    return not filename.startswith(_STDLIB) or filename.startswith(_SITE_PACKAGES)
