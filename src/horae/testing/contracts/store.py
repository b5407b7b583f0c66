"""The whole contract of a store, chapter by chapter."""

from __future__ import annotations

from .atomicity import AtomicityContract
from .backlog import BacklogContract
from .beside import BesideContract
from .births import BirthsContract
from .claiming import ClaimingContract
from .counts import CountsContract
from .deciding import DecidingContract
from .deleting import DeletingContract
from .doors import DoorsContract
from .feed import FeedContract
from .fencing import FencingContract
from .glances import GlancesContract
from .id_prefixes import IdPrefixContract
from .keys import KeysContract
from .labels import LabelsContract
from .lanes import LanesContract
from .ledger import LedgerContract
from .moving import MovingContract
from .nodes import NodesContract
from .output_bytes import OutputBytesContract
from .precision import PrecisionContract
from .retention import RetentionContract
from .tasks import TasksContract
from .upkeep import UpkeepContract
from .using import SharingContract


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
