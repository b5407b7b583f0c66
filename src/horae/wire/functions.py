"""Registered functions to JSON: signature, declared defaults, and the nodes that have them."""

from __future__ import annotations

from typing import Any

from ..service.tasks.function_records import defaults_json, signature_json
from ..service.tasks.functions import KnownFunction
from .instants import utc


def function_json(known: KnownFunction) -> dict[str, Any]:
    registration = known.registration
    return {
        "name": registration.name,
        **signature_json(registration.signature),
        "defaults": defaults_json(registration.defaults),
        "registered": utc(registration.registered),
        "nodes": known.nodes,
        "uniform": known.same_signature and known.same_defaults,
    }
