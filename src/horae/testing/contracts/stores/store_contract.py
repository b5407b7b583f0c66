"""The whole contract of a store, chapter by chapter."""

from __future__ import annotations

from .claims.backlog import BacklogContract
from .claims.claims import ClaimingContract
from .claims.decision_facts import DecidingContract
from .claims.fencing import FencingContract
from .claims.lanes import LanesContract
from .claims.nodes import NodesContract
from .claims.routes import DoorsContract
from .claims.run_deduplication import BirthsContract
from .reads.counts import CountsContract
from .reads.events import FeedContract
from .reads.id_prefixes import IdPrefixContract
from .reads.labels import LabelsContract
from .reads.ledger import LedgerContract
from .reads.output_bytes import OutputBytesContract
from .reads.overview import GlancesContract
from .reads.tasks import TasksContract
from .writes.atomicity import AtomicityContract
from .writes.attached_records import BesideContract
from .writes.maintenance import UpkeepContract
from .writes.precision import PrecisionContract
from .writes.retention import RetentionContract
from .writes.shared_transactions import SharingContract
from .writes.task_deletion import DeletingContract
from .writes.task_keys import KeysContract
from .writes.transfer import MovingContract


class StoreContract(
    ClaimingContract,
    BacklogContract,
    DecidingContract,
    FencingContract,
    AtomicityContract,
    BesideContract,
    BirthsContract,
    LanesContract,
    NodesContract,
    TasksContract,
    KeysContract,
    LabelsContract,
    DeletingContract,
    LedgerContract,
    IdPrefixContract,
    FeedContract,
    RetentionContract,
    PrecisionContract,
    DoorsContract,
    GlancesContract,
    CountsContract,
    OutputBytesContract,
    UpkeepContract,
    MovingContract,
    SharingContract,
):
    """A subclass gives `make`, and `another` wherever data outlives an object."""
