"""Every state that a component's control can reach, from reset, whatever valid and ready do: and what holds in them.

A node is a state of the control, with three counts kept beside it: the beat of the input vector that comes next, how
many whole vectors were taken and not yet given back, and the beat of the output vector that comes next. In every node
all four values of the input's valid and the output's ready are tried. There are finitely many nodes, so what holds in
each of them, and on each step between them, holds for ever.
"""

from __future__ import annotations

import copy
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from mase_hw.ir import Component, Pipe
from mase_hw.ir.control import Kind, Params, SingleControl, Words
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.control.automaton import Automaton
from mase_hw.prove.control.states import States

MAX_NODES = 400_000
MAX_AHEAD = 4096  # vectors that a component may hold


@dataclass(frozen=True)
class ControlNode:
    """Between two clock edges."""

    state: int
    in_beat: int  # which comes next
    ahead: int  # whole vectors taken, whose outputs are not all given
    out_beat: int


@dataclass
class Graph:
    """All nodes, `starts` of them after reset; node `n` with inputs `i = valid + 2 * ready` is entry `width * n + i`.

    Where there is more to choose from than these two (staged.py), `i` goes on from 4 with what is chosen next.
    """

    nodes: list[ControlNode] = field(default_factory=list)
    starts: int = 1
    width: int = 4
    next: array[int] = field(default_factory=lambda: array("q"))
    boundary: list[int] = field(default_factory=list)
    takes: bytearray = field(default_factory=bytearray)
    gives: bytearray = field(default_factory=bytearray)
    valid: bytearray = field(default_factory=bytearray)  # of the output, by node


_last: tuple[object, Graph] | None = None  # a mutation run proves many netlists in a row that share their control


def explore(component: Component, automaton: Automaton) -> Graph:
    """All nodes; raises where a rule of the streams is broken or a cycle is not as predicted."""
    global _last
    walk = _Walk(component, automaton)
    if _last is None or _last[0] != walk.key:
        _last = walk.key, _explored(automaton, walk)
    return _last[1]


def _explored(automaton: Automaton, walk: _Walk) -> Graph:
    def moves(node: ControlNode, model: SingleControl) -> Iterator[Move[SingleControl]]:
        for inputs, (state, boundary) in enumerate(automaton.steps(node.state)):
            yield walk.step(node, model, state, boundary, inputs)

    return gone_through(automaton.starts, walk.model, moves)


class Stateful(Protocol):
    """A model, or a part of one."""

    def state(self) -> tuple[int, ...]: ...


M = TypeVar("M", bound=Stateful)
Move = tuple[ControlNode, M, int, int, int, int]  # the next node and model; boundary, valid, takes, gives


def gone_through(
    starts: Sequence[int], model: M, moves: Callable[[ControlNode, M], Iterable[Move[M]]], width: int = 4
) -> Graph:
    """All nodes that moves lead to from these states, with a model that runs along."""
    graph = Graph(width=width)
    graph.nodes += [ControlNode(start, 0, 0, 0) for start in starts]
    graph.starts = len(graph.nodes)
    number = {(node, model.state()): n for n, node in enumerate(graph.nodes)}
    models: list[M | None] = [model] * graph.starts
    states = States(MAX_NODES)
    for n, node in enumerate(graph.nodes):  # which grows meanwhile
        its = models[n]
        assert its is not None
        states.add((node.in_beat, node.ahead, node.out_beat, its.state()))
        models[n] = None  # its only use
        valid = -1
        for after, then, boundary, out_valid, takes, gives in moves(node, its):
            if valid not in (-1, out_valid):
                raise NotProvedError("data_out_0_valid waits for data_out_0_ready", refuted=True)
            valid = out_valid
            key = (after, then.state())
            if key not in number:
                number[key] = len(graph.nodes)
                graph.nodes.append(after)
                models.append(then)
            graph.next.append(number[key])
            graph.boundary.append(boundary)
            graph.takes.append(takes)
            graph.gives.append(gives)
        graph.valid.append(valid)
    return graph


def counted(node: ControlNode, state: int, takes: int, gives: int, in_beats: int, out_beats: int) -> ControlNode:
    """The next node, after what moved."""
    in_beat, ahead, out_beat = node.in_beat + takes, node.ahead, node.out_beat + gives
    if in_beat == in_beats:
        in_beat, ahead = 0, ahead + 1
    if out_beat == out_beats:
        out_beat, ahead = 0, ahead - 1
    if ahead < 0:
        raise NotProvedError("a vector is given that was not taken", refuted=True)
    if ahead > MAX_AHEAD:
        raise NotProvedError("vectors are taken and never given back", refuted=True)
    return ControlNode(state, in_beat, ahead, out_beat)


