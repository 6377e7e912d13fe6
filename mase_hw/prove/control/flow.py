"""What every register and memory holds in every node of the control: found by going round until nothing changes.

In the first node nothing is known. A step from a node gives what is held in the next one; where two ways lead to a
node, what they agree on is kept, and the rest is unknown. This ends, since it only gets less; and then it is what holds
after any number of cycles with any stalls: it holds after reset, and each step keeps it. Vectors are counted from the
oldest of which not all is given back, so there are finitely many.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.control.automaton import Automaton
from mase_hw.prove.control.bundles import Bundle, Bundles, Take
from mase_hw.prove.control.contents import NO_VECTOR, Contents, Held
from mase_hw.prove.control.explore import Graph
from mase_hw.prove.netlist.netlist import Cell, Net
from mase_hw.prove.words.carried import UNKNOWN, Value
from mase_hw.prove.words.machine import Evaluator
from mase_hw.prove.words.symbolic import Values

PASSED = "PASSED"  # marks a register that moves in every cycle that counts, and so is a wire (line.py)
State = tuple[Held, ...]  # what each bundle holds, then each row of each memory


class Flow:
    """The contents of every node, and the checks on them."""

    def __init__(
        self, automaton: Automaton, graph: Graph, evaluator: Evaluator, beats: Sequence[Values], out_beats: int
    ) -> None:
        """`beats`: the bits of each beat of an input vector."""
        self.automaton, self.graph, self.evaluator, self.out_beats = automaton, graph, evaluator, out_beats
        self.structure = Bundles(automaton)
        self.contents = Contents()
        self.output = self.structure.take(automaton.netlist.ports["data_out_0"])
        self.rows: dict[str, int] = {}  # where the rows of a memory begin
        start = [self.contents.unknown(len(bundle.bits)) for bundle in self.structure.bundles]
        for cell in self.structure.written:
            self.rows[cell.name] = len(start)
            start += [self.contents.unknown(cell.parameters["WIDTH"])] * cell.parameters["SIZE"]
        self.writes = [
            self._write(cell, k) for cell in self.structure.written for k in range(cell.parameters["WR_PORTS"])
        ]
        self.beats = [self.contents.hold(bits, 0) for bits in beats]
        self.no_beat = self.contents.unknown(len(beats[0]))
        self.states: list[State | None] = [None] * len(graph.nodes)
        self.states[: graph.starts] = [tuple(start)] * graph.starts
        self._here: dict[tuple[int, int, int], Held] = {}  # what was taken in the node that is looked at

    def run(self, check: Callable[[int, Values], None]) -> None:
        """Goes round until nothing changes, then has every output looked at: with the beat that it should be."""
        self._settle()
        checked: dict[tuple[Held, int], None] = {}
        for n, node in enumerate(self.graph.nodes):
            self._here = {}
            for inputs in range(self.graph.width) if self.graph.valid[n] else ():  # it may depend on all of them
                held = self._taken(self.output, n, inputs)
                if (held, node.out_beat) not in checked:
                    check(node.out_beat, self._oldest(held))
                    checked[held, node.out_beat] = None

    def given(self) -> list[Values]:
        """What is held by every beat of the output when it is given, as far as it is the same each time."""
        self._settle()
        found: list[Held | None] = [None] * self.out_beats
        for n, node in enumerate(self.graph.nodes):
            self._here = {}
            for inputs in range(self.graph.width):
                if self.graph.gives[self.graph.width * n + inputs]:
                    held, before = self._taken(self.output, n, inputs), found[node.out_beat]
                    self._oldest(held)
                    found[node.out_beat] = held if before is None else self.contents.joined(before, held)
        assert None not in found
        return [list(self.contents.bits[held[0]]) for held in found if held is not None]

    def _oldest(self, held: Held) -> Values:
        """The bits of an output, which must be of the oldest vector."""
        if held[1] not in (0, NO_VECTOR):
            raise NotProvedError(f"a beat of vector {held[1]} is given where vector 0 is the next")
        return list(self.contents.bits[held[0]])

    def _settle(self) -> None:
        todo = deque(range(self.graph.starts))
        waiting = set(todo)
        while todo:
            n = todo.popleft()
            waiting.discard(n)
            self._here = {}
            known: dict[tuple[int, int, int], State] = {}  # most steps do not depend on ready
            for inputs in range(self.graph.width):
                step = self.graph.width * n + inputs
                then, looks = self.graph.next[step], (self.graph.boundary[step], inputs & 1, self.graph.gives[step])
                if looks not in known:
                    known[looks] = self._after(n, inputs)
                found, before = known[looks], self.states[then]
                if before is not None:
                    found = tuple(map(self.contents.joined, before, found))
                if found != before:
                    self.states[then] = found
                    if then not in waiting:
                        waiting.add(then)
                        todo.append(then)

    def _after(self, n: int, inputs: int) -> State:
        """What is held after a step."""
        state, boundary = self.states[n], self.graph.boundary[self.graph.width * n + inputs]
        assert state is not None
        found = list(state)
        for b, bundle in enumerate(self.structure.bundles):
            take = self.structure.taken(bundle, boundary)
            if not isinstance(take, str):
                found[b] = self._taken(take, n, inputs, bundle)
        for cell, enables, address, data in self.writes:
            enabled = {(boundary >> bit) & 1 for bit in enables}
            if len(enabled) > 1:
                raise NotProvedError(f"a memory is written in part ({cell.source})")
            if 1 in enabled:
                row = self.automaton.value(boundary, address) - cell.parameters["OFFSET"]
                if 0 <= row < cell.parameters["SIZE"]:
                    found[self.rows[cell.name] + row] = self._taken(data, n, inputs)
        node = self.graph.nodes[n]
        if self.graph.gives[self.graph.width * n + inputs] and node.out_beat + 1 == self.out_beats:
            return tuple(map(self.contents.older, found))
        return tuple(found)

    def _write(self, cell: Cell, k: int) -> tuple[Cell, list[int], Sequence[Net], Take]:
        """A memory's write port: the bits of the boundary that enable it, its address, its data."""
        width, bits = cell.parameters["WIDTH"], cell.parameters["ABITS"]
        place = self.automaton.boundary_bit
        enables, address = cell.ports["WR_EN"][k * width :][:width], cell.ports["WR_ADDR"][k * bits :][:bits]
        if any(
            net not in place and not (net in ("0", "1") and many is address)
            for many in (enables, address)
            for net in many
        ):
            raise NotProvedError(f"a memory is written by something that is not control ({cell.source})")
        data = self.structure.take(cell.ports["WR_DATA"][k * width :][:width])
        return cell, sorted({place[net] for net in enables}), address, data

    def _taken(self, take: Take, n: int, inputs: int, bundle: Bundle | None = None) -> Held:
        """What comes through some logic in a step; the inputs of most steps from a node make no difference to it."""
        name = id(take), self.graph.boundary[self.graph.width * n + inputs] & take.mask, inputs & take.data
        found = self._here.get(name)
        if found is None:
            found = self._here[name] = self._looked_up(take, n, inputs, bundle)
        return found

    def _looked_up(self, take: Take, n: int, inputs: int, bundle: Bundle | None) -> Held:
        """The same; computed once for everything that looks the same."""
        state, boundary = self.states[n], self.graph.boundary[self.graph.width * n + inputs]
        assert state is not None
        held = [state[b] for b in take.bundles]
        held += [self._row(state, boundary, *read) for read in take.reads]
        if take.data:
            node = self.graph.nodes[n]
            number, vector = self.beats[node.in_beat] if inputs & 1 else self.no_beat
            held.append((number, node.ahead if vector >= 0 else NO_VECTOR))
        oldest = min((vector for _, vector in held if vector >= 0), default=0)
        if oldest:
            held = [(number, vector - oldest if vector >= 0 else NO_VECTOR) for number, vector in held]
        key = (boundary & take.mask, *held)
        found = take.found.get(key)
        if found is None:
            found = take.found[key] = self._computed(take, boundary, held, bundle)
        number, vector = found
        return number, vector + oldest if vector >= 0 else NO_VECTOR

    def _row(self, state: State, boundary: int, name: str, port: int) -> Held:
        cell = self.structure.memories[name]
        bits = cell.parameters["ABITS"]
        address = cell.ports["RD_ADDR"][port * bits : (port + 1) * bits]
        row = self.automaton.value(boundary, address) - cell.parameters["OFFSET"]
        known = 0 <= row < cell.parameters["SIZE"]
        return state[self.rows[name] + row] if known else self.contents.unknown(cell.parameters["WIDTH"])

    def _computed(self, take: Take, boundary: int, held: Sequence[Held], bundle: Bundle | None) -> Held:
        """For each vector by itself: what is a function of the newest one is kept."""
        vectors = sorted({vector for _, vector in held if vector >= 0}) or [NO_VECTOR]
        bits: list[Value] = [UNKNOWN] * len(take.nets)
        newest = NO_VECTOR
        for vector in vectors:
            values = self._leaves(take, boundary, held, vector)
            for cell in take.cells:
                self._cell(cell, values)
            given = [values.get(net, UNKNOWN) for net in take.nets]
            for start, end in bundle.groups if bundle is not None else ():
                given[start:end] = self.evaluator.gathered(given[start:end])
            mine = any(not isinstance(bit, int) and bit is not UNKNOWN for bit in given)
            if mine:  # the bits of an older vector are dropped
                bits = [bit if isinstance(bit, int) else UNKNOWN for bit in bits]
                newest = vector
            bits = [new if new is not UNKNOWN else old for old, new in zip(bits, given, strict=True)]
        return self.contents.hold(bits, newest)

    def _leaves(self, take: Take, boundary: int, held: Sequence[Held], vector: int) -> dict[Net, Value]:
        values: dict[Net, Value] = {"0": 0, "1": 1, "x": UNKNOWN}
        values |= {net: (boundary >> self.automaton.boundary_bit[net]) & 1 for net in take.control}
        netlist, rest = self.automaton.netlist, iter(held)
        for b in take.bundles:
            values |= zip(self.structure.bundles[b].bits, self.contents.of(next(rest), vector), strict=True)
        for name, port in take.reads:
            cell = self.structure.memories[name]
            width = cell.parameters["WIDTH"]
            nets = cell.ports["RD_DATA"][port * width : (port + 1) * width]
            values |= zip(nets, self.contents.of(next(rest), vector), strict=True)
        if take.data:
            values |= zip(netlist.ports["data_in_0"], self.contents.of(next(rest), vector), strict=True)
        return values

    def _cell(self, cell: Cell | tuple[Cell, int], values: dict[Net, Value]) -> None:
        if isinstance(cell, Cell):
            inputs = {port: [values[net] for net in nets] for port, nets in cell.ports.items() if port != "Y"}
            given = (
                self.evaluator.gathered(inputs["A"])
                if PASSED in cell.parameters
                else self.evaluator.evaluate(cell, inputs)
            )
            values |= zip(cell.ports["Y"], given, strict=True)
        else:
            self._rom(*cell, values)

    def _rom(self, cell: Cell, port: int, values: dict[Net, Value]) -> None:
        """A memory that is never written: where the address is known, so is the row."""
        bits, width, content = (cell.parameters[name] for name in ("ABITS", "WIDTH", "INIT"))
        address = [values[net] for net in cell.ports["RD_ADDR"][port * bits : (port + 1) * bits]]
        row = sum(bit << k for k, bit in enumerate(address) if isinstance(bit, int)) - cell.parameters["OFFSET"]
        known = all(isinstance(bit, int) for bit in address) and 0 <= row < cell.parameters["SIZE"]
        for k, net in enumerate(cell.ports["RD_DATA"][port * width : (port + 1) * width]):
            values[net] = (content >> (row * width + k)) & 1 if known and isinstance(content, int) else UNKNOWN
