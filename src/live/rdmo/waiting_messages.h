// SPDX-License-Identifier: Apache-2.0
// Messages that the worker had no room for. UCX has no way to leave a message where it is: they wait here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/rdmo/ports.h"

namespace wharf::live {

class WaitingMessages {
 public:
  /// Of one initiator: one that floods fills its own places, and nobody else's.
  static constexpr std::size_t kMostOfOne = 65536;

  struct Message {
    rdmo::PeerId peer = 0;
    std::uint32_t id = 0;
    std::vector<std::byte> header;
    rdmo::Payload payload;
  };

  explicit WaitingMessages(std::size_t most_of_one = kMostOfOne) : most_of_one_(most_of_one) {}

  bool empty() const { return messages_.empty(); }
  /// Behind all that came before. False: its initiator has as many here as one may have.
  bool add(rdmo::PeerId peer, std::uint32_t id, std::span<const std::byte> header,
           const rdmo::Payload& payload) {
    OfOne& one = of_[peer];
    if (one.count == most_of_one_) return false;
    messages_.push_back({peer, id, {header.begin(), header.end()}, payload});
    ++one.count;
    return true;
  }
  /// Offers them once, in the order in which they came. Those that `offer`, called with a message, finds no
  /// room for stay, and so do those of the same initiator behind them; those of others may pass.
  template <typename Offer>
  void offer(const Offer& offer) {
    ++pass_;
    std::erase_if(messages_, [&](const Message& each) {
      const auto one = of_.find(each.peer);
      if (one->second.stuck_in == pass_) return false;
      if (offer(each) == rdmo::Taken::kNoRoom) {
        one->second.stuck_in = pass_;
        return false;
      }
      if (--one->second.count == 0) of_.erase(one);
      return true;
    });
  }
  template <typename Each>
  void for_each(const Each& each) const {
    for (const Message& message : messages_) each(message);
  }

 private:
  struct OfOne {
    std::size_t count = 0;
    std::uint64_t stuck_in = 0;  ///< The last pass in which one of it found no room.
  };
  std::size_t most_of_one_;
  std::deque<Message> messages_;
  std::unordered_map<rdmo::PeerId, OfOne> of_;
  std::uint64_t pass_ = 0;
};

}  // namespace wharf::live
