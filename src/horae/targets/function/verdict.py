"""What became of a call: the outcome that a returned value or a raised exception stands for."""

from __future__ import annotations

import os
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from inspect import iscoroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from ...model.limits import ERROR_CHARACTERS, NOTE_CHARACTERS, shortened
from ...model.outcome import Failed, Outcome, Skipped, Succeeded
from .arguments.encode import encode_result
from .signals import Fail, Retry, Skip
from .storable_text import kept

_OURS: Final = str(Path(__file__).parent) + os.sep
_LIBRARY: Final = sysconfig.get_path("stdlib") + os.sep
_INSTALLED: Final = (sysconfig.get_path("purelib") + os.sep, sysconfig.get_path("platlib") + os.sep)
_OUTER_FRAMES: Final = 3
_INNER_FRAMES: Final = 5
_CAUSES: Final = 3
_QUIET: Final = Succeeded()


def outcome_of(call: Callable[[], Any]) -> Outcome:
    """Call it, and answer with an outcome whatever happens: for threads and child processes, where nothing may escape."""
    try:
        return returned(call())
    except BaseException as error:  # noqa: BLE001 - SystemExit in a function must not end its node
        return raised(error)


def returned(value: Any) -> Outcome:
    if value is None:
        return _QUIET
    if iscoroutine(value):
        value.close()
        return Failed("it returned a coroutine that nobody awaits; register the async function itself", permanent=True)
    return Succeeded(encode_result(value))


def raised(error: BaseException) -> Outcome:
    try:
        return _verdict(error)
    except BaseException as worse:  # noqa: BLE001 - whatever a foreign exception raises when it is looked at
        return Failed(f"{type(error).__name__}, which cannot be told: {type(worse).__name__}")


def _verdict(error: BaseException) -> Outcome:
    leaves = list(_leaves(error))
    if all(isinstance(each, Skip) for each in leaves):
        return Skipped(kept("; ".join(filter(None, (in_words(each) for each in leaves))), NOTE_CHARACTERS))
    permanent = any(isinstance(each, Fail) for each in leaves)
    waits = [each.after for each in leaves if isinstance(each, Retry) and each.after is not None]
    return Failed(
        kept(_told(error, leaves), ERROR_CHARACTERS),
        permanent=permanent,
        retry_after=max(waits) if waits and not permanent else None,
    )


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The exceptions themselves, where a task group has wrapped several into one."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


def _told(error: BaseException, leaves: list[BaseException]) -> str:
    headline = (
        in_words(error) if leaves == [error] else "; ".join([in_words(error), *(in_words(each) for each in leaves)])
    )
    if all(isinstance(each, Retry | Fail) for each in leaves):
        return headline
    return "\n".join([headline, *_frames(leaves[0].__traceback__)])


def in_words(error: BaseException) -> str:
    """`ValueError: text`, with what caused it; a verdict speaks in its own words."""
    told = [_own_words(error)]
    cause = error.__cause__
    while cause is not None and len(told) <= _CAUSES:
        told.append(f"caused by {_own_words(cause)}")
        cause = cause.__cause__
    return ", ".join(told)


def _own_words(error: BaseException) -> str:
    match error:
        case Skip():
            return _said(error.reason)
        case Retry():
            return _said(error.reason) or "it asked to be tried again"
        case Fail():
            return _said(error.reason) or "it gave up"
        case _:
            # Cut at once: of a message that fills the memory, no second copy is made.
            return shortened("".join(traceback.format_exception_only(error)), ERROR_CHARACTERS).strip()


def _said(reason: object) -> str:
    """A verdict counts also when its reason cannot be told."""
    try:
        return shortened(str(reason), ERROR_CHARACTERS)
    except BaseException as error:  # noqa: BLE001 - it may be any object, and raise anything
        return f"<{type(reason).__name__} that cannot be shown: {type(error).__name__}>"


def _frames(trace: TracebackType | None) -> list[str]:
    """Where it happened, in the user's own files; the innermost frame where there is none of those."""
    every = traceback.extract_tb(trace)
    frames = [each for each in every if _is_theirs(each.filename)] or [*every][-1:]
    shown = [f'  File "{each.filename}", line {each.lineno}, in {each.name}\n    {each.line}' for each in frames]
    if len(shown) > _OUTER_FRAMES + _INNER_FRAMES:
        left_out = len(shown) - _OUTER_FRAMES - _INNER_FRAMES
        shown[_OUTER_FRAMES:-_INNER_FRAMES] = [f"  … {left_out} more …"]
    return shown


def _is_theirs(filename: str) -> bool:
    if filename.startswith((_OURS, "<frozen")):
        return False
    return not filename.startswith(_LIBRARY) or filename.startswith(_INSTALLED)
