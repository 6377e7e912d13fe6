// The two functions of lz4 that Verilator's FST writer calls, so that waves need no library on the machine.
//
// LZ4_compress_default writes an LZ4 block: sequences of a token (two nibbles: literals, match length - 4), more length
// bytes where a nibble is 15, the literals, and a 16-bit offset back to the match. A block ends with literals only: its
// last 5 bytes are never part of a match, and no match starts within its last 12.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace mase_lz4 {

constexpr int kMinMatch = 4;
constexpr int kLastLiterals = 5;
constexpr int kNoMatchTail = 12;
constexpr int kFarthest = 65535;
constexpr int kHashBits = 13;

inline uint32_t read32(const uint8_t *at) {
  uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

inline uint32_t hash(uint32_t word) { return (word * 2654435761u) >> (32 - kHashBits); }

// What a nibble cannot say of `length`.
inline uint8_t *put_length(uint8_t *out, int length) {
  for (length -= 15; length >= 255; length -= 255) *out++ = 255;
  *out++ = static_cast<uint8_t>(length);
  return out;
}

// `match` is 0 for the literals at the end of the block.
inline uint8_t *put_sequence(uint8_t *out, const uint8_t *literals, int count, int match, int offset) {
  const int rest = match - kMinMatch;
  const int high = count < 15 ? count : 15;
  const int low = match == 0 ? 0 : rest < 15 ? rest : 15;
  *out++ = static_cast<uint8_t>(high << 4 | low);
  if (high == 15) out = put_length(out, count);
  if (count > 0) std::memcpy(out, literals, static_cast<size_t>(count));
  out += count;
  if (match == 0) return out;
  *out++ = static_cast<uint8_t>(offset & 255);
  *out++ = static_cast<uint8_t>(offset >> 8);
  return low == 15 ? put_length(out, rest) : out;
}

}  // namespace mase_lz4

inline int LZ4_compressBound(int size) { return size + size / 255 + 16; }

// Greedy: the last place with the same four bytes is the only candidate. Gives the bytes written; 0 if they might not fit.
inline int LZ4_compress_default(const char *source, char *destination, int size, int capacity) {
  using namespace mase_lz4;
  if (size < 0 || capacity < LZ4_compressBound(size)) return 0;
  const uint8_t *const in = reinterpret_cast<const uint8_t *>(source);
  uint8_t *const start = reinterpret_cast<uint8_t *>(destination);
  uint8_t *out = start;
  std::vector<int> last(size_t{1} << kHashBits, -1);  // the last place of a hash
  int done = 0;                                       // all before it is written
  int at = 0;
  while (at + kNoMatchTail <= size) {
    const uint32_t word = read32(in + at);
    int &place = last[hash(word)];
    const int from = place;
    place = at;
    if (from < 0 || at - from > kFarthest || read32(in + from) != word) {
      ++at;
      continue;
    }
    int length = kMinMatch;
    while (at + length < size - kLastLiterals && in[from + length] == in[at + length]) ++length;
    out = put_sequence(out, in + done, at - done, length, at - from);
    at += length;
    done = at;
  }
  return static_cast<int>(put_sequence(out, in + done, size - done, 0, 0) - start);
}
