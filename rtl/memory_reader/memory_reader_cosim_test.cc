// SPDX-License-Identifier: Apache-2.0
// The memory reader beside the bytes of a memory.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "Vwharf_memory_reader.h"
#include "Vwharf_memory_reader_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/packed.h"
#include "rtl/cosim/stall.h"
#include "rtl/cosim/stream.h"

namespace wharf::rtl {
namespace {

constexpr std::uint64_t kBase = 0xffff'0000'0000'0000;
constexpr std::uint32_t kBytes = 8192, kLines = 4;

struct Shown {
  Flit flit{};
  std::uint32_t bytes = 0;
  bool last = false;
  bool operator==(const Shown&) const = default;
};

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"ask", "line", "answer", "out"});
  for (const char* name :
       {"no bytes", "whole lines", "all places promised", "ends in the first line", "many lines"})
    coverage.require(name);
  Stall ask(random.substream(0)), line(random.substream(1)), answer(random.substream(2)),
      out(random.substream(3));
  StreamRule<Shown> rule;
  std::vector<std::byte> memory(kBytes);
  for (std::byte& byte : memory) byte = static_cast<std::byte>(random.below(256));
  std::deque<std::uint64_t> lines;  // To be asked for,
  std::deque<std::uint64_t> asked;  // and asked for.
  std::deque<Shown> due;
  std::uint32_t inside =
      0;  // Lines asked for whose last byte has not come out: at most those of kLines and one.
  bool offers = false;
  const auto reset = [&] {
    dut.reset();
    lines.clear();
    asked.clear();
    due.clear();
    rule.reset();
    offers = false;
    inside = 0;
  };
  dut->ask_valid_i = dut->answer_valid_i = 0;
  reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(3000) == 0) reset();
    const bool ask_open = ask.open(), line_open = line.open(), answer_open = answer.open(),
               out_open = out.open();
    coverage.hit_stalls((ask_open ? 1U : 0U) | (line_open ? 2U : 0U) | (answer_open ? 4U : 0U) |
                        (out_open ? 8U : 0U));
    if (!offers && ask_open) {
      offers = true;
      const std::uint64_t length = random.below(8) == 0 ? 64 * random.below(5) : random.below(500);
      dut->ask_length_i = static_cast<std::uint16_t>(length);
      dut->ask_address_i =
          kBase + (random.below(8) == 0 ? 64 * random.below(100) : random.below(kBytes - 500));
    }
    dut->ask_valid_i = offers;
    dut->line_ready_i = line_open;
    dut->answer_valid_i = answer_open && !asked.empty();
    if (dut->answer_valid_i) {
      Flit flit;
      std::memcpy(flit.data(), &memory[(asked.front() << 6U) - (kBase & ~std::uint64_t{63})], 64);
      put_flit(flit, dut->answer_data_i.data());
      asked.pop_front();
    }
    dut->out_ready_i = out_open;
    dut.settle();
    const std::uint64_t now = dut.cycles();
    if (dut->line_valid_o && line_open) {
      if (lines.empty() || lines.front() != dut->line_o) {
        found.differ(now, "a line that nobody wants");
        break;
      }
      lines.pop_front();
      asked.push_back(dut->line_o);
      if (++inside > kLines + 1) found.differ(now, "more lines than there is room for");
    }
    coverage.hit_if(!dut->line_valid_o && !lines.empty() && inside >= kLines, "all places promised");
    const Shown shown{flit_of(dut->out_data_o.data()), dut->out_bytes_o, dut->out_last_o != 0};
    if (!rule.holds(dut->out_valid_o, out_open, shown)) found.differ(now, "an offered flit changed");
    if (dut->out_valid_o && out_open) {
      if (due.empty() || !(due.front() == shown)) {
        found.differ(now, "a flit");
        break;
      }
      due.pop_front();
      // Lines of a read are as many as its flits, or one more.
      inside -= std::min(inside, 1U);
      if (shown.last) inside = static_cast<std::uint32_t>(asked.size());
    }
    if (offers && dut->ask_ready_o) {
      offers = false;
      const std::uint64_t address = dut->ask_address_i, length = dut->ask_length_i;
      coverage.hit_if(length == 0, "no bytes");
      coverage.hit_if(length != 0 && address % 64 == 0 && length % 64 == 0, "whole lines");
      coverage.hit_if(length != 0 && address % 64 != 0 && address % 64 + length <= 64,
                      "ends in the first line");
      coverage.hit_if(length > 300, "many lines");
      for (std::uint64_t at = address & ~std::uint64_t{63}; length != 0 && at < address + length; at += 64)
        lines.push_back(at >> 6U);
      for (std::uint64_t at = 0; at < length; at += 64) {
        Shown want;
        want.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(64, length - at));
        want.last = at + 64 >= length;
        std::memcpy(want.flit.data(), &memory[address - kBase + at], want.bytes);
        due.push_back(want);
      }
    }
    dut.tick();
  }
};

TEST(MemoryReader, AgreesWithTheBytesOfMemory) { expect_agreement<Vwharf_memory_reader>(kRun, 60000); }

TEST(MemoryReader, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_memory_reader_planted>(kRun, "rtl/memory_reader/faults.txt", 20000);
}

}  // namespace
}  // namespace wharf::rtl
