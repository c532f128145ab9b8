// SPDX-License-Identifier: Apache-2.0
// What one RoCE engine holds, kind by kind. Rings and access slots count as far as they were ever used: the
// rest of them is an address range that nobody else can take, and no memory yet.
#include <vector>

#include "engine/roce/roce_engine.h"

namespace wharf::roce {

std::vector<MemoryUse> RoceEngine::memory_use() const {
  std::uint64_t pairs = 0;
  std::uint64_t bytes = core_.queues.capacity() * sizeof(core_.queues[0]) + core_.timers.bytes_held() +
                        core_.completed.bytes_held() + core_.kicked.bytes_held() + core_.starved.bytes_held();
  for (const auto& list : core_.ready_flows) bytes += list.bytes_held();
  for (const auto& pair : core_.queues) {
    pairs += pair->in_use ? 1U : 0U;
    if (pair->selective) bytes += pair->selective->bytes_held();
    if (pair->round_trip) bytes += sizeof(reliability::RoundTripEstimate);
    bytes += sizeof(QueuePair) + pair->send.bytes_touched() + pair->send_completions.bytes_touched() +
             pair->receive_completions.bytes_touched() + pair->receives.bytes_touched() +
             pair->transmit.bytes_touched() + pair->answers.bytes_touched() +
             pair->read_ahead.bytes_touched() + pair->saved_resources().size_bytes();
  }
  std::vector<MemoryUse> use{{"queue_pair", pairs, bytes},
                             {"memory_key", core_.keys.live(), core_.keys.bytes_held()},
                             {"memory_access", core_.port.places_touched(), core_.port.bytes_touched()},
                             {"deferred_packet", contexts_.packet_places(), contexts_.bytes_held()}};
  if (core_.completion_queues.count() + core_.receive_queues.count() > 0) {
    use.push_back({"shared_queue", core_.completion_queues.count() + core_.receive_queues.count(),
                   core_.completion_queues.bytes_held() + core_.receive_queues.bytes_held()});
  }
  if (congestion_.records() > 0) {
    use.push_back({"congestion_control", congestion_.records(), congestion_.bytes_held()});
  }
  use.push_back({"interface", 1, sizeof(RoceEngine) + sizeof(Parts) + core_.events.bytes_held()});
  return use;
}

std::size_t ContextStore::bytes_held() const {
  std::size_t bytes = key_writes_.bytes_held() + waiting_.bytes_held() + ready_.bytes_held() +
                      packets_.bytes_held() + results_.capacity() * sizeof(engine::AccessResult);
  if (queues_) bytes += queues_->bytes_held();
  if (keys_) bytes += keys_->bytes_held();
  return bytes;
}

}  // namespace wharf::roce
