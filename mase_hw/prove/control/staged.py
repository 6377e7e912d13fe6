"""A component with a pipeline inside: its head and its tail are gone through one after the other, not together.

The line between them is found by its structure (line.py): what comes out of it is what went in, `depth` enabled cycles
before. The head sees nothing of the rest but `enable`, so it is gone through with every valid and every enable. Each
step that it issues, and each cycle without one, gives marks, which are noted. The tail sees of the rest only what comes
out of the line, so it is gone through with every ready, and in every state with the marks of the step that comes next
and with those of no step. This is more than can happen, and so what holds in all of it holds. A part of the model that
predicts cycles runs along with either (`ir/staged.py`). docs/proof.md has the argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mase_hw.ir import Component
from mase_hw.ir.staged import Head, StagedControl, Tail
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.control.automaton import Automaton
from mase_hw.prove.control.explore import ControlNode, Graph, Move, bit_of, cloned, counted, gone_through, longest
from mase_hw.prove.control.flow import Flow
from mase_hw.prove.control.line import Line, find_line
from mase_hw.prove.netlist.netlist import Netlist
from mase_hw.prove.words.machine import Evaluator
from mase_hw.prove.words.reference import Reference
from mase_hw.prove.words.symbolic import Values
from mase_hw.prove.words.truths import Exhausted

Mark = tuple[int, int]  # of the netlist, and of the model


@dataclass(frozen=True)
class Staged:
    """Head and tail, and everything that they can do."""

    line: Line
    steps: int  # of a vector
    head: Automaton
    tail: Automaton
    head_graph: Graph
    tail_graph: Graph

    @property
    def states(self) -> str:
        ends = f"all {len(self.head_graph.nodes):,} states of its head and {len(self.tail_graph.nodes):,} of its tail"
        return f"{ends}, with {self.line.depth} levels between them that hand on what they take"

    def progress(self) -> tuple[int, int]:
        """Two numbers as `check_progress` gives them, of which the second may be less.

        While nothing is offered, every cycle is enabled. So a vector that is in the head comes to be issued, is in the
        tail `depth` cycles later, and comes out of that.
        """
        head, tail = self.head_graph, self.tail_graph
        enable = bit_of(self.tail, "data_in_0_ready")
        for entry, boundary in enumerate(tail.boundary):
            if not tail.valid[entry // tail.width] and not (boundary >> enable) & 1:
                raise NotProvedError("the pipeline stops while nothing is offered")
        offered = [(n, head.next[4 * n + 3]) for n in range(len(head.nodes)) if not head.takes[4 * n + 3]]
        issued = [
            (n, head.next[4 * n + 2])
            for n, node in enumerate(head.nodes)
            if node.ahead and not (head.gives[4 * n + 2] and node.out_beat == self.steps - 1)
        ]
        owed = [
            (n, tail.next[tail.width * n + i])
            for n, node in enumerate(tail.nodes)
            for i in range(tail.width)
            if node.ahead and not tail.valid[n]
        ]
        inside = longest(issued, "a step is never issued") + 1 + self.line.depth  # then all its steps are in the tail
        late = inside + longest(owed, "a vector never comes out")
        return longest(offered, "an input beat is never taken"), late

    def run(self, reference: Reference | Exhausted) -> None:
        """What every register and memory holds in every state, and the outputs that follow."""
        component, evaluator = reference.component, reference.evaluator
        beats = [reference.input_bits(k) for k in range(component.input.beats)]
        steps = Flow(self.head, self.head_graph, evaluator, beats, self.steps).given()
        held = [self._entered(evaluator, step[len(self.line.entries) :]) for step in steps]
        Flow(self.tail, self.tail_graph, evaluator, held, component.output.beats).run(reference.check_beat)

    def _entered(self, evaluator: Evaluator, bits: Values) -> Values:
        """A step's bits in the registers of the first level."""
        found = list(bits)
        for start, end in self.line.groups:
            found[start:end] = evaluator.gathered(found[start:end])
        return found


