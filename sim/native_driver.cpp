// Drives a verilated design from arrays: clock, and for every port source or sink, stalls, capture, the stream rule.
//
// It is what mase_harness.sv, mase_stream_source, _sink, _stall and _probe are to the cocotb engine, cycle for cycle:
// the same seeds stall in the same cycles. It is compiled with the design and called from Python in blocks of beats;
// values are int64 per lane, packed here, lane 0 in the lowest bits. A cycle is two evaluations: inputs settle with the
// clock low, then the clock rises. MASE_INPUTS and MASE_OUTPUTS list the ports: native_units.py defines them before it
// includes this file, from what Verilator wrote of the top module.
#include "Vtop.h"
#include "verilated.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int RESET_CYCLES = 4;
using Words = std::vector<uint32_t>;

// A port is a CData, SData, IData, QData or VlWide, by its width.
void put(CData& port, const Words& words) { port = static_cast<CData>(words[0]); }
void put(SData& port, const Words& words) { port = static_cast<SData>(words[0]); }
void put(IData& port, const Words& words) { port = words[0]; }
void put(QData& port, const Words& words) { port = words[0] | static_cast<QData>(words[1]) << 32; }
template <std::size_t N> void put(VlWide<N>& port, const Words& words) {
    std::memcpy(port.data(), words.data(), sizeof(uint32_t) * N);
}

void get(CData port, Words& words) { words[0] = port; }
void get(SData port, Words& words) { words[0] = port; }
void get(IData port, Words& words) { words[0] = port; }
void get(QData port, Words& words) {
    words[0] = static_cast<uint32_t>(port);
    words[1] = static_cast<uint32_t>(port >> 32);
}
template <std::size_t N> void get(const VlWide<N>& port, Words& words) {
    std::memcpy(words.data(), port.data(), sizeof(uint32_t) * N);
}

struct Shape {
    int64_t lanes, width, is_signed;

    uint64_t mask() const { return width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }
    std::size_t words() const { return static_cast<std::size_t>((lanes * width + 31) / 32); }
    uint32_t last_mask() const {  // bits beyond the port must stay 0
        const int64_t used = lanes * width % 32;
        return used ? (uint32_t{1} << used) - 1 : ~uint32_t{0};
    }
};

template <typename Accumulator> void pack(const int64_t* values, const Shape& shape, Words& words) {
    Accumulator held = 0;
    int64_t bits = 0;
    std::size_t word = 0;
    for (int64_t lane = 0; lane < shape.lanes; ++lane) {
        held |= static_cast<Accumulator>(static_cast<uint64_t>(values[lane]) & shape.mask()) << bits;
        for (bits += shape.width; bits >= 32; bits -= 32) {
            words[word++] = static_cast<uint32_t>(held);
            held >>= 32;
        }
    }
    if (bits) words[word] = static_cast<uint32_t>(held);
}

template <typename Accumulator> void unpack(const Words& words, const Shape& shape, int64_t* values) {
    const uint64_t sign = shape.is_signed ? uint64_t{1} << (shape.width - 1) : 0;
    Accumulator held = 0;
    int64_t bits = 0;
    std::size_t word = 0;
    for (int64_t lane = 0; lane < shape.lanes; ++lane) {
        for (; bits < shape.width; bits += 32) held |= static_cast<Accumulator>(words[word++]) << bits;
        const uint64_t value = static_cast<uint64_t>(held) & shape.mask();
        values[lane] = static_cast<int64_t>((value ^ sign) - sign);  // modulo 2**64, which extends the sign
        held >>= shape.width;
        bits -= shape.width;
    }
}

// mase_stream_stall
struct Stall {
    bool enable = false;
    uint32_t state = 1, age = 0, rate = 4;

