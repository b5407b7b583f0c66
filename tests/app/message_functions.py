"""A function that a child process can import."""

from __future__ import annotations

from horae import Context


def isolated(context: Context) -> None:
    context.messages.send("chat:1", "hello")
