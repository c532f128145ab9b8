// SPDX-License-Identifier: Apache-2.0
#include "cli/live_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>

#include "base/nearest_name.h"
#include "base/units.h"
#include "live/udp/live_protocol.h"

namespace wharf::cli {
namespace {

Result<Probability> read_probability(std::string_view option, const std::string& text) {
  auto value = parse_probability(text);
  if (!value) return input_error(fmt::format("{}: {}", option, value.error().message));
  return Probability::from(*value);
}

}  // namespace

void LiveOptions::declare(Options& app) {
  app.add_option("--protocol", protocol, "ub (default) or roce").type_name("ub|roce");
  app.add_option("--loss", loss, "Share of arriving packets that this side drops, such as 5%")
      .type_name("SHARE");
  app.add_option("--duplication", duplication, "Share of arriving packets that this side takes twice")
      .type_name("SHARE");
  app.add_option("--seed", seed,
                 "Seed of the injected faults and of what is drawn; from the system by default")
      .type_name("N")
      .positive();
  app.add_flag("--busy-poll", busy_poll, "Never sleep: lowest latency, a whole core");
}

Result<void> LiveOptions::read(wire::Protocol& protocol_out, live::FaultConfig& faults,
                               live::IdleConfig& idle, std::uint64_t& seed_out) const {
  const auto parsed = live::parse_protocol(protocol);
  if (!parsed) {
    const auto nearest = nearest_name(protocol, live::protocol_names());
    return input_error(fmt::format("--protocol: found {}, expected {}{}", protocol,
                                   fmt::join(live::protocol_names(), " or "),
                                   nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
  }
  auto lost = read_probability("--loss", loss);
  if (!lost) return lost.error();
  auto doubled = read_probability("--duplication", duplication);
  if (!doubled) return doubled.error();
  protocol_out = *parsed;
  seed_out = seed;
  if (seed == 0 && ::getrandom(&seed_out, sizeof seed_out, 0) != sizeof seed_out) {
    return Error{ErrorKind::kEnvironment, "the system gives no random numbers; --seed can stand in"};
  }
  faults = {*lost, *doubled, seed_out};
  idle.busy_poll = busy_poll;
  return {};
}

}  // namespace wharf::cli
