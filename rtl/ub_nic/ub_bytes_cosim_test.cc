// SPDX-License-Identifier: Apache-2.0
// The same packets to the NIC in hardware and to the C++ engine, honest ones and others: both must say,
// write, complete and count the same.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
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

  static wire::Packet packet(wire::TpOpcode opcode = wire::TpOpcode::kReliable) {
    return FedNic<EngineNic>::packet_of_peer(opcode);
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
    // How often one is said to be missing depends on time: not when it comes before that is said.
    if (hardware.expected != engine.expected || hardware.misses != engine.misses)
      text +=
          fmt::format("\n  expected: hardware {}{}, engine {}{}", hardware.expected,
                      hardware.misses ? ", missing" : "", engine.expected, engine.misses ? ", missing" : "");
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
      EXPECT_EQ(both.hardware.ended.size(), 0U);
      wire::Packet packet = Both::response(asked, right);
      if (right != TaOpcode::kTaack) packet.payload = wire::bytes_payload(data);
      both.feed_next(packet);
      both.run();
      EXPECT_EQ(both.difference(), "");
      EXPECT_EQ(both.hardware.ended.size(), 1U);
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
  EXPECT_EQ(both.hardware.ended.size(), 2U);
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
  EXPECT_EQ(both.hardware.ended.size(), 2U);
}

/// A Write of the peer of eight bytes.
wire::Packet write_of(std::uint32_t number, std::span<const std::byte> data) {
  wire::Packet made = Both::packet();
  made.ub.rtph.tpmsn = number;
  wire::Btah& header = wire::use_request(made.ub);
  header.opcode = TaOpcode::kWrite;
  header.requester_id = 1;
  header.tassn = static_cast<std::uint16_t>(number);
  header.token_value_present = true;
  made.ub.extension.maetah = {NicMemory::kBase + NicPlan::kTarget, 2,
                              static_cast<std::uint32_t>(data.size())};
  made.ub.extension.token_value = NicPlan::kToken + 2;
  made.payload = wire::bytes_payload(data);
  return made;
}
wire::Packet send_of(std::uint32_t number, std::span<const std::byte> data) {
  wire::Packet made = write_of(number, data);
  made.ub.request.opcode = TaOpcode::kSend;
  made.ub.extension.token_value = 0;
  made.ub.extension.mtetah.target_type = wire::TargetContextType::kJetty;
  return made;
}

SCENARIO(APacketBeyondAnyWindowIsNotMissedNorAnOldOneNamedTooEarly) {
  for (const std::uint32_t far : {64U, 100U, 0x7fffffU, 0x800000U, 0xffffffU}) {
    SCOPED_TRACE(far);
    Both both;
    const std::vector<std::byte> data = counted_bytes(8, 1);
    wire::Packet packet = write_of(1, data);
    packet.ub.rtph.psn = far;
    both.feed(packet);
    both.run();
    EXPECT_EQ(both.difference(), "");
    EXPECT_EQ(both.hardware.acknowledged, 0U);
    packet.ub.rtph.psn = 63;
    both.feed(packet);
    both.run();
    EXPECT_EQ(both.difference(), "");
    EXPECT_EQ(both.hardware.acknowledged, 1U);
  }
}

SCENARIO(APacketOfAnotherChannelOfThePeerIsNotTaken) {
  Both both;
  const std::vector<std::byte> data = counted_bytes(8, 1);
  wire::Packet packet = write_of(1, data);
  packet.ub.rtph.source_tpn ^= 1;
  both.feed(packet);
  both.run();
  EXPECT_EQ(both.difference(), "");
  EXPECT_EQ(both.hardware.counters().dropped, 1U);
}

