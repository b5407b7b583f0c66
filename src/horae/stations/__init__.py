"""Stations: programs that connect to a node over ZeroMQ, receive the calls of tasks and plans, and answer them."""

from .publisher import Publisher, PublishRefused, ResultMessage, Results
from .station import Context, Failure, Station

__all__ = ["Context", "Failure", "PublishRefused", "Publisher", "ResultMessage", "Results", "Station"]
