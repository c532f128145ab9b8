// SPDX-License-Identifier: Apache-2.0
// One NIC, in hardware or the C++ engine, that is fed packets by hand, and what it makes of them in a form
// that knows neither its numbers nor its time. Apart from NicPeer, which knows the hardware alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/random.h"
#include "engine/ub/counters.h"
#include "engine/ub/exchange.h"
#include "rtl/cosim/clocked.h"
#include "rtl/cosim/nic_memory.h"
#include "rtl/cosim/packed.h"
#include "rtl/ub_nic/nic_feed.h"
#include "rtl/ub_nic/nic_pair.h"
#include "rtl/ub_nic/nic_plan.h"
#include "verbs/work_request.h"
#include "wire/frame.h"
#include "wire/ub_opcode.h"

namespace wharf::rtl {

/// What both must count alike.
struct FedCounters {
  std::uint64_t dropped = 0;  ///< Malformed, of another channel, or of a kind that is not taken.
  std::uint64_t duplicate = 0;
  std::uint64_t ahead = 0;
  std::uint64_t without_room = 0;
  std::uint64_t dropped_acknowledgement = 0;
  std::uint64_t dropped_response = 0;
  std::uint64_t not_ready_sent = 0;
  std::uint64_t not_ready_received = 0;

  bool operator==(const FedCounters&) const = default;
  std::string text() const {
    return fmt::format(
        "dropped {} duplicate {} ahead {} without room {} ack {} response {} sent {} received {}", dropped,
        duplicate, ahead, without_room, dropped_acknowledgement, dropped_response, not_ready_sent,
        not_ready_received);
  }
};

/// A request of the host beside it.
struct FedRequest {
  wire::TaOpcode operation = wire::TaOpcode::kRead;
  std::uint32_t jetty = 0;
  std::uint32_t length = 8;
  std::uint32_t local = 0;  ///< Behind NicPlan::kLocal.
  std::uint32_t tag = 0;
};

/// A packet of it with a request, once for each number.
struct FedAsked {
  wire::Btah header;
  std::uint32_t length = 0;  ///< Of the access.
  bool last = false;
};

template <typename Model>
class FedNic {
 public:
  static constexpr std::uint32_t kOwn = 1, kPeer = 0;

  /// With fault `planted` of the list that is built into the model, or none.
  explicit FedNic(std::uint32_t planted) {
    if constexpr (requires { nic->planted_i; }) nic->planted_i = static_cast<std::uint8_t>(planted);
    if constexpr (requires { nic->memory; }) nic->memory = &memory_;
    nic->post_valid_i = nic->doorbell_valid_i = nic->rx_valid_i = nic->answer_valid_i = nic->consumed_i = 0;
    nic->open_valid_i = nic->segment_valid_i = nic->memory_ready_i = 0;
    nic->tx_ready_i = 1;
    set_route(*nic, kOwn);
    for (std::uint32_t i = 0; i < NicPlan::kBytes; ++i)
      memory_.bytes()[i] = static_cast<std::byte>(i * 7U + (i >> 8U));
    std::memset(memory_.at(NicMemory::kBase + NicPlan::kRingAt), 0, NicPlan::kEntryBytes * NicPlan::kRing);
    nic.reset();
    set_segment(nic, 0, 7, NicPlan::kCounters, 64);
    set_segment(nic, 1, 4, NicPlan::kConstant, NicPlan::kConstantBytes);
    set_segment(nic, 2, 6, NicPlan::kTarget, 0x4000);
    for (std::uint32_t jetty = 0; jetty < NicPlan::kJetties; ++jetty) {
      nic->open_valid_i = nic->open_value_i = 1;
      nic->open_jetty_i = static_cast<std::uint16_t>(jetty);
      nic->open_token_i = NicPlan::token_of(jetty);
      nic.settle();
      nic.tick();
    }
    nic->open_valid_i = 0;
  }

  void run(std::uint32_t cycles) {
    for (std::uint32_t i = 0; i < cycles; ++i) cycle();
  }