    void reset(bool on, uint32_t seed) { *this = {on, seed ? seed : 1, 0, 4}; }
    bool now() const { return enable && (((state >> 16) & 7) < rate || rate == 7); }
    void tick() {
        if (!enable) return;
        if (age == 63) rate = state >> 29;
        age = (age + 1) & 63;
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
    }
};

// What Python reads after each call; the order is that of native_library.State, then of PortState for every port.
enum Status { WANTS_INPUT, FULL, DONE, HUNG, FAILED };

// What a run is to do; the order is that of native_library.Settings, then of PortSettings for every port.
struct Settings {
    int64_t gaps, pressure, watchdog, drain, fill, some, seed;
};
struct PortSettings {
    int64_t beats, stall_seed;  // beats in the whole run
    Shape shape;
};

// A block of beats for an input, and room for those of an output; in the order of native_library.
struct InBlock {
    const int64_t* values;
    int64_t beats, used;
    int64_t* cycles;
};
struct OutBlock {
    int64_t* values;
    int64_t* cycles;
    int64_t capacity, captured;
};

// mase_stream_source, and what its probe counts
struct Source {
    PortSettings set;
    Stall stall;
    Words words;
    bool valid = false, ready = false, advance = false, wants = false;
    int64_t sent = 0, taken = 0, base = 0;  // base: beats taken before this block

    void reset(bool gaps) {
        valid = false;
        sent = taken = base = 0;
        stall.reset(gaps, static_cast<uint32_t>(set.stall_seed));
    }
    void move(InBlock& block) {
        if (wants) {
            const int64_t* values = block.values + block.used++ * set.shape.lanes;
            if (set.shape.width > 32) pack<unsigned __int128>(values, set.shape, words);
            else pack<uint64_t>(values, set.shape, words);
            ++sent;
        } else if (advance) {  // between beats data is inverted, so that a design that ignores valid is seen
            for (uint32_t& word : words) word = ~word;
            words[set.shape.words() - 1] &= set.shape.last_mask();
            if (set.shape.words() == 1) words[1] = 0;
        }
        if (advance) valid = wants;
        stall.tick();
    }
};

// mase_stream_sink, and its probe
struct Sink {
    PortSettings set;
    Stall stall;
    Words words, held;
    bool valid = false, ready = false, offered = false, holding = false, gives = false;
    int64_t shy = 0, given = 0, broken = -1;

    void reset(bool pressure) {
        offered = holding = false;
        shy = given = 0;
        broken = -1;
        stall.reset(pressure, static_cast<uint32_t>(set.stall_seed));
    }
    bool takes(bool hold) const { return !stall.now() && !hold && (!stall.enable || shy == 31 || offered); }
    // The stream rule: after valid and not ready, valid stays and data stays.
    void watch(int64_t cycle) {
        if (holding && broken < 0 && (!valid || words != held)) broken = cycle;
        holding = valid && !ready;
        if (holding) held = words;
    }
    void capture(OutBlock& block, int64_t cycle) {
        if (given++ >= set.beats) return;
        int64_t* values = block.values + block.captured * set.shape.lanes;
        if (set.shape.width > 32) unpack<unsigned __int128>(words, set.shape, values);
        else unpack<uint64_t>(words, set.shape, values);
        block.cycles[block.captured++] = cycle;
    }
    void move() {
        offered = valid && !gives;
        if (gives && shy != 31) ++shy;
        stall.tick();
    }
};

#define COUNT(K, NAME) +1
constexpr int INPUTS = 0 MASE_INPUTS(COUNT), OUTPUTS = 0 MASE_OUTPUTS(COUNT);

