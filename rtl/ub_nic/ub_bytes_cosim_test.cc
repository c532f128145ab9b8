// SPDX-License-Identifier: Apache-2.0
// The same packets to the NIC in hardware and to the C++ engine, honest ones and others: both must say,
// write, complete and count the same.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "Vwharf_ub_nic_peer.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/ub_nic/engine_nic.h"
#include "rtl/ub_nic/nic_fed.h"
#include "rtl/ub_nic/nic_scenarios.h"

namespace wharf::rtl::bytes {
namespace {

using wire::TaOpcode;
using wire::UbResponseInfo;
using wire::UbResponseStatus;

constexpr std::uint32_t kPieceBytes = 128;  // Data of a packet.
constexpr std::uint32_t kRest = 150;        // Cycles after which nothing is under way.
/// The same when a request waits to be asked again: up to six units of 40 cycles.
constexpr std::uint32_t kLongRest = 500;

/// The numbers of the peer's packets are those that the NICs expect.
class Both {
 public:
  Both() : hardware(planted), engine(0) {}

  /// A packet without a number.
  static wire::Packet packet(wire::TpOpcode opcode = wire::TpOpcode::kReliable) {
    wire::Packet made = wire::ub_packet();
    made.source = {0};
    made.destination = {1};
    made.entropy = 0xc001;
    made.ub.rtph.source_tpn = ub::tpn_toward(wire::HostAddress{1}, 0);
    made.ub.rtph.destination_tpn = ub::tpn_toward(wire::HostAddress{0}, 0);
    made.ub.rtph.opcode = opcode;
    made.ub.rtph.last = true;
    return made;
  }
  static wire::Packet response(const FedAsked& asked, TaOpcode opcode,
                               UbResponseStatus status = UbResponseStatus::kSuccess, std::uint8_t info = 0) {
    wire::Packet made = packet();
    wire::Atah& header = wire::use_response(made.ub);
    header.opcode = opcode;
    header.requester_id = asked.header.requester_id;
    header.tassn = asked.header.tassn;
    header.status = status;
    header.info = info;
    return made;
  }
  /// Part of what a Read reads; `data` stays where it is until the packet is fed.
  static wire::Packet part(const FedAsked& asked, std::span<const std::byte> data, bool last) {
    wire::Packet made = response(asked, TaOpcode::kReadResponse);
    made.payload = wire::bytes_payload(data);
    made.ub.rtph.last = last;
    return made;
  }

  void ring(const FedRequest& request) {
    hardware.ring(request);
    engine.ring(request);
  }
  void post(std::uint32_t jetty, std::uint32_t place, std::uint32_t tag) {
    hardware.post(jetty, place, tag);
    engine.post(jetty, place, tag);
  }
  void feed(const wire::Packet& packet) {
    hardware.feed(FedNic<Vwharf_ub_nic_peer>::frame_of(packet));
    engine.feed(FedNic<EngineNic>::frame_of(packet));
  }
  /// With the next number.
  void feed_next(wire::Packet packet) {
    packet.ub.rtph.psn = next++;
    feed(packet);
  }
  void run(std::uint32_t cycles = kRest) {
    hardware.run(cycles);
    engine.run(cycles);
    next = hardware.expected;
  }

  /// What differs; empty when nothing does. Forgets what has left.
  std::string difference() {
    std::string text;
    std::sort(hardware.left.begin(), hardware.left.end());
    std::sort(engine.left.begin(), engine.left.end());
    if (hardware.left != engine.left) {
      for (const std::string& line : hardware.left) text += "\n  hardware: " + line;
      for (const std::string& line : engine.left) text += "\n  engine:   " + line;
    }
    hardware.left.clear();
    engine.left.clear();
    if (hardware.expected != engine.expected || hardware.negative != engine.negative)
      text += fmt::format("\n  acknowledged: hardware {} ({} negative), engine {} ({})", hardware.expected,
                          hardware.negative, engine.expected, engine.negative);
    if (hardware.counters() != engine.counters())
      text += "\n  hardware: " + hardware.counters().text() + "\n  engine:   " + engine.counters().text();
    const auto& here = hardware.bytes();
    const auto& there = engine.bytes();
    for (std::uint32_t i = 0; i < here.size(); ++i) {
      if (i == NicPlan::kRingAt) i = NicPlan::kReceives;  // Completions of other jetties in another order.
      if (here[i] == there[i]) continue;
      text += fmt::format("\n  memory at {:#x}: hardware {:02x}, engine {:02x}", i,
                          std::to_integer<unsigned>(here[i]), std::to_integer<unsigned>(there[i]));
      break;
    }
    return text;
  }

