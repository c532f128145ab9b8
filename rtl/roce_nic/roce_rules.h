// SPDX-License-Identifier: Apache-2.0
// What the frames of a RoCE NIC must keep to, beyond what they do to memories: the window, the count of
// messages, the order of acknowledgements, silence after a refusal. Apart from hosts, which see requests.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "rtl/cosim/cosimulation.h"
#include "rtl/roce_nic/roce_plan.h"
#include "wire/packet.h"
#include "wire/psn.h"
#include "wire/roce_opcode.h"

namespace wharf::rtl {

class RoceRules {
 public:
  explicit RoceRules(Findings& found) : found_(found) {}

  /// `first_psns`: of the requests of each queue pair, of each side.
  void reset(const std::array<std::array<std::uint32_t, RocePlan::kPairs>, 2>& first_psns) {
    for (std::uint32_t side = 0; side < 2; ++side)
      for (std::uint32_t pair = 0; pair < RocePlan::kPairs; ++pair) {
        ways_[side][pair] = Way{};
        ways_[side][pair].answered = ways_[side][pair].next = first_psns[side][pair];
        ways_[side][pair].newest = wire::psn_subtract(first_psns[side][pair], 1);
      }
  }

  /// A packet leaves `side` for queue pair `pair`. `judges`: that side is hardware.
  void seen(const wire::Packet& packet, std::uint32_t side, std::uint32_t pair, bool judges,
            std::uint64_t now) {
    if (pair >= RocePlan::kPairs) return;
    const wire::RoceOpcode opcode = packet.roce.bth.opcode;
    const bool is_answer =
        opcode >= wire::RoceOpcode::kRcReadResponseFirst && opcode <= wire::RoceOpcode::kRcAtomicAcknowledge;
    if (is_answer)
      answer(packet, ways_[1 - side][pair], judges, now);
    else
      request(packet, ways_[side][pair], judges, now);
  }

 private:
  /// Requests of one side on a queue pair, and their answers.
  struct Way {
    wire::Psn next = 0;                       ///< Behind all that were sent.
    wire::Psn answered = 0;                   ///< All before it are, as far as anybody can know.
    std::uint32_t messages = 0;               ///< That have been sent.
    std::map<wire::Psn, std::uint32_t> ends;  ///< Of messages, and how many these are.
    wire::Psn newest = 0;                     ///< That was acknowledged.
    bool refused = false;
  };

  void request(const wire::Packet& packet, Way& way, bool judges, std::uint64_t now) {
    const wire::Psn psn = packet.roce.bth.psn;
    const wire::RoceOpcode opcode = packet.roce.bth.opcode;
    if (judges && wire::psn_difference(psn, way.answered) >= static_cast<std::int32_t>(RocePlan::kWindow))
      found_.differ(now, "a request beyond the window");
    if (psn != way.next) {
      if (judges && wire::psn_after(psn, way.next)) found_.differ(now, "a PSN that was left out");
      return;  // Again.
    }
    const bool is_read = opcode == wire::RoceOpcode::kRcReadRequest;
    const std::uint32_t length = is_read ? packet.roce.reth.length : 0;
    const std::uint32_t packets = length == 0 ? 1 : (length + RocePlan::kMtu - 1) / RocePlan::kMtu;
    way.next = wire::psn_add(psn, packets);
    const bool goes_on =
        opcode == wire::RoceOpcode::kRcSendFirst || opcode == wire::RoceOpcode::kRcSendMiddle ||
        opcode == wire::RoceOpcode::kRcWriteFirst || opcode == wire::RoceOpcode::kRcWriteMiddle;
    if (!goes_on) way.ends[psn] = ++way.messages;
  }

  void answer(const wire::Packet& packet, Way& way, bool judges, std::uint64_t now) {
    const wire::Psn psn = packet.roce.bth.psn;
    const wire::RoceOpcode opcode = packet.roce.bth.opcode;
    const bool is_acknowledgement = opcode == wire::RoceOpcode::kRcAcknowledge;
    const bool is_middle = opcode == wire::RoceOpcode::kRcReadResponseMiddle;
    const wire::Aeth& aeth = packet.roce.ack.aeth;
    const bool is_good = is_middle || aeth.syndrome_class() == wire::AethClass::kAck;
    if (judges && way.refused) found_.differ(now, "an answer of a queue pair that has refused something");
    if (is_acknowledgement && is_good) {
      const auto end = way.ends.find(psn);
      if (judges && end != way.ends.end() && aeth.msn != end->second)
        found_.differ(now, "the MSN of an answer");
      if (judges && wire::psn_before(psn, way.newest))
        found_.differ(now, "an acknowledgement that goes back");
      way.newest = psn;
    }
    const wire::Psn all_before = is_good ? wire::psn_add(psn, 1) : psn;
    if (wire::psn_after(all_before, way.answered)) way.answered = all_before;
    if (aeth.syndrome_class() == wire::AethClass::kNak && !is_middle && aeth.value() != 0) way.refused = true;
  }

  Findings& found_;
  std::array<std::array<Way, RocePlan::kPairs>, 2> ways_;
};

}  // namespace wharf::rtl