class Bench {
  public:
    explicit Bench(const int64_t* given) : m_context{std::make_unique<VerilatedContext>()} {
        std::memcpy(&m_set, given, sizeof m_set);
        const auto* port = reinterpret_cast<const PortSettings*>(given + sizeof m_set / sizeof *given);
        for (Source& source : m_sources) {
            source.set = *port++;
            source.words.resize(std::max<std::size_t>(2, source.set.shape.words()));
        }
        for (Sink& sink : m_sinks) {
            sink.set = *port++;
            sink.words.resize(std::max<std::size_t>(2, sink.set.shape.words()));
            sink.held = sink.words;
        }
        m_context->randReset(2);  // registers that reset leaves alone start with random bits
        m_context->randSeed(static_cast<int>(m_set.seed));
        m_top = std::make_unique<Vtop>(m_context.get());
    }
    ~Bench() { m_top->final(); }

    // One cycle of reset in a design that is full and blocked, and in one at work: nothing may be left over. What the last
    // of the two leaves over is seen in the run that follows, so each is the last in half of the patterns.
    void begin(InBlock* in) {
        reset(RESET_CYCLES);
        for (const bool hold : {m_set.gaps != 0, m_set.gaps == 0}) {
            m_hold = hold;
            for (int k = 0; k < INPUTS; ++k) in[k].used = 0;
            for (int64_t k = hold ? m_set.fill : m_set.some; k; --k) traffic(in);
            reset(1);
        }
        m_hold = false;
        for (int k = 0; k < INPUTS; ++k) in[k].used = 0;
    }

    Status run(InBlock* in, OutBlock* out) {
        for (Source& source : m_sources) source.base = source.taken;
        for (;;) {
            settle();
            // Both returns leave the cycle as it is: the next call settles it once more.
            for (int k = 0; k < INPUTS; ++k) {
                Source& source = m_sources[k];
                source.advance = !source.valid || source.ready;
                source.wants = source.advance && source.sent < source.set.beats && !source.stall.now();
                if (source.wants && in[k].used == in[k].beats) return WANTS_INPUT;
            }
            for (int k = 0; k < OUTPUTS; ++k) {
                Sink& sink = m_sinks[k];
                sink.gives = sink.valid && sink.ready;
                if (sink.gives && sink.given < sink.set.beats && out[k].captured == out[k].capacity) return FULL;
            }
            read();
            bool moves = false, complete = true, overrun = false;
            for (int k = 0; k < INPUTS; ++k) {
                Source& source = m_sources[k];
                if (source.valid && source.ready) {
                    in[k].cycles[source.taken++ - source.base] = m_cycle;
                    moves = true;
                }
                complete &= source.taken >= source.set.beats;
            }
            for (int k = 0; k < OUTPUTS; ++k) {
                Sink& sink = m_sinks[k];
                sink.watch(m_cycle);
                if (sink.gives) {
                    sink.capture(out[k], m_cycle);
                    moves = true;
                }
                complete &= sink.given >= sink.set.beats;
                overrun |= sink.given > sink.set.beats;
            }
            clock();
            move(in);
            ++m_cycle;
            const bool over = complete || overrun;
            m_idle = moves ? 0 : m_idle + 1;
            m_drained = over ? m_drained + 1 : 0;
            if (m_drained > m_set.drain) return DONE;
            if (!over && m_idle >= m_set.watchdog) return HUNG;
        }
    }

    void report(int64_t* state, Status status, const InBlock* in, const OutBlock* out) const {
        *state++ = status;
        *state++ = m_cycle;
        for (int k = 0; k < INPUTS; ++k) {
            const Source& source = m_sources[k];
            const int64_t fields[] = {in[k].used, source.taken, -1, source.valid, source.ready};
            state = std::copy(std::begin(fields), std::end(fields), state);
        }
        for (int k = 0; k < OUTPUTS; ++k) {
            const Sink& sink = m_sinks[k];
            const int64_t fields[] = {out[k].captured, sink.given, sink.broken, sink.valid, sink.ready};
            state = std::copy(std::begin(fields), std::end(fields), state);
        }
    }

    std::string message;

