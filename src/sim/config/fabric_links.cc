// SPDX-License-Identifier: Apache-2.0
#include "sim/config/fabric_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/config/retry_keys.h"

namespace wharf::sim {
namespace {

constexpr std::string_view kChangeForms =
    "PORT down at TIME, PORT up at TIME or PORT RATE at TIME, separated by commas";
/// [UE 1.0 5.2]
constexpr TimePs kShortestCreditRepair = microseconds(1);
constexpr TimePs kLongestCreditRepair = milliseconds(250);
constexpr TimePs kLongestFecDelay = milliseconds(1);
constexpr double kMostRetriedLoss = 0.999;  ///< Of links that never give up.

/// The next word of `text`, which it loses.
std::string_view next_word(std::string_view& text) {
  const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(first);
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

std::optional<NamedLinkChange> parse_change(std::string_view text) {
  NamedLinkChange change;
  change.ports = next_word(text);
  const std::string_view what = next_word(text);
  const std::string_view at = next_word(text);
  const auto time = parse_time(next_word(text));
  if (change.ports.empty() || at != "at" || !time || !next_word(text).empty()) return std::nullopt;
  change.at = *time;
  change.up = what != "down";
  if (what == "down" || what == "up") return change;
  const auto rate = parse_rate(what);
  if (!rate || rate->value == 0) return std::nullopt;
  change.rate = *rate;
  return change;
}

void bind_pause(Binder& binder, FlowControlConfig& flow, FlowControl kind) {
  const Binder::Section section(binder, "", kind == FlowControl::kPause,
                                "only with flow_control = \"pause\"");
  binder.bytes("pfc_xoff", flow.xoff_bytes,
               "bytes of a link and a queue that wait at its far end above which a pause frame goes back", 1,
               1U << 30U);
  binder.bytes("pfc_xon", flow.xon_bytes, "at or below which a resume frame follows; at most fabric.pfc_xoff",
               0, 1U << 30U);
}

void bind_credits(Binder& binder, FlowControlConfig& flow, FlowControl kind) {
  const Binder::Section section(binder, "", kind == FlowControl::kCredit,
                                "only with flow_control = \"credit\"");
  binder.bytes("credit_limit", flow.credit_limit_bytes,
               "buffer of a queue at the far end of a link; at most 524287 credits", 1, 1U << 26U);
  std::uint32_t credit = flow.credit_bytes;
  binder.bytes("credit_size", credit, "bytes of one credit", 1, 4096);
  flow.credit_bytes = static_cast<std::uint16_t>(credit);
  binder.integer("credit_overhead", flow.credit_overhead_bytes,
                 "bytes added to each packet before it is counted in credits", -16, 127);
  binder.time(
      "credit_repair", flow.consumed_update_period,
      "how often a sender with credits out tells what it has consumed, so that those of lost frames come "
      "back; from 1us to 250ms");
  binder.bytes("credit_update", flow.update_spacing_bytes, "freed bytes after which an update goes back", 0,
               1U << 26U);
}

}  // namespace

Result<std::vector<NamedLinkChange>> parse_link_changes(std::string_view text) {
  std::vector<NamedLinkChange> changes;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    auto change = parse_change(one);
    if (!change) return input_error(fmt::format("{}; found \"{}\"", kChangeForms, one));
    changes.push_back(*std::move(change));
  }
  return changes;
}

void bind_links(Binder& binder, FabricLinks& links, FlowControl kind) {
  binder.probability("damage", links.damage,
                     "a packet arrives damaged: the far end drops it, or the link sends it again");
  bind_link_retry(binder, links.retry, links.retry_limit, links.retry_rules);
  binder.time("fec_delay", links.fec_delay,
              "forward error correction at the receiving end of every link, up to 1ms");
  bind_pause(binder, links.flow_control, kind);
  bind_credits(binder, links.flow_control, kind);
  std::string changes;
  binder.text("link_changes", changes,
              fmt::format("links that fail, return or change their speed, both directions: {}; `wharf topo "
                          "show --ports` lists ports",
                          kChangeForms));
  if (auto parsed = parse_link_changes(changes)) {
    links.changes = *std::move(parsed);
  } else {
    binder.refuse_last(parsed.error().message);
  }
  binder.optional_time("reroute_delay", links.reroute_delay,
                       "how long after a link fails or returns all switches route accordingly; none: they "
                       "never do, but for failures of a connection matrix. A switch avoids its own failed "
                       "links at once");
}

Result<void> check_links(const FabricLinks& links, double loss, FlowControl kind, bool trimming) {
  const FlowControlConfig& flow = links.flow_control;
  if (kind != FlowControl::kNone && trimming) {
    return input_error(fmt::format(
        "fabric.flow_control: found {} beside fabric.trimming = true, expected one or the other: a queue "
        "that holds the link back cuts nothing",
        kind == FlowControl::kPause ? "pause" : "credit"));
  }
  if (kind == FlowControl::kPause && flow.xon_bytes > flow.xoff_bytes) {
    return input_error(fmt::format("fabric.pfc_xon: found {}, expected at most fabric.pfc_xoff, {}",
                                   format_bytes(Bytes{flow.xon_bytes}),
                                   format_bytes(Bytes{flow.xoff_bytes})));
  }
  if (kind == FlowControl::kCredit && flow.credit_bytes > flow.credit_limit_bytes) {
    return input_error(fmt::format("fabric.credit_size: found {}, expected at most fabric.credit_limit, {}",
                                   format_bytes(Bytes{flow.credit_bytes}),
                                   format_bytes(Bytes{flow.credit_limit_bytes})));
  }
  if (kind == FlowControl::kCredit && flow.credit_limit_bytes / flow.credit_bytes > kMostCredits) {
    return input_error(fmt::format("fabric.credit_limit: found {}, expected at most {} credits, {} here",
                                   format_bytes(Bytes{flow.credit_limit_bytes}), kMostCredits,
                                   format_bytes(Bytes{kMostCredits * flow.credit_bytes})));
  }
  if (flow.consumed_update_period < kShortestCreditRepair ||
      flow.consumed_update_period > kLongestCreditRepair) {
    return input_error(fmt::format("fabric.credit_repair: found {}, expected {} to {}",
                                   format_time(flow.consumed_update_period),
                                   format_time(kShortestCreditRepair), format_time(kLongestCreditRepair)));
  }
  const bool for_ever =
      links.retry_limit == 0 ||
      (links.retry_rules.re_init_on_flush && links.retry_rules.flush_frame_action == FrameAction::kBlock);
  const double worse = std::max(links.damage, loss);
  if (links.retry && for_ever && worse > kMostRetriedLoss) {
    return input_error(fmt::format(
        "fabric.{}: found {} with link_retry and {}, expected at most {}, or a limit: a link would "
        "try for ever",
        links.damage >= loss ? "damage" : "loss", worse,
        links.retry_limit == 0 ? "no link_retry_limit" : "llr_flush_frame_action = \"block\"",
        kMostRetriedLoss));
  }
  if (links.fec_delay > kLongestFecDelay) {
    return input_error(fmt::format("fabric.fec_delay: found {}, expected at most {}",
                                   format_time(links.fec_delay), format_time(kLongestFecDelay)));
  }
  return {};
}

double loss_of(const FabricLinks& links, double loss) {
  const double broken = 1 - (1 - loss) * (1 - links.damage);
  if (!links.retry || broken >= 1) return broken;
  if (links.retry_limit == 0) return 0;
  double unrepaired = broken;
  for (std::uint32_t retry = 0; retry < links.retry_limit; ++retry) unrepaired *= broken;
  return unrepaired;
}

void apply_links(const FabricLinks& links, double loss, FlowControl kind, FabricConfig& fabric) {
  FlowControlConfig& flow = fabric.flow_control;
  if (kind != FlowControl::kNone) flow = links.flow_control;
  if (kind == FlowControl::kCredit) {  // Thresholds of pause count for nothing, whatever they are.
    flow.xoff_bytes = FlowControlConfig{}.xoff_bytes;
    flow.xon_bytes = FlowControlConfig{}.xon_bytes;
  }
  flow.kind = kind;
  fabric.fec_delay = links.fec_delay;
  const LinkFaults errors{.loss = loss,
                          .damage = links.damage,
                          .retry = links.retry,
                          .retry_limit = links.retry_limit,
                          .retry_rules = links.retry_rules};
  if (errors.any()) fabric.faults = {errors};
  if (links.reroute_delay) fabric.reroute_delay = *links.reroute_delay;
}

Result<void> add_link_changes(const FabricLinks& links, const Topology& topology, const PortNames& names,
                              FabricConfig& fabric) {
  for (const NamedLinkChange& named : links.changes) {
    const auto ports = names.find(named.ports);
    if (!ports) return input_error("fabric.link_changes: " + ports.error().message);
    for (const PortId port : *ports) {
      for (const PortId direction : {port, topology.port(port).reverse})
        fabric.changes.push_back({.at = named.at, .port = direction, .up = named.up, .rate = named.rate});
    }
  }
  return {};
}

}  // namespace wharf::sim
