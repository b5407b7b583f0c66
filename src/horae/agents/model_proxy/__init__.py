"""Model proxy of the host: one unix socket for each run, which forwards to the model endpoint and adds the key."""

from __future__ import annotations

from .factory import ModelAccess, make_model_proxy, open_model_access
from .probe import EndpointState, ProbeResult, probe_model
from .proxy import ModelEndpoint, ModelProxy, ProxyLimits, RunSocket, read_endpoint

__all__ = [
    "EndpointState",
    "ModelAccess",
    "ModelEndpoint",
    "ModelProxy",
    "ProbeResult",
    "ProxyLimits",
    "RunSocket",
    "make_model_proxy",
    "open_model_access",
    "probe_model",
    "read_endpoint",
]
