// SPDX-License-Identifier: Apache-2.0
// Writes that come one behind another: the NIC works at several, and nobody may notice.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "Vwharf_ub_nic_peer.h"
#include "base/bytes.h"
#include "rtl/ub_nic/nic_fed.h"
#include "rtl/ub_nic/nic_scenarios.h"

namespace wharf::rtl {
namespace {

using Fed = FedNic<Vwharf_ub_nic_peer>;
using wire::TaOpcode;

/// A peer that asks for 8 bytes at a time.
class Asking {
 public:
  /// `segment` and its offset in the memory; what a Write writes, or an atomic adds.
  void ask(TaOpcode opcode, std::uint32_t segment, std::uint32_t at, std::uint64_t value = 0) {
    wire::Packet packet = Fed::packet_of_peer();
    packet.ub.rtph.psn = packet.ub.rtph.tpmsn = number_;
    wire::Btah& header = wire::use_request(packet.ub);
    header.opcode = opcode;
    header.tassn = static_cast<std::uint16_t>(number_++);
    header.token_value_present = true;
    packet.ub.extension.maetah = {NicMemory::kBase + at, segment, 8};
    packet.ub.extension.token_value = NicPlan::kToken + segment;
    std::byte data[8];
    store_le64(data, value);
    if (opcode == TaOpcode::kSend) packet.ub.extension.token_value = 0;
    if (opcode == TaOpcode::kWrite || opcode == TaOpcode::kSend) packet.payload = wire::bytes_payload(data);
    if (wire::is_atomic(opcode)) packet.ub.extension.operands.operand = value;
    nic.feed(Fed::frame_of(packet));
  }
  std::size_t left(std::string_view what) const {
    return static_cast<std::size_t>(
        std::count_if(nic.left.begin(), nic.left.end(),
                      [&](const std::string& line) { return line.find(what) != std::string::npos; }));
  }
  std::uint64_t word(std::uint32_t at) { return load_le64(&nic.bytes()[at]); }

  Fed nic{planted};

 private:
  std::uint32_t number_ = 0;
};

constexpr std::uint32_t kRest = 200;

SCENARIO(AWriteIsAnsweredWhenMemoryHasIt) {
  Asking peer;
  peer.nic.holds_memory = true;
  for (std::uint32_t i = 0; i < 4; ++i) peer.ask(TaOpcode::kWrite, 2, NicPlan::kTarget + 64 * i, 100 + i);
  peer.nic.run(kRest);
  // Their numbers count, all the same: that of each whose data is on its way.
  EXPECT_GE(peer.nic.expected, 1U);
  EXPECT_TRUE(peer.nic.left.empty());
  peer.nic.holds_memory = false;
  peer.nic.run(kRest);
  EXPECT_EQ(peer.nic.expected, 4U);
  ASSERT_EQ(peer.nic.left.size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(peer.word(NicPlan::kTarget + 64 * i), 100 + i);
    EXPECT_NE(peer.nic.left[i].find("to " + std::to_string(i) + ": status 0"), std::string::npos);
  }
}

SCENARIO(AWriteIsJudgedByTheSegmentThatIsThereInItsTurn) {
  Asking peer;
  peer.nic.holds_memory = true;
  // Three of them are under way to memory or wait for nothing but that; the table was asked for the fourth,
  // too.
  for (std::uint32_t i = 0; i < 6; ++i) peer.ask(TaOpcode::kWrite, 2, NicPlan::kTarget + 64 * i, 100 + i);
  peer.nic.run(kRest);
  set_segment(peer.nic.nic, 2, 0, NicPlan::kTarget, 0x4000);
  peer.nic.run(10);
  peer.nic.holds_memory = false;
  peer.nic.run(kRest);
  EXPECT_EQ(peer.left("status 0"), 3U);
  EXPECT_EQ(peer.left("status 3.2"), 3U);
  for (std::uint32_t i = 3; i < 6; ++i) EXPECT_NE(peer.word(NicPlan::kTarget + 64 * i), 100 + i);
}

SCENARIO(AReadBehindAWriteSeesIt) {
  for (const std::uint32_t writes : {1U, 2U, 3U}) {
    Asking peer;
    peer.nic.holds_memory = true;
    for (std::uint32_t i = 0; i < writes; ++i) peer.ask(TaOpcode::kWrite, 0, 0, 0x11 * (1 + i));
    peer.ask(TaOpcode::kRead, 0, 0);
    peer.nic.run(kRest);
    peer.nic.holds_memory = false;
    peer.nic.run(kRest);
    EXPECT_EQ(peer.left("status 0"), writes + 1);
    EXPECT_EQ(peer.left(writes == 1   ? "1100000000000000"
                        : writes == 2 ? "2200000000000000"
                                      : "3300000000000000"),
              1U);
  }
}

SCENARIO(AnAtomicBehindAWriteSeesIt) {
  for (const std::uint32_t writes : {1U, 2U, 3U}) {
    Asking peer;
    peer.nic.holds_memory = true;
    for (std::uint32_t i = 0; i < writes; ++i) peer.ask(TaOpcode::kWrite, 0, 0, 100 + i);
    peer.ask(TaOpcode::kAtomicFetchAdd, 0, 0, 1000);
    peer.nic.run(kRest);
    peer.nic.holds_memory = false;
    peer.nic.run(kRest);
    EXPECT_EQ(peer.left("status 0"), writes + 1);
    EXPECT_EQ(peer.word(0), 1100 + writes - 1);
  }
}

SCENARIO(ASendBehindWritesIsAnsweredWhenMemoryHasIt) {
  for (const std::uint32_t writes : {1U, 2U, 3U}) {
    Asking peer;
    peer.nic.post(0, 0, 1);
    peer.nic.holds_memory = true;
    for (std::uint32_t i = 0; i < writes; ++i)
      peer.ask(TaOpcode::kWrite, 2, NicPlan::kTarget + 64 * i, 100 + i);
    peer.ask(TaOpcode::kSend, 0, 0, 0x77);
    peer.nic.run(kRest);
    // Memory takes a line now and then.
    const std::string response = "to " + std::to_string(writes) + ": status 0";
    for (std::uint32_t i = 0; i < 400 && peer.left(response) == 0; ++i) {
      peer.nic.holds_memory = i % 40 != 0;
      peer.nic.run(1);
    }
    EXPECT_EQ(peer.left(response), 1U);
    EXPECT_EQ(peer.word(NicPlan::kReceives), 0x77U);
    peer.nic.holds_memory = false;
    peer.nic.run(kRest);
    EXPECT_EQ(peer.left("completion"), 1U);
  }
}

}  // namespace
}  // namespace wharf::rtl
