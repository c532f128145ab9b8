// SPDX-License-Identifier: Apache-2.0
// Chosen flows while they run: what their sender's window and round trips were, which paths they took, and
// what arrived of them. Nothing of it is kept of the other flows.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/time.h"
#include "engine/congestion/sender_trace.h"
#include "engine/contract.h"
#include "wire/packet.h"
#include "workload/flow_list.h"

namespace wharf::sim {

inline constexpr std::uint64_t kNoWindow = congestion::SenderTrace::kNoWindow;

/// One flow at one instant. Counts are since the start.
struct FlowSample {
  TimePs at;
  std::uint32_t flow = 0;         ///< Index in the list.
  congestion::SenderTrace trace;  ///< What the engine knows about sending to that host.
  std::uint64_t delivered_bytes = 0;
  std::uint32_t retransmitted = 0;
  std::uint32_t trimmed = 0;
};

/// What one flow sent with one entropy value.
struct PathUse {
  std::uint32_t flow = 0;  ///< Index in the list.
  std::uint16_t entropy = 0;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;    ///< Of whole frames.
  std::uint64_t trimmed = 0;  ///< Packets that arrived without their payload.
};

/// Both ends of each chosen flow are kept apart, so that hosts of different partitions share nothing.
class FlowWatch {
 public:
  /// `flows`: indices in `list`, which outlives this.
  FlowWatch(const workload::FlowList& list, const std::vector<std::uint32_t>& flows, std::uint32_t hosts);

  void sent(std::uint32_t host, const wire::Packet& packet, bool again);
  void arrived(std::uint32_t host, const wire::Packet& packet);
  void written(std::uint32_t host, const engine::Access& access);

  /// `requests`: of all flows, with the queue and peer of each.
  template <typename Engines, typename Requests>
  void sample(TimePs now, std::uint32_t host, const Engines& engines, const Requests& requests) {
    for (const std::uint32_t at : sends_[host]) {
      Sender& sender = senders_[at];
      const auto& request = requests[flows_[at]];
      // The data of a read is sent by the host that was asked, for no queue of its own.
      const congestion::SenderTrace trace =
          sender.answers
              ? engines.of(request.far_port).congestion_trace({request.port * hosts_ + sender.remote})
              : engines.of(request.port).congestion_trace(request.queue, request.peer);
      sender.samples.push_back({now, trace, sender.retransmitted});
    }
    for (const std::uint32_t at : receives_[host])
      receivers_[at].samples.push_back({now, receivers_[at].delivered, receivers_[at].trimmed});
  }

  /// Hosts that have to be sampled, in order.
  std::vector<std::uint32_t> hosts() const;
  /// By time, then flow.
  std::vector<FlowSample> samples() const;
  /// By flow, then entropy value.
  std::vector<PathUse> paths() const;

 private:
  static constexpr std::uint32_t kUnwatched = 0xffff'ffff;

  struct Sent {
    TimePs at;
    congestion::SenderTrace trace;
    std::uint32_t retransmitted = 0;
  };
  struct Received {
    TimePs at;
    std::uint64_t delivered = 0;
    std::uint32_t trimmed = 0;
  };
  struct Sender {
    std::uint32_t host = 0;
    std::uint32_t remote = 0;
    bool answers = false;  ///< It sends what the other end reads.
    std::uint32_t retransmitted = 0;
    std::map<std::uint16_t, PathUse> paths{};
    std::vector<Sent> samples{};
  };
  struct Receiver {
    std::uint32_t host = 0;
    std::uint64_t delivered = 0;
    std::uint32_t trimmed = 0;
    std::map<std::uint16_t, std::uint64_t> trimmed_paths{};
    std::vector<Received> samples{};
  };

  std::uint32_t index_of(wire::OperationTag operation) const {
    return operation.value - 1 < index_.size() ? index_[operation.value - 1] : kUnwatched;
  }

  std::uint32_t hosts_;
  std::vector<std::uint32_t> flows_;
  std::vector<std::uint32_t> index_;  ///< By flow: its place among the watched ones.
  std::vector<Sender> senders_;
  std::vector<Receiver> receivers_;
  std::vector<std::vector<std::uint32_t>> sends_;  ///< By host: watched flows whose data it sends.
  std::vector<std::vector<std::uint32_t>> receives_;
};

}  // namespace wharf::sim
