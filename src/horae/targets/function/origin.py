"""Where a function can be found again by another process: a module and a name in it, never a pickled object."""

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


def being_loaded() -> bool:
    """Whether a module is only loaded again to find a function in it: what it starts by itself must not start twice."""
    return bool(_loading)


class Origin(NamedTuple):
    module: str
    qualname: str
    path: str | None


def origin_of(call: Callable[..., Any]) -> Origin | None:
    """None for what only this process knows: lambdas, functions in functions, bound methods, partials, notebooks."""
    module, qualname = getattr(call, "__module__", None), getattr(call, "__qualname__", "<")
    if not inspect.isroutine(call) or not module or "<" in qualname:
        return None
    held_by = getattr(call, "__self__", None)
    if held_by is not None and not isinstance(held_by, type | ModuleType):
        return None
    home = sys.modules.get(module)
    path = getattr(home, "__file__", None)
    absolute = None if path is None else str(Path(path).absolute())
    if module != "__main__":
        return Origin(module, qualname, absolute)
    spec = getattr(home, "__spec__", None)
    if spec is not None:  # started with `python -m`
        return Origin(spec.name, qualname, absolute)
    return None if absolute is None else Origin(_SCRIPT, qualname, absolute)


def load(origin: Origin) -> Callable[..., Any]:
    """The function again. Raises whatever its module raises."""
    _loading.append(origin)
    try:
        found: Any = reduce(getattr, origin.qualname.split("."), _module(origin))
    finally:
        _loading.pop()
    # A decorator may leave an object of its own where the function was; what it wraps is what was registered.
    while not inspect.isroutine(found) and hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    if not callable(found):
        raise TypeError(f"{origin.module}.{origin.qualname} is not a function any more")
    return found  # type: ignore[no-any-return]


def _module(origin: Origin) -> ModuleType:
    path = None if origin.path is None else Path(origin.path)
    if origin.module != _SCRIPT:
        try:
            found = importlib.import_module(origin.module)
        except ModuleNotFoundError as error:
            if path is None or not origin.module.startswith(error.name or "\0"):
                raise
        else:
            # The same name may lead to another file here, when the first one was loaded by its path.
            if path is None or Path(found.__file__ or "").absolute() == path:
                return found
    # A name that is taken stays what it is: others have imported it.
    return _from_file(_SCRIPT if origin.module in sys.modules else origin.module, str(path))


def _from_file(name: str, path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file", name=name, path=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
