// Drives a verilated design from arrays: clock, source, sink, stalls, capture and the stream rule.
//
// It is what mase_harness.sv, mase_stream_source, _sink, _stall and _probe are to the cocotb engine, cycle for cycle:
// the same seeds stall in the same cycles. It is compiled with the design and called from Python in blocks of beats;
// values are int64 per lane, packed here, lane 0 in the lowest bits. A cycle is two evaluations: inputs settle with the
// clock low, then the clock rises.
#include "Vtop.h"
#include "verilated.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
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

// What Python reads after each call; the order is that of native_library.State.
enum Field { STATUS, USED, CAPTURED, CYCLE, TAKEN, GIVEN, BROKEN, IN_VALID, IN_READY, OUT_VALID, OUT_READY, FIELDS };
enum Status { WANTS_INPUT, FULL, DONE, HUNG, FAILED };

// What a run is to do; the order is that of native_library.Settings.
struct Settings {
    int64_t beats_in, beats_out;  // in the whole run
    int64_t gaps, pressure, source_seed, sink_seed;
    int64_t watchdog, drain, fill, some;
    int64_t seed;
    Shape in, out;
};

struct Block {
    const int64_t* in;
    int64_t beats, used;
    int64_t* in_cycles;
    int64_t* out;
    int64_t* out_cycles;
    int64_t capacity, captured;
};

class Bench {
  public:
    explicit Bench(const Settings& settings)
        : m_set{settings}, m_context{std::make_unique<VerilatedContext>()}, m_in(std::max<std::size_t>(2, settings.in.words())),
          m_out(std::max<std::size_t>(2, settings.out.words())), m_held(m_out.size()) {
        m_context->randReset(2);  // registers that reset leaves alone start with random bits
        m_context->randSeed(static_cast<int>(settings.seed));
        m_top = std::make_unique<Vtop>(m_context.get());
    }
    ~Bench() { m_top->final(); }

    // One cycle of reset in a design that is full and blocked, and in one at work: nothing may be left over. What the last
    // of the two leaves over is seen in the run that follows, so each is the last in half of the patterns.
    void begin(Block& block) {
        reset(RESET_CYCLES);
        for (const bool hold : {m_set.gaps != 0, m_set.gaps == 0}) {
            m_hold = hold;
            block.used = 0;
            for (int64_t k = hold ? m_set.fill : m_set.some; k; --k) traffic(block);
            reset(1);
        }
        m_hold = false;
        block.used = 0;
    }

    Status run(Block& block) {
        for (;;) {
            settle();
            const bool advance = !m_valid || m_top->data_in_0_ready;
            const bool wants = advance && m_sent < m_set.beats_in && !m_gaps.now();
            const bool gives = m_top->data_out_0_valid && m_ready;
            // Both returns leave the cycle as it is: the next call settles it once more.
            if (wants && block.used == block.beats) return WANTS_INPUT;
            if (gives && m_given < m_set.beats_out && block.captured == block.capacity) return FULL;
            const bool takes = m_valid && m_top->data_in_0_ready;
            watch();
            if (takes) block.in_cycles[m_taken++ - m_in_base] = m_cycle;
            if (gives) capture(block);
            clock();
            move(block, advance, wants, gives);
            ++m_cycle;
            const bool complete = m_taken >= m_set.beats_in && m_given >= m_set.beats_out;
            const bool over = complete || m_given > m_set.beats_out;
            m_idle = takes || gives ? 0 : m_idle + 1;
            m_drained = over ? m_drained + 1 : 0;
            if (m_drained > m_set.drain) return DONE;
            if (!over && m_idle >= m_set.watchdog) return HUNG;
        }
    }

    void rebase() { m_in_base = m_taken; }

    void report(int64_t* state, Status status, const Block& block) const {
        const int64_t fields[FIELDS] = {status, block.used, block.captured, m_cycle, m_taken, m_given, m_broken, m_valid,
                                        m_top->data_in_0_ready, m_top->data_out_0_valid, m_ready};
        std::copy(fields, fields + FIELDS, state);
    }

    std::string message;

  private:
    void settle() {
        m_ready = !m_pressure.now() && !m_hold && (!m_pressure.enable || m_shy == 31 || m_offered);
        m_top->data_in_0_valid = m_valid;
        m_top->data_out_0_ready = m_ready;
        m_top->clk = 0;
        m_top->eval();
        m_offers = m_top->data_out_0_valid;
    }

    void clock() {
        m_top->clk = 1;
        m_top->eval();
    }

