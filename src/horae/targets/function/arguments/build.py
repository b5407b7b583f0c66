"""Builds the converter of an annotation, once, when a function is registered."""

from __future__ import annotations

import types
from enum import Enum
from typing import Annotated, Any, Literal, NewType, NotRequired, Required, TypeVar, Union, get_args, get_origin

from .containers import container, enumeration, literal, union
from .converter import Converter, UnsupportedError, type_name
from .scalars import SCALARS
from .structures import BuiltConverters, structure


def converter_for(annotation: Any) -> Converter:
    """Return the converter; raises `UnsupportedError` for a type that JSON cannot hold."""
    return _Builder().build(annotation)


class _Builder:
    def __init__(self) -> None:
        self._structures: BuiltConverters = {}

    def build(self, annotation: Any) -> Converter:
        try:
            if annotation in SCALARS:
                return SCALARS[annotation]
        except TypeError:  # an unhashable annotation is not supported
            raise UnsupportedError(type_name(annotation)) from None
        converter = self._build_wrapped(annotation) or self._build_composed(annotation)
        if converter is None:
            raise UnsupportedError(type_name(annotation))
        return converter

    def _build_wrapped(self, annotation: Any) -> Converter | None:
        """Return the converter of a type that only wraps another one."""
        if get_origin(annotation) in (Annotated, Required, NotRequired):
            return self.build(get_args(annotation)[0])
        if isinstance(annotation, NewType):
            return self.build(annotation.__supertype__)
        if isinstance(annotation, TypeVar):
            return self.build(annotation.__bound__ or Any)
        if type(annotation).__name__ == "TypeAliasType":  # `type Name = …`, since Python 3.12
            return self.build(annotation.__value__)
        return None

    def _build_composed(self, annotation: Any) -> Converter | None:
        origin, parts = get_origin(annotation), get_args(annotation)
        if origin is Union or origin is types.UnionType:
            return union(parts, self.build)
        if origin is Literal:
            return literal(parts)
        if isinstance(annotation, type) and issubclass(annotation, Enum):
            return enumeration(annotation)
        converter = container(annotation, origin or annotation, parts, self.build)
        return converter or structure(annotation, self.build, self._structures)
