// SPDX-License-Identifier: Apache-2.0
#include "sim/config/uet_settings.h"

#include <algorithm>
#include <array>

namespace wharf::sim {
namespace {

constexpr std::array<Choice<verbs::Delivery>, 2> kDeliveries{
    {{"rud", verbs::Delivery::kUnordered}, {"rod", verbs::Delivery::kOrdered}}};
constexpr std::array<Choice<uet::LargeSend>, 3> kLargeSends{{{"eager", uet::LargeSend::kEager},
                                                             {"rendezvous", uet::LargeSend::kRendezvous},
                                                             {"deferrable", uet::LargeSend::kDeferrable}}};
constexpr std::array<Choice<uet::UnexpectedSend>, 2> kUnexpected{
    {{"keep", uet::UnexpectedSend::kKeep}, {"refuse", uet::UnexpectedSend::kRefuse}}};

/// [UE 1.0 3.5] MPR counts in such units.
constexpr std::uint64_t kPsnsPerMpr = 128;

/// What a sender may have under way.
Bytes most_under_way(const UetSettings& settings, const UetNetwork& network) {
  const std::uint64_t psns = std::max(settings.default_mpr, 1U) * kPsnsPerMpr * network.window_packet();
  if (settings.control == uet::CongestionControl::kNone) return {psns};
  if (settings.control != uet::CongestionControl::kReceiver &&
      settings.controller == SenderController::kConstant && settings.window_packets != 0)
    return {std::min(psns, std::uint64_t{settings.window_packets} * network.window_packet())};
  return {std::min(psns, network.max_window)};
}

}  // namespace

void bind_uet(Binder& binder, UetSettings& uet, bool active) {
  const Binder::Section section(binder, "uet", active, "only with model.stack = \"uet\"");
  binder.bytes("payload", uet.payload, "of a full packet, an even number", 256, 8192);
  binder.bytes("header", uet.header, "all headers of a packet together; 0B: what they really take", 0, 1024);
  bind_sender_ends(binder, uet, wire::Protocol::kUet);
  bind_uet_ends(binder, uet);
  binder.integer("default_mpr", uet.default_mpr,
                 "packet numbers used ahead of the oldest unacknowledged one, in units of 128 (Default_MPR)",
                 1, 255);
  binder.bytes(
      "max_ack_data", uet.max_ack_data,
      "data of a read or atomic that comes back on its acknowledgement; more comes in packets of its "
      "own (Max_ACK_Data_Size)",
      0, 8192);
  binder.flag("ack_per_packet", uet.ack_per_packet, "every request asks for an acknowledgement");
  binder.integer_or("unlimited", uet::kRtoRetriesForever, "max_rto_retries", uet.max_rto_retries,
                    "time-outs of a packet before a peer is given up (Max_RTO_Retx_Cnt)", 0, 14);
  binder.integer_or("unlimited", uet::kNackRetriesForever, "max_nack_retries", uet.max_nack_retries,
                    "NACKs of a packet before a peer is given up (Max_NACK_Retx_Cnt)", 0, 30);
  binder.time("tail_loss_time", uet.tail_loss_time,
              "a probe after so much silence finds a lost last packet; 0ns: never (Tail_Loss_Time)");
  binder.choice<verbs::Delivery>("one_sided", uet.one_sided, kDeliveries,
                                 "delivery of reads, writes and atomics: unordered (RUD) or ordered (ROD)");
  binder.choice<verbs::Delivery>("two_sided", uet.two_sided, kDeliveries, "delivery of sends");
  binder.choice<uet::LargeSend>("large_send", uet.large_send, kLargeSends,
                                "how sends above uet.large_send_bytes go");
  binder.bytes("large_send_bytes", uet.large_send_bytes, "sends longer than this are large", 0, 1ULL << 30U);
  {
    const Binder::Section rendezvous(binder, "", uet.large_send == uet::LargeSend::kRendezvous,
                                     "only with uet.large_send = \"rendezvous\"");
    binder.bytes("eager_bytes", uet.eager_bytes, "of a rendezvous, sent with the request", 0, 8192);
  }
  binder.choice<uet::UnexpectedSend>("unexpected", uet.unexpected, kUnexpected,
                                     "a send that finds no receive is kept, or refused and tried again");
  binder.integer("message_retries", uet.message_retries, "tries of a refused message", 0, 1'000'000);
  binder.time("message_retry_time", uet.message_retry_time, "wait before each");
  binder.flag("small_headers", uet.small_headers,
              "one-packet reads and writes use the header of 20 bytes, with optimized keys");
  binder.flag("medium_headers", uet.medium_headers, "other one-packet requests use that of 32 bytes");
  binder.time("idle_timeout", uet.idle_timeout,
              "a connection that is idle for so long is closed; 0ns: never");
  binder.integer("fetch_ahead", uet.fetch_ahead, "packets whose payload is fetched before they leave", 1,
                 4096);
  bind_dcqcn(binder, uet);
}

UetNetwork network_of(const UetSettings& settings, const LinkConfig& link, const NicConfig& nic) {
  UetNetwork network;
  network.payload = settings.payload;
  network.header = settings.header;
  using Wide = unsigned __int128;
  const auto path =
      static_cast<std::uint64_t>(Wide(nic.bytes_per_cycle) * 8 * 1'000'000'000'000ULL /
                                 static_cast<std::uint64_t>(std::max<std::int64_t>(nic.cycle.ps, 1)));
  network.link = link.rate.value == 0 ? BitsPerSecond{path} : BitsPerSecond{std::min(link.rate.value, path)};
  const std::uint32_t data = settings.header != 0 ? settings.header : kUetDataOverhead;
  const std::uint32_t answer = settings.header != 0 ? settings.header : kUetAcknowledgement;
  network.base_rtt = link.delay * 2 + nic.cycle * (4 * static_cast<std::int64_t>(nic.uet_cycles)) +
                     transfer_time(Bytes{settings.payload + data}, network.link) +
                     transfer_time(Bytes{answer}, network.link);
  // [UE 1.0 3.6.13] MaxWnd: one and a half bandwidth-delay products.
  network.max_window = static_cast<std::uint64_t>(Wide(network.base_rtt.ps) * network.link.value * 3 /
                                                  (2 * 8'000'000'000'000ULL));
  network.rto = settings.rto;
  if (network.rto == kTimeZero) {
    network.rto = microseconds(15) +
                  max(transfer_time(most_under_way(settings, network), network.link), network.base_rtt) * 6;
  }
  return network;
}

uet::UetConfig derive_uet(const UetSettings& settings, const LinkConfig& link, const HostConfig& host) {
  uet::UetConfig uet = derive_uet_ends(settings, network_of(settings, link, host.nic));
  uet.default_mpr = settings.default_mpr;
  uet.max_ack_data_bytes = settings.max_ack_data;
  uet.ack_per_packet = settings.ack_per_packet;
  uet.max_rto_retries = settings.max_rto_retries;
  uet.max_nack_retries = settings.max_nack_retries;
  uet.tail_loss_time = settings.tail_loss_time;
  // Choice: what is idle stays open unless a key says otherwise. With the 5 s of the reference provider a run
  // would go on until it is closed and its number free again.
  uet.idle_timeout = settings.idle_timeout;
  uet.one_sided_delivery = settings.one_sided;
  uet.two_sided_delivery = settings.two_sided;
  uet.large_send = settings.large_send;
  uet.large_send_bytes = settings.large_send_bytes;
  uet.eager_bytes = settings.eager_bytes;
  uet.unexpected = settings.unexpected;
  uet.message_retries = settings.message_retries;
  uet.message_retry_time = settings.message_retry_time;
  uet.small_headers = settings.small_headers;
  uet.medium_headers = settings.medium_headers;
  uet.fetch_ahead_packets = settings.fetch_ahead;
  return uet;
}

Result<void> check_uet(const UetSettings& settings, const LinkConfig& link, const HostConfig& host) {
  WHARF_TRY(check_ends(settings, "uet"));
  WHARF_TRY(check_window(settings, network_of(settings, link, host.nic).of_senders(), "uet", "this link"));
  return uet::validate(derive_uet(settings, link, host));
}

}  // namespace wharf::sim
