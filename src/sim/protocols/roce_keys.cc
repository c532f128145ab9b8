// SPDX-License-Identifier: Apache-2.0
// The keys of RoCEv2 ("model.roce.*"), and the rules that turn what is chosen about senders, with a network,
// into the configuration of its engines.
#include "sim/protocols/roce_protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "sim/protocols/key_draw.h"

namespace wharf::sim {

namespace {

constexpr std::array<Choice<wire::IpVersion>, 2> kIpVersions{{
    {"v4", wire::IpVersion::kV4},
    {"v6", wire::IpVersion::kV6},
}};
constexpr std::array<Choice<roce::LossRecovery>, 2> kRecoveries{{
    {"go_back_n", roce::LossRecovery::kGoBackN},
    {"selective", roce::LossRecovery::kSelective},
}};

}  // namespace

void RoceEnds::bind(Binder& binder, const SenderEnds&, RoceEnds& ends) {
  binder.choice<roce::LossRecovery>(
      "recovery", ends.recovery, kRecoveries,
      "how a sender repairs loss: everything behind it goes again, or it alone");
}

void RoceProtocol::bind(Binder& binder, Settings& roce, const ProtocolKeyScope& scope) {
  const Binder::Section section(binder, "roce", scope.active, "only with a RoCE stack");
  binder.bytes("mtu", roce.path_mtu,
               "payload of one packet: 256B, 512B, 1KiB, 2KiB or 4KiB; more in accounting profiles only", 256,
               roce::kAccountingMtu);
  binder.integer("window", roce.window_packets, "packets sent ahead of the oldest unacknowledged one", 1,
                 1 << 20);
  binder.choice<roce::LossRecovery>(
      "recovery", roce.recovery, kRecoveries,
      "how a sender repairs loss: everything behind it goes again, or it alone (wharf's own choice)");
  binder.integer("ack_timeout", roce.ack_timeout, "local ACK timeout 4.096 us * 2^n; 0 switches it off", 0,
                 31);
  binder.integer("retry_count", roce.retry_count, "tries without progress", 0, 7);
  binder.flag("unlimited_retries", roce.unlimited_retries, "never give up");
  binder.integer("rnr_retry", roce.rnr_retry, "tries after receiver-not-ready; 7 is for ever", 0, 7);
  binder.integer("backoff_limit", roce.backoff_limit, "doublings of the timeout of one request", 0, 16);
  binder.integer("min_rnr_timer", roce.min_rnr_timer, "receiver-not-ready timer code", 0, 31);
  binder.integer("max_read_atomic", roce.max_read_atomic, "reads and atomics outstanding per queue pair", 1,
                 128);
  binder.flag("acknowledge_every_request", roce.acknowledge_every_request,
              "one ACK per packet that asks for one");
  binder.integer("fetch_batch", roce.fetch_batch, "work-queue entries per fetch", 1, 64);
  binder.integer("fetches_in_flight", roce.fetches_in_flight, "fetches of one queue under way at a time", 1,
                 16);
  binder.integer("receive_prefetch", roce.receive_prefetch,
                 "receive entries fetched before a message needs them", 0, 255);
  binder.choice<wire::IpVersion>("ip_version", roce.ip_version, kIpVersions,
                                 "network header of its packets (IBTA vol 1 Annex A17)");
  binder.flag("advertise_credits", roce.advertise_credits,
              "end-to-end credits in ACKs instead of code 31, unlimited (IBTA vol 1 9.7.7.2)");
  binder.integer("transmit_ahead", roce.transmit_ahead,
                 "packets of one queue pair whose data is fetched ahead, a power of two", 1, 65536);
  binder.integer("access_slots", roce.access_slots, "memory accesses under way, and 32 more per queue pair",
                 64, 1 << 20);
  binder.integer("queue_cache", roce.queue_cache_entries, "queue-pair records that the NIC holds; 0: all", 0,
                 1 << 20);
  binder.integer("key_cache", roce.key_cache_entries, "memory-key records that the NIC holds; 0: all", 0,
                 1 << 20);
  const Binder::Section cached(binder, "", roce.queue_cache_entries > 0 || roce.key_cache_entries > 0,
                               "only with roce.queue_cache or roce.key_cache above 0");
  binder.integer("deferred_packets", roce.deferred_packets,
                 "packets that wait for context records; more are dropped", 1, 1 << 20);
}

Result<void> RoceProtocol::check(const Settings& settings, const LinkConfig&, const HostConfig&) {
  return roce::check(settings);
}

SenderNetwork RoceProtocol::senders(const EndNetwork& network) {
  return {network.link, network.base_rtt, network.max_window, network.payload};
}

Result<void> RoceProtocol::check_fabric(const Ends&, const FlowSite& site) {
  if (site.payload >= 256 && site.payload <= 4096 && std::has_single_bit(site.payload)) return {};
  return input_error(
      fmt::format("fabric.payload: found {}B, expected 256B, 512B, 1024B, 2048B or 4096B with protocol = "
                  "\"roce\"",
                  site.payload));
}

Result<roce::RoceConfig> RoceProtocol::derive_fabric(const SenderEnds& sender, const Ends& ends,
                                                     const EndNetwork& network, const FlowSite& site) {
  constexpr std::uint8_t kLongestTimeout = 31;
  constexpr std::uint64_t kMostPackets = 1U << 16U;
  const SenderNetwork of_senders = senders(network);
  roce::RoceConfig roce;
  roce.path_mtu = network.payload;
  // Controllers decide what is under way, not the numbers of packets: four of the largest windows.
  roce.window_packets = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      4 * of_senders.max_window / of_senders.window_packet, roce.window_packets, kMostPackets));
  roce.ack_timeout = 1;
  while (roce.ack_timeout < kLongestTimeout && roce::ack_timeout_duration(roce.ack_timeout) < network.rto)
    ++roce.ack_timeout;
  if (sender.controller != SenderController::kNone) {
    roce.congestion = controller_config(sender, of_senders);
    if (sender.controller == SenderController::kDcqcn)
      roce.min_time_between_cnps = sender.dcqcn.min_time_between_cnps;
  }
  roce.seed = site.seed;
  roce.unlimited_retries = true;
  roce.recovery = ends.recovery;
  if (auto checked = roce::check(roce); !checked) return checked.error();
  return roce;
}

