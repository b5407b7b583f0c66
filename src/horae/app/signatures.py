"""Converts a function's argument binding to the signature stored for other processes: names, type texts, JSON types."""

from __future__ import annotations

from ..service.tasks.function_records import Argument, Signature
from ..targets.function.arguments.binding import Binding


def signature_of(binding: Binding) -> Signature:
    arguments = tuple(
        Argument(name, part.required, part.converter.expected, part.converter.accepts)
        for name, part in binding.fields.items()
    )
    return Signature(arguments, binding.rest is not None)