    void reset(int64_t cycles) {
        m_top->rst = 1;
        m_valid = m_offered = m_holding = false;
        m_sent = m_shy = m_cycle = m_taken = m_given = m_idle = m_drained = m_in_base = 0;
        m_broken = -1;
        m_gaps.reset(m_set.gaps, static_cast<uint32_t>(m_set.source_seed));
        m_pressure.reset(m_set.pressure, static_cast<uint32_t>(m_set.sink_seed));
        for (; cycles; --cycles) {
            settle();
            clock();
        }
        m_top->rst = 0;
    }

    // A cycle before the run that counts: nothing is recorded, and beats that are not there are gaps.
    void traffic(Block& block) {
        settle();
        const bool advance = !m_valid || m_top->data_in_0_ready;
        const bool gives = m_top->data_out_0_valid && m_ready;
        clock();
        move(block, advance, advance && block.used < block.beats && !m_gaps.now(), gives);
    }

    // The registers of source and sink.
    void move(Block& block, bool advance, bool wants, bool gives) {
        if (wants) {
            const int64_t* values = block.in + block.used++ * m_set.in.lanes;
            if (m_set.in.width > 32) pack<unsigned __int128>(values, m_set.in, m_in);
            else pack<uint64_t>(values, m_set.in, m_in);
            ++m_sent;
        } else if (advance) {  // between beats data is inverted, so that a design that ignores valid is seen
            for (uint32_t& word : m_in) word = ~word;
            m_in[m_set.in.words() - 1] &= m_set.in.last_mask();
            if (m_set.in.words() == 1) m_in[1] = 0;
        }
        if (advance) {
            m_valid = wants;
            put(m_top->data_in_0, m_in);
        }
        m_offered = m_offers && !gives;
        if (gives && m_shy != 31) ++m_shy;
        m_gaps.tick();
        m_pressure.tick();
    }

    // The stream rule: after valid and not ready, valid stays and data stays.
    void watch() {
        const bool valid = m_top->data_out_0_valid;
        if (m_holding || valid) get(m_top->data_out_0, m_out);
        if (m_holding && m_broken < 0 && (!valid || m_out != m_held)) m_broken = m_cycle;
        m_holding = valid && !m_ready;
        if (m_holding) m_held = m_out;
    }

    void capture(Block& block) {
        if (m_given++ >= m_set.beats_out) return;
        int64_t* values = block.out + block.captured * m_set.out.lanes;
        if (m_set.out.width > 32) unpack<unsigned __int128>(m_out, m_set.out, values);
        else unpack<uint64_t>(m_out, m_set.out, values);
        block.out_cycles[block.captured++] = m_cycle;
    }

    Settings m_set;
    std::unique_ptr<VerilatedContext> m_context;
    std::unique_ptr<Vtop> m_top;
    Stall m_gaps, m_pressure;
    Words m_in, m_out, m_held;
    bool m_hold = false, m_valid = false, m_ready = false, m_offered = false, m_holding = false, m_offers = false;
    int64_t m_sent = 0, m_shy = 0, m_cycle = 0, m_taken = 0, m_given = 0, m_idle = 0, m_drained = 0, m_in_base = 0;
    int64_t m_broken = -1;
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

__attribute__((visibility("default"))) Bench* mase_open(const int64_t* settings) {
    Settings set;
    static_assert(sizeof(Settings) % sizeof(int64_t) == 0);
    std::memcpy(&set, settings, sizeof set);
    return new Bench{set};
}

__attribute__((visibility("default"))) void mase_close(Bench* bench) { delete bench; }

__attribute__((visibility("default"))) const char* mase_message(Bench* bench) { return bench->message.c_str(); }

// Feeds a block of beats. Returns when the design wants the next one, the capture buffer is full, or the run is over.
// `first` resets the design before, `again` says that the block is the one of the last call, from beat `used` on.
__attribute__((visibility("default"))) void mase_run(Bench* bench, int64_t first, const int64_t* in, int64_t beats,
                                                     int64_t used, int64_t* in_cycles, int64_t* out, int64_t* out_cycles,
                                                     int64_t capacity, int64_t* state) {
    Block block{in, beats, used, in_cycles, out, out_cycles, capacity, 0};
    Status status = FAILED;
    try {
        if (first) bench->begin(block);
        bench->rebase();
        status = bench->run(block);
    } catch (const std::exception& error) {
        bench->message = error.what();
    }
    bench->report(state, status, block);
}
}
