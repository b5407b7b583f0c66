"""Finds the app that a file or a module holds, and says in one sentence what is wrong when there is none."""

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
    """`jobs.py`, `jobs.py:app`, `package.module` or `package.module:app`; `store` in place of the app's own."""
    module_name, _, wanted = place.partition(":")
    if module_name.endswith(".py") or "/" in module_name:
        module = _from_file(Path(module_name))
    else:
        module = _by_name(module_name)
    app = _named(module, place, wanted) if wanted else _only(module, place)
    # A web app may leave the engine to whoever runs it, and that is us.
    app.configure(store=store, engine=True)
    return app


def _from_file(path: Path) -> ModuleType:
    """Under the name by which it is imported: a file in a package has the package's name before its own."""
    if not path.is_file():
        raise refuse("no_such_file", path=path)
    name = dotted_name(path)
    if name in sys.modules or not all(part.isidentifier() for part in name.split(".")):
        raise refuse("module_name_taken", name=name, path=path)
    # The file's own folder as well, as `python file.py` would have it.
    root, folder = str(package_root(path)), str(path.absolute().parent)
    sys.path.insert(0, root)
    if folder != root:
        sys.path.append(folder)
    try:
        return _in_package(name, path) if folder != root else _single(name, path)
    except HoraeError:
        raise
    except (Exception, SystemExit) as error:
        raise refuse("module_failed", place=path, problem=_problem(error, path.resolve())) from error


def _single(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise refuse("no_such_file", path=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _in_package(name: str, path: Path) -> ModuleType:
    outermost = sys.modules.get(name.partition(".")[0])
    if outermost is not None and str(package_root(path)) not in {str(Path(each).parent) for each in _places(outermost)}:
        raise refuse("module_name_taken", name=name, path=path)
    return importlib.import_module(name)


def _places(module: ModuleType) -> list[str]:
    return list(getattr(module, "__path__", ()))


def _by_name(name: str) -> ModuleType:
    """As `python -m` would find it: from the folder that we are in."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except HoraeError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise refuse("no_such_module", name=name) from error
        raise refuse("module_failed", place=name, problem=_problem(error, None)) from error
    except (Exception, SystemExit) as error:
        raise refuse("module_failed", place=name, problem=_problem(error, None)) from error


def _problem(error: BaseException, path: Path | None) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.msg} ({Path(error.filename or '?').name}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if path is None or frame.filename == str(path)]
    where = f" ({Path(inside[-1].filename).name}, line {inside[-1].lineno})" if inside else ""
    return f"{type(error).__name__}: {error}{where}"


def _named(module: ModuleType, place: str, wanted: str) -> Horae:
    found = getattr(module, wanted, None)
    if not isinstance(found, Horae):
        raise refuse("not_an_app", place=place, name=wanted)
    return found


def _only(module: ModuleType, place: str) -> Horae:
    apps = {id(value): (name, value) for name, value in vars(module).items() if isinstance(value, Horae)}
    if not apps:
        raise refuse("no_app", place=place)
    if len(apps) > 1:
        names = sorted(name for name, _ in apps.values())
        raise refuse("several_apps", place=place, names=", ".join(names), first=names[0])
    ((_, app),) = apps.values()
    return app
