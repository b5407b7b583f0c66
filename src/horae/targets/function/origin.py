"""Import location of a function (module, qualified name, file), with which a child process imports it; never pickle."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

_SCRIPT: Final = "__horae_script__"
"""The name under which a script is loaded again, so that its `if __name__ == "__main__"` stays quiet."""

_loading: Final[list[Origin]] = []


def is_loading() -> bool:
    """Whether a module is being imported only to find a function in it: an app in that module must not start."""
    return bool(_loading)


class Origin(NamedTuple):
    module: str
    qualname: str
    path: str | None


def origin_of(call: Callable[..., Any]) -> Origin | None:
    """Return the location; None for what other processes cannot import: lambdas, nested functions, bound methods,
    partials, notebooks."""
    module, qualname = getattr(call, "__module__", None), getattr(call, "__qualname__", "<")
    if not inspect.isroutine(call) or not module or "<" in qualname:
        return None
    bound_to = getattr(call, "__self__", None)
    if bound_to is not None and not isinstance(bound_to, type | ModuleType):
        return None
    defining_module = sys.modules.get(module)
    path = getattr(defining_module, "__file__", None)
    absolute = None if path is None else str(Path(path).absolute())
    if module != "__main__":
        return Origin(module, qualname, absolute)
    spec = getattr(defining_module, "__spec__", None)
    if spec is not None:  # started with `python -m`
        return Origin(spec.name, qualname, absolute)
    return None if absolute is None else Origin(_SCRIPT, qualname, absolute)


def import_function(origin: Origin) -> Callable[..., Any]:
    """Import the function. Raises whatever its module raises."""
    _loading.append(origin)
    try:
        function: Any = reduce(getattr, origin.qualname.split("."), _import_module(origin))
    finally:
        _loading.pop()
    # A decorator may have replaced the function by a wrapper object; the wrapped function is the registered one.
    while not inspect.isroutine(function) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if not callable(function):
        raise TypeError(f"{origin.module}.{origin.qualname} is not a function any more")
    return function  # type: ignore[no-any-return]


def _import_module(origin: Origin) -> ModuleType:
    path = None if origin.path is None else Path(origin.path)
    if origin.module != _SCRIPT:
        try:
            module = importlib.import_module(origin.module)
        except ModuleNotFoundError as error:
            if path is None or not origin.module.startswith(error.name or "\0"):
                raise
        else:
            # The name may belong to another file in this process, if the node loaded its module by path.
            if path is None or Path(module.__file__ or "").absolute() == path:
                return module
    # A module that is imported under this name already is not replaced: other modules use it.
    return _from_file(_SCRIPT if origin.module in sys.modules else origin.module, str(path))


def _from_file(name: str, path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file", name=name, path=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
