"""The converter of an annotation. Built once, when a function is registered."""

from __future__ import annotations

import types
from enum import Enum
from typing import Annotated, Any, Literal, NewType, NotRequired, Required, TypeVar, Union, get_args, get_origin

from .choices import enumeration, literal, union
from .containers import container
from .converter import Converter, UnsupportedError, type_name
from .scalars import SCALARS
from .structures import structure


def converter_for(annotation: Any) -> Converter:
    """Raises `UnsupportedError` for what JSON cannot say."""
    try:
        if annotation in SCALARS:
            return SCALARS[annotation]
    except TypeError:  # an annotation that cannot be hashed is none of ours
        raise UnsupportedError(type_name(annotation)) from None
    found = _special(annotation) or _general(annotation)
    if found is None:
        raise UnsupportedError(type_name(annotation))
    return found


def _special(annotation: Any) -> Converter | None:
    """What only wraps another type."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Annotated, Required, NotRequired):
        return converter_for(parts[0])
    if isinstance(annotation, NewType):
        return converter_for(annotation.__supertype__)
    if isinstance(annotation, TypeVar):
        return converter_for(annotation.__bound__ or Any)
    if type(annotation).__name__ == "TypeAliasType":  # `type Name = …`, since Python 3.12
        return converter_for(annotation.__value__)
    return None


def _general(annotation: Any) -> Converter | None:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Union or origin is types.UnionType:
        return union(parts, converter_for)
    if origin is Literal:
        return literal(parts)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return enumeration(annotation)
    return container(annotation, origin or annotation, parts, converter_for) or structure(annotation, converter_for)
