// SPDX-License-Identifier: Apache-2.0
#include "cli/live_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "base/kernel_random.h"
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

Result<TimePs> read_rto(std::string_view option, const std::string& text, TimePs least, TimePs most) {
  auto value = parse_time(text);
  if (!value) return input_error(fmt::format("{}: {}", option, value.error().message));
  if (*value < least || *value > most)
    return input_error(
        fmt::format("{}: found {}, expected {} to {}", option, text, format_time(least), format_time(most)));
  return value;
}

/// All names, with "|" between.
std::string protocol_list() { return fmt::format("{}", fmt::join(live::protocol_names(), "|")); }

/// "NAME: none; NAME: none, other": what each protocol has of a kind.
template <typename NamesOf>
std::string per_protocol(NamesOf names_of) {
  std::vector<std::string> parts;
  for (const live::ProtocolDescription& each : live::live_protocols()) {
    const std::vector<std::string_view> names = names_of(each);
    if (!names.empty()) parts.push_back(fmt::format("{}: {}", each.name, fmt::join(names, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<std::string_view> congestion_names(const live::ProtocolDescription& protocol) {
  return {protocol.congestion.begin(), protocol.congestion.end()};
}

std::vector<std::string_view> delivery_names(const live::ProtocolDescription& protocol) {
  std::vector<std::string_view> names;
  for (const live::DeliveryChoice& each : protocol.delivery) names.push_back(each.name);
  return names;
}

/// The place of `text` among `names`; a refusal names the option and the nearest.
Result<std::uint32_t> find_choice(std::string_view option, const std::string& text, std::string_view protocol,
                                  std::span<const std::string_view> names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<std::uint32_t>(found - names.begin());
  const auto nearest = nearest_name(text, names);
  return input_error(fmt::format("{}: found {}, {} has {}{}", option, text, protocol,
                                 names.empty() ? "no choice" : fmt::format("{}", fmt::join(names, " and ")),
                                 nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
}

}  // namespace

std::string protocol_examples(std::string_view command,
                              std::string_view live::ProtocolDescription::*example) {
  std::string lines;
  for (const live::ProtocolDescription& each : live::live_protocols()) {
    if (!(each.*example).empty()) lines += fmt::format("  wharf {} {}\n", command, each.*example);
  }
  return lines;
}

std::string tagged_protocols() {
  std::vector<std::string_view> names;
  for (const live::ProtocolDescription& each : live::live_protocols()) {
    if (each.tagged) names.push_back(each.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void LiveOptions::declare(Options& app) {
  const auto names = live::protocol_names();
  app.add_option("--protocol", protocol, fmt::format("{}; {} by default", fmt::join(names, ", "), names[0]))
      .type_name(protocol_list());
  app.add_option("--congestion", congestion,
                 fmt::format("What holds this side's packets back, the first by default ({})",
                             per_protocol(congestion_names)))
      .type_name("NAME");
  app.add_option(
         "--delivery", delivery,
         fmt::format("One way to deliver all that this side sends ({}); by default the protocol's for "
                     "each verb",
                     per_protocol(delivery_names)))
      .type_name("NAME");
  app.add_option("--capture", capture, "Write this side's datagrams to a pcapng file").type_name("FILE");
  app.add_option("--loss", loss, "Share of arriving packets that this side drops, such as 5%")
      .type_name("SHARE");
  app.add_option("--duplication", duplication, "Share of arriving packets that this side takes twice")
      .type_name("SHARE");
  app.add_option("--rto-floor", rto_floor,
                 "Shortest wait until a packet that nobody answers goes again; the wait follows the round "
                 "trips. 2ms by default")
      .type_name("TIME");
  app.add_option("--rto-cap", rto_cap, "Longest such wait, after doubling; 512ms by default")
      .type_name("TIME");
  app.add_option("--seed", seed,
                 "Seed of the injected faults and of what is drawn; from the system by default")
      .type_name("N")
      .positive();
  psk_option_ = app.add_option("--psk", psk,
                               "The file with the key that both sides have, as `wharf serve --make-psk` "
                               "writes it: each proves to the other that it has it")
                    .type_name("FILE")
                    .not_empty();
  app.add_flag("--encrypt", encrypt,
               "Seal every packet: nobody else reads, changes or repeats one. One side's wish is enough")
      .needs(psk_option_);
  app.add_flag("--busy-poll", busy_poll, "Never sleep: lowest latency, a whole core");
}

Result<LiveChoices> LiveOptions::read() const {
  LiveChoices out;
  const auto parsed = protocol.empty() ? std::optional(live::live_protocols().front().protocol)
                                       : live::parse_protocol(protocol);
  if (!parsed) {
    const auto nearest = nearest_name(protocol, live::protocol_names());
    return input_error(fmt::format("--protocol: found {}, expected {}{}", protocol,
                                   fmt::join(live::protocol_names(), " or "),
                                   nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
  }
  out.protocol = *parsed;
  const live::ProtocolDescription& description = live::describe(*parsed);
  if (!congestion.empty()) {
    auto chosen = find_choice("--congestion", congestion, description.name, description.congestion);
    if (!chosen) return chosen.error();
    out.congestion = *chosen;
  }
  if (!delivery.empty()) {
    auto chosen = find_choice("--delivery", delivery, description.name, delivery_names(description));
    if (!chosen) return chosen.error();
    out.delivery = description.delivery[*chosen];
  }
  auto lost = read_probability("--loss", loss);
  if (!lost) return lost.error();
  auto doubled = read_probability("--duplication", duplication);
  if (!doubled) return doubled.error();
  auto floor = read_rto("--rto-floor", rto_floor, microseconds(100), seconds(1));
  if (!floor) return floor.error();
  auto cap = read_rto("--rto-cap", rto_cap, milliseconds(4), seconds(8));
  if (!cap) return cap.error();
  if (*floor > *cap)
    return input_error(
        fmt::format("--rto-floor: found {}, expected at most {}, which is --rto-cap", rto_floor, rto_cap));
  out.repetition = {*floor, *cap};
  out.seed = seed;
  if (seed == 0) {
    auto drawn = kernel_random();
    if (!drawn) return Error{drawn.error().kind, drawn.error().message + "; --seed can stand in"};
    out.seed = *drawn;
  }
  out.faults = {*lost, *doubled, out.seed};
  out.idle.busy_poll = busy_poll;
  if (!psk.empty()) {
    auto key = live::read_key_file(psk);
    if (!key) return key.error();
    out.psk = *key;
  }
  return out;
}

}  // namespace wharf::cli
