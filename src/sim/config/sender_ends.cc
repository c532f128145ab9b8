// SPDX-License-Identifier: Apache-2.0
#include "sim/config/sender_ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "base/check.h"

namespace wharf::sim {
namespace {

constexpr std::array<Choice<SenderController>, 9> kControllers{{{"default", SenderController::kDefault},
                                                                {"nscc", SenderController::kNscc},
                                                                {"constant", SenderController::kConstant},
                                                                {"swift", SenderController::kSwift},
                                                                {"dcqcn", SenderController::kDcqcn},
                                                                {"dctcp", SenderController::kDctcp},
                                                                {"caqm", SenderController::kCaqm},
                                                                {"ldcp", SenderController::kLdcp},
                                                                {"none", SenderController::kNone}}};
constexpr std::array<Choice<DcqcnParameters>, 2> kParameters{
    {{"paper", DcqcnParameters::kPaper}, {"connectx", DcqcnParameters::kConnectx}}};

bool speaks(const SenderRules& rules, SenderController controller) {
  return controller == SenderController::kDefault ||
         std::find(rules.controllers.begin(), rules.controllers.end(), controller) != rules.controllers.end();
}

/// Refuses the key bound last unless it lies between 1 ns and `most`.
void refuse_unless_within(Binder& binder, TimePs value, TimePs most) {
  if (value < nanoseconds(1) || value > most)
    binder.refuse_last(fmt::format("a time from 1ns to {}", format_time(most)));
}

}  // namespace

std::string_view name(SenderController controller) {
  for (const auto& choice : kControllers) {
    if (choice.value == controller) return choice.name;
  }
  return "";
}

void bind_sender_ends(Binder& binder, SenderEnds& ends, const SenderRules& rules, const SenderDocs& docs) {
  binder.choice<SenderController>("controller", ends.controller, kControllers,
                                  "the sender's; default: " + docs.controllers);
  if (!speaks(rules, ends.controller)) {
    std::string expected;
    for (const auto& choice : kControllers) {
      if (choice.value != SenderController::kDctcp && speaks(rules, choice.value))
        expected += fmt::format("{}{}", expected.empty() ? "" : ", ", choice.name);
    }
    binder.refuse_last(fmt::format("one that the protocol has signals for: {}", expected));
  }
  if (ends.controller == SenderController::kDefault) ends.controller = rules.controllers.front();
  {
    const SenderController chosen = ends.controller;
    const bool matters = chosen != SenderController::kNone && chosen != SenderController::kDcqcn &&
                         chosen != SenderController::kCaqm;
    const Binder::Section section(binder, "", matters, "not with dcqcn, caqm or none");
    binder.integer("window_packets", ends.window_packets,
                   "first window (constant: the window) in full packets; 0: 1.5 bandwidth-delay products", 0,
                   100'000);
  }
  binder.time(
      "rto", ends.rto,
      "retransmission time-out; 0ns: 15us and six full queues, or under flow control all that "
      "switches may hold; two hosts: and six times what may be under way; queue pairs round up to 4.096us "
      "times a power of two");
  const Binder::Section section(binder, "", rules.back_off, docs.no_back_off);
  binder.flag("rto_back_off", ends.rto_back_off, "time-outs double");
}

void bind_dcqcn(Binder& binder, SenderEnds& ends) {
  const Binder::Section section(binder, "dcqcn", ends.controller == SenderController::kDcqcn,
                                "only with controller = \"dcqcn\"");
  binder.choice<DcqcnParameters>(
      "parameters", ends.dcqcn_parameters, kParameters,
      "what the others are unless given: those of the paper (SIGCOMM 2015), or of ConnectX firmware");
  congestion::DcqcnConfig& dcqcn = ends.dcqcn;
  if (ends.dcqcn_parameters == DcqcnParameters::kConnectx)
    dcqcn = congestion::DcqcnConfig::connectx(dcqcn.link);
  binder.integer("dce_tcp_g", dcqcn.dce_tcp_g, "1 - g in 1/1024", 1, 1023);
  binder.time("dce_tcp_rtt", dcqcn.dce_tcp_rtt, "alpha decays once per so long without a notification");
  refuse_unless_within(binder, dcqcn.dce_tcp_rtt, seconds(1));
  binder.flag("alpha_by_period", dcqcn.alpha_by_period,
              "alpha moves at the ends of such periods only, not with each notification");
  binder.integer("initial_alpha_value", dcqcn.initial_alpha_value, "in 1/1024", 0, 1024);
  binder.integer("rpg_gd", dcqcn.rpg_gd, "a notification cuts the rate by alpha * 1024 / 2^rpg_gd", 10, 20);
  binder.integer("rpg_min_dec_fac", dcqcn.rpg_min_dec_fac, "per cent of the rate that a cut leaves at least",
                 0, 100);
  binder.time("rate_reduce_monitor_period", dcqcn.rate_reduce_monitor_period, "between two cuts at least");
  binder.time("rpg_time_reset", dcqcn.rpg_time_reset, "between two steps up by time");
  refuse_unless_within(binder, dcqcn.rpg_time_reset, seconds(1));
  binder.bytes("rpg_byte_reset", dcqcn.rpg_byte_reset, "between two steps up by bytes sent", 1);
  binder.integer("rpg_threshold", dcqcn.rpg_threshold, "steps of fast recovery", 1, 31);
  binder.rate("rpg_ai_rate", dcqcn.rpg_ai_rate, "what an additive step adds to the target rate");
  binder.rate("rpg_hai_rate", dcqcn.rpg_hai_rate, "what a hyper step adds");
  binder.rate("rpg_min_rate", dcqcn.rpg_min_rate, "the rate stays above");
  binder.time("min_time_between_cnps", dcqcn.min_time_between_cnps,
              "of a receiver's notifications to one sender; where acknowledgements tell of marks, of "
              "marks that count");
}

void bind_caqm(Binder& binder, SenderEnds& ends) {
  const bool caqm = ends.controller == SenderController::kCaqm;
  const Binder::Section section(binder, "caqm", caqm || ends.controller == SenderController::kLdcp,
                                "only with controller = \"caqm\" or \"ldcp\"");
  binder.integer("alpha_ppm", ends.caqm.alpha_ppm,
                 "growth per round trip without bad news, in millionths of a full packet", 1, 1'000'000);
  binder.integer("beta_ppm", ends.caqm.beta_ppm, "what a marked packet takes, in millionths of one", 1,
                 1'000'000);
  const Binder::Section own(binder, "", caqm, "only with controller = \"caqm\"");
  binder.integer("initial_packets", ends.caqm.initial_packets, "first window, in full packets", 1, 100'000);
  binder.integer("theta", ends.caqm.theta, "round trips without bad news until slow start again", 1,
                 1'000'000);
  binder.bytes("target_queue", ends.caqm_port.target_queue_bytes, "that a switch's port keeps", 1, 1U << 30U);
  binder.integer("lambda_ppm", ends.caqm_port.lambda_ppm,
                 "share of the spare capacity that a port grants, in millionths", 1, 1'000'000);
  binder.integer("mark_ppm", ends.caqm_port.mark_ppm,
                 "chance of a mark while a port has too little left to grant, in millionths", 0, 1'000'000);
  binder.time("period", ends.caqm_port.period, "in which a port counts its spare capacity");
  refuse_unless_within(binder, ends.caqm_port.period, seconds(1));
}

Result<void> check_window(const SenderEnds& ends, const SenderNetwork& network, std::string_view section,
                          std::string_view where) {
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  if (ends.controller == SenderController::kNscc || ends.controller == SenderController::kDctcp)
    most = network.max_window / network.window_packet;
  if (ends.controller == SenderController::kSwift) most = congestion::SwiftConfig{}.window_max >> 16U;
  if (ends.window_packets <= most) return {};
  return input_error(
      fmt::format("{}.window_packets: found {}, expected at most the {} packets of the largest window on {}",
                  section, ends.window_packets, most, where));
}

congestion::ControllerConfig controller_config(const SenderEnds& ends, const SenderNetwork& network) {
  if (ends.controller == SenderController::kDcqcn) {
    congestion::DcqcnConfig dcqcn = ends.dcqcn;
    dcqcn.link = network.link;
    return dcqcn;
  }
  if (ends.controller == SenderController::kSwift) {
    congestion::SwiftConfig swift;
    swift.packet_bytes = network.window_packet;
    swift.initial_rtt = network.base_rtt;
    if (ends.window_packets != 0) swift.initial_window = ends.window_packets << 16U;
    return swift;
  }
  WHARF_CHECK(ends.controller == SenderController::kConstant);
  const std::uint64_t by_rule = (network.max_window + network.window_packet - 1) / network.window_packet;
  return congestion::ConstantWindowConfig{
      .packets = ends.window_packets != 0 ? ends.window_packets
                                          : static_cast<std::uint32_t>(std::max<std::uint64_t>(by_rule, 1))};
}

}  // namespace wharf::sim