void RoceProtocol::draw(KeyDraw& draw, const StackTraits&, bool) {
  draw.flag("model.roce.unlimited_retries", true);
  draw.keep();
  draw.number("model.roce.ack_timeout", 5 + draw.below(4));
  draw.bytes("model.roce.mtu", draw.power_of_two(8, 12));
  if (draw.one_in(2)) draw.text("model.roce.recovery", draw.any({"go_back_n", "selective"}));
  if (draw.one_in(2)) draw.number("model.roce.window", draw.scaled(2, 256));
  if (draw.one_in(3)) draw.number("model.roce.max_read_atomic", draw.scaled(1, 32));
  if (draw.one_in(3)) draw.number("model.roce.backoff_limit", draw.below(4));
  if (draw.one_in(3)) draw.flag("model.roce.acknowledge_every_request", true);
  if (draw.one_in(3)) draw.number("model.roce.fetch_batch", draw.scaled(1, 16));
  if (draw.one_in(4)) draw.number("model.roce.receive_prefetch", draw.scaled(1, 8));
  if (draw.one_in(4)) draw.text("model.roce.ip_version", "v6");
  if (draw.one_in(4)) draw.flag("model.roce.advertise_credits", true);
  if (draw.one_in(4)) draw.number("model.roce.transmit_ahead", draw.power_of_two(0, 6));
  if (draw.one_in(5)) draw.number("model.roce.queue_cache", draw.scaled(1, 16));
  if (draw.one_in(5)) draw.number("model.roce.key_cache", draw.scaled(1, 16));
}

void RoceProtocol::draw_flows(KeyDraw& draw) {
  if (draw.one_in(2)) draw.text("fabric.recovery", draw.any({"go_back_n", "selective"}));
}

}  // namespace wharf::sim
