// SPDX-License-Identifier: Apache-2.0
// The memory writer beside the bytes of a memory.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "Vwharf_memory_writer.h"
#include "Vwharf_memory_writer_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/packed.h"
#include "rtl/cosim/stall.h"
#include "rtl/cosim/stream.h"

namespace wharf::rtl {
namespace {

constexpr std::uint64_t kBase = 0xffff'0000'0000'0000;
constexpr std::uint32_t kBytes = 4096;

struct Shown {
  std::uint64_t line = 0, enable = 0;
  Flit flit{};
  bool last = false;
  bool operator==(const Shown&) const = default;
};

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"start", "in", "line"});
  for (const char* name : {"one byte", "whole lines", "inside of a line", "many lines"})
    coverage.require(name);
  Stall start(random.substream(0)), in(random.substream(1)), line(random.substream(2));
  StreamRule<Shown> rule;
  std::vector<std::byte> memory(kBytes), expected(kBytes);
  std::deque<Flit> flits;
  std::vector<std::byte> bytes;
  std::deque<std::uint32_t> ends;
  bool offers = false, offers_flit = false;
  const auto reset = [&] {
    dut.reset();
    flits.clear();
    rule.reset();
    ends.clear();
    offers = offers_flit = false;
    expected = memory;
  };
  dut->start_valid_i = dut->in_valid_i = 0;
  reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(3000) == 0) reset();
    const bool start_open = start.open(), in_open = in.open(), line_open = line.open();
    coverage.hit_stalls((start_open ? 1U : 0U) | (in_open ? 2U : 0U) | (line_open ? 4U : 0U));
    if (!offers && start_open) {
      offers = true;
      bytes.resize(random.below(8) == 0   ? 64 * (1 + random.below(4))
                   : random.below(8) == 0 ? 1
                                          : 1 + random.below(400));
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
      dut->start_length_i = static_cast<std::uint16_t>(bytes.size());
      dut->start_address_i =
          kBase + (random.below(8) == 0 ? 64 * random.below(50) : random.below(kBytes - 500));
    }
    if (!offers_flit && in_open && !flits.empty()) {
      offers_flit = true;
      put_flit(flits.front(), dut->in_data_i.data());
    }
    dut->start_valid_i = offers;
    dut->in_valid_i = offers_flit;
    dut->line_ready_i = line_open;
    dut.settle();
    const std::uint64_t now = dut.cycles();
    const Shown shown{dut->line_o, dut->line_enable_o, flit_of(dut->line_data_o.data()),
                      dut->line_last_o != 0};
    if (!rule.holds(dut->line_valid_o, line_open, shown)) found.differ(now, "an offered line changed");
    if (dut->line_valid_o && line_open) {
      const std::uint64_t at = (shown.line << 6U) - kBase;
      if (at + 64 > kBytes || ends.empty()) {
        found.differ(now, "a line of nobody");
        break;
      }
      for (std::uint32_t i = 0; i < 64; ++i) {
        if ((shown.enable >> (63 - i)) % 2 == 1) memory[at + i] = shown.flit[i];
      }
      if (shown.last != (--ends.front() == 0)) found.differ(now, "which line is the last");
      if (ends.front() == 0) {
        ends.pop_front();
        if (memory != expected) found.differ(now, "bytes of memory");
      }
    }
    if (offers_flit && dut->in_ready_o) {
      flits.pop_front();
      offers_flit = false;
    }
    if (offers && dut->start_ready_o) {
      offers = false;
      const std::uint64_t at = dut->start_address_i - kBase, size = bytes.size();
      coverage.hit_if(size == 1, "one byte");
      coverage.hit_if(at % 64 == 0 && size % 64 == 0, "whole lines");
      coverage.hit_if(at % 64 != 0 && at % 64 + size < 64, "inside of a line");
      coverage.hit_if(size > 300, "many lines");
      if (!flits.empty() || !ends.empty()) found.differ(now, "a write begins before the one before is over");
      std::copy(bytes.begin(), bytes.end(), expected.begin() + static_cast<std::ptrdiff_t>(at));
      for (std::uint64_t i = 0; i < size; i += 64) {
        Flit flit{};
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(i), std::min<std::uint64_t>(64, size - i),
                    flit.begin());
        flits.push_back(flit);
      }
      ends.push_back(static_cast<std::uint32_t>((at % 64 + size + 63) / 64));
    }
    dut.tick();
  }
};

TEST(MemoryWriter, AgreesWithTheBytesOfMemory) { expect_agreement<Vwharf_memory_writer>(kRun, 60000); }

TEST(MemoryWriter, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_memory_writer_planted>(kRun, "rtl/memory_writer/faults.txt", 20000);
}

}  // namespace
}  // namespace wharf::rtl