SCENARIO(APacketWhosePadIsNotZeroIsNotTaken) {
  for (const std::uint32_t count : {1U, 2U, 3U, 4U, 22U, 23U, 25U, 61U, 62U, 63U, 125U, 126U, 127U}) {
    SCOPED_TRACE(count);
    Both both;
    const std::vector<std::byte> data = counted_bytes(count, 1);
    wire::Packet packet = write_of(1, data);
    const std::uint32_t pad = (0U - count) % 4;
    for (std::uint32_t at = 1; at <= 4; ++at) {
      // Only the pad is looked at: the byte before it is data, and may be any.
      std::vector<std::byte> here = FedNic<Vwharf_ub_nic_peer>::frame_of(packet);
      std::vector<std::byte> there = FedNic<EngineNic>::frame_of(packet);
      here[here.size() - at] = there[there.size() - at] = std::byte{0x80};
      both.hardware.feed(std::move(here));
      both.engine.feed(std::move(there));
    }
    both.run();
    EXPECT_EQ(both.difference(), "");
    EXPECT_EQ(both.hardware.counters().dropped, pad);
  }
}

SCENARIO(APoisonedSendTakesNoReceive) {
  Both both;
  both.post(0, 0, 7);
  const std::vector<std::byte> data = counted_bytes(8, 1);
  wire::Packet packet = send_of(1, data);
  packet.ub.request.poison = true;
  both.feed_next(packet);
  both.run();
  EXPECT_EQ(both.difference(), "");
  EXPECT_TRUE(both.hardware.received.empty());
  both.feed_next(send_of(2, data));
  both.run();
  EXPECT_EQ(both.difference(), "");
  EXPECT_EQ(both.hardware.received.size(), 1U);
}

SCENARIO(TheFirstPacketOfAMessageSaysWhoseItIs) {
  Both both;
  both.post(0, 0, 7);
  both.post(1, 0, 8);
  const std::vector<std::byte> data = counted_bytes(8, 1);
  for (const bool is_other : {false, true}) {
    wire::Packet packet = send_of(1, data);
    packet.ub.request.opcode = TaOpcode::kSendImmediate;
    packet.ub.extension.immediate = 0x0102'0304'0506'0708;
    packet.ub.rtph.last = false;
    both.feed_next(packet);
    packet.ub.rtph.last = true;
    packet.ub.extension.immediate = 0;
    packet.ub.extension.mtetah.target_id = 1;
    if (is_other) packet.ub.request.tassn = 77;
    both.feed_next(packet);
    both.run();
    EXPECT_EQ(both.difference(), "");
    both.post(0, 1, 9);
  }
  // The word of a Write takes its receive at the end.
  wire::Packet packet = write_of(2, data);
  packet.ub.request.opcode = TaOpcode::kWriteImmediate;
  packet.ub.extension.mtetah.target_type = wire::TargetContextType::kJetty;
  packet.ub.extension.immediate = 5;
  packet.ub.rtph.last = false;
  both.feed_next(packet);
  packet.ub.rtph.last = true;
  packet.ub.extension.immediate = 6;
  packet.ub.extension.mtetah.target_id = 1;
  both.feed_next(packet);
  both.run();
  EXPECT_EQ(both.difference(), "");
  EXPECT_EQ(both.hardware.received, (std::vector<std::uint32_t>{0, 0, 0}));
}

SCENARIO(AnAcknowledgementOfWhatIsNotThereIsCounted) {
  Both both;
  both.ring({.operation = TaOpcode::kSend, .tag = 1});
  both.run();
  std::uint64_t told = 0;
  for (std::uint32_t opcode = 2; opcode <= 4; ++opcode) {
    for (std::uint32_t status = 0; status <= 4; ++status) {
      for (const std::uint32_t psn : {0U, 1U, 2U}) {
        wire::Packet packet = Both::packet(static_cast<wire::TpOpcode>(opcode));
        wire::use_ack(packet.ub);
        packet.ub.rtph.last = false;
        packet.ub.rtph.status = static_cast<UbResponseStatus>(status);
        packet.ub.rtph.psn = psn;
        both.feed(packet);
        ++told;
        both.run(20);
      }
    }
  }
  both.run();
  EXPECT_EQ(both.difference(), "");
  EXPECT_GT(both.hardware.counters().dropped_acknowledgement, told / 2);
}

