// SPDX-License-Identifier: Apache-2.0
// The segment table beside SegmentTable::check().
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>

#include <gtest/gtest.h>

#include "Vwharf_segment_table.h"
#include "Vwharf_segment_table_planted.h"
#include "engine/ub/segment_table.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/packed.h"
#include "rtl/cosim/stall.h"

namespace wharf::rtl {
namespace {

constexpr std::uint32_t kSegments = 8;
using ub::Grant;
using ub::Permissions;

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Coverage& coverage = found.coverage;
  coverage.require_stalls({"set", "ask"});
  static constexpr std::array kGrants{"granted", "unknown token", "wrong value", "no right", "out of range"};
  for (const char* name : kGrants) coverage.require(name);
  for (const char* name : {"token beyond the table", "no bytes at the end", "ends at the end",
                           "a byte too far", "a byte before", "ended", "not checked value", "wraps"})
    coverage.require(name);
  Stall set(random.substream(0));
  Stall ask(random.substream(1));
  std::array<ub::MrRecord, kSegments> records{};
  std::deque<std::pair<std::uint64_t, Grant>> due;  // When, and what.
  const auto reset = [&] {
    dut.reset();
    records.fill(ub::MrRecord{});
    due.clear();
  };
  dut->set_valid_i = dut->ask_valid_i = 0;
  reset();
  while (dut.cycles() < cycles && found.agrees()) {
    if (random.below(3000) == 0) reset();
    const bool sets = set.open() && random.below(4) == 0, asks = ask.open();
    coverage.hit_stalls((sets ? 1U : 0U) | (asks ? 2U : 0U));
    const auto index = static_cast<std::uint32_t>(random.below(kSegments));
    ub::MrRecord fresh{};
    dut->set_valid_i = sets;
    if (sets) {
      const bool is_top = random.below(4) == 0;
      const std::uint64_t size = random.below(4) == 0 ? random.below(1ULL << 40U) : random.below(1000);
      const std::uint64_t base =
          is_top ? ~std::uint64_t{0} - random.below(size + 1) : random.next_u64() >> 1U;
      const auto rights = static_cast<std::uint32_t>(random.below(8));
      const bool checks = random.below(3) != 0;
      fresh.token_id = index;
      fresh.token_value = static_cast<std::uint32_t>(random.below(4));
      fresh.va = base;
      fresh.length = static_cast<std::uint32_t>(size);
      fresh.offset = static_cast<decltype(fresh.offset)>(size >> 32U);
      fresh.permissions = static_cast<std::uint16_t>(
          (rights != 0 ? Permissions::kValid : 0) | (checks ? Permissions::kCheckValue : 0) |
          ((rights & 4U) != 0 ? Permissions::kRead : 0) | ((rights & 2U) != 0 ? Permissions::kWrite : 0) |
          ((rights & 1U) != 0 ? Permissions::kAtomic : 0));
      coverage.hit_if(rights == 0 && records[index].permissions != 0, "ended");
      Packed<148> bits;
      bits.put(checks, 1);
      bits.put(rights, 3);
      bits.put(fresh.token_value, 32);
      bits.put(base, 64);
      bits.put(size, 48);
      std::memcpy(dut->set_segment_i.data(), bits.words().data(), sizeof bits.words());
      dut->set_index_i = static_cast<std::uint8_t>(index);
    }
    dut->ask_valid_i = asks;
    if (asks) {
      std::uint32_t token = static_cast<std::uint32_t>(random.below(kSegments));
      const ub::MrRecord& record = records[token];
      const std::uint64_t size = (std::uint64_t{record.offset} << 32U) | record.length;
      std::uint64_t address = record.va + random.below(size + 1);
      std::uint64_t length = random.below(static_cast<std::uint64_t>(record.va + size - address) + 1);
      switch (random.below(8)) {
        case 0:
          length = record.va + size - address + 1;
          break;
        case 1:
          address = record.va - 1 - random.below(10);
          length = random.below(20);
          break;
        case 2:
          address = record.va + size;
          length = random.below(2);
          break;
        case 3:
          length = record.va + size - address;
          break;
        case 4:
          length = random.next_u32();
          break;
        default:
          break;
      }
      length &= 0xffff'ffffU;
      const auto right = static_cast<ub::Right>(random.below(3));
      const auto value =
          static_cast<std::uint32_t>(random.below(3) == 0 ? random.below(4) : record.token_value);
      if (random.below(16) == 0) token += kSegments << random.below(17);
      dut->ask_token_id_i = token;
      dut->ask_token_value_i = value;
      dut->ask_right_i = static_cast<std::uint8_t>(right);
      dut->ask_address_i = address;
      dut->ask_length_i = static_cast<std::uint32_t>(length);
      const ub::MrRecord& there = token < kSegments ? records[token] : ub::MrRecord{};
      const Grant grant = ub::SegmentTable::check(there, token, value, right, address, length);
      due.emplace_back(dut.cycles() + 2, grant);
      coverage.hit(kGrants[static_cast<std::size_t>(grant)]);
      coverage.hit_if(token >= kSegments, "token beyond the table");
      coverage.hit_if(grant == Grant::kGranted && length == 0 && address == record.va + size,
                      "no bytes at the end");
      coverage.hit_if(grant == Grant::kGranted && length != 0 && address + length == record.va + size,
                      "ends at the end");
      coverage.hit_if(grant == Grant::kOutOfRange && address + length == record.va + size + 1,
                      "a byte too far");
      coverage.hit_if(grant == Grant::kOutOfRange && address == record.va - 1, "a byte before");
      coverage.hit_if(grant == Grant::kGranted && value != there.token_value, "not checked value");
      coverage.hit_if(grant == Grant::kOutOfRange && address + length < address, "wraps");
    }
    dut.settle();
    const std::uint64_t now = dut.cycles();
    const bool is_due = !due.empty() && due.front().first == now;
    if (dut->answer_valid_o != is_due) found.differ(now, "when an answer comes");
    if (is_due) {
      if (dut->answer_o != static_cast<std::uint32_t>(due.front().second)) {
        found.differ(now, "answer " + std::to_string(dut->answer_o) + " instead of " +
                              std::to_string(static_cast<int>(due.front().second)));
      }
      due.pop_front();
    }
    if (sets) records[index] = fresh;
    dut.tick();
  }
};

TEST(SegmentTable, AgreesWithTheClass) { expect_agreement<Vwharf_segment_table>(kRun, 100000); }

TEST(SegmentTable, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_segment_table_planted>(kRun, "rtl/segment_table/faults.txt", 30000);
}

}  // namespace
}  // namespace wharf::rtl
