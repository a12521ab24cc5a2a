"""Which threads of a block of known shape run what: conditions and iterations of loops, evaluated for each of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, Branch, Loop, Node
from smem_lsp.ir.walks import Descent


class RunningThreads(Descent[Evaluator]):
    """``access`` is told which threads make it, once for each iteration. An arm that nobody takes is left out."""

    def __init__(self, values: ValueFacts) -> None:
        self.values = values

    @abstractmethod
    def access(self, node: Access, threads: Evaluator) -> None: ...

    @abstractmethod
    def iterations(self, node: Loop, threads: Evaluator) -> Iterable[Evaluator]: ...

    def undecided(self, threads: Evaluator) -> Evaluator | None:
        """Who takes either arm of a branch of which that is not known."""
        return None

    def step(self, node: Node, threads: Evaluator) -> Evaluator | None:
        if isinstance(node, Access):
            self.access(node, threads)
        return threads

    def branch(self, node: Branch, threads: Evaluator) -> Evaluator | None:
        condition = self.values.conditions.get(node.point)
        taken = None if condition is None else threads.values(condition)
        for arm, truth in ((node.then, True), (node.otherwise, False)):
            if taken is None:
                self.seq(arm.items, self.undecided(threads))
            else:
                self.seq(arm.items, threads.of([bool(each) is truth for each in taken]))
        return threads
