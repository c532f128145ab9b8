// SPDX-License-Identifier: Apache-2.0
// The keys of Ultra Ethernet, and the rules of Ultra Ethernet 1.0 3.6 (windows, thresholds) with those of the
// UEC's simulator where its profile asks for them.
#include "sim/protocols/uet_protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "sim/protocols/key_draw.h"
#include "sim/protocols/request_rules.h"

namespace wharf::sim {
namespace {

constexpr std::array<Choice<uet::CongestionControl>, 4> kControls{
    {{"none", uet::CongestionControl::kNone},
     {"sender", uet::CongestionControl::kSender},
     {"receiver", uet::CongestionControl::kReceiver},
     {"both", uet::CongestionControl::kBoth}}};
constexpr std::array<Choice<congestion::NsccRules>, 2> kNsccRules{
    {{"specification", congestion::NsccRules::kSpecification}, {"htsim", congestion::NsccRules::kSimulator}}};
constexpr std::array<Choice<uet::SackBase>, 2> kSackBases{
    {{"track", uet::SackBase::kTrack}, {"trigger", uet::SackBase::kTrigger}}};
constexpr std::array<Choice<congestion::PathChoice>, 6> kSelections{
    {{"mixed", congestion::PathChoice::kMixed},
     {"bitmap", congestion::PathChoice::kBitmap},
     {"reps", congestion::PathChoice::kReps},
     {"reps_legacy", congestion::PathChoice::kRecycle},
     {"oblivious", congestion::PathChoice::kOblivious},
     {"flow", congestion::PathChoice::kFlow}}};
constexpr std::array<Choice<PathBits>, 2> kPathBits{
    {{"fixed", PathBits::kFixed}, {"drawn", PathBits::kDrawn}}};
constexpr std::array<Choice<CreditRequest>, 2> kCreditRequests{
    {{"dry", CreditRequest::kDry}, {"resend", CreditRequest::kResend}}};
constexpr std::array<Choice<IdleGrant>, 3> kIdleGrants{
    {{"full", IdleGrant::kFull}, {"packet", IdleGrant::kPacket}, {"none", IdleGrant::kNone}}};
constexpr std::array<Choice<CreditTurn>, 2> kCreditTurns{
    {{"demand", CreditTurn::kDemand}, {"packet", CreditTurn::kPacket}}};
constexpr std::array<Choice<OversubscribedControl>, 3> kOversubscribed{
    {{"auto", OversubscribedControl::kAuto},
     {"on", OversubscribedControl::kOn},
     {"off", OversubscribedControl::kOff}}};

std::uint32_t q16(double value) { return static_cast<std::uint32_t>(std::lround(value * 65536)); }

/// What a full packet counts toward windows. [UE 1.0 3.6: transport size and 40 bytes]
std::uint32_t window_packet(const EndNetwork& network) {
  return network.payload + (network.header != 0 ? network.header : 108);
}

congestion::NsccConfig nscc_config(const SenderEnds& sender, const UetEnds& ends, const EndNetwork& network) {
  congestion::NsccConfig nscc = congestion::NsccConfig::for_network(
      network.link, network.base_rtt, window_packet(network), network.trimming, network.payload);
  nscc.initial_window = std::uint64_t{sender.window_packets} * window_packet(network);
  if (ends.target_delay != kTimeZero) {
    nscc.target_delay = ends.target_delay;
    nscc.qa_threshold = nscc.target_delay * 4;  // [UE 1.0 3.6.13]
  }
  nscc.qa_gate = ends.qa_gate;
  nscc.rules = ends.nscc_rules;
  nscc.ack_trigger_bytes = ends.ack_trigger;
  nscc.nack_lowers_base_rtt = ends.base_rtt_from_nacks;
  nscc.last_hop_trims_count = ends.control != uet::CongestionControl::kBoth;
  return nscc;
}

constexpr std::array<Choice<verbs::Delivery>, 3> kOneSided{{{"rud", verbs::Delivery::kUnordered},
                                                            {"rod", verbs::Delivery::kOrdered},
                                                            {"rudi", verbs::Delivery::kIdempotent}}};
constexpr std::array<Choice<verbs::Delivery>, 3> kTwoSided{{{"rud", verbs::Delivery::kUnordered},
                                                            {"rod", verbs::Delivery::kOrdered},
                                                            {"uud", verbs::Delivery::kDatagram}}};
constexpr std::array<Choice<uet::LargeSend>, 3> kLargeSends{{{"eager", uet::LargeSend::kEager},
                                                             {"rendezvous", uet::LargeSend::kRendezvous},
                                                             {"deferrable", uet::LargeSend::kDeferrable}}};
constexpr std::array<Choice<uet::UnexpectedSend>, 2> kUnexpected{
    {{"keep", uet::UnexpectedSend::kKeep}, {"refuse", uet::UnexpectedSend::kRefuse}}};

/// [UE 1.0 3.5] MPR counts in such units.
constexpr std::uint64_t kPsnsPerMpr = 128;

/// What a sender may have under way.
Bytes most_under_way(const UetSettings& settings, const EndNetwork& network) {
  const std::uint64_t psns = std::max(settings.default_mpr, 1U) * kPsnsPerMpr * window_packet(network);
  if (settings.control == uet::CongestionControl::kNone) return {psns};
  if (settings.control != uet::CongestionControl::kReceiver &&
      settings.controller == SenderController::kConstant && settings.window_packets != 0)
    return {std::min(psns, std::uint64_t{settings.window_packets} * window_packet(network))};
  return {std::min(psns, network.max_window)};
}

constexpr TimePs kLongestTarget = milliseconds(100);
/// The engine's timers hold no longer time-out.
constexpr TimePs kLongestTimeout = seconds(8);
constexpr std::string_view kOnlyNscc = "only with controller = \"nscc\"";
constexpr std::string_view kOnlyCredit = "only with control = \"receiver\" or \"both\"";

/// Refuses what is known but has no code behind it. `section`: of the keys, "fabric" for one.
Result<void> check_ends(const SenderEnds& sender, std::string_view section) {
  const auto refuse = [&](std::string_view key, std::string_view found, std::string_view expected) {
    return input_error(
        fmt::format("{}.{}: {} is known but not supported, expected {}", section, key, found, expected));
  };
  if (sender.controller == SenderController::kDctcp)
    return refuse("controller", "dctcp", "nscc, constant, swift or dcqcn");
  return {};
}

/// The same for a host that spreads its packets over all of its ports: a window and the credit of a receiver
/// belong to all of them.
EndNetwork over_all_ports(EndNetwork network) {
  if (network.host_rate <= network.link) return network;
  using Wide = unsigned __int128;
  network.max_window =
      static_cast<std::uint64_t>(Wide(network.max_window) * network.host_rate.value / network.link.value);
  network.link = network.host_rate;
  return network;
}

/// The configuration of the engines. Theirs to say: seeds, and how many peers there may be.
uet::UetConfig derive_ends(const SenderEnds& sender, const UetEnds& ends, const EndNetwork& port) {
  const EndNetwork network =
      ends.path_selection == congestion::PathChoice::kFlow ? port : over_all_ports(port);
  uet::UetConfig uet;
  uet.payload_mtu = network.payload;
  uet.congestion = ends.control;
  uet.window_overhead_bytes = network.header;
  uet.nominal_header_bytes = network.header;
  if (sender.controller == SenderController::kNscc)
    uet.controller = nscc_config(sender, ends, network);
  else
    uet.controller = controller_config(sender, UetProtocol::senders(network));
  uet.credit = congestion::RcccConfig::for_network(network.link, network.base_rtt, window_packet(network));
  uet.credit.slow_grants = ends.idle_grant != IdleGrant::kNone;
  if (ends.idle_grant == IdleGrant::kPacket) {
    uet.credit.idle_packets = 1;
    uet.credit.idle_percent = 50;
  }
  uet.credit.turn_per_packet = ends.credit_turn == CreditTurn::kPacket;
  // Choice: the simulator asks when a packet that must go again finds no credit, and never while nothing is
  // under way.
  // A credit that is lost would then be waited for without end: here a source asks after eight time-outs.
  if (ends.credit_request == CreditRequest::kResend) {
    uet.credit.request_patience = network.rto * 8;
    uet.credit.request_for_resends = true;
  }
  if (ends.has_credit() && (ends.oversubscribed_control == OversubscribedControl::kOn ||
                            (ends.oversubscribed_control == OversubscribedControl::kAuto &&
                             network.oversubscription_permille > 1000))) {
    uet.oversubscribed =
        congestion::OversubscriptionConfig{.base_rtt = network.base_rtt,
                                           .oversubscription_ppm = network.oversubscription_permille * 1000,
                                           .increase_q16 = q16(ends.oversubscribed_increase),
                                           .decrease_q16 = q16(ends.oversubscribed_decrease),
                                           .gain_q16 = q16(ends.oversubscribed_gain)};
  }
  uet.paths = ends.paths;
  uet.path_choice = ends.path_selection;
  uet.draw_path_bits = ends.path_bits == PathBits::kDrawn;
  uet.ack_trigger_bytes = ends.ack_trigger;
  uet.sack_base = ends.sack_base;
  uet.infer_loss = ends.sleek;
  uet.target_flow_control =
      ends.target_flow_control && ends.has_window() && sender.controller == SenderController::kNscc;
  uet.base_rtt_probe = ends.base_rtt_probe;
  uet.ack_every_syn = ends.ack_every_syn;
  uet.rto_init = network.rto;
  uet.rto_back_off = sender.rto_back_off;
  uet.rto_cap = max(uet.rto_cap, uet.rto_init);
  return uet;
}

}  // namespace

void UetEnds::bind(Binder& binder, const SenderEnds& sender, UetEnds& ends) {
  binder.choice<uet::CongestionControl>("control", ends.control, kControls, "who holds packets back");
  const bool nscc = sender.controller == SenderController::kNscc;
  {
    const Binder::Section target(binder, "", nscc, kOnlyNscc);
    binder.time(
        "target_delay", ends.target_delay,
        "NSCC's queueing target, at most 100ms; 0ns: 0.75 of the base round trip with trimming, all of it "
        "without");
    if (ends.target_delay > kLongestTarget) binder.refuse_last("a time up to 100ms");
    binder.integer("qa_gate", ends.qa_gate, "NSCC adapts quickly below MaxWnd / 2^qa_gate", 0, 16);
    binder.choice<congestion::NsccRules>("nscc_rules", ends.nscc_rules, kNsccRules,
                                         "whose special cases NSCC follows where the two differ");
  }
  {
    const Binder::Section window(binder, "", nscc && ends.has_window(),
                                 "only with controller = \"nscc\" and control = \"sender\" or \"both\"");
    binder.flag("target_flow_control", ends.target_flow_control,
                "a host that places data more slowly than it arrives makes its sources' windows smaller "
                "(rcv_cwnd_pend)");
  }
  binder.bytes("ack_trigger", ends.ack_trigger, "bytes received per acknowledgement", 1, 32768);
  binder.choice<uet::SackBase>("sack_base", ends.sack_base, kSackBases,
                               "which packet number a selective acknowledgement begins with");
  binder.choice<congestion::PathChoice>("path_selection", ends.path_selection, kSelections,
                                        "how senders choose entropy values");
  binder.integer("paths", ends.paths, "entropy values per destination, a power of two", 1, 65536);
  if (!std::has_single_bit(ends.paths)) binder.refuse_last("a power of two from 1 to 65536");
  binder.choice<PathBits>("path_bits", ends.path_bits, kPathBits,
                          "upper bits of entropy values: drawn once, or for each round of the paths");
  {
    const Binder::Section credit(binder, "", ends.has_credit(), kOnlyCredit);
    binder.choice<CreditRequest>("credit_request", ends.credit_request, kCreditRequests,
                                 "a source without credit asks for some when nothing of it is under way, or "
                                 "when a packet must go again");
    binder.choice<IdleGrant>(
        "idle_grant", ends.idle_grant, kIdleGrants,
        "credit at a time for a source that wants none while nobody does: a full grant, one "
        "packet at half the pace, or none");
    binder.choice<CreditTurn>("credit_turn", ends.credit_turn, kCreditTurns,
                              "a source gets a turn at its receiver when it wants credit, or with every "
                              "packet: it is told the count even when that has not moved");
  }
  binder.flag("base_rtt_probe", ends.base_rtt_probe,
              "NSCC: a probe after the first answer gives an early sample of the base round trip");
  binder.flag("ack_every_syn", ends.ack_every_syn,
              "every packet that opens a connection is acknowledged at once; false: only the first");
  binder.dropped("accurate_base_rtt", "false", "the base round trip is that of the longest path for all");
  binder.flag("sleek", ends.sleek, "senders infer losses from packets that overtook and from probes");
  {
    const Binder::Section base(binder, "", nscc, kOnlyNscc);
    binder.flag("base_rtt_from_nacks", ends.base_rtt_from_nacks,
                "a trimmed packet's answer may lower the base round trip");
  }
  const Binder::Section credit(binder, "", ends.has_credit(), kOnlyCredit);
  binder.choice<OversubscribedControl>("oversubscribed_control", ends.oversubscribed_control, kOversubscribed,
                                       "receivers scale their credit by marks and trims");
  const Binder::Section scaled(binder, "", ends.oversubscribed_control != OversubscribedControl::kOff,
                               "only with oversubscribed_control = \"auto\" or \"on\"");
  binder.number("oversubscribed_increase", ends.oversubscribed_increase, "Ai of that", 0, 1);
  binder.number("oversubscribed_decrease", ends.oversubscribed_decrease, "Md of that", 0, 1);
  binder.number("oversubscribed_gain", ends.oversubscribed_gain, "alpha of that", 0, 1);
}

Result<void> UetEnds::check(const SenderEnds& sender, const UetEnds&) { return check_ends(sender, "fabric"); }

/// What the headers of requests say of their ends. [UE 1.0 3.4]
void bind_addresses(Binder& binder, UetSettings& uet) {
  binder.integer("job_id", uet.endpoint.job_id, "the job of every endpoint (JobID)", 1, 0xff'ffff);
  binder.flag("relative_addresses", uet.endpoint.relative,
              "PIDonFEP is counted within the job; false: within the fabric endpoint");
  binder.integer("pid_on_fep", uet.endpoint.pid_on_fep, "the process of every endpoint (PIDonFEP)", 0, 0xfff);
  binder.integer("resource_index", uet.endpoint.resource_index,
                 "of the first endpoint of a host; further ones count up", 1, 0xfff);
  binder.integer("initiator_id", uet.initiator_id, "what requests say of who asks, such as a rank", 0,
                 0xffff'ffff);
  binder.integer_or("drawn", UetSettings::kPsnDrawn, "start_psn", uet.start_psn,
                    "the first packet number of an identifier's first connection (Start_PSN)", 0,
                    0xffff'fffe);
}

void UetProtocol::bind(Binder& binder, Settings& uet, const ProtocolKeyScope& scope) {
  const Binder::Section section(binder, "uet", scope.active, "only with model.stack = \"uet\"");
  binder.bytes("payload", uet.payload, "of a full packet, an even number", 256, uet::kPayloadMtuMost);
  binder.bytes("header", uet.header, "all headers of a packet together; 0B: what they really take", 0, 1024);
  bind_sender_ends(binder, uet, kRules.senders, sender_docs());
  UetEnds::bind(binder, uet, uet);
  binder.integer("default_mpr", uet.default_mpr,
                 "packet numbers used ahead of the oldest unacknowledged one, in units of 128 (Default_MPR)",
                 1, 255);
  binder.bytes(
      "max_ack_data", uet.max_ack_data,
      "data of a read or atomic that comes back on its acknowledgement, at most uet.payload; more comes in "
      "packets of its own (Max_ACK_Data_Size)",
      0, 8192);
  binder.flag("ack_per_packet", uet.ack_per_packet, "every request asks for an acknowledgement");
  binder.integer_or("unlimited", uet::kRtoRetriesForever, "max_rto_retries", uet.max_rto_retries,
                    "time-outs of a packet before a peer is given up (Max_RTO_Retx_Cnt)", 0, 14);
  binder.integer_or("unlimited", uet::kNackRetriesForever, "max_nack_retries", uet.max_nack_retries,
                    "NACKs of a packet before a peer is given up (Max_NACK_Retx_Cnt)", 0, 30);
  binder.time("tail_loss_time", uet.tail_loss_time,
              "a probe after so much silence finds a lost last packet; 0ns: never (Tail_Loss_Time)");
  binder.choice<verbs::Delivery>("one_sided", uet.one_sided, kOneSided,
                                 "delivery of reads, writes and atomics: unordered (RUD), ordered (ROD), or "
                                 "reads and plain writes at least once and without connections (RUDI)");
  binder.choice<verbs::Delivery>("two_sided", uet.two_sided, kTwoSided,
                                 "delivery of sends: unordered (RUD), ordered (ROD), or as datagrams of one "
                                 "packet that may be lost (UUD)");
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
  binder.integer("message_retries", uet.message_retries, "tries of a refused message", 0, 65'535);
  binder.time("message_retry_time", uet.message_retry_time, "wait before each");
  binder.flag("small_headers", uet.small_headers,
              "one-packet reads and writes use the header of 20 bytes, with optimized keys");
  binder.flag("medium_headers", uet.medium_headers, "other one-packet requests use that of 32 bytes");
  binder.time("idle_timeout", uet.idle_timeout,
              "a connection that is idle for so long is closed; 0ns: never");
  binder.integer("fetch_ahead", uet.fetch_ahead, "packets whose payload is fetched before they leave", 1,
                 4096);
  bind_addresses(binder, uet);
  bind_dcqcn(binder, uet);
}

EndNetwork network_of(const UetSettings& settings, const LinkConfig& link, const NicConfig& nic) {
  EndNetwork network;
  network.payload = settings.payload;
  network.header = settings.header;
  using Wide = unsigned __int128;
  const auto path =
      static_cast<std::uint64_t>(Wide(nic.bytes_per_cycle) * 8 * 1'000'000'000'000ULL /
                                 static_cast<std::uint64_t>(std::max<std::int64_t>(nic.cycle.ps, 1)));
  network.link = link.rate.value == 0 ? BitsPerSecond{path} : BitsPerSecond{std::min(link.rate.value, path)};
  const std::uint32_t data = settings.header != 0 ? settings.header : UetProtocol::kRules.data_overhead;
  const std::uint32_t answer = settings.header != 0 ? settings.header : UetProtocol::kRules.acknowledgement;
  network.base_rtt =
      link.delay * 2 +
      nic.cycle * (4 * static_cast<std::int64_t>(nic.queue_cycles[wire::index_of(UetProtocol::kProtocol)])) +
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

uet::UetConfig UetProtocol::derive(const Settings& settings, const LinkConfig& link, const HostConfig& host) {
  uet::UetConfig uet = derive_ends(settings, settings, network_of(settings, link, host.nic));
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
  uet.endpoint = settings.endpoint;
  uet.initiator_id = settings.initiator_id;
  if (settings.start_psn != UetSettings::kPsnDrawn) uet.start_psn = settings.start_psn;
  return uet;
}

Result<void> UetProtocol::check_program(const Settings& settings, const workload::WorkloadConfig& config,
                                        std::string_view section) {
  const bool idempotent = settings.one_sided == verbs::Delivery::kIdempotent;
  const bool datagrams = settings.two_sided == verbs::Delivery::kDatagram;
  for (const verbs::Verb verb : workload::verbs_needed(config, false)) {
    if (verbs::is_send(verb) || !idempotent || verb == verbs::Verb::kRead || verb == verbs::Verb::kWrite)
      continue;
    return input_error(
        fmt::format("{}.workload = \"{}\" needs {}, which must happen once, and model.uet.one_sided = "
                    "\"rudi\" may repeat "
                    "it, expected model.uet.one_sided = \"rud\", or a program of reads and writes",
                    section, workload::name(workload::kind_of(config)), verbs::name(verb)));
  }
  const auto* loop = std::get_if<workload::VerbLoopConfig>(&config);
  if (!datagrams || loop == nullptr || !verbs::is_send(loop->verb) || loop->payload <= settings.payload)
    return {};
  return input_error(
      fmt::format("{}.payload is {}, expected at most {}, one packet of model.uet.payload, with "
                  "model.uet.two_sided = \"uud\"",
                  section, format_bytes(Bytes{loop->payload}), format_bytes(Bytes{settings.payload})));
}

Result<void> UetProtocol::check(const Settings& settings, const LinkConfig& link, const HostConfig& host) {
  WHARF_TRY(check_ends(settings, "uet"));
  const EndNetwork network = network_of(settings, link, host.nic);
  if (network.base_rtt > kRules.longest_round_trip) {
    return input_error(fmt::format("link.delay: found a base round trip of {}, expected at most {}",
                                   format_time(network.base_rtt), format_time(kRules.longest_round_trip)));
  }
  const BitsPerSecond least = settings.dcqcn.rpg_min_rate;
  if (settings.controller == SenderController::kDcqcn && (least.value == 0 || least > network.link)) {
    return input_error(fmt::format("uet.dcqcn.rpg_min_rate: found {}, expected 1bps to the {} of the link",
                                   format_rate(least), format_rate(network.link)));
  }
  WHARF_TRY(check_window(settings, senders(network_of(settings, link, host.nic)), "uet", "this link"));
  return uet::validate(derive(settings, link, host));
}

SenderNetwork UetProtocol::senders(const EndNetwork& network) {
  return {network.link, network.base_rtt, network.max_window, window_packet(network)};
}

Result<void> UetProtocol::check_fabric(const Ends& ends, const FlowSite& site) {
  if (!ends.has_credit() || site.pcie_rate <= 0) return {};
  return input_error(
      fmt::format("fabric.pcie_rate: found {} with fabric.control = receiver or both, expected 0: grants "
                  "do not follow a host's backlog",
                  site.pcie_rate));
}

Result<uet::UetConfig> UetProtocol::derive_fabric(const SenderEnds& sender, const Ends& ends,
                                                  const EndNetwork& network, const FlowSite& site) {
  if (network.rto > kLongestTimeout) {
    return input_error(fmt::format("fabric.rto: found {}, expected at most {}", format_time(network.rto),
                                   format_time(kLongestTimeout)));
  }
  uet::UetConfig uet = derive_ends(sender, ends, network);
  uet.max_rto_retries = uet::kRtoRetriesForever;
  uet.max_nack_retries = uet::kNackRetriesForever;
  uet.pdc_limit = std::clamp(site.most_connections() + 16, 64U, 16368U);
  uet.contexts_per_connection = !site.shared_connections;
  uet.seed = site.seed;
  if (auto checked = uet::validate(uet); !checked) return checked.error();
  return uet;
}

void UetProtocol::draw(KeyDraw& draw, const StackTraits&, bool) {
  draw.essential("model.uet.max_rto_retries", "unlimited");
  draw.essential("model.uet.max_nack_retries", "unlimited");
  if (draw.one_in(2)) draw.bytes("model.uet.payload", draw.power_of_two(8, 12));
  bool nscc = true;
  if (draw.one_in(3)) {
    const std::string_view control = draw.any({"none", "sender", "receiver", "both"});
    draw.essential("model.uet.control", control);
    nscc = control == "sender" || control == "both";
  }
  if (draw.one_in(3)) draw.text("model.uet.one_sided", draw.any({"rud", "rod"}));
  if (draw.one_in(3)) draw.text("model.uet.two_sided", draw.any({"rud", "rod"}));
  if (draw.one_in(3)) draw.number("model.uet.default_mpr", draw.scaled(1, 16));
  if (draw.one_in(3)) draw.bytes("model.uet.max_ack_data", 16U << draw.below(5));
  if (draw.one_in(4)) draw.flag("model.uet.ack_per_packet", true);
  if (nscc && draw.one_in(4)) draw.flag("model.uet.sleek", true);
  if (draw.one_in(4)) draw.text("model.uet.path_selection", draw.any({"mixed", "bitmap", "reps", "flow"}));
  if (draw.one_in(4)) draw.text("model.uet.large_send", draw.any({"rendezvous", "deferrable"}));
  if (draw.one_in(4)) draw.text("model.uet.sack_base", "trigger");
  if (draw.one_in(5)) draw.nanoseconds("model.uet.tail_loss_time", draw.scaled(2000, 50000));
}

void UetProtocol::draw_flows(KeyDraw& draw) {
  if (draw.one_in(2)) draw.text("fabric.control", draw.any({"sender", "receiver", "both"}));
}

}  // namespace wharf::sim