  FedNic<Vwharf_ub_nic_peer> hardware;
  FedNic<EngineNic> engine;
  std::uint32_t next = 0;  ///< Number of the peer's next packet.
};

std::vector<std::byte> counted_bytes(std::uint32_t count, std::uint32_t from) {
  std::vector<std::byte> made(count);
  for (std::uint32_t i = 0; i < count; ++i) made[i] = static_cast<std::byte>(from + i);
  return made;
}

SCENARIO(AResponseOfTheWrongOpcodeAnswersNothing) {
  for (const TaOpcode operation : {TaOpcode::kRead, TaOpcode::kSend, TaOpcode::kAtomicFetchAdd}) {
    for (const bool last : {true, false}) {
      SCOPED_TRACE(wire::ta_opcode_name(operation));
      Both both;
      both.ring({.operation = operation, .tag = 1});
      both.run();
      ASSERT_EQ(both.hardware.asked.size(), 1U);
      const FedAsked asked = both.hardware.asked[0];
      const TaOpcode right = operation == TaOpcode::kRead   ? TaOpcode::kReadResponse
                             : operation == TaOpcode::kSend ? TaOpcode::kTaack
                                                            : TaOpcode::kAtomicResponse;
      const std::vector<std::byte> data = counted_bytes(8, 3);
      std::uint32_t wrong = 0;
      for (const TaOpcode opcode : {TaOpcode::kTaack, TaOpcode::kReadResponse, TaOpcode::kAtomicResponse}) {
        if (opcode == right) continue;
        wire::Packet packet = Both::response(asked, opcode);
        if (opcode != TaOpcode::kTaack) packet.payload = wire::bytes_payload(data);
        packet.ub.rtph.last = last;
        both.feed_next(packet);
        ++wrong;
      }
      both.run();
      EXPECT_EQ(both.difference(), "");
      EXPECT_EQ(both.hardware.counters().dropped_response, wrong);
      EXPECT_EQ(both.hardware.ended, 0U);
      wire::Packet packet = Both::response(asked, right);
      if (right != TaOpcode::kTaack) packet.payload = wire::bytes_payload(data);
      both.feed_next(packet);
      both.run();
      EXPECT_EQ(both.difference(), "");
      EXPECT_EQ(both.hardware.ended, 1U);
    }
  }
}

SCENARIO(ResponsesOfTwoReadsThatTakeTurnsSpoilNeither) {
  Both both;
  const std::vector<std::byte> first = counted_bytes(300, 1), second = counted_bytes(300, 77);
  both.ring({.jetty = 0, .length = 300, .local = 0, .tag = 1});
  both.ring({.jetty = 1, .length = 300, .local = 512, .tag = 2});
  both.run();
  ASSERT_EQ(both.hardware.asked.size(), 2U);
  for (std::uint32_t at = 0; at < 300; at += kPieceBytes) {
    const std::uint32_t count = std::min(kPieceBytes, 300 - at);
    for (const std::uint32_t which : {0U, 1U}) {
      const std::span<const std::byte> data = which == 0 ? first : second;
      both.feed_next(Both::part(both.hardware.asked[which], data.subspan(at, count), at + count == 300));
    }
  }
  both.run();
  EXPECT_EQ(both.difference(), "");
  EXPECT_EQ(both.hardware.ended, 2U);
  EXPECT_EQ(std::memcmp(&both.hardware.bytes()[NicPlan::kLocal], first.data(), 300), 0);
  EXPECT_EQ(std::memcmp(&both.hardware.bytes()[NicPlan::kLocal + 512], second.data(), 300), 0);
}

SCENARIO(WhatIsWrongWithOneReadIsNotWrongWithAnother) {
  Both both;
  const std::vector<std::byte> data = counted_bytes(256, 9);
  both.ring({.jetty = 0, .length = 256, .local = 0, .tag = 1});
  both.ring({.jetty = 0, .length = 256, .local = 512, .tag = 2});
  both.run();
  ASSERT_EQ(both.hardware.asked.size(), 2U);
  const std::vector<FedAsked> asked = both.hardware.asked;
  const std::span<const std::byte> half = std::span(data).first(128);
  wire::Packet poisoned = Both::part(asked[0], half, false);
  poisoned.ub.response.poison = true;
  both.feed_next(poisoned);
  both.feed_next(Both::part(asked[1], half, false));
  both.feed_next(Both::part(asked[0], half, true));
  both.feed_next(Both::part(asked[1], half, true));
  both.run();
  EXPECT_EQ(both.difference(), "");
  EXPECT_EQ(both.hardware.ended, 2U);
}

}  // namespace
}  // namespace wharf::rtl::bytes
