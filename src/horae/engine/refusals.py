"""Catalogue of refusals for a starting node: clock skew and a lease duration that differs from the live nodes'."""

from __future__ import annotations

from typing import Final

from ..errors import Conflict, UnfitNode
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "clock_skew": RefusalEntry(
            UnfitNode,
            "This machine's clock says {here}, the store's says {store}: {apart} s apart, and at most {most} s are corrected.",
            "Set this clock right, or the store's (timedatectl, chronyc makestep), and start again; or raise clock_tolerance.",
            "本机时钟为 {here},存储的时钟为 {store}:相差 {apart} 秒,最多只校正 {most} 秒。",
            "请校准本机或存储的时钟(timedatectl、chronyc makestep)后重新启动;或调大 clock_tolerance。",
        ),
        "other_lease": RefusalEntry(
            Conflict,
            "This node has a lease of {mine} s, but those that run on this store have one of {theirs} s: {nodes}.",
            "Start it with --lease {theirs}, or stop the others first: the shorter lease would take over runs that still go on.",
            "此节点的租约为 {mine} 秒,而正在使用此存储的节点的租约为 {theirs} 秒:{nodes}。",
            "请使用 --lease {theirs} 启动,或先停止其他节点:租约较短的节点会接管仍在进行的运行。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
