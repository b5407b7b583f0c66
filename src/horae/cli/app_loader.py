"""Loader of a `Horae` app from a file or module (`jobs.py:app`); every failure is a refusal with one sentence."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from ..app import Horae
from ..app.module_names import dotted_name, package_root
from ..errors import HoraeError
from .messages.operating_refusals import refuse


def load_app(place: str, store: str | None = None) -> Horae:
    """Import the app at `jobs.py`, `jobs.py:app`, `package.module` or `package.module:app`; `store` replaces its own."""
    module_name, _, app_name = place.partition(":")
    module = load_module(module_name)
    app = _get_app(module, place, app_name) if app_name else _get_only_app(module, place)
    # A web app may be configured without an engine; this process runs one.
    app.configure(store=store, engine=True)
    return app


def load_module(place: str) -> ModuleType:
    """Import a file, or a module by its dotted name."""
    is_file = place.endswith(".py") or "/" in place
    return _import_file(Path(place)) if is_file else _import_module(place)


def _import_file(path: Path) -> ModuleType:
    """Import the file under its dotted name: with the names of its packages where it is in one."""
    if not path.is_file():
        raise refuse("no_such_file", path=path)
    name = dotted_name(path)
    if name in sys.modules or not all(part.isidentifier() for part in name.split(".")):
        raise refuse("module_name_taken", name=name, path=path)
    # The folder of the file as well, as with `python file.py`.
    root, folder = str(package_root(path)), str(path.absolute().parent)
    sys.path.insert(0, root)
    if folder != root:
        sys.path.append(folder)
    try:
        return _import_from_package(name, path) if folder != root else _import_single_file(name, path)
    except HoraeError:
        raise
    except (Exception, SystemExit) as error:
        raise refuse("module_failed", place=path, problem=_describe_error(error, path.resolve())) from error


def _import_single_file(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise refuse("no_such_file", path=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _import_from_package(name: str, path: Path) -> ModuleType:
    outermost = sys.modules.get(name.partition(".")[0])
    if outermost is not None and str(package_root(path)) not in {
        str(Path(each).parent) for each in _package_paths(outermost)
    }:
        raise refuse("module_name_taken", name=name, path=path)
    return importlib.import_module(name)


def _package_paths(module: ModuleType) -> list[str]:
    return list(getattr(module, "__path__", ()))


def _import_module(name: str) -> ModuleType:
    """Import the module as `python -m` does, with the current folder on the path."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except HoraeError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise refuse("no_such_module", name=name) from error
        raise refuse("module_failed", place=name, problem=_describe_error(error, None)) from error
    except (Exception, SystemExit) as error:
        raise refuse("module_failed", place=name, problem=_describe_error(error, None)) from error


def _describe_error(error: BaseException, path: Path | None) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.msg} ({Path(error.filename or '?').name}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if path is None or frame.filename == str(path)]
    where = f" ({Path(inside[-1].filename).name}, line {inside[-1].lineno})" if inside else ""
    return f"{type(error).__name__}: {error}{where}"


def _get_app(module: ModuleType, place: str, app_name: str) -> Horae:
    found = getattr(module, app_name, None)
    if not isinstance(found, Horae):
        raise refuse("not_an_app", place=place, name=app_name)
    return found


def _get_only_app(module: ModuleType, place: str) -> Horae:
    apps = {id(value): (name, value) for name, value in vars(module).items() if isinstance(value, Horae)}
    if not apps:
        raise refuse("no_app", place=place)
    if len(apps) > 1:
        names = sorted(name for name, _ in apps.values())
        raise refuse("several_apps", place=place, names=", ".join(names), first=names[0])
    ((_, app),) = apps.values()
    return app
