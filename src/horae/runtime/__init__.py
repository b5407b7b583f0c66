"""The composition root: the only room that names concrete stores and targets.

stores     a store and its ring for a URL        kinds      every kind of target, ours and those of other packages
choosing   settings from files and environment   house      the service of an opened store
"""

from __future__ import annotations

from ..ports.full_store import Keeping
from .stores import DEFAULT_STORE, NoRing, make_store, make_wakeup, sqlite_path

__all__ = ["DEFAULT_STORE", "Keeping", "NoRing", "make_store", "make_wakeup", "sqlite_path"]
