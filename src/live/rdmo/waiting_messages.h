// SPDX-License-Identifier: Apache-2.0
// Messages that the worker had no room for. UCX has no way to leave a message where it is: they wait here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <span>
#include <vector>

#include "engine/rdmo/ports.h"

namespace wharf::live {

class WaitingMessages {
 public:
  /// Of one initiator: one that floods fills its own places, and nobody else's.
  static constexpr std::size_t kMostOfOne = 65536;
  static constexpr std::size_t kBytesOfOne = 64U << 20U;

  struct Message {
    rdmo::PeerId peer = 0;
    std::uint32_t id = 0;
    std::vector<std::byte> header;
    rdmo::Payload payload;
  };

  explicit WaitingMessages(std::size_t most_of_one = kMostOfOne, std::size_t bytes_of_one = kBytesOfOne)
      : most_of_one_(most_of_one), bytes_of_one_(bytes_of_one) {}

  bool empty() const { return of_.empty(); }
  /// Whether one of that initiator waits: what it sends now has to go behind.
  bool has(rdmo::PeerId peer) const { return !of_.empty() && of_.contains(peer); }
  /// Behind what came before. False: its initiator has as many here, or as many bytes, as one may have.
  bool add(rdmo::PeerId peer, std::uint32_t id, std::span<const std::byte> header,
           const rdmo::Payload& payload) {
    OfOne& one = of_[peer];
    const std::size_t bytes = bytes_of(header.size(), payload);
    if (one.messages.size() == most_of_one_ || bytes > bytes_of_one_ - one.bytes) {
      if (one.messages.empty()) of_.erase(peer);
      return false;
    }
    one.messages.push_back({peer, id, {header.begin(), header.end()}, payload});
    one.bytes += bytes;
    return true;
  }
  /// Offers them once, those of each initiator in the order in which they came. One that `offer`, called with
  /// a message, finds no room for stays, and so do those behind it.
  template <typename Offer>
  void offer(const Offer& offer) {
    for (auto at = of_.begin(); at != of_.end();) {
      OfOne& one = at->second;
      while (!one.messages.empty() && offer(one.messages.front()) != rdmo::Taken::kNoRoom) one.pop();
      at = one.messages.empty() ? of_.erase(at) : std::next(at);
    }
  }
  /// The initiator has gone: gives each of its messages to `each`, and forgets them.
  template <typename Each>
  void drop(rdmo::PeerId peer, const Each& each) {
    const auto found = of_.find(peer);
    if (found == of_.end()) return;
    for (const Message& message : found->second.messages) each(message);
    of_.erase(found);
  }
  template <typename Each>
  void for_each(const Each& each) const {
    for (const auto& [peer, one] : of_) {
      for (const Message& message : one.messages) each(message);
    }
  }

 private:
  struct OfOne {
    std::deque<Message> messages;
    std::size_t bytes = 0;
    void pop() {
      bytes -= bytes_of(messages.front().header.size(), messages.front().payload);
      messages.pop_front();
    }
  };
  /// What is announced is still with its sender.
  static std::size_t bytes_of(std::size_t header, const rdmo::Payload& payload) {
    return header + (payload.data == nullptr ? 0 : payload.length);
  }

  std::size_t most_of_one_;
  std::size_t bytes_of_one_;
  std::map<rdmo::PeerId, OfOne> of_;  ///< Only those of whom some wait.
};

}  // namespace wharf::live
