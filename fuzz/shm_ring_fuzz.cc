// SPDX-License-Identifier: Apache-2.0
// A ring in shared memory whose other side is hostile: it writes heads, true and false ones, between any two
// steps of the reader, and tells the writer lies about what it has read. Nothing outside the ring may be
// read or written, and every loop ends.
// LINK: wharf_live_shm
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "fuzz/input_bytes.h"
#include "live/shm/frame_ring.h"

namespace {

using namespace wharf;

constexpr std::uint32_t kCells = 32;
constexpr std::size_t kLongest = 500;
constexpr std::byte kUntouched{0xc5};

struct Memory {
  alignas(64) live::FrameRingControl control{};
  alignas(64) std::array<std::byte, 64> before;
  alignas(64) std::array<std::byte, kCells * live::kRingCellBytes> cells;
  alignas(64) std::array<std::byte, 64> behind;
};

void write_head(Memory& memory, InputBytes& input, std::uint64_t position) {
  std::uint64_t word = 0;
  const std::uint32_t where = input.number();
  if (where % 4 == 0) {  // Anything.
    for (unsigned byte = 0; byte < 8; ++byte) word |= std::uint64_t{input.byte()} << (8 * byte);
  } else {  // Nearly right.
    word = (position & 0xffff'ffffU) | 0x8000'0000U | std::uint64_t{input.word()} % 600 << 32U |
           std::uint64_t{input.number() % 4} << 56U;
  }
  const std::uint64_t cell = where % 4 == 1 ? where / 4 % kCells : position % kCells;
  std::memcpy(memory.cells.data() + cell * live::kRingCellBytes, &word, sizeof word);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Memory memory;
  memory.control.consumed = 0;
  memory.control.sleeping = 0;
  memory.before.fill(kUntouched);
  memory.cells.fill(std::byte{0});
  memory.behind.fill(kUntouched);
  const live::FrameRing ring{&memory.control, memory.cells.data(), kCells};
  live::FrameRingReader reader(ring, kLongest);
  live::FrameRingWriter writer(ring);
  std::array<std::byte, 400> frame{};
  InputBytes input(data, size);
  std::uint64_t position = 0;  // Of the reader, as far as its frames show.
  while (!input.empty()) {
    const std::uint32_t choice = input.number();
    switch (choice % 6) {
      case 0:
      case 1:
        write_head(memory, input, position);
        break;
      case 2:
        for (std::uint32_t left = choice / 6; left > 0; --left) {
          const auto taken = reader.take();
          if (!taken) break;
          const auto at = static_cast<std::size_t>(taken->bytes.data() - memory.cells.data());
          WHARF_CHECK(!taken->bytes.empty() && taken->bytes.size() <= kLongest);
          WHARF_CHECK(at % live::kRingCellBytes == live::kRingHeadBytes && at < memory.cells.size() &&
                      taken->bytes.size() <= memory.cells.size() - at);
          WHARF_CHECK(!reader.lied());
          const std::uint64_t cell = at / live::kRingCellBytes;
          position += (cell - position) % kCells + live::ring_cells(taken->bytes.size());
        }
        break;
      case 3:
        reader.release();
        static_cast<void>(reader.prepare_sleep());
        break;
      case 4:
        memory.control.consumed = input.number() < 128 ? input.word() : ~std::uint64_t{input.word()};
        memory.control.sleeping = input.byte();
        break;
      case 5:
        frame.fill(std::byte{input.byte()});
        if (writer.put(std::span(frame).first(1 + input.word() % frame.size()), input.byte()))
          static_cast<void>(writer.wakes_reader());
        break;
    }
  }
  const auto untouched = [](std::byte each) { return each == kUntouched; };
  WHARF_CHECK(std::all_of(memory.before.begin(), memory.before.end(), untouched));
  WHARF_CHECK(std::all_of(memory.behind.begin(), memory.behind.end(), untouched));
  return 0;
}
