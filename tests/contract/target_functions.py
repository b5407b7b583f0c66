"""Functions for the target contract, importable by child processes."""

from __future__ import annotations

import threading

from horae import Context


def succeed(context: Context) -> dict[str, str]:
    return {"key": context.key}


def fail() -> None:
    raise ValueError("it hurts")


def never_end(context: Context) -> None:
    context.log.info("ready")
    threading.Event().wait()


def talk() -> str:
    for _ in range(3_000):
        print("é" * 5_000)  # noqa: T201 - the point
    return "x" * 1_000_000
