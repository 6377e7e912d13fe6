// SPDX-License-Identifier: Apache-2.0
//
// A netlist as a program of gates, run for 64 runs at once: bit n of a word is what a wire carries in run n.
//
// It knows nothing of any design: Python gives it gates, registers, memories and a random environment (sources that hold
// what was not taken, sinks, resets), and gets back what every watched wire carried in every cycle.
#include <cstdint>
#include <vector>

namespace {

constexpr int RUNS = 64;
enum Function { AND, OR, XOR, NOT, MUX, READ };  // as in mase_hw/prove/netlist/program.py

// A stretch of gates of one function, none of which reads another of them.
struct Stretch {
    int64_t function, first, last;
};

// A port of a memory; lists are places in `lists`. A read has no data and no enables.
struct Port {
    int64_t memory, address, address_bits, data, enables;
};

// Rows that are never written are bytes, one for each bit; the others a word for each bit.
struct Memory {
    int64_t width, size, offset, fixed, contents;
};

struct Source {
    int64_t valid, ready, data, bits, offers, fresh;  // slots, and columns of the environment
};

struct Program {
    int64_t slots, first_gate, stretches, registers, memories, reads, writes, sources, sinks, driven, watched, cycles, columns;
    const int32_t* gates;  // [gates][3]
    const Stretch* stretch;
    const int32_t* lists;
    const int64_t *held, *next;  // slots of every register: what it holds and what it takes
    const Memory* memory;
    const Port *read, *write;
    const Source* source;
    const int64_t* sink;         // [sinks][2] slots: valid, ready
    const int64_t* drive;        // [driven][2] slot and column of what is put there as it is
    const int64_t* watch;        // [watched][2] a slot, and the one that it is looked at with, or 1
    const uint8_t* contents;     // of memories
    const uint64_t* environment;  // [cycles][columns]
    const uint64_t* start;       // of every slot
    const int64_t* given;        // [inputs] slots that are recorded as they are
    int64_t inputs, given_words, seen_words, reset, active;  // the slot of reset, and what it is in reset
    uint64_t *given_out, *seen_out;  // [runs][cycles][words]
    int64_t* counts;             // beats taken and given, for each source and sink
};

class Machine {
  public:
    explicit Machine(const Program& p) : m_p{p}, m_v(p.start, p.start + p.slots), m_moved(p.registers) {
        for (int64_t k = 0; k < p.memories; ++k) {
            const Memory& memory = p.memory[k];
            const int64_t bits = memory.fixed ? 0 : memory.width * memory.size;
            m_rows.emplace_back(bits);
            for (int64_t i = 0; i < bits; ++i) {
                const uint8_t bit = p.contents[memory.contents + i];
                m_rows[k][i] = bit == 2 ? any() : bit ? ~uint64_t{0} : 0;
            }
        }
    }

    void run() {
        std::vector<uint64_t> advance(m_p.sources);
        for (int64_t t = 0; t < m_p.cycles; ++t) {
            const uint64_t* row = m_p.environment + t * m_p.columns;
            for (int64_t k = 0; k < m_p.driven; ++k) m_v[m_p.drive[2 * k]] = row[m_p.drive[2 * k + 1]];
            evaluate();
            record(t);
            const uint64_t reset = m_p.active ? m_v[m_p.reset] : ~m_v[m_p.reset];
            for (int64_t k = 0; k < m_p.sinks; ++k) {
                const uint64_t moves = m_v[m_p.sink[2 * k]] & m_v[m_p.sink[2 * k + 1]] & ~reset;
                m_p.counts[m_p.sources + k] += __builtin_popcountll(moves);
            }
            for (int64_t k = 0; k < m_p.sources; ++k) {
                const Source& source = m_p.source[k];
                const uint64_t valid = m_v[source.valid], ready = m_v[source.ready];
                m_p.counts[k] += __builtin_popcountll(valid & ready & ~reset);
                advance[k] = ~valid | ready | reset;
            }
            clock();
            for (int64_t k = 0; k < m_p.sources; ++k) {  // the next beat, or the same one as long as it waits
                const Source& source = m_p.source[k];
                move(m_v[source.valid], row[source.offers], advance[k]);
                for (int64_t i = 0; i < source.bits; ++i) move(m_v[m_p.lists[source.data + i]], row[source.fresh + i], advance[k]);
            }
        }
    }

  private:
    static void move(uint64_t& held, uint64_t fresh, uint64_t advance) { held = (held & ~advance) | (fresh & advance); }

    uint64_t any() {  // xorshift64*
        m_state ^= m_state >> 12;
        m_state ^= m_state << 25;
        m_state ^= m_state >> 27;
        return m_state * 0x2545F4914F6CDD1Dull;
    }

