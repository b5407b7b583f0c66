"""All use cases of one deployment, as a front end holds them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from ..clock import Clock
from ..model.task import Target
from ..ports.keeping import Keeping
from .bulk import Bulk
from .code import Code
from .feed import Events
from .lanes import Lanes
from .ledger import Ledger
from .nodes import Nodes
from .outages import Outages
from .overview import Overviews
from .runs import Runs
from .secrets import SecretBox
from .tasks import Tasks


class Service:
    """`check` looks at targets, `told` hears of every write; both belong to whoever composes this."""

    def __init__(
        self,
        store: Keeping,
        clock: Clock,
        zone: str | None,
        secrets: SecretBox,
        *,
        check: Callable[[Target, str], Target] = lambda target, _payload: target,
        told: Callable[[datetime | None], None] = lambda _due: None,
    ) -> None:
        self.store = store
        self.zone = zone
        self.secrets = secrets
        self.tasks = Tasks(store, clock, zone, told, check=check)
        self.runs = Runs(store, store, clock, told)
        self.outages = Outages(store, store, clock)
        self.ledger = Ledger(store, clock, self.outages)
        self.overview = Overviews(store, clock)
        self.events = Events(store)
        self.lanes = Lanes(store, told)
        self.nodes = Nodes(store, clock, told)
        self.bulk = Bulk(self.tasks)
        self.code = Code(self.tasks, store, store)
