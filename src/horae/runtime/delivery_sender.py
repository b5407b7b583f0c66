"""Sender of deliveries of a process, from the settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ..agents.delivery.sender import DeliverySender
from ..clock import Clock
from ..model.agents.delivery import UncertainPolicy
from ..model.refusals import refuse
from ..ports.channel import Channel
from ..ports.full_store import FullStore
from ..settings import Settings

_NAME = "delivery_uncertain"


def read_uncertain_policy(settings: Settings) -> UncertainPolicy:
    """Return what happens to a text that a service did not confirm; refuses an unknown word."""
    text = str(settings.value(_NAME)).strip().lower()
    try:
        return UncertainPolicy(text)
    except ValueError:
        raise refuse("bad_choice", name=_NAME, value=text, allowed=", ".join(UncertainPolicy)) from None


def make_delivery_sender(
    store: FullStore,
    clock: Clock,
    settings: Settings,
    held: Mapping[str, Channel],
    known: Callable[[], Collection[str]],
) -> DeliverySender:
    """Return the sender for the channels that this process holds; `known` returns the names of all channels."""
    return DeliverySender(store, held, clock, known, read_uncertain_policy(settings))
