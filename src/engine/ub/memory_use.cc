// SPDX-License-Identifier: Apache-2.0
// What one UB engine holds, kind by kind: every part walks its own containers.
#include <vector>

#include "engine/ub/engine_parts.h"
#include "engine/ub/ub_engine.h"

namespace wharf::ub {

std::vector<MemoryUse> UbEngine::memory_use() const {
  const EngineParts& parts = *parts_;
  std::vector<MemoryUse> out;
  parts.initiator.add_memory_use(out);
  parts.tp.add_memory_use(out);
  out.push_back({"segment", parts.segments.count(), parts.segments.bytes_held()});
  parts.responder.add_memory_use(out);
  parts.load_store.add_memory_use(out);
  out.push_back({"memory_access", parts.accesses.capacity(), parts.accesses.bytes_held()});
  if (parts.completion_queues.count() + parts.receive_queues.count() > 0) {
    out.push_back({"shared_queue", parts.completion_queues.count() + parts.receive_queues.count(),
                   parts.completion_queues.bytes_held() + parts.receive_queues.bytes_held()});
  }
  out.push_back(
      {"interface", 1,
       sizeof(UbEngine) + sizeof(EngineParts) + parts.contexts.bytes_held() + parts.events.bytes_held()});
  return out;
}

std::size_t ContextStore::bytes_held() const {
  std::size_t bytes = wanted_.bytes_held() + deferred_.bytes_held();
  if (cached_) bytes += cached_->bytes_held();
  for (const auto& kind : entries_) bytes += kind.capacity() * sizeof(Entry);
  return bytes;
}

void Initiator::add_memory_use(std::vector<MemoryUse>& out) const {
  std::uint64_t jetties = 0;
  std::uint64_t bytes = jetties_.capacity() * sizeof(jetties_[0]) + completed_.bytes_held() +
                        advance_.bytes_held() + resting_.bytes_held() + sharing_.bytes_held();
  for (const auto& owner : jetties_) {
    jetties += owner->used ? 1U : 0U;
    bytes += sizeof(Jetty) + owner->requests.bytes_held() + owner->receives.bytes_held() +
             owner->completions.bytes_held() + owner->transactions.capacity() * sizeof(std::uint32_t) +
             (owner->shared == nullptr ? 0 : sizeof *owner->shared + owner->shared->bytes_held());
  }
  out.push_back({"jetty", jetties, bytes});
  std::uint64_t imports = 0;
  for (const Peer& peer : peers_) imports += peer.used ? 1U : 0U;
  out.push_back({"imported_jetty", imports, peers_.capacity() * sizeof(Peer)});
  out.push_back(
      {"transaction", transactions_.capacity(), transactions_.bytes_held() + backoff_.bytes_held()});
}

void TpLayer::add_memory_use(std::vector<MemoryUse>& out) const {
  std::uint64_t bytes = channels_.capacity() * sizeof(channels_[0]) + channel_of_host_.bytes_held() +
                        timers_.bytes_held() + dirty_.bytes_held() + ack_list_.bytes_held() +
                        data_list_.bytes_held() + resend_list_.bytes_held() + congestion_.bytes_held() +
                        round_trips_.capacity() * sizeof(reliability::RoundTripEstimate);
  bytes += channels_.size() * (sizeof(TpChannel) + parts_.config.receive_window / 8);
  std::size_t fused = spare_fused_.size();
  for (const auto& each : channels_) fused += each->fused != nullptr ? 1U : 0U;
  bytes += fused * (sizeof(FusedWindow) + parts_.config.receive_window / 8);
  bytes += compact_.capacity() * sizeof(compact_[0]);
  for (const auto& each : compact_) bytes += each != nullptr ? sizeof(CompactPair) : 0;
  out.push_back({"tp_channel", channels_.size(), bytes});
  out.push_back({"sent_packet", packets_.capacity(), packets_.bytes_held()});
  out.push_back({"early_packet", ahead_.size(), ahead_.bytes_held()});
}

void Responder::add_memory_use(std::vector<MemoryUse>& out) const {
  out.push_back({"inbound_message", messages_.capacity(), messages_.bytes_held() + by_tpmsn_.bytes_held()});
  out.push_back({"parked_packet", parked_.capacity(), parked_.bytes_held()});
  const std::uint64_t contexts = sequences_.size();
  out.push_back({"initiator_context", contexts,
                 sequences_.capacity() * sizeof(sequences_[0]) + contexts * sizeof(SequenceContext) +
                     sequence_of_.bytes_held() + sequence_of_host_.bytes_held() + turns_.bytes_held()});
}

void LoadStorePath::add_memory_use(std::vector<MemoryUse>& out) const {
  std::uint64_t paths = 0;
  for (const auto& path : paths_) paths += path != nullptr ? 1U : 0U;
  out.push_back({"load_store_path", paths, paths_.capacity() * sizeof(paths_[0]) + paths * sizeof(Path)});
  out.push_back({"load_store_slot", slots_.capacity(),
                 slots_.bytes_held() + slot_of_.bytes_held() + requests_.bytes_held() + probes_.bytes_held() +
                     results_.bytes_held() + timers_.bytes_held()});
  out.push_back(
      {"load_store_service", services_.capacity(), services_.bytes_held() + responses_.bytes_held()});
}

}  // namespace wharf::ub