  void ring(const FedRequest& request) {
    const bool is_atomic = wire::is_atomic(request.operation);
    Packed<464> bits;
    bits.put(static_cast<std::uint64_t>(request.operation), 4);
    bits.put(0, 24);  // Not inline, no order, no fence, jetty 0.
    bits.put(NicMemory::kBase + NicPlan::kTarget, 64);
    bits.put(2, 20);
    bits.put(0, 32);
    bits.put(request.length, 32);
    bits.put(NicMemory::kBase + NicPlan::kLocal + request.local, 64);
    bits.put(0x1122'3344'5566'7788, 64);
    for (std::uint32_t i = 0; i < 16; ++i) bits.put(is_atomic ? 0x40 + i : 0, 8);
    bits.put(request.tag, 32);
    std::memcpy(nic->doorbell_i.data(), bits.words().data(), sizeof bits.words());
    nic->doorbell_jetty_i = request.jetty;
    nic->doorbell_valid_i = 1;
    for (int i = 0; i < 2000 && nic->doorbell_valid_i != 0; ++i) cycle();
    nic->doorbell_valid_i = 0;
  }

  /// A receive of NicPlan::kCapacity bytes.
  void post(std::uint32_t jetty, std::uint32_t place, std::uint32_t tag) {
    Packed<128> bits;
    const std::uint32_t at =
        NicPlan::kReceives + (jetty * NicPlan::kReceivePlaces + place) * NicPlan::kSlotBytes;
    bits.put(NicMemory::kBase + at, 64);
    bits.put(NicPlan::kCapacity, 32);
    bits.put(tag, 32);
    std::memcpy(nic->post_i.data(), bits.words().data(), sizeof bits.words());
    nic->post_jetty_i = jetty;
    nic->post_valid_i = 1;
    for (int i = 0; i < 2000 && nic->post_valid_i != 0; ++i) cycle();
    nic->post_valid_i = 0;
  }

  /// One without a number, of the reliable channel.
  static wire::Packet packet_of_peer(wire::TpOpcode opcode = wire::TpOpcode::kReliable) {
    wire::Packet made = wire::ub_packet();
    made.source = {kPeer};
    made.destination = {kOwn};
    made.entropy = 0xc001;
    made.ub.rtph.source_tpn = ub::tpn_toward(wire::HostAddress{kOwn}, 0);
    made.ub.rtph.destination_tpn = ub::tpn_toward(wire::HostAddress{kPeer}, 0);
    made.ub.rtph.opcode = opcode;
    made.ub.rtph.last = true;
    return made;
  }
  /// The frame of a packet whose jetties and segments of this NIC are counted from 0.
  static std::vector<std::byte> frame_of(wire::Packet packet) {
    const NicNumbers numbers = NicNumbers::of<Model>();
    if (packet.ub.transaction == wire::UbTransaction::kResponse) {
      packet.ub.response.requester_id += numbers.first_jetty;
    } else if (packet.ub.transaction == wire::UbTransaction::kRequest) {
      packet.ub.extension.maetah.token_id += numbers.first_token;
      packet.ub.extension.mtetah.target_id += numbers.first_jetty;
    }
    std::vector<std::byte> frame(2048);
    frame.resize(wire::encode(packet, frame));
    return frame;
  }
  void feed(std::vector<std::byte> frame) { feed_.push(std::move(frame)); }

  FedCounters counters() {
    FedCounters made;
    if constexpr (requires { nic->counted(); }) {
      const ub::UbCounters& is = nic->counted();
      made.dropped = nic->frames_dropped + is.dropped_foreign + is.dropped_unknown_channel +
                     is.dropped_tp_opcode + is.dropped_transport + is.dropped_encapsulation +
                     is.dropped_malformed;
      made.duplicate = is.duplicates;
      made.ahead = is.dropped_out_of_order + is.dropped_beyond_window;
      made.without_room = is.dropped_no_room + is.dropped_no_shared_room;
      made.dropped_acknowledgement = is.dropped_acknowledgement;
      made.dropped_response = is.dropped_response;
      made.not_ready_sent = is.receiver_not_ready_sent;
      made.not_ready_received = is.receiver_not_ready_retries + is.page_fault_retries;
    } else {
      // nic_counters_t, from its last member on.
      const auto& is = nic->counters_o;
      made.dropped = is[11] + is[12];
      made.duplicate = is[10];
      made.ahead = is[9];
      made.without_room = is[8] + is[13];
      made.dropped_acknowledgement = is[7];
      made.dropped_response = is[5];
      made.not_ready_sent = is[1];
      made.not_ready_received = is[0];
    }
    return made;
  }
  const std::vector<std::byte>& bytes() { return memory_.bytes(); }

  bool holds_memory = false;  ///< It takes nothing.
  Clocked<Model> nic;
  std::vector<FedAsked> asked;          ///< Its requests, packet by packet.
  std::vector<std::string> left;        ///< Each packet with data that has left, once, and each completion.
  std::vector<std::uint32_t> ended;     ///< The jetty of each of its requests that is over,
  std::vector<std::uint32_t> received;  ///< and of each receive.
  std::uint32_t expected = 0;           ///< The number that it asks for with its acknowledgements.
  bool misses = false;                  ///< The last of these says that this one is missing.
  std::uint32_t acknowledged = 0;       ///< How often it has said something of numbers.
  std::uint32_t sent = 0;               ///< Its numbered packets.

 private:
  static std::string hex(const std::byte* bytes, std::uint32_t count) {
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i)
      text += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
    return text;
  }

