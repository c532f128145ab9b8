// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/state_report.h"

#include "engine/ub/context_records.h"
#include "engine/ub/initiator.h"
#include "engine/ub/jetty.h"
#include "engine/ub/load_store.h"
#include "engine/ub/responder.h"
#include "engine/ub/shared_room.h"
#include "engine/ub/tp_channel.h"

namespace wharf::ub {
namespace {

void add(std::vector<StateRow>& rows, std::uint64_t& total, std::string_view record, std::uint64_t each,
         std::uint64_t count) {
  rows.push_back({record, each, count, each * count});
  total += each * count;
}

}  // namespace

StateReport state_report(std::uint64_t jetties, std::uint64_t hosts, const UbConfig& config,
                         const engine::QueueConfig& queue) {
  const std::uint64_t depths = std::uint64_t{queue.send_depth} + queue.receive_depth;
  StateReport report;
  add(report.ub, report.ub_bytes, "jetty", sizeof(JettyRecord), jetties);
  add(report.ub, report.ub_bytes, "tp_channel", sizeof(TpChannelRecord), hosts);
  add(report.ub, report.ub_bytes, "segment", sizeof(MrRecord), jetties);
  add(report.ub_full, report.ub_full_bytes, "jetty_full", sizeof(JettyFullRecord), jetties);
  add(report.ub_full, report.ub_full_bytes, "tp_channel", sizeof(TpChannelRecord), hosts);
  add(report.ub_full, report.ub_full_bytes, "segment", sizeof(MrRecord), jetties);
  add(report.beyond, report.beyond_bytes, "channel_object", sizeof(TpChannel), hosts);
  // What all hosts draw on (shared_room.h).
  const auto pooled = [&](std::string_view record, std::uint64_t each, std::uint32_t most,
                          std::uint32_t share, std::uint32_t common, std::uint64_t holders) {
    add(report.beyond, report.beyond_bytes, record, each,
        SharedRoom(most, share, common).fit(static_cast<std::uint32_t>(holders)));
  };
  SharedRoom parked = SharedRoom::with_shares_inside(config.parked_packets, kParkedShare, kParkedCommon);
  pooled("sent_packet", sizeof(TxPacket), config.send_window, kPacketShare, kPacketsCommon, hosts);
  pooled("early_packet", sizeof(std::uint32_t), config.receive_window, kAheadShare, kAheadCommon, hosts);
  add(report.beyond, report.beyond_bytes, "parked_packet", sizeof(ParkedPacket),
      parked.fit(static_cast<std::uint32_t>(hosts)));
  pooled("inbound_message", sizeof(InboundMessage), config.inbound_messages, kMessageShare, kMessagesCommon,
         hosts);
  pooled("transaction", sizeof(Transaction), config.transactions_per_jetty, kSegmentShare, kSegmentsCommon,
         jetties);
  add(report.beyond, report.beyond_bytes, "receive_bitmap", config.receive_window / 8, hosts);
  add(report.beyond, report.beyond_bytes, "load_store_path", LoadStorePath::kBytesPerHost, hosts);
  add(report.beyond, report.beyond_bytes, "load_store_slots", LoadStorePath::kBytesPerSlot,
      config.load_store_slots);
  add(report.beyond, report.beyond_bytes, "jetty_object", sizeof(Jetty), jetties);
  add(report.beyond, report.beyond_bytes, "transaction_map",
      sizeof(std::uint32_t) * config.transactions_per_jetty, jetties);
  add(report.beyond, report.beyond_bytes, "work_request", sizeof(PostedRequest), jetties * queue.send_depth);
  add(report.beyond, report.beyond_bytes, "receive_entry", sizeof(ReceiveEntry),
      jetties * queue.receive_depth);
  add(report.beyond, report.beyond_bytes, "completion", sizeof(PendingCompletion), jetties * depths);
  return report;
}

}  // namespace wharf::ub
