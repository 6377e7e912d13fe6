// What Verilator's FST writer calls of zlib, so that waves need no library on the machine.
//
// compress2 writes a sound zlib stream of stored blocks, which is never shorter than the data. The FST writer then keeps
// the data as it is. These are the tables of times and first values; what changes in between goes through lz4.h.
#pragma once

#include <cstdint>
#include <cstring>

using Bytef = unsigned char;
using uLong = unsigned long;
using uLongf = uLong;
constexpr int Z_OK = 0;
constexpr int Z_BUF_ERROR = -5;

namespace mase_zlib {
constexpr uLong kBlock = 65535;  // bytes that a stored block holds at most

inline uLong blocks(uLong size) { return size == 0 ? 1 : (size + kBlock - 1) / kBlock; }

inline uint32_t adler32(const Bytef *data, uLong size) {
  uint32_t low = 1, high = 0;
  for (uLong i = 0; i < size; ++i) {
    low = (low + data[i]) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16 | low;
}
}  // namespace mase_zlib

inline uLong compressBound(uLong size) { return size + 5 * mase_zlib::blocks(size) + 6; }

inline int compress2(Bytef *destination, uLongf *length, const Bytef *source, uLong size, int /*level*/) {
  if (*length < compressBound(size)) return Z_BUF_ERROR;
  Bytef *out = destination;
  *out++ = 0x78;  // deflate, window of 32 KiB
  *out++ = 0x01;  // no dictionary, fastest; makes the two bytes a multiple of 31
  uLong done = 0;
  do {
    const uLong count = size - done < mase_zlib::kBlock ? size - done : mase_zlib::kBlock;
    *out++ = done + count == size ? 1 : 0;  // last block?
    *out++ = static_cast<Bytef>(count & 255);
    *out++ = static_cast<Bytef>(count >> 8);
    *out++ = static_cast<Bytef>(~count & 255);
    *out++ = static_cast<Bytef>(~count >> 8 & 255);
    if (count > 0) std::memcpy(out, source + done, count);
    out += count;
    done += count;
  } while (done < size);
  const uint32_t sum = mase_zlib::adler32(source, size);
  for (int shift = 24; shift >= 0; shift -= 8) *out++ = static_cast<Bytef>(sum >> shift & 255);
  *length = static_cast<uLongf>(out - destination);
  return Z_OK;
}
