// SPDX-License-Identifier: Apache-2.0
#include "sim/chaos/peers_plan.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace wharf::sim {
namespace {

constexpr std::array<std::string_view, 4> kEvents{"none", "death", "reset", "lies"};
constexpr std::array<std::string_view, kLieWays + 1> kLies{
    "acknowledgement", "number", "connection", "token",     "address", "answer",
    "length",          "kind",   "again",      "elsewhere", "cut",     "any"};

template <std::size_t N>
std::uint32_t index_of(const std::array<std::string_view, N>& words, std::string_view value) {
  for (std::uint32_t at = 0; at < N; ++at) {
    if (value == fmt::format("\"{}\"", words[at])) return at;
  }
  return N;
}

/// The value of a whole number, or `other` when the key was not drawn.
std::uint64_t number_of(const DrawnRun& run, const std::string& key, std::uint64_t other) {
  const std::string value = run.value_of(key);
  std::uint64_t number = other;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

TimePs time_of(const DrawnRun& run, const std::string& key, std::uint64_t other) {
  return nanoseconds(static_cast<std::int64_t>(number_of(run, key, other)));
}

}  // namespace

void draw_peers(KeyDraw& draw, bool may_share, bool may_die) {
  const std::uint64_t hosts = 3 + draw.below(3);
  draw.number("peers.hosts", hosts);
  draw.keep();
  std::string_view event = draw.any({"death", "reset", "lies", "lies"});
  if (event == "death" && !may_die) event = "reset";
  draw.essential("peers.event", event);
  draw.number("peers.host", draw.below(hosts));
  draw.keep();
  draw.number("peers.at_ns", draw.scaled(500, 60'000));
  draw.keep();
  if (event == "reset") draw.number("peers.away_ns", draw.scaled(100, 400'000));
  if (event == "lies") {
    draw.essential("peers.lie", kLies[draw.below(draw.one_in(2) ? kLies.size() - 1 : kLies.size())]);
    draw.number("peers.lie_percent", draw.scaled(1, 100));
    draw.keep();
  }
  draw.number("peers.operations", draw.scaled(8, 60));
  draw.keep();
  draw.number("peers.depth", draw.scaled(1, 12));
  draw.keep();
  draw.number("peers.longest", 8 * draw.scaled(3, 512));
  draw.keep();
  if (may_share && draw.one_in(2)) draw.flag("peers.shared_queue", true);
  draw.number("peers.attempts", 6 + draw.below(2));
  if (draw.one_in(2)) draw.number("peers.memory_delay_ns", draw.scaled(20, 1500));
  draw.number("peers.delay_ns", draw.scaled(100, 5000));
  if (draw.one_in(3)) draw.number("peers.jitter_ns", draw.scaled(10, 1000));
  if (draw.one_in(3)) draw.number("peers.loss_ppm", draw.scaled(100, 8000));
  if (draw.one_in(3)) draw.number("peers.duplicate_ppm", draw.scaled(100, 50'000));
  if (draw.one_in(3)) draw.number("peers.reorder_ppm", draw.scaled(100, 50'000));
}

Result<PeersPlan> plan_of(const DrawnRun& run) {
  PeersPlan plan;
  plan.seed = run.seed;
  const auto small = [&](const char* key, std::uint32_t& value) {
    value = static_cast<std::uint32_t>(number_of(run, fmt::format("peers.{}", key), value));
  };
  small("hosts", plan.hosts);
  small("host", plan.host);
  small("lie_percent", plan.lie_percent);
  small("operations", plan.operations);
  small("depth", plan.depth);
  small("longest", plan.longest);
  small("attempts", plan.attempts);
  small("loss_ppm", plan.loss_ppm);
  small("duplicate_ppm", plan.duplicate_ppm);
  small("reorder_ppm", plan.reorder_ppm);
  plan.at = time_of(run, "peers.at_ns", 0);
  plan.away = time_of(run, "peers.away_ns", 1000);
  plan.memory_delay = time_of(run, "peers.memory_delay_ns", 0);
  plan.delay = time_of(run, "peers.delay_ns", 1000);
  plan.jitter = time_of(run, "peers.jitter_ns", 0);
  plan.shared_queue = run.value_of("peers.shared_queue") == "true";
  const std::uint32_t event = index_of(kEvents, run.value_of("peers.event"));
  const std::string lie = run.value_of("peers.lie");
  plan.lie = lie.empty() ? kLieAny : index_of(kLies, lie);
  const bool sound = event < kEvents.size() && plan.lie < kLies.size() && plan.hosts >= 2 &&
                     plan.host < plan.hosts && plan.depth > 0 && plan.longest >= 24 && plan.longest % 8 == 0;
  if (!sound)
    return input_error("peers: found keys that no seed draws, expected those of wharf chaos --show");
  plan.event = static_cast<PeerEvent>(event);
  return plan;
}

std::string describe(const PeersPlan& plan) {
  std::string text = fmt::format("{} hosts", plan.hosts);
  const std::int64_t at = plan.at.ps / 1000;
  switch (plan.event) {
    case PeerEvent::kNone:
      break;
    case PeerEvent::kDeath:
      return fmt::format("{}, host {} falls silent at {} ns", text, plan.host, at);
    case PeerEvent::kReset:
      return fmt::format("{}, host {} is reset at {} ns and back after {} ns", text, plan.host, at,
                         plan.away.ps / 1000);
    case PeerEvent::kLies:
      return fmt::format("{}, host {} lies in {} % of its packets ({}) from {} ns on", text, plan.host,
                         plan.lie_percent, kLies[plan.lie], at);
  }
  return text;
}

}  // namespace wharf::sim
