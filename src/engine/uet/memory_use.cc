// SPDX-License-Identifier: Apache-2.0
// What one UET engine holds, kind by kind: every part walks its own containers.
#include <vector>

#include "engine/uet/engine_parts.h"
#include "engine/uet/uet_engine.h"

namespace wharf::uet {

namespace {

/// What congestion::CreditIssuer keeps of one source, rounded up.
constexpr std::size_t kCreditSourceBytes = 64;

/// What congestion::PathSelector keeps of the paths: a penalty each, and good ones in a ring.
std::size_t path_bytes(const congestion::PathConfig& config) {
  constexpr std::size_t kPenalty = sizeof(std::uint8_t);
  constexpr std::size_t kGood = sizeof(std::uint16_t);
  switch (config.choice) {
    case congestion::PathChoice::kOblivious:
    case congestion::PathChoice::kFlow:
      return 0;
    case congestion::PathChoice::kBitmap:
      return config.paths * kPenalty;
    case congestion::PathChoice::kReps:
      return 8 * kGood;
    case congestion::PathChoice::kRecycle:
      return config.paths * kGood;
    case congestion::PathChoice::kMixed:
      return config.paths * (kPenalty + kGood);
  }
  return 0;
}

}  // namespace

std::vector<MemoryUse> UetEngine::memory_use() const {
  const EngineParts& parts = *parts_;
  std::vector<MemoryUse> out;
  parts.endpoints.add_memory_use(out);
  parts.initiator.add_memory_use(out);
  parts.pds.add_memory_use(out);
  parts.cms.add_memory_use(out);
  parts.rudi.add_memory_use(out);
  parts.target.add_memory_use(out);
  out.push_back({"memory_region", parts.regions.capacity(), parts.regions.bytes_held()});
  out.push_back({"memory_access", parts.accesses.places(), parts.accesses.bytes_held()});
  out.push_back({"interface", 1,
                 sizeof(UetEngine) + sizeof(EngineParts) + sizeof(UetConfig) + parts.events.bytes_held() +
                     parts.atomics.bytes_held()});
  return out;
}

void EndpointTable::add_memory_use(std::vector<MemoryUse>& out) const {
  std::uint64_t used = 0;
  std::uint64_t bytes = endpoints_.capacity() * sizeof(endpoints_[0]) + by_address_.bytes_held() +
                        completed_.bytes_held() + resting_.bytes_held() + completion_queues_.bytes_held();
  for (const auto& endpoint : endpoints_) {
    used += endpoint->used ? 1U : 0U;
    bytes += sizeof(Endpoint) + endpoint->posted.bytes_held() + endpoint->completions.bytes_held();
  }
  out.push_back({"endpoint", used, bytes});
  out.push_back({"receive_entry", receives_.capacity(), receives_.bytes_held()});
}

void Initiator::add_memory_use(std::vector<MemoryUse>& out) const {
  std::uint64_t peers = 0;
  for (const Peer& peer : peers_) peers += peer.used ? 1U : 0U;
  out.push_back({"peer", peers, peers_.capacity() * sizeof(Peer)});
  out.push_back(
      {"outbound_message", parts_.outbound.capacity(), parts_.outbound.bytes_held() + retries_.bytes_held()});
}

void Pds::add_memory_use(std::vector<MemoryUse>& out) const {
  std::uint64_t bytes = pdcs_.capacity() * sizeof(pdcs_[0]) + free_pdcs_.capacity() * sizeof(std::uint32_t) +
                        silence_.capacity() * sizeof(Silence) + routes_.bytes_held() + by_syn_.bytes_held() +
                        closed_.bytes_held() + free_bits_.capacity() * sizeof(free_bits_[0]) +
                        timers_.bytes_held();
  for (const auto& record : pdcs_) {
    bytes += sizeof(Pdc) + 2 * std::size_t{bits_words()} * sizeof(std::uint64_t);
    if (record->state != PdcState::kClosed && record->tx.ring != nullptr)
      bytes += (std::size_t{record->tx.mask} + 1) * sizeof(SendEntry);
  }
  for (std::size_t size_class = 0; size_class < std::size(free_rings_); ++size_class) {
    bytes += free_rings_[size_class].size() * (ring_entries(size_class) * sizeof(SendEntry)) +
             free_rings_[size_class].capacity() * sizeof(SendEntry*);
  }
  for (const auto& role : ids_) {
    for (const PdcidPool& pool : role) bytes += pool.bytes_held();
  }
  out.push_back({"pdc", pdcs_.size(), bytes});
  out.push_back({"control_packet", acknowledgements_.capacity() + control_.capacity(),
                 acknowledgements_.bytes_held() + control_.bytes_held()});
  out.push_back({"staged_packet", staged_.capacity(), staged_.bytes_held() + staged_order_.bytes_held()});
  out.push_back({"stored_response", stored_.capacity(), stored_.bytes_held()});
}

void Cms::add_memory_use(std::vector<MemoryUse>& out) const {
  std::uint64_t bytes = contexts_.capacity() * sizeof(contexts_[0]) + by_host_.bytes_held() +
                        free_.capacity() * sizeof(std::uint32_t) + timers_.bytes_held();
  bytes += contexts_.size() * (sizeof(CongestionContext) + path_bytes(path_config_) + kCreditSourceBytes);
  out.push_back({"congestion_context", contexts_.size(), bytes});
}

void Rudi::add_memory_use(std::vector<MemoryUse>& out) const {
  out.push_back({"rudi_packet", outstanding_.capacity(), outstanding_.bytes_held() + answers_.bytes_held()});
}

void Target::add_memory_use(std::vector<MemoryUse>& out) const {
  out.push_back({"inbound_packet", parts_.inbound.capacity(), parts_.inbound.bytes_held()});
  out.push_back(
      {"inbound_message", parts_.inbound_messages.capacity(), parts_.inbound_messages.bytes_held()});
  out.push_back({"held_packet", parts_.held.capacity(), parts_.held.bytes_held()});
  out.push_back({"deferred_send", deferred_.capacity(), deferred_.bytes_held()});
}

}  // namespace wharf::uet