class _Walk:
    """One clock edge, with the checks that belong to it."""

    def __init__(self, component: Component, automaton: Automaton) -> None:
        self.automaton = automaton
        self.pipe = isinstance(component, Pipe)
        self.in_beats, self.out_beats = component.input.beats, component.output.beats
        self.model = FreePipe(component.latency) if self.pipe else _single(component)
        self.valid_bit = bit_of(automaton, "data_out_0_valid")
        self.ready_bit = -1 if self.pipe else bit_of(automaton, "data_in_0_ready")

    @property
    def key(self) -> object:
        """All that a graph depends on."""
        model = told(self.model)
        return self.automaton.key, self.pipe, self.in_beats, self.out_beats, model, self.valid_bit, self.ready_bit

    def step(
        self, node: ControlNode, model: SingleControl, state: int, boundary: int, inputs: int
    ) -> Move[SingleControl]:
        """`state` and `boundary` are what the netlist gives for the inputs, `valid + 2 * ready`."""
        v, r = inputs & 1, inputs >> 1
        valid = (boundary >> self.valid_bit) & 1
        ready = r if self.pipe else (boundary >> self.ready_bit) & 1
        if valid != model.valid or ready != model.ready(bool(r)):
            said = f"valid {int(model.valid)}, ready {int(model.ready(bool(r)))}"
            raise NotProvedError(
                f"valid {valid}, ready {ready} where {said} was predicted: {model.state()}", refuted=True
            )
        takes, gives = v & ready, valid & r
        then = cloned(model)
        then.tick(bool(takes), bool(r))
        after = counted(node, state, takes, gives, self.in_beats, self.out_beats)
        if valid and not r and not then.valid:
            raise NotProvedError("data_out_0_valid falls before data_out_0_ready", refuted=True)
        return after, then, boundary, valid, takes, gives


def bit_of(automaton: Automaton, port: str) -> int:
    """Where the port is among the bits that a step gives."""
    net = automaton.netlist.ports[port][0]
    if net not in automaton.boundary_bit:  # a constant
        raise NotProvedError(f"{port} is always {net}", refuted=net == "0")
    return automaton.boundary_bit[net]


def check_progress(graph: Graph, *, pipe: bool) -> tuple[int, int]:
    """No deadlock: how many cycles may pass, at the most, in which no beat moves though one could be expected to.

    First, while an input beat is offered and no output is: whatever ready does, such cycles come to an end. Second,
    while a whole vector is inside and no input is offered: the output comes without one. Of a pipe, this is so while it
    is enabled.
    """
    readies = (2,) if pipe else (0, 2)
    offered = [(n, graph.next[4 * n + i]) for n in range(len(graph.nodes)) if not graph.valid[n]
               for i in (1 + ready for ready in readies) if not graph.takes[4 * n + i]]  # fmt: skip
    owed = [(n, graph.next[4 * n + i]) for n, node in enumerate(graph.nodes) if not graph.valid[n] and node.ahead
            for i in readies]  # fmt: skip
    return longest(offered, "an input beat is never taken"), longest(owed, "a vector never comes out")


def longest(edges: Iterable[tuple[int, int]], what: str) -> int:
    """The longest path along these edges, which are no circle."""
    leads: dict[int, set[int]] = {}
    into: dict[int, int] = {}
    for a, b in edges:
        if b not in leads.setdefault(a, set()):
            leads[a].add(b)
            into[b] = into.get(b, 0) + 1
    length = {n: 0 for n in leads if not into.get(n)}
    todo, done = list(length), 0
    while todo:
        n = todo.pop()
        done += 1
        for m in leads.get(n, ()):
            length[m] = max(length.get(m, 0), length[n] + 1)
            into[m] -= 1
            if not into[m]:
                todo.append(m)
    if done < len({*leads, *into}):
        raise NotProvedError(f"{what}: the control goes in a circle", refuted=True)
    return max(length.values(), default=0)


class FreePipe(SingleControl):
    """A pipe by itself: its registers move when `enable`, here the output's ready, is high."""

    def __init__(self, stages: int) -> None:
        super().__init__(Kind("free pipe", _last_stage, _enabled, _shifted), (), stages)


def _last_stage(s: Words, p: Params) -> int:
    return s[-1]


def _enabled(s: Words, p: Params, offered: int, outs: int) -> int:
    return outs


def _shifted(s: Words, p: Params, takes: int, outs: int) -> None:
    if outs:
        s[:] = [takes, *s[:-1]]


def _single(component: Component) -> SingleControl:
    control = component.control()
    assert isinstance(control, SingleControl)
    return control


def told(model: object) -> object:
    """A model's type, parameters and registers: the same for models that do the same."""
    return type(model), tuple(sorted((name, repr(value)) for name, value in vars(model).items()))


P = TypeVar("P")


def cloned(model: P) -> P:
    """A copy with lists of its own."""
    found = copy.copy(model)
    for name, value in vars(model).items():
        if isinstance(value, list):
            setattr(found, name, list(value))
    return found
