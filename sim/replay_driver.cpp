// SPDX-License-Identifier: Apache-2.0
//
// Replays recorded inputs on what Verilator made of a design, and compares all that is watched in every cycle.
//
// The top module has a clock, one wide input and one wide output (mase_hw/simulate/replay.py writes it). Both have a multiple
// of 64 bits, more than 64, so Verilator stores them as arrays of words.
#include "Vtop.h"
#include "verilated.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

namespace {
std::string message;
}

void vl_finish(const char*, int, const char*) {}
void vl_stop(const char* file, int line, const char*) {
    throw std::runtime_error(std::string{file} + ":" + std::to_string(line) + ": the design stopped the simulation");
}
void vl_fatal(const char* file, int line, const char*, const char* text) {
    throw std::runtime_error(std::string{file} + ":" + std::to_string(line) + ": " + text);
}

extern "C" {

__attribute__((visibility("default"))) const char* mase_replay_message() { return message.c_str(); }

// The first cycle, from `first` on, in which something differs from `seen`: what is there instead goes to `got`. -1 if there is
// none, -2 where the design stopped. `random`: registers start with any bits, drawn with this seed; else with zeros.
__attribute__((visibility("default"))) int64_t mase_replay(const uint64_t* given, const uint64_t* seen, int64_t cycles,
                                                           int64_t first, int64_t seed, int64_t random, uint64_t* got) {
    try {
        const auto context = std::make_unique<VerilatedContext>();
        context->randReset(random ? 2 : 0);
        context->randSeed(static_cast<int>(seed));
        const auto top = std::make_unique<Vtop>(context.get());
        constexpr std::size_t in = sizeof(top->given), out = sizeof(top->seen);
        for (int64_t t = 0; t < cycles; ++t) {
            top->clk = 0;
            std::memcpy(top->given.data(), given + t * (in / 8), in);
            top->eval();
            if (t >= first && std::memcmp(top->seen.data(), seen + t * (out / 8), out)) {
                std::memcpy(got, top->seen.data(), out);
                return t;
            }
            top->clk = 1;
            top->eval();
        }
        top->final();
        return -1;
    } catch (const std::exception& error) {
        message = error.what();
        return -2;
    }
}
}
