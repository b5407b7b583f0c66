"""The complete store contract, composed of the contracts by subject."""

from __future__ import annotations

from .claims.backlog import BacklogContract
from .claims.batch_decisions import BatchDecisionsContract
from .claims.chains import ChainsContract
from .claims.claims import ClaimsContract
from .claims.decision_facts import DecisionFactsContract
from .claims.fencing import FencingContract
from .claims.gates import GatesContract
from .claims.idle_runs import IdleRunsContract
from .claims.lanes import LanesContract
from .claims.nodes import NodesContract
from .claims.plans import PlansContract
from .claims.rates import RatesContract
from .claims.route_queues import RouteQueuesContract
from .claims.routes import RoutesContract
from .claims.run_deduplication import RunDeduplicationContract
from .claims.run_inputs import RunInputContract
from .claims.start_deadlines import StartDeadlineContract
from .reads.counts import CountsContract
from .reads.events import EventsContract
from .reads.id_prefixes import IdPrefixContract
from .reads.labels import LabelsContract
from .reads.ledger import LedgerContract
from .reads.output_bytes import OutputBytesContract
from .reads.overview import OverviewContract
from .reads.system_tasks import SystemTasksContract
from .reads.tasks import TasksContract
from .writes.atomicity import AtomicityContract
from .writes.attached_records import AttachedRecordsContract
from .writes.handled_messages import HandledMessagesContract
from .writes.maintenance import MaintenanceContract
from .writes.messages import MessagesContract
from .writes.owner_transfer import OwnerTransferContract
from .writes.precision import PrecisionContract
from .writes.retention import RetentionContract
from .writes.shared_transactions import ConnectionCheckContract
from .writes.task_deletion import TaskDeletionContract
from .writes.task_keys import TaskKeysContract
from .writes.transfer import TransferContract


class StoreContract(
    ClaimsContract,
    BacklogContract,
    BatchDecisionsContract,
    DecisionFactsContract,
    FencingContract,
    AtomicityContract,
    AttachedRecordsContract,
    RunDeduplicationContract,
    RunInputContract,
    LanesContract,
    IdleRunsContract,
    RatesContract,
    StartDeadlineContract,
    ChainsContract,
    GatesContract,
    PlansContract,
    NodesContract,
    TasksContract,
    TaskKeysContract,
    LabelsContract,
    TaskDeletionContract,
    LedgerContract,
    IdPrefixContract,
    EventsContract,
    RetentionContract,
    PrecisionContract,
    RouteQueuesContract,
    RoutesContract,
    OverviewContract,
    CountsContract,
    OutputBytesContract,
    SystemTasksContract,
    MaintenanceContract,
    MessagesContract,
    HandledMessagesContract,
    OwnerTransferContract,
    TransferContract,
    ConnectionCheckContract,
):
    """A subclass implements `make`, and `another` where data outlives the object."""
