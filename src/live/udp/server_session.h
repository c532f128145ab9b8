// SPDX-License-Identifier: Apache-2.0
// One client of a live server, from its connection to its end.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "live/udp/control_channel.h"
#include "live/udp/live_host.h"
#include "live/udp/live_remote.h"
#include "live/udp/metrics_file.h"
#include "live/udp/secure_channel.h"
#include "live/udp/session.h"
#include "verbs/task.h"

namespace wharf::live {

/// Until it connects its queue it holds an offered number only.
template <engine::Engine E>
struct ServerSession {
  ServerSession(ControlChannel channel_in, TimePs deadline_in)
      : channel(std::move(channel_in)), deadline(deadline_in) {}

  ControlChannel channel;
  TimePs deadline;  ///< Of the set-up; kNever once connected.
  TimePs last_message;
  bool readable = false;
  bool closed = false;
  Doorkeeper doorkeeper;
  std::optional<Hello> hello;
  wire::HostAddress number;  ///< With `hello`.
  std::optional<std::uint32_t> slice;
  std::optional<verbs::QueueId> queue;
  SessionSecrets secrets;
  std::optional<verbs::SegmentToken> token;
  std::optional<LiveRemote<E>> remote;  ///< Once connected.
  Report report;                        ///< Of receive entries.
  UnaskedArrivals unasked;
  std::uint64_t answering = 0;  ///< Messages that are on their way back.
  std::vector<verbs::Task<void>> receivers;

  Report arrived() const { return {report.messages + unasked.messages, report.bytes + unasked.bytes}; }

  /// "127.0.0.1:49152", "process 1234"
  std::string place() const {
    const std::uint32_t address = channel.peer_address();
    if (channel.peer_process() != 0) return fmt::format("process {}", channel.peer_process());
    if (hello) return format_endpoint({address, hello->udp_port});
    const std::string endpoint = format_endpoint({address, 0});
    return endpoint.substr(0, endpoint.find(':'));
  }

  /// Once connected.
  PeerState state(const PeerActivity& activity) const {
    return {.number = number.number,
            .address = place(),
            .queue = *queue,
            .traffic = activity.traffic,
            .refused_accesses = activity.refused_accesses,
            .messages = arrived().messages,
            .outstanding = answering};
  }
};

}  // namespace wharf::live
