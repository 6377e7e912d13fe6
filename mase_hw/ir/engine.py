"""All groups of a design run together, cycle by cycle or as slowly as they can: plain functions on arrays of integers.

They are run as they are on lists, or compiled on arrays (`compiled.py`): one text, one result. Groups are numbered in
the order of the design, streams with the inputs first and then in the order in which they are written. Only groups to
which something happens are looked at in a cycle, and cycles in which nothing happens are left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mase_hw.ir.control import FOREVER, Kind, Params, Words

Ints = Any  # a list of integers; of the compiled engine an array
CHECK, ROOM, STOPPED, LIMIT = range(4)  # why a run comes back


class Net(NamedTuple):
    """The groups and how streams join them. Those of group `g` are `ins[in_at[g]:in_at[g + 1]]`, and so `outs`."""

    kinds: Any  # of each group: a Kind; compiled, a number
    words: Any  # of each group, a row of registers and notes
    params: Any  # of each group, a row
    ins: Ints
    in_at: Ints
    outs: Ints
    out_at: Ints
    writer: Ints  # of each stream: a group; -1 of an input of the design
    writer_port: Ints
    reader: Ints  # -1 of an output


class Clocked(NamedTuple):
    """A run cycle by cycle. `valid` and `ready` are those of the streams in this cycle."""

    now: Ints  # the cycle, and the groups looked at so far
    valid: Ints
    ready: Ints
    since: Ints  # of each group: the cycle that its registers are in
    wake: Ints  # the cycle in which it has to be looked at
    rested: Ints  # its outputs' readies while it rests
    looked: Ints  # groups that are looked at in this cycle, and what moves on their ports
    takes: Ints
    gives: Ints
    ports: Ints  # streams at the design's own ports
    moved: Ints  # beats of each so far
    moves: Any  # of each, a row: their cycles


# What the compiled engine has a choice among all kinds for.


def valids_of(kind: Kind, s: Words, p: Params) -> int:
    return kind.valids(s, p)


def readies_of(kind: Kind, s: Words, p: Params, offered: int, outs: int) -> int:
    return kind.readies(s, p, offered, outs)


def clock_of(kind: Kind, s: Words, p: Params, takes: int, outs: int) -> None:
    kind.clock(s, p, takes, outs)


def resting_of(kind: Kind, s: Words, p: Params, outs: int) -> int:
    return kind.resting(s, p, outs)


def rest_of(kind: Kind, s: Words, p: Params, cycles: int, outs: int) -> None:
    kind.rest(s, p, cycles, outs)


def advance(net: Net, run: Clocked, first: int, vector: int, sample: int, vectors: int, limit: int) -> int:
    """Cycles until port `first` ends a vector, after `vectors` of them a sample: CHECK, with all registers up to date.

    Or until a port's row of cycles is full: ROOM; nothing will ever move again: STOPPED; so many groups were looked at:
    LIMIT. It can be called again.
    """
    while True:
        cycle = FOREVER
        for g in range(len(run.wake)):
            cycle = min(cycle, run.wake[g])
        if cycle == FOREVER:
            return STOPPED
        if run.now[1] > limit:
            return LIMIT
        for k in range(len(run.ports)):
            if run.moved[k] == len(run.moves[k]):
                return ROOM
        run.now[0] = cycle
        before = run.moved[first]
        count = look(net, run, cycle)
        run.now[1] += count
        for k in range(len(run.ports)):
            if run.valid[run.ports[k]] and run.ready[run.ports[k]]:
                run.moves[k][run.moved[k]] = cycle
                run.moved[k] += 1
        for k in range(count):
            clock_group(net, run, cycle, k)
        moved = run.moved[first]
        if moved > before and moved % (vector if moved <= vectors * vector else sample) == 0:
            for g in range(len(run.since)):
                catch_up(net, run, g, cycle + 1)
            return CHECK


def catch_up(net: Net, run: Clocked, g: int, cycle: int) -> None:
    """Lets the cycles pass in which a group rested."""
    if run.since[g] < cycle:
        rest_of(net.kinds[g], net.words[g], net.params[g], cycle - run.since[g], run.rested[g])
        run.since[g] = cycle


def look(net: Net, run: Clocked, cycle: int) -> int:
    """The groups to which something happens in this cycle, and what moves; readers before writers, as ready runs."""
    count = 0
    for g in range(len(run.wake) - 1, -1, -1):
        if run.wake[g] > cycle:
            continue
        catch_up(net, run, g, cycle)
        offered = 0
        for k in range(net.in_at[g], net.in_at[g + 1]):
            offered |= run.valid[net.ins[k]] << (k - net.in_at[g])
        outs = 0
        gives = 0
        for k in range(net.out_at[g], net.out_at[g + 1]):
            s = net.outs[k]
            outs |= run.ready[s] << (k - net.out_at[g])
            gives |= run.ready[s] & run.valid[s]
        readies = readies_of(net.kinds[g], net.words[g], net.params[g], offered, outs)
        for k in range(net.in_at[g], net.in_at[g + 1]):
            s = net.ins[k]
            ready = readies >> (k - net.in_at[g]) & 1
            if ready != run.ready[s]:
                run.ready[s] = ready
                if net.writer[s] >= 0:
                    run.wake[net.writer[s]] = cycle
        run.looked[count] = g
        run.takes[count] = offered & readies
        run.gives[count] = gives
        run.rested[g] = outs
        count += 1
    return count


def clock_group(net: Net, run: Clocked, cycle: int, k: int) -> None:
    """The clock edge of a group that was looked at. Readers come first, so what a writer wakes stays awake."""
    g = run.looked[k]
    outs = run.rested[g]
    if run.takes[k] == 0 and run.gives[k] == 0:
        resting = resting_of(net.kinds[g], net.words[g], net.params[g], outs)
        if resting:
            run.wake[g] = min(cycle + resting, FOREVER)
            return
    clock_of(net.kinds[g], net.words[g], net.params[g], run.takes[k], outs)
    run.since[g] = cycle + 1
    run.wake[g] = cycle + 1
    valids = valids_of(net.kinds[g], net.words[g], net.params[g])
    for at in range(net.out_at[g], net.out_at[g + 1]):
        s = net.outs[at]
        valid = valids >> (at - net.out_at[g]) & 1
        if valid != run.valid[s]:
            run.valid[s] = valid
            if net.reader[s] >= 0:
                run.wake[net.reader[s]] = cycle + 1


# The slowest run: see progress.py.


class Slow(NamedTuple):
    """One beat after the other, of groups that have settled."""

    now: Ints  # from which stream on the next beat is looked for, and how many were moved
    moved: Ints  # beats of each stream so far
    registers: Ints  # how many words of each group
    scratch: Ints


def crawl(net: Net, run: Slow, last: int, sample: int, limit: int) -> int:
    """Beats until stream `last` ends a sample: CHECK. Or until none can move: STOPPED; so many have moved: LIMIT."""
    while True:
        if run.now[1] > limit:
            return LIMIT
        before = run.moved[last]
        s = run.now[0]
        while s >= 0 and not moves_beat(net, run, s):
            s -= 1
        if s < 0:
            return STOPPED
        run.now[1] += 1
        if run.moved[last] > before and run.moved[last] % sample == 0:
            return CHECK


def offered_on(net: Net, s: int) -> int:
    g = net.writer[s]
    if g < 0:
        return 1
    valids = valids_of(net.kinds[g], net.words[g], net.params[g])
    return 1 if valids & (1 << net.writer_port[s]) else 0


def moves_beat(net: Net, run: Slow, s: int) -> bool:
    """Moves a beat of a stream, or of all inputs of a join, if it can; and says where to look for the next one.

    Streams behind those of the groups to which something happened could not move before, and still cannot.
    """
    if not offered_on(net, s):
        return False
    g = net.reader[s]
    takes, start, end = 1, 0, 1
    if g >= 0:
        start, end = net.in_at[g], net.in_at[g + 1]
        offered = 0
        for k in range(start, end):
            offered |= offered_on(net, net.ins[k]) << (k - start)
        takes = offered & readies_of(net.kinds[g], net.words[g], net.params[g], offered, 0)
        if takes == 0:
            return False
    run.now[0] = s
    for k in range(start, end + 1):  # the writers' side of each beat, then the reader's
        each, outs = g, 0
        if k < end:
            if not takes >> (k - start) & 1:
                continue
            x = s if g < 0 else net.ins[k]
            run.moved[x] += 1
            each, outs = net.writer[x], 1 << net.writer_port[x]
        if each >= 0:
            step(net, run, each, 0 if k < end else takes, outs)
    return True


def step(net: Net, run: Slow, g: int, takes: int, outs: int) -> None:
    """A clock edge of a group, which then settles; its streams are looked at next."""
    for k in range(net.out_at[g], net.out_at[g + 1]):
        run.now[0] = max(run.now[0], net.outs[k])
    for k in range(net.in_at[g], net.in_at[g + 1]):
        run.now[0] = max(run.now[0], net.ins[k])
    clock_of(net.kinds[g], net.words[g], net.params[g], takes, outs)
    settle(net.kinds[g], net.words[g], net.params[g], run.registers[g], run.scratch)


def settle(kind: Kind, s: Words, p: Params, registers: int, scratch: Words) -> None:
    """Lets cycles pass in which no beat moves, until nothing changes any more."""
    while True:
        cycles = resting_of(kind, s, p, 0)
        if cycles >= FOREVER:
            return
        if cycles:
            rest_of(kind, s, p, cycles, 0)
            continue
        for k in range(registers):
            scratch[k] = s[k]
        clock_of(kind, s, p, 0, 0)
        same = True
        for k in range(registers):
            same = same and scratch[k] == s[k]
        if same:
            return
