// SPDX-License-Identifier: Apache-2.0
// What a partition has for the others when they meet: packets that cross with the bytes of their payloads,
// bodies that go back, spans of operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/fabric/body_store.h"
#include "sim/fabric/fabric_state.h"
#include "trace/attribution.h"

namespace wharf::sim {

class PartitionExchange {
 public:
  explicit PartitionExchange(std::uint32_t partitions)
      : packets_(partitions),
        payloads_(partitions),
        bodies_(partitions),
        spans_(partitions),
        balance_(partitions, 0) {}

  bool has_others() const { return packets_.size() > 1; }
  void send(std::uint32_t to, const Crossing& packet) { packets_[to].push_back(packet); }
  void send(std::uint32_t to, const trace::ForeignSpan& span) { spans_[to].push_back(span); }
  void received_from(std::uint32_t from) { ++balance_[from]; }

  /// Traffic that flows more in one direction than in the other would pile bodies up on one side: takes some
  /// out of `free`.
  void return_bodies(std::vector<BodyId>& free) {
    constexpr std::int64_t kSlack = 256;
    for (std::uint32_t to = 0; to < packets_.size(); ++to) {
      balance_[to] -= static_cast<std::int64_t>(packets_[to].size());
      while (balance_[to] > kSlack && !free.empty()) {
        bodies_[to].push_back(free.back());
        free.pop_back();
        --balance_[to];
      }
    }
  }

  /// For partition `to`, which takes and clears them.
  std::vector<Crossing>& packets(std::uint32_t to) { return packets_[to]; }
  /// Of those packets, one after another: one run of bytes that both sides walk through once.
  std::vector<std::byte>& payloads(std::uint32_t to) { return payloads_[to]; }
  std::vector<BodyId>& bodies(std::uint32_t to) { return bodies_[to]; }
  std::vector<trace::ForeignSpan>& spans(std::uint32_t to) { return spans_[to]; }

 private:
  std::vector<std::vector<Crossing>> packets_;
  std::vector<std::vector<std::byte>> payloads_;
  std::vector<std::vector<BodyId>> bodies_;
  std::vector<std::vector<trace::ForeignSpan>> spans_;
  std::vector<std::int64_t> balance_;  ///< Bodies received from a partition minus bodies sent to it.
};

}  // namespace wharf::sim
