// SPDX-License-Identifier: Apache-2.0
// One NIC before a peer that a test plays by hand: it acknowledges every packet, and answers only what the
// test answers, so also what no honest peer would. Apart from the pair of NICs, of which both are honest.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
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

template <typename Model>
class NicPeer {
 public:
  struct Completion {
    std::uint32_t tag = 0;
    std::uint8_t status = 0;
  };

  /// With fault `planted` of the list that is built into the model, or none.
  explicit NicPeer(std::uint32_t planted = 0) {
    nic->planted_i = static_cast<std::uint8_t>(planted);
    nic->post_valid_i = nic->doorbell_valid_i = nic->rx_valid_i = nic->answer_valid_i = nic->consumed_i = 0;
    nic->open_valid_i = nic->segment_valid_i = nic->memory_ready_i = 0;
    nic->tx_ready_i = 1;
    set_route(*nic, 0);
    std::memset(memory_.at(NicMemory::kBase + NicPlan::kRingAt), 0, NicPlan::kEntryBytes * NicPlan::kRing);
    restart();
    for (std::uint32_t jetty = 0; jetty < NicPlan::kJetties; ++jetty) {
      open(jetty);
      run(1);
    }
  }

  /// Resets the NIC, and the numbers of the peer's packets. No jetty is open after it.
  void restart() {
    nic.reset();
    memory_.reset();
    feed_.clear();
    next_ = 0;
  }

  /// In the next cycle.
  void open(std::uint32_t jetty) {
    nic->open_valid_i = nic->open_value_i = 1;
    nic->open_jetty_i = static_cast<std::uint8_t>(jetty);
    nic->open_token_i = 0;
  }

  void run(std::uint32_t cycles) {
    for (std::uint32_t i = 0; i < cycles; ++i) cycle();
  }

  /// A Send of 8 inline bytes or a Read of 8 bytes, in the next cycle in which it is taken.
  void ring(std::uint32_t jetty, wire::TaOpcode operation, verbs::OrderTag order, std::uint32_t tag) {
    Packed<464> bits;
    bits.put(static_cast<std::uint64_t>(operation), 4);
    bits.put(operation == wire::TaOpcode::kRead ? 0 : 1, 1);
    bits.put(static_cast<std::uint64_t>(order), 2);
    bits.put(0, 21);  // No fence, jetty 0.
    bits.put(NicMemory::kBase, 64);
    bits.put(0, 52);
    bits.put(8, 32);
    bits.put(NicMemory::kBase + NicPlan::kLocal, 64);
    bits.put(0, 64);
    for (std::uint32_t i = 0; i < 16; ++i) bits.put(0x40 + i, 8);
    bits.put(tag, 32);
    std::memcpy(nic->doorbell_i.data(), bits.words().data(), sizeof bits.words());
    nic->doorbell_jetty_i = jetty;
    nic->doorbell_valid_i = 1;
    for (int i = 0; i < 2000 && nic->doorbell_valid_i != 0; ++i) cycle();
    if (nic->doorbell_valid_i != 0) failed = true;
    nic->doorbell_valid_i = 0;
  }

  /// A response to `request`: with eight bytes of data to a Read that succeeds.
  void answer(const wire::Btah& request, wire::UbResponseStatus status,
              wire::UbResponseInfo info = wire::UbResponseInfo::kNone, bool is_last = true) {
    wire::Packet packet = packet_of_peer();
    wire::Atah& response = wire::use_response(packet.ub);
    response.requester_id = request.requester_id;
    response.tassn = request.tassn;
    response.status = status;
    response.info = static_cast<std::uint8_t>(info);
    packet.ub.rtph.opcode = wire::TpOpcode::kReliable;
    packet.ub.rtph.psn = next_++;
    packet.ub.rtph.last = true;
    static constexpr std::array<std::byte, 8> kData{};
    if (request.opcode == wire::TaOpcode::kRead && status == wire::UbResponseStatus::kSuccess) {
      response.opcode = wire::TaOpcode::kReadResponse;
      packet.payload = wire::bytes_payload(kData);
      packet.ub.rtph.last = is_last;
    }
    send(packet);
  }

  /// Acknowledges every packet up to number `psn`, or says that it is missing.
  void acknowledge(std::uint32_t psn, bool missing = false) {
    wire::Packet packet = packet_of_peer();
    packet.ub.rtph.opcode = wire::TpOpcode::kAck;
    packet.ub.rtph.psn = psn;
    if (missing) packet.ub.rtph.status = wire::UbResponseStatus::kError;
    send(packet);
  }

  bool failed = false;       ///< A doorbell was never taken.
  bool acknowledges = true;  ///< Each packet as it comes.
  Clocked<Model> nic;
  std::vector<wire::Btah> requests;     ///< That came, in their order.
  std::vector<Completion> completions;  ///< That the host has taken.

 private:
  static wire::Packet packet_of_peer() {
    wire::Packet packet = wire::ub_packet();
    packet.source = {1};
    packet.destination = {0};
    packet.entropy = 0xc001;
    packet.ub.rtph.source_tpn = ub::tpn_toward(wire::HostAddress{0}, 0);
    packet.ub.rtph.destination_tpn = ub::tpn_toward(wire::HostAddress{1}, 0);
    return packet;
  }

  void send(const wire::Packet& packet) {
    std::vector<std::byte> frame(512);
    frame.resize(wire::encode(packet, frame));
    feed_.push(frame);
  }

  void cycle() {
    memory_.drive(*nic, nic.cycles(), false);
    nic->consumed_i = take_completion();
    feed_.drive(*nic);
    nic.settle();
    memory_.take(*nic, nic.cycles(), false);
    feed_.take(*nic, [this](const std::vector<std::byte>& frame) { hear(frame); });
    const bool rang = nic->doorbell_ready_o != 0;
    nic.tick();
    nic->open_valid_i = 0;
    if (rang) nic->doorbell_valid_i = 0;
  }

  /// A whole frame of the NIC.
  void hear(const std::vector<std::byte>& frame) {
    wire::Packet packet;
    const wire::DropReason reason = wire::decode(frame, wire::LinkType::kEthernet, packet);
    if (reason != wire::DropReason::kNone || packet.ub.transaction != wire::UbTransaction::kRequest) return;
    requests.push_back(packet.ub.request);
    if (acknowledges) acknowledge(packet.ub.rtph.psn);
  }

  bool take_completion() {
    const std::byte* const entry = memory_.at(NicMemory::kBase + NicPlan::kRingAt) +
                                   std::size_t{NicPlan::kEntryBytes} * completions.size();
    if (completions.size() == NicPlan::kRing || (std::to_integer<unsigned>(entry[15]) & 1U) == 0)
      return false;
    completions.push_back({load_le32(entry), std::to_integer<std::uint8_t>(entry[12])});
    return true;
  }

  NicMemory memory_{NicPlan::kBytes, RandomStream(1, "memory")};
  NicFeed feed_;
  std::uint32_t next_ = 0;  ///< Number of the peer's next packet.
};

}  // namespace wharf::rtl