def explore_staged(component: Component, netlist: Netlist, model: StagedControl) -> Staged:
    """Head and tail of a component; raises where it is not built so, or where not all is as the model predicts."""
    line = find_line(netlist, model.depth)
    head = Automaton(line.head)
    marks = Marks(line, model.steps)
    steps = _HeadWalk(component, head, line, marks, model.steps)
    head_graph = gone_through(head.starts, model.head, steps.moves)
    tail = Automaton(line.tail)
    gives = _TailWalk(component, tail, marks, model.steps)
    tail_graph = gone_through(tail.starts, model.tail, gives.moves, gives.width)
    return Staged(line, model.steps, head, tail, head_graph, tail_graph)


class Marks:
    """What the head was seen to send into the line."""

    def __init__(self, line: Line, steps: int) -> None:
        self.steps: list[set[Mark]] = [set() for _ in range(steps)]  # with each step of a vector
        self.none: list[set[Mark]] = [{(mark, 0) for mark in line.empty} for _ in range(steps)]  # before each step

    def note(self, step: int, found: Mark, *, issued: bool) -> None:
        (self.steps if issued else self.none)[step].add(found)

    def choices(self) -> list[tuple[list[Mark], list[Mark]]]:
        """Where each step comes next: the marks of no step, and those of the step."""
        if not all(self.steps):
            raise NotProvedError("a step is never issued", refuted=True)
        return [(sorted(none), sorted(step)) for none, step in zip(self.none, self.steps, strict=True)]


class _HeadWalk:
    """One clock edge of the head: inputs are `valid + 2 * enable`, and a step that is issued is what it gives."""

    def __init__(self, component: Component, automaton: Automaton, line: Line, marks: Marks, steps: int) -> None:
        self.automaton, self.entries, self.marks, self.steps = automaton, line.entries, marks, steps
        self.in_beats = component.input.beats
        self.ready_bit = bit_of(automaton, "data_in_0_ready")
        if any(net not in automaton.boundary_bit and net not in ("0", "1") for net in line.entries):
            raise NotProvedError("a mark of the line is not control")

    def moves(self, node: ControlNode, model: Head) -> Iterator[Move[Head]]:
        for inputs, (state, boundary) in enumerate(self.automaton.steps(node.state)):
            v, enable = inputs & 1, inputs >> 1
            ready = (boundary >> self.ready_bit) & 1
            if ready != model.ready(bool(enable)):
                raise NotProvedError(f"ready {ready} was not predicted: {model.state()}")
            mark = model.issue()
            if enable:
                found = self.automaton.value(boundary, self.entries), mark or 0
                self.marks.note(node.out_beat, found, issued=mark is not None)
            takes, gives = v & ready, int(bool(enable) and mark is not None)
            then = cloned(model)
            then.tick(bool(takes), bool(enable))
            yield counted(node, state, takes, gives, self.in_beats, self.steps), then, boundary, 0, takes, gives


class _TailWalk:
    """One clock edge of the tail: inputs are `a step comes + 2 * ready`, and 4 times the number of the marks."""

    def __init__(self, component: Component, automaton: Automaton, marks: Marks, steps: int) -> None:
        self.automaton, self.choices, self.steps = automaton, marks.choices(), steps
        self.out_beats = component.output.beats
        self.valid_bit, self.enable_bit = bit_of(automaton, "data_out_0_valid"), bit_of(automaton, "data_in_0_ready")
        self.width = 4 * max(len(each) for both in self.choices for each in both)

    def moves(self, node: ControlNode, model: Tail) -> Iterator[Move[Tail]]:
        for inputs in range(self.width):
            comes, r = inputs & 1, (inputs >> 1) & 1
            those = self.choices[node.in_beat][comes]
            marks, mark = those[(inputs >> 2) % len(those)]
            state, boundary = self.automaton.steps(node.state, marks)[2 * r]
            valid, enable = (boundary >> self.valid_bit) & 1, (boundary >> self.enable_bit) & 1
            if valid != model.valid or enable != model.enable(mark, bool(r)):
                raise NotProvedError(f"valid {valid}, enable {enable} was not predicted: {model.state()}")
            takes, gives = comes & enable, valid & r
            then = cloned(model)
            then.tick(mark, bool(r))
            if valid and not r and not then.valid:
                raise NotProvedError("data_out_0_valid falls before data_out_0_ready")
            yield counted(node, state, takes, gives, self.steps, self.out_beats), then, boundary, valid, takes, gives
