"""Our lz4.h and zlib.h: other decoders read what they write, and nothing else is taken from the machine."""

from __future__ import annotations

import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

from mase_hw import resources
from mase_hw.simulate import toolchain, verilate

HEADERS = resources.sim() / "fst"
PROGRAM = """
#include <lz4.h>
#include <zlib.h>
#include <cstdio>
#include <vector>
int main(int, char **argv) {
  std::vector<unsigned char> in;
  for (int c; (c = std::getchar()) != EOF;) in.push_back(static_cast<unsigned char>(c));
  const bool lz4 = argv[1][0] == 'l';
  std::vector<unsigned char> out(lz4 ? LZ4_compressBound(in.size()) : compressBound(in.size()));
  uLongf size = out.size();
  if (lz4) size = LZ4_compress_default((const char *)in.data(), (char *)out.data(), in.size(), out.size());
  else if (compress2(out.data(), &size, in.data(), in.size(), 9) != Z_OK) return 3;
  if (size > out.size()) return 4;
  std::fwrite(out.data(), 1, size, stdout);
}
"""
RNG = np.random.default_rng(5)
TEXTS = {
    "empty": b"",
    "one": b"x",
    "short": b"aaaaaaaaaaaa",
    "shortest match": b"abcdabcdabcdefghijkl",
    "zeros": bytes(100_000),
    "noise": RNG.integers(0, 256, 70_000, dtype=np.uint8).tobytes(),
    "a block of zlib's": RNG.integers(0, 4, 65_535, dtype=np.uint8).tobytes(),
    "one more": RNG.integers(0, 4, 65_536, dtype=np.uint8).tobytes(),
    "far away": (noise := RNG.integers(0, 256, 40_000, dtype=np.uint8).tobytes()) + noise + bytes(30_000) + noise,
    "as far as can be": (word := b"0123456789abcdef") + RNG.integers(97, 99, 65_519, dtype=np.uint8).tobytes() + word,
    "too far": word + RNG.integers(97, 99, 65_520, dtype=np.uint8).tobytes() + word + bytes(20),
    "literals of 15 and 270": bytes(range(15)) + bytes(40) + bytes(i * 7 % 256 for i in range(270)) + bytes(300),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("headers")
    (folder / "main.cpp").write_text(PROGRAM)
    cxx = toolchain.find().cxx.command
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Wshadow", "-Wno-sign-compare", f"-I{HEADERS}"]
    subprocess.run([*cxx, *flags, "-Werror", str(folder / "main.cpp"), "-o", str(folder / "main")], check=True)
    return folder / "main"


def packed(program: Path, how: str, text: bytes) -> bytes:
    return subprocess.run([str(program), how], input=text, capture_output=True, check=True).stdout


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_packed_is_read_back(program: Path, name: str) -> None:
    text = TEXTS[name]
    assert zlib.decompress(packed(program, "zlib", text)) == text
    assert unpacked(packed(program, "lz4", text)) == text


def test_every_short_text_is_read_back(program: Path) -> None:
    for size in range(2, 40):
        text = (b"abcabcab" * 5)[:size]
        assert unpacked(packed(program, "lz4", text)) == text


def test_repeats_are_packed_small(program: Path) -> None:
    assert len(packed(program, "lz4", TEXTS["zeros"])) < 500
    assert len(packed(program, "lz4", TEXTS["far away"])) > 80_000  # 70,000 bytes back is beyond an offset


def test_nothing_is_taken_from_the_machine(tmp_path: Path) -> None:
    """The FST writer includes our headers and not the machine's, so that it compiles where there are none."""
    tools = toolchain.find()
    source = tools.verilator_root / "include" / "verilated_fst_c.cpp"
    done = subprocess.run(
        [*tools.cxx.command, *verilate._compile_flags(tools, "fst"), "-M", str(source)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = {Path(word) for word in done.stdout.split() if word.endswith(("lz4.h", "zlib.h", "zconf.h"))}
    assert found == {HEADERS / "lz4.h", HEADERS / "zlib.h"}


def unpacked(block: bytes) -> bytes:
    """An LZ4 block as its format says it; a match too near the end, or none at the end, is an error."""
    out = bytearray()
    at = 0

    def length(nibble: int) -> int:
        nonlocal at
        total = nibble
        while nibble == 15:
            total += block[at]
            at += 1
            if block[at - 1] != 255:
                break
        return total

    starts = []
    while True:
        token = block[at]
        at += 1
        count = length(token >> 4)
        out += block[at : at + count]
        at += count
        if at == len(block):
            assert token & 15 == 0
            assert not starts or count >= 5, "the last five bytes are literals"
            assert not starts or len(out) - starts[-1] >= 12, "no match starts in the last twelve bytes"
            return bytes(out)
        offset = block[at] + 256 * block[at + 1]
        at += 2
        assert 0 < offset <= len(out)
        starts.append(len(out))
        for _ in range(length(token & 15) + 4):
            out.append(out[-offset])
