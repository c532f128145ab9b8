// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/state_report.h"

#include "engine/roce/congestion_control.h"
#include "engine/roce/memory_key_table.h"
#include "engine/roce/queue_pair.h"

namespace wharf::roce {
namespace {

void add_row(std::vector<StateRow>& rows, std::uint64_t& total, std::string_view record, std::uint64_t each,
             std::uint64_t count) {
  rows.push_back({record, each, count, each * count});
  total += each * count;
}

}  // namespace

StateReport state_report(std::uint64_t endpoints, std::uint64_t hosts, const RoceConfig& config,
                         const engine::QueueConfig& queue) {
  const std::uint64_t pairs = endpoints * hosts;
  const std::uint64_t depths = std::uint64_t{queue.send_depth} + queue.receive_depth;
  StateReport report;
  add_row(report.roce, report.roce_bytes, "queue_pair", sizeof(QueuePairContext), pairs);
  add_row(report.roce, report.roce_bytes, "memory_key", sizeof(MemoryKeyRecord), endpoints);
  const auto beyond = [&report](std::string_view record, std::uint64_t each, std::uint64_t count) {
    add_row(report.beyond, report.beyond_bytes, record, each, count);
  };
  beyond("queue_pair_object", sizeof(QueuePair) - sizeof(QueuePairContext), pairs);
  beyond("work_request", sizeof(SendEntry), pairs * queue.send_depth);
  beyond("receive_entry", sizeof(ReceiveEntry), pairs * queue.receive_depth);
  beyond("completion", sizeof(CompletionEntry), pairs * depths);
  beyond("prepared_packet", sizeof(TransmitEntry), pairs * config.transmit_ahead);
  beyond("answer", sizeof(Answer), pairs * config.responses_ahead);
  beyond("read_ahead", sizeof(ReadAhead), pairs * config.transmit_ahead);
  beyond("saved_resource", sizeof(SavedResource), pairs * config.max_read_atomic);
  if (const std::size_t each = selective_bytes(config); each > 0) beyond("selective_repeat", each, pairs);
  if (const std::size_t each = CongestionControl::bytes_per_queue(config); each > 0) {
    beyond("congestion_control", each, pairs);
  }
  return report;
}

}  // namespace wharf::roce