  private:
    // The wires of every port, by name.
    void settle() {
        for (Sink& sink : m_sinks) sink.ready = sink.takes(m_hold);
#define DRIVE(K, NAME) m_top->NAME##_valid = m_sources[K].valid;
        MASE_INPUTS(DRIVE)
#define TAKE(K, NAME) m_top->NAME##_ready = m_sinks[K].ready;
        MASE_OUTPUTS(TAKE)
        m_top->clk = 0;
        m_top->eval();
#define READY(K, NAME) m_sources[K].ready = m_top->NAME##_ready;
        MASE_INPUTS(READY)
#define VALID(K, NAME) m_sinks[K].valid = m_top->NAME##_valid;
        MASE_OUTPUTS(VALID)
    }

    void read() {
#define GET(K, NAME) \
    if (m_sinks[K].holding || m_sinks[K].valid) get(m_top->NAME, m_sinks[K].words);
        MASE_OUTPUTS(GET)
    }

    // The registers of sources and sinks.
    void move(InBlock* in) {
        for (int k = 0; k < INPUTS; ++k) m_sources[k].move(in[k]);
#define PUT(K, NAME) \
    if (m_sources[K].advance) put(m_top->NAME, m_sources[K].words);
        MASE_INPUTS(PUT)
        for (Sink& sink : m_sinks) sink.move();
    }

    void clock() {
        m_top->clk = 1;
        m_top->eval();
    }

    void reset(int64_t cycles) {
        m_top->rst = 1;
        m_cycle = m_idle = m_drained = 0;
        for (Source& source : m_sources) source.reset(m_set.gaps != 0);
        for (Sink& sink : m_sinks) sink.reset(m_set.pressure != 0);
        for (; cycles; --cycles) {
            settle();
            clock();
        }
        m_top->rst = 0;
    }

    // A cycle before the run that counts: nothing is recorded, and beats that are not there are gaps.
    void traffic(InBlock* in) {
        settle();
        for (int k = 0; k < INPUTS; ++k) {
            Source& source = m_sources[k];
            source.advance = !source.valid || source.ready;
            source.wants = source.advance && in[k].used < in[k].beats && !source.stall.now();
        }
        for (Sink& sink : m_sinks) sink.gives = sink.valid && sink.ready;
        clock();
        move(in);
    }

    Settings m_set;
    std::unique_ptr<VerilatedContext> m_context;
    std::unique_ptr<Vtop> m_top;
    Source m_sources[INPUTS];
    Sink m_sinks[OUTPUTS];
    bool m_hold = false;
    int64_t m_cycle = 0, m_idle = 0, m_drained = 0;
};

}  // namespace

// Verilator's runtime calls these instead of ending the process: $fatal, $stop, a failed assertion, logic that does not
// settle. The run cannot go on from there; the text goes to Python.
void vl_finish(const char*, int, const char*) {}
void vl_stop(const char* file, int line, const char*) {
    throw std::runtime_error(std::string{file} + ":" + std::to_string(line) + ": the design stopped the simulation");
}
void vl_fatal(const char* file, int line, const char*, const char* text) {
    throw std::runtime_error(std::string{file} + ":" + std::to_string(line) + ": " + text);
}

extern "C" {

__attribute__((visibility("default"))) Bench* mase_open(const int64_t* settings) { return new Bench{settings}; }

__attribute__((visibility("default"))) void mase_close(Bench* bench) { delete bench; }

__attribute__((visibility("default"))) const char* mase_message(Bench* bench) { return bench->message.c_str(); }

// Feeds a block of beats to every input. Returns when one wants more than it has, the room of an output is full, or the
// run is over. `first` resets the design before. A block's `used` says how many of its beats went in already.
__attribute__((visibility("default"))) void mase_run(Bench* bench, int64_t first, InBlock* in, OutBlock* out,
                                                     int64_t* state) {
    Status status = FAILED;
    try {
        if (first) bench->begin(in);
        status = bench->run(in, out);
    } catch (const std::exception& error) {
        bench->message = error.what();
    }
    bench->report(state, status, in, out);
}
}
