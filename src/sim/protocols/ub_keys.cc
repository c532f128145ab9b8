// SPDX-License-Identifier: Apache-2.0
// The keys of Unified Bus ("model.ub.*"), and the rules that turn what is chosen about senders, with a
// network, into the configuration of its engines.
#include "sim/protocols/ub_protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <optional>

#include "base/units.h"
#include "engine/ub/hardware/nic_module.h"
#include "sim/protocols/key_draw.h"
#include "sim/protocols/request_rules.h"

namespace wharf::sim {
namespace {

constexpr std::array<Choice<ub::LossRecovery>, 2> kRecoveries{{
    {"go_back_n", ub::LossRecovery::kGoBackN},
    {"selective", ub::LossRecovery::kSelective},
}};
constexpr std::array<Choice<wire::UbEncapsulation>, 5> kEncapsulations{{
    {"udp", wire::UbEncapsulation::kUdp},
    {"ip_on_link", wire::UbEncapsulation::kIpOnLink},
    {"cna24", wire::UbEncapsulation::kCna24OnLink},
    {"cna16", wire::UbEncapsulation::kCna16OnLink},
    {"openurma", wire::UbEncapsulation::kRawEthernet},
}};

constexpr std::array<Choice<engine::ServiceMode>, 4> kServices{{
    {"roi", engine::ServiceMode::kOrderedByInitiator},
    {"rot", engine::ServiceMode::kOrderedByTarget},
    {"rol", engine::ServiceMode::kOrderedByTransport},
    {"uno", engine::ServiceMode::kUnordered},
}};

constexpr std::array<Choice<engine::TransportMode>, 2> kTransports{{
    {"rtp", engine::TransportMode::kReliable},
    {"ctp", engine::TransportMode::kCompact},
}};

constexpr std::array<Choice<ub::ChannelSpread>, 3> kSpreads{{
    {"flow", ub::ChannelSpread::kFlow},
    {"request", ub::ChannelSpread::kRequest},
    {"packet", ub::ChannelSpread::kPacket},
}};

/// "unlimited" or a number of attempts.
void bind_attempts(Binder& binder, std::string_view key, std::uint32_t& attempts, std::string_view doc) {
  binder.integer_or("unlimited", reliability::kUnlimitedAttempts, key, attempts, doc, 0, 1'000'000);
}

std::optional<congestion::ControllerConfig> controller_of(const SenderEnds& ends,
                                                          const SenderNetwork& network,
                                                          std::uint32_t payload) {
  if (ends.controller == SenderController::kNone) return std::nullopt;
  if (ends.controller == SenderController::kCaqm) {
    congestion::CaqmConfig caqm = ends.caqm;
    caqm.mtu_bytes = payload;
    caqm.initial_rtt = network.base_rtt;
    return caqm;
  }
  if (ends.controller == SenderController::kLdcp) {
    congestion::LdcpConfig ldcp;
    ldcp.mtu_bytes = payload;
    ldcp.initial_window = ends.window_packets != 0 ? std::uint64_t{ends.window_packets} * payload
                                                   : std::max<std::uint64_t>(network.max_window, payload);
    ldcp.window_limit = std::max(ldcp.window_limit, 2 * ldcp.initial_window);
    ldcp.alpha_ppm = ends.caqm.alpha_ppm;
    ldcp.beta_ppm = ends.caqm.beta_ppm;
    return ldcp;
  }
  return controller_config(ends, network);
}

/// What only channels with packet numbers have.
void bind_reliable(Binder& binder, ub::UbConfig& ub) {
  const Binder::Section section(binder, "", ub.transport != engine::TransportMode::kCompact,
                                "only UB work requests over ub.transport = \"rtp\" use it");
  binder.bytes("segment", ub.segment_bytes, "longest transaction segment, a multiple of the MTU", 64, 65536);
  binder.integer("channels", ub.channels,
                 "reliable TP channels per host pair; windows and bounds count for each", 1,
                 ub::kChannelsMax);
  binder.choice<ub::ChannelSpread>("spread", ub.spread, kSpreads,
                                   "what keeps to a channel and its path: a jetty's requests, each request, "
                                   "or a jetty's requests with each packet on the next path");
  binder.integer("send_window", ub.send_window, "packets in flight per TP channel, a power of two", 1,
                 1 << 22);
  binder.integer("receive_window", ub.receive_window,
                 "PSNs accepted ahead of the expected one, a power of two", 64, 1 << 22);
  binder.choice<ub::LossRecovery>("recovery", ub.recovery, kRecoveries, "how a sender repairs loss");
  {
    const Binder::Section dropped(binder, "", ub.recovery == ub::LossRecovery::kGoBackN,
                                  "only with ub.recovery = \"go_back_n\"");
    binder.flag("fast_retransmit", ub.fast_retransmit,
                "answer a gap with a TPNAK instead of waiting for the peer's timer");
  }
  binder.time("rto", ub.retransmission.base, "first retransmission time-out");
  binder.integer("rto_backoff", ub.retransmission.backoff_exponent, "doublings per attempt", 0, 16);
  binder.time("rto_cap", ub.retransmission.cap, "longest retransmission time-out");
  bind_attempts(binder, "rto_attempts", ub.retransmission.attempts_max,
                "time-outs before a channel gives up");
  binder.integer("acknowledge_every", ub.acknowledge_every, "in-order packets per acknowledgement", 1, 1024);
  {
    const Binder::Section delayed(binder, "", ub.acknowledge_every > 1,
                                  "only with ub.acknowledge_every above 1");
    binder.time("acknowledge_delay", ub.acknowledge_delay, "longest delay of an acknowledgement");
  }
  binder.integer("first_psn", ub.first_psn, "first packet sequence number of each channel", 0, (1 << 24) - 1);
}

void bind_channels(Binder& binder, ub::UbConfig& ub) {
  binder.choice<wire::UbEncapsulation>("encapsulation", ub.encapsulation, kEncapsulations,
                                       "how packets of work requests are framed; cna16 carries ctp alone");
  binder.choice<engine::ServiceMode>(
      "service", ub.service, kServices,
      "who keeps the order of a jetty's requests: initiator, target, channel, nobody");
  binder.choice<engine::TransportMode>("transport", ub.transport, kTransports,
                                       "what carries a jetty's requests: reliable transport, or compact "
                                       "transport, which numbers and repeats no "
                                       "packet, on links that lose none");
  binder.bytes("mtu", ub.mtu, "payload of one packet, a power of two; openurma at most 256B", 64, 8192);
  bind_reliable(binder, ub);
  binder.integer("rnr_retry", ub.rnr_retry, "tries after receiver-not-ready; 7 is for ever", 0, 7);
  binder.integer("min_rnr_timer", ub.min_rnr_timer, "receiver-not-ready timer code", 0, 31);
  binder.integer(
      "err_timeout", ub.err_timeout,
      "longest wait for the answer to a confirmed request, with ctp to one that has left, 4.096 us * "
      "2^n (URMA API)",
      0, 31);
  {
    const Binder::Section faults(binder, "", false,
                                 "only where a target reports page faults, which no simulated host does");
    binder.integer("page_fault_retry", ub.page_fault_retry,
                   "tries after a page fault at the target (response status 2)", 0, 1'000'000);
    binder.integer("page_fault_timer", ub.page_fault_timer, "page-fault timer code, as min_rnr_timer", 0, 31);
  }
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
}

void bind_loads_and_stores(Binder& binder, ub::UbConfig& ub) {
  binder.integer("load_store_slots", ub.load_store_slots, "loads and stores outstanding at the NIC", 1, 256);
  binder.time("reissue", ub.load_store_reissue.base, "first time-out of a load or store");
  binder.integer("reissue_backoff", ub.load_store_reissue.backoff_exponent,
                 "doublings of a load's or store's time-out per attempt", 0, 16);
  binder.time("reissue_cap", ub.load_store_reissue.cap, "longest time-out of a load or store");
  bind_attempts(binder, "reissue_attempts", ub.load_store_reissue.attempts_max,
                "re-issues of a load or store");
  binder.integer("load_store_services", ub.load_store_services,
                 "loads and stores of others in execution; more are dropped", 1, 1 << 20);
}

}  // namespace

void UbProtocol::bind(Binder& binder, Settings& ub, const ProtocolKeyScope& scope) {
  const bool engine = scope.engine || !scope.active;
  const Binder::Section section(
      binder, "ub", scope.active && scope.engine,
      engine ? "only with a UB stack" : "only with nic.implementation = \"engine\"");
  {
    const Binder::Section queue(binder, "", scope.queue_path, "only UB work requests use it");
    bind_channels(binder, ub);
  }
  {
    const Binder::Section path(binder, "", scope.load_store_path, "only UB loads and stores use it");
    bind_loads_and_stores(binder, ub);
  }
  binder.integer("context_cache", ub.context_cache_entries, "context records that the NIC holds; 0: all", 0,
                 1 << 20);
  const Binder::Section cached(binder, "", ub.context_cache_entries > 0,
                               "only with ub.context_cache above 0");
  binder.integer("context_records", ub.context_records_max,
                 "records of each kind that the region in host memory holds", 1, 1 << 20);
  binder.flag("full_jetty_records", ub.full_jetty_records,
              "jetty records of 48 bytes instead of 20 (OpenURMA 5.4)");
}

// [UB-Base 2.0.1 6.1] A loss would end its request with an error, and a program with it.
Result<void> UbProtocol::check(const Settings& settings, const LinkConfig& link, const HostConfig&) {
  if (!needs_lossless_links(settings).empty()) {
    const auto refuse = [](std::string_view key, std::string_view found, std::string_view expected) {
      return input_error(fmt::format(
          "faults.{} {} with model.ub.transport = \"ctp\", which sends nothing again, expected {}", key,
          found, expected));
    };
    const LinkFaults& faults = link.faults;
    if (faults.loss > 0 && !faults.retry)
      return refuse("loss", "is above 0", "0, or faults.link_retry = true");
    if (faults.damage > 0 && !faults.retry)
      return refuse("corruption", "is above 0", "0, or faults.link_retry = true");
    if (faults.reordering > 0) return refuse("reordering", "is above 0", "0");
    if (faults.damage_past_check > 0) return refuse("corruption_past_check", "is above 0", "0");
  }
  return ub::validate(settings);
}

/// Queues in service mode UNO carry what needs no answer and fits into a packet.
Result<void> UbProtocol::check_program(const Settings& settings, const workload::WorkloadConfig& config,
                                       std::string_view section) {
  if (settings.service != engine::ServiceMode::kUnordered) return {};
  for (const verbs::Verb verb : workload::verbs_needed(config, false)) {
    if (verbs::carries_payload(verb) && verb != verbs::Verb::kSendInvalidate) continue;
    return input_error(fmt::format(
        "{}.workload = \"{}\" needs {}, which needs an answer, and model.ub.service = \"uno\" has none, "
        "expected model.ub.service = \"roi\", or a verb loop of writes or sends",
        section, workload::name(workload::kind_of(config)), verbs::name(verb)));
  }
  const auto* loop = std::get_if<workload::VerbLoopConfig>(&config);
  if (loop == nullptr || loop->payload <= settings.mtu) return {};
  return input_error(fmt::format(
      "{}.payload is {}, expected at most {}, one packet of model.ub.mtu, with model.ub.service = \"uno\"",
      section, format_bytes(Bytes{loop->payload}), format_bytes(Bytes{settings.mtu})));
}

Result<engine::Capabilities> UbProtocol::hardware_abilities(const Settings& settings) {
  const auto module = hardware::nic_module();
  if (!module) return module.error();
  const hardware::NicSizes& sizes = (*module)->sizes;
  const auto refuse = [](std::string_view key, std::string_view found, std::string_view expected) {
    return input_error(fmt::format(
        "ub.{} is {}, expected {} with model.nic.implementation = \"rtl\": the hardware has nothing else",
        key, found, expected));
  };
  if (settings.encapsulation != wire::UbEncapsulation::kUdp)
    return refuse("encapsulation", "another framing", "\"udp\"");
  if (settings.transport == engine::TransportMode::kCompact) return refuse("transport", "\"ctp\"", "\"rtp\"");
  if (settings.service != engine::ServiceMode::kOrderedByInitiator)
    return refuse("service", fmt::format("\"{}\"", engine::name(settings.service)), "\"roi\"");
  if (settings.mtu != sizes.mtu)
    return refuse("mtu", format_bytes(Bytes{settings.mtu}), format_bytes(Bytes{sizes.mtu}));
  if (settings.channels != 1) return refuse("channels", std::to_string(settings.channels), "1");
  if (settings.first_psn != 0) return refuse("first_psn", std::to_string(settings.first_psn), "0");
  if (settings.context_cache_entries != 0)
    return refuse("context_cache", std::to_string(settings.context_cache_entries), "0");
  return Hardware::capabilities_of(sizes);
}

std::string UbProtocol::hardware_file() { return hardware::nic_module_file().string(); }

SenderNetwork UbProtocol::senders(const EndNetwork& network) {
  return {network.link, network.base_rtt, network.max_window, network.payload};
}

Result<void> UbProtocol::check_fabric(const Ends&, const FlowSite& site) {
  if (std::has_single_bit(site.payload)) return {};
  return input_error(fmt::format(
      "fabric.payload: found {}B, expected a power of two from 256B to 8192B with protocol = \"ub\"",
      site.payload));
}

Result<ub::UbConfig> UbProtocol::derive_fabric(const SenderEnds& sender, const Ends&,
                                               const EndNetwork& network, const FlowSite&) {
  ub::UbConfig ub;
  ub.mtu = network.payload;
  ub.retransmission.base = network.rto;
  ub.retransmission.backoff_exponent = sender.rto_back_off ? 1 : 0;
  ub.retransmission.cap = max(ub.retransmission.cap, network.rto);
  ub.congestion = controller_of(sender, senders(network), ub.mtu);
  if (sender.controller == SenderController::kDcqcn)
    ub.min_time_between_cnps = sender.dcqcn.min_time_between_cnps;
  ub.retransmission.attempts_max = reliability::kUnlimitedAttempts;
  if (auto checked = ub::validate(ub); !checked) return checked.error();
  return ub;
}

void UbProtocol::draw(KeyDraw& draw, const StackTraits& stack, bool world) {
  draw.essential("model.ub.rto_attempts", "unlimited");
  if (stack.load_store) draw.essential("model.ub.reissue_attempts", "unlimited");
  if (!world && draw.one_in(3)) draw.text("model.ub.encapsulation", draw.any({"ip_on_link", "cna24"}));
  if (stack.load_store) return;
  const std::uint64_t mtu = draw.power_of_two(8, 12);
  draw.bytes("model.ub.mtu", mtu);
  if (draw.one_in(2)) draw.bytes("model.ub.segment", std::max<std::uint64_t>(mtu, draw.power_of_two(10, 16)));
  if (draw.one_in(3)) draw.text("model.ub.service", draw.any({"roi", "rot", "rol"}));
  if (draw.one_in(2)) draw.text("model.ub.recovery", draw.any({"go_back_n", "selective"}));
  if (draw.one_in(3)) draw.number("model.ub.send_window", draw.power_of_two(3, 9));
  if (draw.one_in(3)) draw.number("model.ub.receive_window", draw.power_of_two(6, 11));
  if (draw.one_in(3)) {
    draw.number("model.ub.acknowledge_every", draw.scaled(2, 32));
    draw.nanoseconds("model.ub.acknowledge_delay", draw.scaled(100, 8000));
  }
  if (draw.one_in(3)) draw.number("model.ub.first_psn", (1U << 24U) - 1 - draw.below(200));
  if (draw.one_in(4)) draw.number("model.ub.transactions_per_jetty", draw.power_of_two(0, 6));
  if (draw.one_in(4)) draw.number("model.ub.fetch_ahead", draw.scaled(1, 32));
  if (draw.one_in(5)) draw.number("model.ub.inbound_messages", draw.scaled(4, 64));
  if (draw.one_in(5)) draw.number("model.ub.parked_packets", draw.scaled(64, 512));
  if (draw.one_in(5)) draw.number("model.ub.context_cache", draw.scaled(4, 32));
  if (draw.one_in(3)) {
    draw.number("model.ub.channels", draw.scaled(2, 8));
    draw.text("model.ub.spread", draw.any({"flow", "request", "packet"}));
  }
}

void UbProtocol::draw_requests(KeyDraw& draw) {
  if (draw.one_in(2)) draw.text("run.order_tag", draw.any({"relaxed", "strong"}));
  if (draw.one_in(3)) draw.flag("run.completion_in_order", false);
}

void UbProtocol::draw_transport(KeyDraw& draw, std::span<const DrawnKey> keys) {
  const auto value = [&](std::string_view key) -> std::string_view {
    for (const DrawnKey& each : keys)
      if (each.key == key) return each.value;
    return {};
  };
  // Texts stand in quotes.
  const auto bytes = [&](std::string_view key) {
    const std::string text(value(key));
    return text.empty() ? std::uint64_t{4096} : std::strtoull(text.c_str() + 1, nullptr, 10);
  };
  const bool loses = !value("model.faults.loss").empty() || !value("model.faults.corruption").empty() ||
                     !value("model.faults.reordering").empty();
  const std::string_view service = value("model.ub.service");
  const std::string_view verb = value("run.verb");
  const bool fits = !verb.starts_with("\"send") || bytes("run.payload") <= bytes("model.ub.mtu");
  if (loses || verb.empty() || !fits || (!service.empty() && service != "\"roi\"") ||
      value("model.ub.spread") == "\"packet\"" || !draw.one_in(2)) {
    return;
  }
  draw.essential("model.ub.transport", "ctp");
}

bool orders_requests(wire::Protocol protocol) { return protocol == wire::Protocol::kUb; }

}  // namespace wharf::sim
