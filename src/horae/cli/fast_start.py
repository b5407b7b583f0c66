"""Spares commands a tenth of a second: typer loads a validation library for values that are right as they stand."""

from __future__ import annotations

from typing import Any, Final

_TEXTS: Final = (str, str | None, list[str], list[str] | None)


class UnwrappedParameters:
    """Takes the place of typer's conversion of one parameter; whatever is not plainly right is handed on to that."""

    def __init__(self, parameter: Any) -> None:
        self._parameter = parameter

    def coerce(self, value: Any, **context: Any) -> Any:
        if value is None or value == self._parameter.default:
            return value
        if self._parameter.type_descriptor.annotation in _TEXTS and isinstance(value, str):
            return value
        self._parameter._runtime_param = None  # noqa: SLF001 - typer makes its own where there is none
        return self._parameter.get_runtime_param().coerce(value, **context)


def spare(parameters: list[Any]) -> list[Any]:
    """The parameters themselves. An optimisation only: where typer is built otherwise, nothing happens."""
    for parameter in parameters:
        if getattr(parameter, "_runtime_param", "none") is None and hasattr(parameter, "type_descriptor"):
            parameter._runtime_param = UnwrappedParameters(parameter)  # noqa: SLF001
    return parameters
