"""Stable names of modules and functions: the same whether a file is imported, run as a script, or passed to `horae up`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

_MAIN: Final = "__main__"
_PACKAGE: Final = "__init__"


def dotted_name(file: Path) -> str:
    """Return the import name of a file: `jobs.py` is `jobs`; in a package the names of its folders come first."""
    file = file.absolute()
    parts = [] if file.stem == _PACKAGE else [file.stem]
    folder = package_root(file)
    return ".".join([*file.parent.relative_to(folder).parts, *parts])


def package_root(file: Path) -> Path:
    """Return the folder from which the file is imported by its dotted name."""
    folder = file.absolute().parent
    while (folder / f"{_PACKAGE}.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return folder


def function_name(call: Callable[..., Any]) -> str:
    """Return module and qualified name; the qualified name alone for a function typed at an interactive prompt."""
    module, name = _module_name(call), qualified_name(call)
    return name if module is None else f"{module}.{name}"


def qualified_name(call: Callable[..., Any]) -> str:
    return getattr(call, "__qualname__", None) or type(call).__qualname__


def module_identity(call: Callable[..., Any]) -> str:
    """Return the identity of the module that declares a function, comparable between two starts.

    A module in a package is identified by its dotted name, a single file by its path, because many are called `main.py`.
    """
    name = _module_name(call)
    if name is None:
        return _MAIN
    module, file = _module(call), module_file(call)
    is_single_file = "." not in name and not hasattr(module, "__path__")
    return str(file) if is_single_file and file is not None else name


def former_identities(call: Callable[..., Any]) -> tuple[str, ...]:
    """Return other identities that earlier versions gave to the same module, depending on how it was loaded."""
    name, file, current = _module_name(call), module_file(call), module_identity(call)
    return tuple({each for each in (name, None if file is None else str(file)) if each not in (None, current)})


def module_file(call: Callable[..., Any]) -> Path | None:
    file = getattr(_module(call), "__file__", None)
    return None if file is None else Path(file).resolve()


def _module(call: Callable[..., Any]) -> ModuleType | None:
    return sys.modules.get(getattr(call, "__module__", None) or "")


def _module_name(call: Callable[..., Any]) -> str | None:
    name: str = getattr(call, "__module__", None) or "?"
    if name != _MAIN:
        return name
    if _is_interactive(call):
        return None
    main = _module(call)
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name != _MAIN:  # started with `python -m`
        return str(spec.name)
    file = getattr(main, "__file__", None)
    return None if file is None or Path(file).stem == _MAIN else dotted_name(Path(file))


def _is_interactive(call: Callable[..., Any]) -> bool:
    """Whether the function was typed at a prompt, or comes from executed text: neither has a file."""
    code = getattr(inspect.unwrap(call), "__code__", None)
    return code is not None and code.co_filename.startswith("<")
