// SPDX-License-Identifier: Apache-2.0
// Which request may follow which: every pair of opcodes of reliable connections. [IBTA vol 1 9.7.4.1.3]
#include <array>
#include <string>

#include "engine/roce/roce_engine.h"
#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

using wire::AethClass;
using wire::RoceOpcode;

constexpr std::array kRequests{RoceOpcode::kRcSendFirst,
                               RoceOpcode::kRcSendMiddle,
                               RoceOpcode::kRcSendLast,
                               RoceOpcode::kRcSendLastImmediate,
                               RoceOpcode::kRcSendLastInvalidate,
                               RoceOpcode::kRcSendOnly,
                               RoceOpcode::kRcSendOnlyImmediate,
                               RoceOpcode::kRcSendOnlyInvalidate,
                               RoceOpcode::kRcWriteFirst,
                               RoceOpcode::kRcWriteMiddle,
                               RoceOpcode::kRcWriteLast,
                               RoceOpcode::kRcWriteLastImmediate,
                               RoceOpcode::kRcWriteOnly,
                               RoceOpcode::kRcWriteOnlyImmediate,
                               RoceOpcode::kRcReadRequest,
                               RoceOpcode::kRcCompareSwap,
                               RoceOpcode::kRcFetchAdd};

constexpr std::uint32_t kMtu = 256;
constexpr std::uint32_t kTail = 64;  ///< Bytes of Last and Only.

bool is_send(RoceOpcode opcode) {
  return opcode <= RoceOpcode::kRcSendOnlyImmediate || opcode == RoceOpcode::kRcSendLastInvalidate ||
         opcode == RoceOpcode::kRcSendOnlyInvalidate;
}
bool is_first_or_middle(RoceOpcode opcode) {
  return opcode == RoceOpcode::kRcSendFirst || opcode == RoceOpcode::kRcSendMiddle ||
         opcode == RoceOpcode::kRcWriteFirst || opcode == RoceOpcode::kRcWriteMiddle;
}
bool continues(RoceOpcode opcode) {
  return (opcode >= RoceOpcode::kRcSendMiddle && opcode <= RoceOpcode::kRcSendLastImmediate) ||
         opcode == RoceOpcode::kRcSendLastInvalidate ||
         (opcode >= RoceOpcode::kRcWriteMiddle && opcode <= RoceOpcode::kRcWriteLastImmediate);
}

/// What the specification says, apart from how the responder finds out.
bool may_follow(RoceOpcode before, RoceOpcode opcode) {
  if (is_first_or_middle(before)) return continues(opcode) && is_send(opcode) == is_send(before);
  return !continues(opcode);
}

class Peer {
 public:
  Peer() : world_(small_packets()) {
    for (int each = 0; each < 4; ++each) world_.pair.post_receive(1, 0, world_.receive(0, 4096));
    spare_ =
        world_.pair.engine(1).register_segment(kTimeZero, {.base = RocePair::kBase, .length = 4096}).value();
    world_.watch();
    world_.pair.post(0, 0, world_.request(verbs::Verb::kWrite, 0, 0, 8));  // A packet to copy.
    packet_ = world_.sent.at(0);
    world_.pair.inject(1, packet_);
  }

  /// The next packet; `total` is the length of a WRITE that begins with it.
  void send(RoceOpcode opcode, std::uint32_t total = kTail) {
    packet_.roce.bth.opcode = opcode;
    packet_.roce.bth.psn = wire::psn_add(packet_.roce.bth.psn, 1);
    const bool none = opcode == RoceOpcode::kRcReadRequest || opcode == RoceOpcode::kRcCompareSwap ||
                      opcode == RoceOpcode::kRcFetchAdd;
    packet_.payload = none ? wire::Payload{}
                           : wire::bytes_payload(bytes_.data(), is_first_or_middle(opcode) ? kMtu : kTail);
    if ((wire::roce_headers(opcode) & wire::kRoceReth) != 0)
      packet_.roce.reth = {RocePair::kBase, world_.token[1].id, total};
    if ((wire::roce_headers(opcode) & wire::kRoceAtomicEth) != 0)
      packet_.roce.atomic = {RocePair::kBase, 0, 0, world_.token[1].id};
    if ((wire::roce_headers(opcode) & wire::kRoceIeth) != 0) packet_.roce.invalidate_key = spare_.id;
    world_.pair.inject(1, packet_);
  }

  /// Everything up to and including `opcode` of a message that it belongs to, before one more packet comes.
  void send_up_to(RoceOpcode opcode, RoceOpcode next) {
    const bool send_class = is_send(opcode);
    const RoceOpcode first = send_class ? RoceOpcode::kRcSendFirst : RoceOpcode::kRcWriteFirst;
    // What a WRITE announces: the tail ends it, if the next packet is a Last.
    const bool more = next == RoceOpcode::kRcWriteMiddle && is_first_or_middle(opcode);
    std::uint32_t total = kMtu + (more ? kMtu + kTail : kTail);
    if (opcode == RoceOpcode::kRcWriteMiddle) total += kMtu;
    if (continues(opcode)) send(first, total);
    send(opcode, is_first_or_middle(opcode) ? total : kTail);
  }

  bool refused() const {
    for (const wire::Packet& packet : world_.sent_of(RoceOpcode::kRcAcknowledge)) {
      const wire::Aeth& aeth = packet.roce.ack.aeth;
      if (aeth.syndrome_class() != AethClass::kNak) continue;
      EXPECT_EQ(aeth.value(), static_cast<std::uint8_t>(wire::NakCode::kInvalidRequest));
      return true;
    }
    return false;
  }

 private:
  using RocePair = test::RocePair;

  static RoceConfig small_packets() {
    RoceConfig config;
    config.path_mtu = kMtu;
    config.starting_psn = 100;
    return config;
  }

  RocePair world_;
  verbs::SegmentToken spare_;
  wire::Packet packet_;
  std::array<std::byte, kMtu> bytes_{};
};

TEST(RoceOpcodeSequence, Ibta_9_7_4_1_3_EveryPair) {
  for (const RoceOpcode before : kRequests) {
    for (const RoceOpcode opcode : kRequests) {
      SCOPED_TRACE(std::string(wire::roce_opcode_name(before)) + " then " +
                   std::string(wire::roce_opcode_name(opcode)));
      if (before == RoceOpcode::kRcSendLastInvalidate || before == RoceOpcode::kRcSendOnlyInvalidate) {
        // The key that both would name is gone after the first.
        if (opcode == RoceOpcode::kRcSendOnlyInvalidate) continue;
      }
      Peer peer;
      peer.send_up_to(before, opcode);
      ASSERT_FALSE(peer.refused()) << "the first packet";
      const bool begins = opcode == RoceOpcode::kRcSendFirst || opcode == RoceOpcode::kRcWriteFirst;
      peer.send(opcode, begins ? kMtu + kTail : kTail);
      EXPECT_EQ(peer.refused(), !may_follow(before, opcode));
    }
  }
}

// Before the key is looked at: no region could be as long.
TEST(RoceOpcodeSequence, Ibta_9_7_4_1_6_ADmaLengthAbove2To31IsRefused) {
  for (const RoceOpcode opcode : {RoceOpcode::kRcWriteFirst, RoceOpcode::kRcReadRequest}) {
    Peer peer;
    peer.send(opcode, (1U << 31U) + 1);
    EXPECT_TRUE(peer.refused());
  }
}

}  // namespace
}  // namespace wharf::roce