    void evaluate() {
        uint64_t* v = m_v.data();
        for (int64_t k = 0; k < m_p.stretches; ++k) {
            const Stretch& s = m_p.stretch[k];
            const int32_t* g = m_p.gates + 3 * s.first;
            uint64_t *out = v + m_p.first_gate + s.first, *end = v + m_p.first_gate + s.last;
            switch (s.function) {
            case AND: for (; out != end; ++out, g += 3) *out = v[g[0]] & v[g[1]]; break;
            case OR: for (; out != end; ++out, g += 3) *out = v[g[0]] | v[g[1]]; break;
            case XOR: for (; out != end; ++out, g += 3) *out = v[g[0]] ^ v[g[1]]; break;
            case NOT: for (; out != end; ++out, g += 3) *out = ~v[g[0]]; break;
            case MUX: for (; out != end; ++out, g += 3) *out = v[g[1]] ^ (v[g[0]] & (v[g[1]] ^ v[g[2]])); break;
            default: for (; out != end; ++out, g += 3) *out = read(g[0], g[1]);
            }
        }
    }

    void locate(const Port& port, int64_t* rows) const {
        const Memory& memory = m_p.memory[port.memory];
        for (int n = 0; n < RUNS; ++n) {
            uint64_t address = 0;
            for (int64_t k = 0; k < port.address_bits; ++k)
                address |= ((m_v[m_p.lists[port.address + k]] >> n) & 1) << k;
            const int64_t row = static_cast<int64_t>(address) - memory.offset;
            rows[n] = row >= 0 && row < memory.size ? row : -1;
        }
    }

    // One bit of a read; the rows are found with the first of its bits.
    uint64_t read(int64_t number, int64_t bit) {
        const Port& port = m_p.read[number];
        const Memory& memory = m_p.memory[port.memory];
        if (bit == 0) locate(port, m_found);
        uint64_t word = 0;
        for (int n = 0; n < RUNS; ++n) {
            if (m_found[n] < 0) continue;
            const int64_t place = m_found[n] * memory.width + bit;
            if (memory.fixed) word |= uint64_t{m_p.contents[memory.contents + place] == 1} << n;
            else word |= m_rows[port.memory][place] & (uint64_t{1} << n);
        }
        return word;
    }

    void clock() {
        for (int64_t k = 0; k < m_p.registers; ++k) m_moved[k] = m_v[m_p.next[k]];
        for (int64_t k = 0; k < m_p.writes; ++k) {
            const Port& port = m_p.write[k];
            const int64_t width = m_p.memory[port.memory].width;
            int64_t rows[RUNS];
            locate(port, rows);
            for (int64_t bit = 0; bit < width; ++bit) {
                const uint64_t enable = m_v[m_p.lists[port.enables + bit]], data = m_v[m_p.lists[port.data + bit]];
                for (uint64_t left = enable; left; left &= left - 1) {
                    const int n = __builtin_ctzll(left);
                    if (rows[n] >= 0) move(m_rows[port.memory][rows[n] * width + bit], data, left & -left);
                }
            }
        }
        for (int64_t k = 0; k < m_p.registers; ++k) m_v[m_p.held[k]] = m_moved[k];
    }

    // Sixty-four wires of sixty-four runs become a word for each run.
    void put(uint64_t* out, int64_t words, int64_t t, int64_t word, uint64_t* block) {
        uint64_t mask = 0x00000000FFFFFFFFull;
        for (int j = 32; j; j >>= 1, mask ^= mask << j)
            for (int k = 0; k < 64; k = (k + j + 1) & ~j) {
                const uint64_t swap = ((block[k] >> j) ^ block[k + j]) & mask;
                block[k] ^= swap << j;
                block[k + j] ^= swap;
            }
        for (int n = 0; n < RUNS; ++n) out[(n * m_p.cycles + t) * words + word] = block[n];
    }

    void record(int64_t t) {
        uint64_t block[64];
        for (int64_t word = 0; word < m_p.given_words; ++word) {
            for (int64_t k = 0; k < 64; ++k) {
                const int64_t place = word * 64 + k;
                block[k] = place < m_p.inputs ? m_v[m_p.given[place]] : 0;
            }
            put(m_p.given_out, m_p.given_words, t, word, block);
        }
        for (int64_t word = 0; word < m_p.seen_words; ++word) {
            for (int64_t k = 0; k < 64; ++k) {
                const int64_t place = word * 64 + k;
                block[k] = place < m_p.watched ? m_v[m_p.watch[2 * place]] & m_v[m_p.watch[2 * place + 1]] : 0;
            }
            put(m_p.seen_out, m_p.seen_words, t, word, block);
        }
    }

    const Program& m_p;
    std::vector<uint64_t> m_v, m_moved;
    std::vector<std::vector<uint64_t>> m_rows;
    int64_t m_found[RUNS];
    uint64_t m_state = 0x9E3779B97F4A7C15ull;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) void mase_netlist_run(const Program* program) { Machine{*program}.run(); }
