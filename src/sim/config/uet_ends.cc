// SPDX-License-Identifier: Apache-2.0
// The rules of Ultra Ethernet 1.0 3.6 (windows, thresholds) with those of the UEC's simulator where its
// profile asks for them.
#include "sim/config/uet_ends.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>

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
    {{"dry", CreditRequest::kDry}, {"timeout", CreditRequest::kTimeout}}};
constexpr std::array<Choice<IdleGrant>, 3> kIdleGrants{
    {{"full", IdleGrant::kFull}, {"packet", IdleGrant::kPacket}, {"none", IdleGrant::kNone}}};
constexpr std::array<Choice<OversubscribedControl>, 3> kOversubscribed{
    {{"auto", OversubscribedControl::kAuto},
     {"on", OversubscribedControl::kOn},
     {"off", OversubscribedControl::kOff}}};

std::uint32_t q16(double value) { return static_cast<std::uint32_t>(std::lround(value * 65536)); }

congestion::NsccConfig nscc_config(const UetEnds& ends, const UetNetwork& network) {
  congestion::NsccConfig nscc = congestion::NsccConfig::for_network(
      network.link, network.base_rtt, network.window_packet(), network.trimming, network.payload);
  nscc.initial_window = std::uint64_t{ends.window_packets} * network.window_packet();
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

constexpr std::string_view kOnlyNscc = "only with controller = \"nscc\"";
constexpr std::string_view kOnlyCredit = "only with control = \"receiver\" or \"both\"";

}  // namespace

void bind_uet_ends(Binder& binder, UetEnds& ends) {
  binder.choice<uet::CongestionControl>("control", ends.control, kControls, "who holds packets back");
  const bool nscc = ends.controller == SenderController::kNscc;
  {
    const Binder::Section target(binder, "", nscc, kOnlyNscc);
    binder.time("target_delay", ends.target_delay,
                "NSCC's queueing target; 0ns: 0.75 of the base round trip with trimming, all of it without");
    binder.integer("qa_gate", ends.qa_gate, "NSCC adapts quickly below MaxWnd / 2^qa_gate", 0, 16);
    binder.choice<congestion::NsccRules>("nscc_rules", ends.nscc_rules, kNsccRules,
                                         "whose special cases NSCC follows where the two differ");
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
                                 "after a time-out");
    binder.choice<IdleGrant>(
        "idle_grant", ends.idle_grant, kIdleGrants,
        "credit at a time for a source that wants none while nobody does: a full grant, one "
        "packet at half the pace, or none");
  }
  binder.flag("base_rtt_probe", ends.base_rtt_probe,
              "NSCC: a probe after the first answer gives an early sample of the base round trip");
  binder.flag("ack_every_syn", ends.ack_every_syn,
              "every packet that opens a connection is acknowledged at once; false: only the first");
  binder.flag("sleek", ends.sleek, "senders infer losses from packets that overtook and from probes");
  binder.flag("accurate_base_rtt", ends.accurate_base_rtt,
              "base round trip per pair of hosts; only false is supported");
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

Result<void> check_ends(const UetEnds& ends, std::string_view section) {
  const auto refuse = [&](std::string_view key, std::string_view found, std::string_view expected) {
    return input_error(
        fmt::format("{}.{}: {} is known but not supported, expected {}", section, key, found, expected));
  };
  if (ends.controller == SenderController::kDctcp)
    return refuse("controller", "dctcp", "nscc, constant, swift or dcqcn");
  if (ends.accurate_base_rtt) return refuse("accurate_base_rtt", "true", "false");
  return {};
}

uet::UetConfig derive_uet_ends(const UetEnds& ends, const UetNetwork& network) {
  uet::UetConfig uet;
  uet.payload_mtu = network.payload;
  uet.congestion = ends.control;
  uet.window_overhead_bytes = network.header;
  uet.nominal_header_bytes = network.header;
  if (ends.controller == SenderController::kNscc)
    uet.controller = nscc_config(ends, network);
  else
    uet.controller = controller_config(ends, network.of_senders());
  uet.credit = congestion::RcccConfig::for_network(network.link, network.base_rtt, network.window_packet());
  uet.credit.slow_grants = ends.idle_grant != IdleGrant::kNone;
  if (ends.idle_grant == IdleGrant::kPacket) {
    uet.credit.idle_packets = 1;
    uet.credit.idle_percent = 50;
  }
  // Choice: the simulator asks when a packet's RTO finds no credit, and never while nothing is under way.
  // A credit that is lost would then be waited for without end: here a source asks after eight time-outs.
  if (ends.credit_request == CreditRequest::kTimeout) uet.credit.request_patience = network.rto * 8;
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
  uet.base_rtt_probe = ends.base_rtt_probe;
  uet.ack_every_syn = ends.ack_every_syn;
  uet.rto_init = network.rto;
  uet.rto_back_off = ends.rto_back_off;
  uet.rto_cap = max(uet.rto_cap, uet.rto_init);
  return uet;
}

}  // namespace wharf::sim
