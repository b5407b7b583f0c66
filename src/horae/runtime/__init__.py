"""Composition root: the only package that names concrete stores and targets.

stores             store and wake-up notifier for a URL     target_kinds     built-in and plug-in target kinds
process_settings   settings from files and environment      service_factory  the service of an opened store
api_service        the HTTP API with its background loops   http_server      uvicorn on a bound socket
"""

from __future__ import annotations

from ..ports.full_store import FullStore
from .stores import DEFAULT_STORE, NoNotifier, make_store, make_wakeup, sqlite_path

__all__ = ["DEFAULT_STORE", "FullStore", "NoNotifier", "make_store", "make_wakeup", "sqlite_path"]
