// SPDX-License-Identifier: Apache-2.0
// What the studies of measurements on network cards share: two hosts with RoCE engines behind PCIe and a link
// between them, and threads that post to their cards. A card's parts are not published: the profile says
// which of its values are calibrated on one of the measurements; the other measurements are predicted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/stimulus/card_thread.h"
#include "sim/two_hosts/two_hosts.h"
#include "study/frame/study.h"

namespace wharf::study {

using CardThreads = std::vector<std::unique_ptr<sim::CardThread>>;

/// Two hosts with cards, and the threads of host 0.
struct Cards {
  sim::TwoHostsConfig config;
  std::unique_ptr<sim::TwoHosts> two;
  CardThreads threads;
};

/// What `profile` and `keys` ask for.
Result<sim::TwoHostsConfig> card_config(const StudyContext& context, std::string_view profile,
                                        const std::vector<std::string>& keys);
Result<Cards> plug_cards(const StudyContext& context, std::string_view profile,
                         const std::vector<std::string>& keys);

/// Memory of host 1. `serial`: its card reads it for a queue pair one READ (of one packet) after the other.
Result<verbs::RemoteSegment> expose(Cards& cards, std::uint64_t bytes, bool serial);

/// A request between `bytes` of new memory of host 0 and host 1.
verbs::WorkRequest transfer(Cards& cards, verbs::Verb verb, std::uint32_t bytes);

Result<void> add_threads(Cards& cards, const sim::CardLoad& load, std::uint32_t count);

/// Requests that failed.
double failures(const CardThreads& threads);

}  // namespace wharf::study
