// SPDX-License-Identifier: Apache-2.0
// Whether requests leave a NIC as their order tags say: a strong one after the answers of all earlier ones
// with a tag, one with a fence after those of all earlier Reads and atomics. Judged on the wire, where both
// can be seen. Source: UB-Base 2.0.1, 7.4, service mode ROI.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "rtl/cosim/cosimulation.h"
#include "rtl/ub_nic/nic_plan.h"
#include "verbs/work_request.h"
#include "wire/packet.h"
#include "wire/ub_opcode.h"

namespace wharf::rtl {

/// The requests of one side. TASSNs of a jetty are dense, from 0 on, in the order of its doorbells.
class NicOrder {
 public:
  /// `first` is the number of jetty 0 on the wire.
  NicOrder(std::uint32_t first, Findings& found) : first_(first), found_(found) {}
  void reset() {
    for (auto& requests : jetties_) requests.clear();
  }
  /// A doorbell was taken.
  void posted(std::uint32_t jetty, wire::TaOpcode operation, verbs::OrderTag order, bool fence) {
    jetties_[jetty].push_back({order, fence, operation >= wire::TaOpcode::kRead, false, 0});
  }

  /// A frame of this side with a request.
  void left(const wire::Btah& request, std::uint64_t now) {
    Request* const one = find(request.requester_id, request.tassn);
    if (one == nullptr) return static_cast<void>(found_.differ(now, "a request that nobody posted"));
    if (request.order != static_cast<std::uint8_t>(one->order))
      found_.differ(now, "the order tag of a frame");
    if (request.retry && one->refusals == 0) found_.differ(now, "a repetition of what was not refused");
    found_.coverage.hit_if(request.retry, "asked again");
    if (one->order != verbs::OrderTag::kStrong && !one->fence) return;
    for (const Request* before = jetties_[request.requester_id - first_].data(); before != one; ++before) {
      if (before->is_answered) continue;
      if (one->order == verbs::OrderTag::kStrong && before->order != verbs::OrderTag::kNone)
        found_.differ(now, "a strong request before the answers that it waits for");
      if (one->fence && before->fetches) found_.differ(now, "a request before what its fence waits for");
    }
    found_.coverage.hit(one->fence ? "fence" : "strong");
  }

  /// A frame of the other side with the answer to one.
  void answered(const wire::Atah& response, bool last, std::uint64_t now) {
    Request* const one = find(response.requester_id, response.tassn);
    if (one == nullptr) return static_cast<void>(found_.differ(now, "an answer to nothing"));
    const bool is_again = response.status == wire::UbResponseStatus::kReceiverNotReady;
    found_.coverage.hit_if(is_again, "not ready");
    one->refusals += is_again ? 1 : 0;
    if (last && (!is_again || one->refusals > NicPlan::kNotReadyAttempts)) one->is_answered = true;
  }

 private:
  struct Request {
    verbs::OrderTag order = verbs::OrderTag::kNone;
    bool fence = false;
    bool fetches = false;
    bool is_answered = false;
    std::uint32_t refusals = 0;
  };
  Request* find(std::uint32_t requester, std::uint32_t tassn) {
    const std::uint32_t jetty = requester - first_;
    if (jetty >= NicPlan::kJetties || tassn >= jetties_[jetty].size()) return nullptr;
    return &jetties_[jetty][tassn];
  }

  std::uint32_t first_;
  Findings& found_;
  std::array<std::vector<Request>, NicPlan::kJetties> jetties_;
};

}  // namespace wharf::rtl
