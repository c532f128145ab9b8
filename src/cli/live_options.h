// SPDX-License-Identifier: Apache-2.0
// The options that both ends of a live connection share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/options.h"
#include "live/reactor/idle_policy.h"
#include "live/secure/key.h"
#include "live/udp/live_host.h"
#include "live/udp/live_protocol.h"
#include "verbs/work_request.h"
#include "wire/packet.h"

namespace wharf::cli {

/// What they choose, converted.
struct LiveChoices {
  wire::Protocol protocol{};
  std::uint32_t congestion = 0;
  live::DeliveryChoice delivery{};
  live::RepetitionTimes repetition;
  live::FaultConfig faults;
  live::IdleConfig idle;
  std::optional<live::Key> psk;
  std::uint64_t seed = 0;
};

struct LiveOptions {
  std::string protocol;
  std::string congestion;
  std::string delivery;
  std::string capture;
  std::string psk;
  bool encrypt = false;
  std::string loss = "0";
  std::string duplication = "0";
  std::string rto_floor = "2ms";
  std::string rto_cap = "512ms";
  std::uint64_t seed = 0;  ///< 0: drawn from the system.
  bool busy_poll = false;

  void declare(Options& app);
  /// After declare(): with what has no key.
  void exclude_key(const Option& other) { psk_option_.excludes(other); }
  /// Checks and converts; a refusal names the option.
  Result<LiveChoices> read() const;
  /// The same into the members of these names of a server's or a measurement's configuration.
  template <typename Config>
  Result<void> read_into(Config& config) const {
    auto choices = read();
    if (!choices) return choices.error();
    config.protocol = choices->protocol;
    config.congestion = choices->congestion;
    config.delivery = choices->delivery;
    config.repetition = choices->repetition;
    config.faults = choices->faults;
    config.idle = choices->idle;
    config.seed = choices->seed;
    config.capture = capture;
    config.psk = choices->psk;
    config.seal_packets = encrypt;
    return {};
  }

 private:
  Option psk_option_;
};

/// The lines of a command's help that protocols give, each for `wharf COMMAND`.
std::string protocol_examples(std::string_view command, std::string_view live::ProtocolDescription::*example);
/// The protocols whose sends may carry tags.
std::string tagged_protocols();

}  // namespace wharf::cli