SCENARIO(AttemptsForWantOfAReceiveAndOfAPageAreCountedApart) {
  Both both;
  both.ring({.operation = TaOpcode::kSend, .tag = 1});
  both.run();
  for (int i = 0; i < 8; ++i) {
    const bool page = i % 2 == 0;
    both.feed_next(Both::response(both.hardware.asked.back(), TaOpcode::kTaack,
                                  page ? UbResponseStatus::kPageFault : UbResponseStatus::kReceiverNotReady,
                                  1));
    both.run(kLongRest);
    EXPECT_EQ(both.difference(), "");
  }
  EXPECT_EQ(both.hardware.ended.size(), 1U);
}

// ---------------------------------------------------------------- Drawn packets

/// A peer that is honest but for what is drawn against it: packets that are damaged, cut, doubled, too early,
/// of another channel, that contradict one another, and answers of every kind to what was asked and to
/// nothing.
class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed, "packets") {
    for (std::uint32_t jetty = 0; jetty < NicPlan::kJetties; ++jetty) {
      for (std::uint32_t i = below(3); i > 0; --i) post(jetty);
    }
    settle("receives");
  }

  void step() {
    seen_.clear();
    rest_ = rests_ ? kLongRest : kRest;
    if (chance(3)) ring();
    if (chance(6)) post(below(NicPlan::kJetties));
    while (to_send_.size() < 4) invent();
    const std::uint32_t burst = 1 + below(4);
    for (std::uint32_t i = 0; i < burst; ++i) {
      if (chance(5)) disturb(i);
      wire::Packet packet = with_data(to_send_[std::min<std::size_t>(i, to_send_.size() - 1)]);
      if (i >= to_send_.size()) break;
      packet.ub.rtph.psn = (both_.next + i) & 0xff'ffffU;
      seen_ += "\n  " + describe(packet);
      expect_rest(packet);
      if (chance(12)) {
        seen_ += " lost";
        continue;
      }
      both_.feed(packet);
      if (chance(12)) {
        seen_ += " twice";
        both_.feed(packet);
      }
    }
    settle("");
  }
  bool agrees() const { return agrees_; }
  Both& both() { return both_; }

 private:
  struct Piece {
    wire::Packet packet;
    std::vector<std::byte> data;
  };
  /// What answers a request of the NIC.
  struct Answer {
    FedAsked asked;
    std::uint32_t gone = 0;
  };

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_.below(limit)); }
  bool chance(std::uint32_t one_in) { return random_.below(one_in) == 0; }
  std::vector<std::byte> random_bytes(std::uint32_t count) {
    std::vector<std::byte> made(count);
    for (std::byte& byte : made) byte = static_cast<std::byte>(below(256));
    return made;
  }
  static wire::Packet with_data(const Piece& piece) {
    wire::Packet packet = piece.packet;
    packet.payload = wire::bytes_payload(piece.data);
    return packet;
  }
  /// A request that is to be asked again needs its time.
  void expect_rest(const wire::Packet& packet) {
    if (packet.ub.transaction != wire::UbTransaction::kResponse) return;
    const UbResponseStatus status = packet.ub.response.status;
    if (status != UbResponseStatus::kReceiverNotReady && status != UbResponseStatus::kPageFault) return;
    rest_ = kLongRest;
    if (!packet.ub.rtph.last) rests_ = true;  // That begins with the last packet of the response.
  }
  static std::string describe(const wire::Packet& packet) {
    const wire::UbPacket& ub = packet.ub;
    std::string text = fmt::format("tp {} psn {} tpmsn {}{}", static_cast<int>(ub.rtph.opcode), ub.rtph.psn,
                                   ub.rtph.tpmsn, ub.rtph.last ? " last" : "");
    if (ub.transaction == wire::UbTransaction::kResponse)
      text +=
          fmt::format(" response {} of {} to {} status {}.{}{} with {}", static_cast<int>(ub.response.opcode),
                      ub.response.requester_id, ub.response.tassn, static_cast<int>(ub.response.status),
                      ub.response.info, ub.response.poison ? " poison" : "", packet.payload.length);
    if (ub.transaction == wire::UbTransaction::kRequest)
      text += fmt::format(" request {} of {} number {}{} at {:#x} token {} {:#x} length {} to {} with {}",
                          static_cast<int>(ub.request.opcode), ub.request.requester_id, ub.request.tassn,
                          ub.request.poison ? " poison" : "", ub.extension.maetah.address,
                          ub.extension.maetah.token_id, ub.extension.token_value, ub.extension.maetah.length,
                          ub.extension.mtetah.target_id, packet.payload.length);
    if (ub.transaction == wire::UbTransaction::kNone)
      text += fmt::format(" status {}", static_cast<int>(ub.rtph.status));
    return text;
  }

  void post(std::uint32_t jetty) {
    if (posted_[jetty] == NicPlan::kReceiveDepth) return;
    ++posted_[jetty];
    both_.post(jetty, places_[jetty]++ % NicPlan::kReceivePlaces, 1000 + ++tags_);
  }

  void ring() {
    const std::uint32_t jetty = below(NicPlan::kJetties);
    // As many as the NIC has credits for. A request waits in the hardware while the one two numbers before is
    // not over: those of a jetty are begun when all are.
    if (open_of_[jetty] != 0) return;
    for (std::uint32_t i = 1 + below(2); i > 0 && open_ < 4; --i) ring(jetty);
    both_.run();
  }
  void ring(std::uint32_t jetty) {
    ++open_;
    ++open_of_[jetty];
    constexpr std::array kOperations{
        TaOpcode::kRead,          TaOpcode::kRead,           TaOpcode::kWrite,     TaOpcode::kSend,
        TaOpcode::kSendImmediate, TaOpcode::kAtomicFetchAdd, TaOpcode::kAtomicLoad};
    FedRequest request;
    request.operation = kOperations[below(kOperations.size())];
    request.jetty = jetty;
    request.length = wire::is_atomic(request.operation) ? 8 : below(400);
    request.local = 512 * (tags_ % 16) + below(64);
    request.tag = ++tags_;
    both_.ring(request);
  }

  /// One more packet of some message.
  void invent() {
    take_asked();
    if (!answers_.empty() && chance(2)) return answer(below(static_cast<std::uint32_t>(answers_.size())));
    if (chance(12)) return answer_nothing();
    request();
  }

  void take_asked() {
    const std::vector<FedAsked>& asked = both_.hardware.asked;
    for (; asked_ < asked.size(); ++asked_) {
      if (asked[asked_].last) answers_.push_back({asked[asked_]});
    }
  }

  void answer(std::uint32_t which) {
    Answer& one = answers_[which];
    const TaOpcode asked = one.asked.header.opcode;
    const bool is_read = asked == TaOpcode::kRead;
    const TaOpcode right = is_read                  ? TaOpcode::kReadResponse
                           : wire::is_atomic(asked) ? TaOpcode::kAtomicResponse
                                                    : TaOpcode::kTaack;
    Piece piece;
    piece.packet = Both::response(one.asked, right);
    wire::Atah& header = piece.packet.ub.response;
    std::uint32_t count = 0;
    if (is_read) {
      count = std::min(one.asked.length - one.gone, chance(4) ? 1 + below(kPieceBytes) : kPieceBytes);
      one.gone += count;
      piece.packet.ub.rtph.last = one.gone == one.asked.length;
    } else if (wire::is_atomic(asked)) {
      count = 8;
    }
    if (chance(4)) {
      switch (below(7)) {
        case 0:
          header.opcode = static_cast<TaOpcode>(static_cast<std::uint32_t>(TaOpcode::kTaack) + below(3));
          break;
        case 1:  // The shortest delays.
          header.opcode = TaOpcode::kTaack;
          header.status = UbResponseStatus::kReceiverNotReady;
          header.info = static_cast<std::uint8_t>(1 + below(3));
          break;
        case 2:
          header.opcode = TaOpcode::kTaack;
          header.status = UbResponseStatus::kPageFault;
          break;
        case 3:
          header.opcode = chance(2) ? TaOpcode::kTaack : right;
          header.status = static_cast<UbResponseStatus>(3 + below(2));
          header.info = static_cast<std::uint8_t>(below(8));
          break;
        case 4:
          header.poison = true;
          break;
        case 5:
          piece.packet.ub.rtph.last = !piece.packet.ub.rtph.last;
          break;
        default:
          count = count == 0 ? 0 : below(kPieceBytes + 1);
          break;
      }
    }
    if (header.opcode == TaOpcode::kTaack) count = 0;
    piece.data = random_bytes(count);
    if (piece.packet.ub.rtph.last && !chance(8)) {
      answers_[which] = answers_.back();
      answers_.pop_back();
    }
    to_send_.push_back(std::move(piece));
  }

  void answer_nothing() {
    FedAsked asked;
    asked.header.requester_id = chance(4) ? NicPlan::kJetties + below(100) : below(NicPlan::kJetties);
    asked.header.tassn = static_cast<std::uint16_t>(chance(2) ? below(16) : below(0x10000));
    Piece piece;
    const auto opcode = static_cast<TaOpcode>(static_cast<std::uint32_t>(TaOpcode::kTaack) + below(3));
    piece.packet = Both::response(asked, opcode, static_cast<UbResponseStatus>(below(4)));
    piece.packet.ub.response.info = 1;
    piece.packet.ub.rtph.last = !chance(4);
    if (opcode != TaOpcode::kTaack) piece.data = random_bytes(8);
    to_send_.push_back(std::move(piece));
  }

  /// The next packet of the peer's request; a new one when the last has ended.
  void request() {
    if (pieces_ == 0) begin_request();
    --pieces_;
    const bool last = pieces_ == 0;
    Piece piece;
    piece.packet = Both::packet();
    piece.packet.ub.rtph.tpmsn = message_;
    piece.packet.ub.rtph.last = last;
    wire::Btah& header = wire::use_request(piece.packet.ub);
    header = header_;
    wire::UbPacket::RequestExtension& extension = piece.packet.ub.extension;
    extension = extension_;
    std::uint32_t count = 0;
    const bool has_data = header.opcode <= TaOpcode::kWriteImmediate;
    if (has_data) {
      count = last ? below(kPieceBytes + 1) : kPieceBytes;
      extension.maetah.length = count;
      extension.maetah.address = extension_.maetah.address + at_;
      at_ += count;
    }
    if (chance(10)) {
      switch (below(6)) {
        case 0:
          header.poison = true;
          break;
        case 1:
          extension.token_value ^= 1U << below(32);
          break;
        case 2:
          extension.maetah.token_id = 3 + below(5);
          break;
        case 3:
          extension.maetah.address += chance(2) ? 0x8000 : 1 + below(7);
          break;
        case 4:
          if (has_data) count = below(kPieceBytes + 1);
          break;
        default:
          contradict(header);
          break;
      }
    }
    piece.data = random_bytes(count);
    to_send_.push_back(std::move(piece));
  }
  void contradict(wire::Btah& header) {
    switch (below(3)) {
      case 0:
        header.tassn ^= 1U;
        break;
      case 1:
        header.requester_id ^= 1U;
        break;
      default:
        header.opcode = header.opcode == TaOpcode::kWrite ? TaOpcode::kWriteImmediate : TaOpcode::kWrite;
        break;
    }
  }
  void begin_request() {
    constexpr std::array kOperations{TaOpcode::kWrite, TaOpcode::kWriteImmediate, TaOpcode::kSend,
                                     TaOpcode::kSendImmediate, TaOpcode::kRead};
    ++message_;
    header_ = {};
    header_.requester_id = below(4);
    header_.tassn = static_cast<std::uint16_t>(number_++);
    header_.token_value_present = true;
    header_.opcode =
        chance(3) ? static_cast<TaOpcode>(static_cast<std::uint32_t>(TaOpcode::kAtomicCompareSwap) + below(9))
                  : kOperations[below(kOperations.size())];
    if (chance(40)) header_.opcode = TaOpcode::kManagement;
    extension_ = {};
    extension_.mtetah.target_type = wire::TargetContextType::kJetty;
    extension_.mtetah.target_id = chance(16) ? NicPlan::kJetties + below(1000) : below(NicPlan::kJetties);
    extension_.immediate = random_.next_u64();
    at_ = 0;
    pieces_ = 1;
    std::uint32_t segment = 2, at = NicPlan::kTarget + below(0x3000);
    if (header_.opcode == TaOpcode::kRead) {
      segment = 1;
      at = NicPlan::kConstant + below(NicPlan::kConstantBytes - 300);
      extension_.maetah.length = below(300);
    } else if (wire::is_atomic(header_.opcode)) {
      segment = 0;
      at = NicPlan::kCounters + 8 * below(8);
      extension_.maetah.length = 8;
      extension_.operands.operand = random_.next_u64();
      extension_.operands.compare = random_.next_u64();
    } else {
      pieces_ = 1 + below(3);
    }
    extension_.maetah.token_id = segment;
    extension_.maetah.address = NicMemory::kBase + at;
    extension_.token_value = NicPlan::kToken + segment;
    if (header_.opcode == TaOpcode::kSend || header_.opcode == TaOpcode::kSendImmediate)
      extension_.token_value = NicPlan::token_of(extension_.mtetah.target_id);
  }

  /// Something that no honest peer sends before packet `i` of the burst.
  void disturb(std::uint32_t i) {
    Piece piece = to_send_[std::min<std::size_t>(i, to_send_.size() - 1)];
    wire::Packet packet = with_data(piece);
    wire::Rtph& rtph = packet.ub.rtph;
    rtph.psn = (both_.next + i) & 0xff'ffffU;
    switch (below(8)) {
      case 0:
        rtph.psn = (both_.next - 1 - below(9)) & 0xff'ffffU;
        break;
      case 1:
        rtph.psn = (rtph.psn + 1 + below(40)) & 0xff'ffffU;
        break;
      case 2:
        rtph.destination_tpn ^= 1U << below(24);
        break;
      case 3:
        rtph.source_tpn ^= 1U << below(24);
        break;
      case 4:
      case 5:
        return acknowledge();
      case 6:
        return damage(packet);
      default:
        return cut(packet);
    }
    seen_ += "\n  " + describe(packet);
    both_.feed(packet);
  }
  void acknowledge() {
    constexpr std::array kOpcodes{wire::TpOpcode::kAck, wire::TpOpcode::kAckCetph,
                                  wire::TpOpcode::kNakDeprecated, wire::TpOpcode::kCnp};
    wire::Packet packet = Both::packet(kOpcodes[chance(2) ? 0 : below(kOpcodes.size())]);
    packet.ub.rtph.last = false;
    wire::use_ack(packet.ub);
    packet.ub.rtph.status = static_cast<UbResponseStatus>(chance(2) ? 0 : below(5));
    // How much has been sent is known while nothing is under way.
    const std::uint32_t about = seen_.empty() ? below(12) : below(2) == 0 ? below(6) : 20 + below(20);
    packet.ub.rtph.psn = (both_.hardware.sent + 0x1000000 - 6 + about) & 0xff'ffffU;
    seen_ += "\n  " + describe(packet);
    both_.feed(packet);
  }
  /// One bit of the frame is turned. Only if both read the same: their numbers are not.
  void damage(const wire::Packet& packet) {
    std::vector<std::byte> here = FedNic<Vwharf_ub_nic_peer>::frame_of(packet);
    std::vector<std::byte> there = FedNic<EngineNic>::frame_of(packet);
    const std::uint32_t bit = below(static_cast<std::uint32_t>(8 * here.size()));
    here[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    there[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    wire::Packet read;
    const wire::DropReason reason = wire::decode(here, wire::LinkType::kEthernet, read);
    if (reason == wire::DropReason::kNone) {
      if (FedNic<EngineNic>::frame_of(read) != there) return;
      // Messages are told apart by their numbers, and end.
      if (read.ub.rtph.tpmsn != packet.ub.rtph.tpmsn || read.ub.rtph.last != packet.ub.rtph.last) return;
      expect_rest(read);
      if (read.ub.transaction == wire::UbTransaction::kResponse && rest_ == kLongRest &&
          (read.ub.response.info == 0 || read.ub.response.info > 3))
        return;  // A delay of long.
      if (read.ub.rtph.opcode == wire::TpOpcode::kReliable &&
          read.ub.transaction == wire::UbTransaction::kRequest && !is_here(read.ub.request.opcode))
        return;
    } else {
      wire::Packet other;
      if (wire::decode(there, wire::LinkType::kEthernet, other) != reason) return;
    }
    seen_ += fmt::format("\n  bit {} turned, {}: {}", bit, static_cast<int>(reason), describe(read));
    both_.hardware.feed(std::move(here));
    both_.engine.feed(std::move(there));
  }
  /// Whether both know the opcode, or neither.
  static bool is_here(TaOpcode opcode) {
    return opcode != TaOpcode::kSendInvalidate && opcode != TaOpcode::kWriteNotify &&
           opcode <= TaOpcode::kManagement;
  }
  void cut(const wire::Packet& packet) {
    std::vector<std::byte> here = FedNic<Vwharf_ub_nic_peer>::frame_of(packet);
    std::vector<std::byte> there = FedNic<EngineNic>::frame_of(packet);
    const std::size_t size = 1 + below(static_cast<std::uint32_t>(here.size()) - 1);
    here.resize(size);
    there.resize(size);
    seen_ += fmt::format("\n  cut to {} bytes", size);
    both_.hardware.feed(std::move(here));
    both_.engine.feed(std::move(there));
  }

  void settle(const std::string& what) {
    const std::uint32_t before = both_.next;
    both_.run(rest_);
    for (std::uint32_t i = (both_.next - before) & 0xff'ffffU; i > 0 && !to_send_.empty(); --i)
      to_send_.pop_front();
    for (; ended_ < both_.hardware.ended.size(); ++ended_) {
      --open_;
      --open_of_[both_.hardware.ended[ended_]];
    }
    for (; received_ < both_.hardware.received.size(); ++received_)
      --posted_[both_.hardware.received[received_]];
    const std::string difference = both_.difference();
    if (difference.empty()) return;
    agrees_ = false;
    ADD_FAILURE() << what << seen_ << difference;
  }

  RandomStream random_;
  Both both_;
  std::deque<Piece> to_send_;  ///< In this order, until the NICs say that they have them.
  std::vector<Answer> answers_;
  std::size_t asked_ = 0, ended_ = 0, received_ = 0;
  std::array<std::uint32_t, NicPlan::kJetties> posted_{}, places_{}, open_of_{};
  std::uint32_t tags_ = 0, open_ = 0, number_ = 0, rest_ = kRest;
  wire::Btah header_;
  wire::UbPacket::RequestExtension extension_;
  std::uint32_t message_ = 0, pieces_ = 0, at_ = 0;
  std::string seen_;
  bool agrees_ = true, rests_ = false;
};

SCENARIO(DrawnPacketsMeanTheSameToBoth) {
  const std::uint64_t runs = cycles_or(30000) / 3000;
  const char* text = std::getenv("WHARF_RTL_SEED");
  const std::uint64_t first = text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
  for (std::uint64_t seed = first; seed < first + runs && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Drawn drawn(seed);
    for (std::uint32_t i = 0; i < 20 && drawn.agrees(); ++i) drawn.step();
  }
}

}  // namespace
}  // namespace wharf::rtl::bytes