  void cycle() {
    memory_.drive(*nic, nic.cycles(), false);
    if (holds_memory) nic->memory_ready_i = 0;
    nic->consumed_i = take_completion();
    feed_.drive(*nic);
    nic.settle();
    memory_.take(*nic, nic.cycles(), false);
    feed_.take(*nic, [this](const std::vector<std::byte>& frame) { hear(frame); });
    const bool rang = nic->doorbell_ready_o != 0, posted = nic->post_ready_o != 0;
    nic.tick();
    if (rang) nic->doorbell_valid_i = 0;
    if (posted) nic->post_valid_i = 0;
  }

  /// A whole frame of it. Each numbered packet is acknowledged as it comes.
  void hear(const std::vector<std::byte>& frame) {
    wire::Packet packet;
    if (wire::decode(frame, wire::LinkType::kEthernet, packet) != wire::DropReason::kNone)
      return left.push_back("a frame that cannot be decoded");
    const wire::Rtph& rtph = packet.ub.rtph;
    if (rtph.opcode == wire::TpOpcode::kAck) {
      const bool is_negative = rtph.status == wire::UbResponseStatus::kError;
      expected = is_negative ? rtph.psn : (rtph.psn + 1) & 0xff'ffffU;
      misses = is_negative;
      ++acknowledged;
      return;
    }
    if (rtph.psn == sent) {
      ++sent;
      note(packet);
    }
    wire::Packet answer = packet_of_peer(wire::TpOpcode::kAck);
    answer.ub.rtph.last = false;
    answer.ub.rtph.psn = (sent - 1) & 0xff'ffffU;
    feed(frame_of(answer));
  }

  void note(const wire::Packet& packet) {
    std::array<std::byte, 512> data{};
    wire::fill(packet.payload, std::span(data).first(packet.payload.length));
    const std::string payload = hex(data.data(), packet.payload.length);
    if (packet.ub.transaction == wire::UbTransaction::kResponse) {
      const wire::Atah& is = packet.ub.response;
      left.push_back(fmt::format("response {} of {} to {}: status {}.{}{}{} {}", static_cast<int>(is.opcode),
                                 is.requester_id, is.tassn, static_cast<int>(is.status), is.info,
                                 is.poison ? " poison" : "", packet.ub.rtph.last ? " last" : "", payload));
      return;
    }
    wire::Btah is = packet.ub.request;
    is.requester_id -= NicNumbers::of<Model>().first_jetty;
    const wire::Maetah& access = packet.ub.extension.maetah;
    asked.push_back({is, access.length, packet.ub.rtph.last});
    left.push_back(fmt::format("request {} of {} number {}{}{} {}", static_cast<int>(is.opcode),
                               is.requester_id, is.tassn, is.retry ? " again" : "",
                               packet.ub.rtph.last ? " last" : "", payload));
  }

  bool take_completion() {
    const std::byte* const entry = memory_.at(NicMemory::kBase + NicPlan::kRingAt) +
                                   std::size_t{NicPlan::kEntryBytes} * next_completion_;
    if (((std::to_integer<unsigned>(entry[15]) & 1U) != 0) != phase_) return false;
    if (++next_completion_ == NicPlan::kRing) {
      next_completion_ = 0;
      phase_ = !phase_;
    }
    const bool is_receive = (std::to_integer<unsigned>(entry[14]) & 1U) != 0;
    (is_receive ? received : ended).push_back(load_le32(entry + 4));
    left.push_back(fmt::format("completion {} {}", hex(entry, 15), hex(entry + 16, 12)));
    return true;
  }

  NicMemory memory_{NicPlan::kBytes, RandomStream(1, "memory")};
  NicFeed feed_;
  std::uint32_t next_completion_ = 0;
  bool phase_ = true;
};

}  // namespace wharf::rtl
