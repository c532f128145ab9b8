// SPDX-License-Identifier: Apache-2.0
#include "sim/config/transport_keys.h"

#include <array>

namespace wharf::sim {
namespace {

constexpr std::array<Choice<ChargeRule>, 2> kChargeRules{{
    {"packet", ChargeRule::kPacket},
    {"payload", ChargeRule::kPayload},
}};
constexpr std::array<Choice<ub::LossRecovery>, 2> kRecoveries{{
    {"go_back_n", ub::LossRecovery::kGoBackN},
    {"selective", ub::LossRecovery::kSelective},
}};
constexpr std::array<Choice<wire::UbEncapsulation>, 4> kEncapsulations{{
    {"udp", wire::UbEncapsulation::kUdp},
    {"ip_on_link", wire::UbEncapsulation::kIpOnLink},
    {"cna24", wire::UbEncapsulation::kCna24OnLink},
    {"openurma", wire::UbEncapsulation::kRawEthernet},
}};

constexpr std::array<Choice<wire::IpVersion>, 2> kIpVersions{{
    {"v4", wire::IpVersion::kV4},
    {"v6", wire::IpVersion::kV6},
}};

/// "unlimited" or a number of attempts.
void bind_attempts(Binder& binder, std::string_view key, std::uint32_t& attempts, std::string_view doc) {
  binder.integer_or("unlimited", reliability::kUnlimitedAttempts, key, attempts, doc, 0, 1'000'000);
}

}  // namespace

void bind_link(Binder& binder, LinkConfig& link) {
  {
    const Binder::Section section(binder, "link");
    binder.time("delay", link.delay, "propagation, one way");
    binder.rate("rate", link.rate, "bit rate of each direction; 0bps is unlimited");
    binder.choice<ChargeRule>("charged_bytes", link.charged_bytes, kChargeRules,
                              "which bytes of a packet take time on the link");
    const Binder::Section nominal(binder, "", link.charged_bytes == ChargeRule::kPayload,
                                  "only with charged_bytes = \"payload\"");
    binder.bytes("nominal_request_bytes", link.nominal_request_bytes, "charge of a request without payload",
                 0, 4096);
    binder.bytes("nominal_response_bytes", link.nominal_response_bytes,
                 "charge of a response without payload", 0, 4096);
  }
  const Binder::Section section(binder, "faults");
  LinkFaults& faults = link.faults;
  binder.probability("loss", faults.loss, "a packet vanishes");
  binder.probability("corruption", faults.damage,
                     "a bit is inverted; the receiver's frame check drops the frame");
  binder.probability("duplication", faults.duplication, "a packet arrives twice");
  binder.probability("reordering", faults.reordering, "a packet is held back while later ones pass");
  {
    const Binder::Section held(binder, "", faults.reordering > 0, "only with faults.reordering above 0");
    binder.time("reorder_delay", faults.reorder_delay, "longest time held back");
  }
  binder.time("jitter", faults.jitter, "longest extra delay of every packet, order kept");
  binder.probability("corruption_past_check", faults.damage_past_check,
                     "a bit is inverted behind the frame check; needs --wire bytes");
}

void bind_ub(Binder& binder, ub::UbConfig& ub, bool active) {
  const Binder::Section section(binder, "ub", active, "only with a UB stack");
  binder.choice<wire::UbEncapsulation>("encapsulation", ub.encapsulation, kEncapsulations,
                                       "how packets of work requests are framed");
  binder.bytes("mtu", ub.mtu, "payload of one packet, a power of two; openurma at most 256B", 64, 8192);
  binder.bytes("segment", ub.segment_bytes, "longest transaction segment, a multiple of the MTU", 64, 65536);
  binder.integer("send_window", ub.send_window, "packets in flight per TP channel, a power of two", 1,
                 1 << 22);
  binder.integer("receive_window", ub.receive_window,
                 "PSNs accepted ahead of the expected one, a power of two", 64, 1 << 22);
  binder.choice<ub::LossRecovery>("recovery", ub.recovery, kRecoveries, "how a sender repairs loss");
  binder.flag("fast_retransmit", ub.fast_retransmit,
              "answer a gap with a TPNAK instead of waiting for the peer's timer");
  binder.time("rto", ub.retransmission.base, "first retransmission time-out");
  binder.integer("rto_backoff", ub.retransmission.backoff_exponent, "doublings per attempt", 0, 16);
  binder.time("rto_cap", ub.retransmission.cap, "longest retransmission time-out");
  bind_attempts(binder, "rto_attempts", ub.retransmission.attempts_max,
                "time-outs before a channel gives up");
  binder.integer("acknowledge_every", ub.acknowledge_every, "in-order packets per acknowledgement", 1, 1024);
  binder.time("acknowledge_delay", ub.acknowledge_delay, "longest delay of an acknowledgement");
  binder.integer("first_psn", ub.first_psn, "first packet sequence number of each channel", 0, (1 << 24) - 1);
  binder.integer("rnr_retry", ub.rnr_retry, "tries after receiver-not-ready; 7 is for ever", 0, 7);
  binder.integer("min_rnr_timer", ub.min_rnr_timer, "receiver-not-ready timer code", 0, 31);
  binder.integer("err_timeout", ub.err_timeout,
                 "longest wait for the answer to a confirmed request, 4.096 us * 2^n (URMA API)", 0, 31);
  binder.integer("page_fault_retry", ub.page_fault_retry,
                 "tries after a page fault at the target (response status 2)", 0, 1'000'000);
  binder.integer("page_fault_timer", ub.page_fault_timer, "page-fault timer code, as min_rnr_timer", 0, 31);
  binder.integer("transactions_per_jetty", ub.transactions_per_jetty,
                 "segments outstanding per jetty, a power of two; TASSN has 16 bits", 1, 32768);
  binder.integer("fetch_ahead", ub.fetch_ahead_packets,
                 "packets per channel whose data may be fetched before they leave", 1, 1 << 20);
  binder.integer("parked_packets", ub.parked_packets,
                 "packets of one host that wait for earlier ones, and packets of all hosts that wait for a "
                 "context record; more are dropped",
                 1, 1 << 20);
  binder.integer("inbound_messages", ub.inbound_messages,
                 "requests of one host in execution or waiting to be confirmed; a host is told when it "
                 "connects and sends no more",
                 1, 1 << 24);
  binder.integer("load_store_slots", ub.load_store_slots, "loads and stores outstanding at the NIC", 1, 256);
  binder.time("reissue", ub.load_store_reissue.base, "first time-out of a load or store");
  binder.integer("reissue_backoff", ub.load_store_reissue.backoff_exponent,
                 "doublings of a load's or store's time-out per attempt", 0, 16);
  binder.time("reissue_cap", ub.load_store_reissue.cap, "longest time-out of a load or store");
  bind_attempts(binder, "reissue_attempts", ub.load_store_reissue.attempts_max,
                "re-issues of a load or store");
  binder.integer("load_store_services", ub.load_store_services,
                 "loads and stores of others in execution; more are dropped", 1, 1 << 20);
  binder.integer("context_cache", ub.context_cache_entries, "context records that the NIC holds; 0: all", 0,
                 1 << 20);
  const Binder::Section cached(binder, "", ub.context_cache_entries > 0,
                               "only with ub.context_cache above 0");
  binder.integer("context_records", ub.context_records_max,
                 "records of each kind that the region in host memory holds", 1, 1 << 20);
  binder.flag("full_jetty_records", ub.full_jetty_records,
              "jetty records of 48 bytes instead of 20 (OpenURMA 5.4)");
}

void bind_roce(Binder& binder, roce::RoceConfig& roce, bool active) {
  const Binder::Section section(binder, "roce", active, "only with a RoCE stack");
  binder.bytes("mtu", roce.path_mtu,
               "payload of one packet: 256B, 512B, 1KiB, 2KiB or 4KiB; more in accounting profiles only", 256,
               roce::kAccountingMtu);
  binder.integer("window", roce.window_packets, "packets sent ahead of the oldest unacknowledged one", 1,
                 1 << 20);
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

}  // namespace wharf::sim
