// SPDX-License-Identifier: Apache-2.0
// The freedom that PCIe and coherence leave to a device's requests, used: some are held up, and others
// overtake them where the rules allow it. On the link these are the rules of engine/ordering/link_rules.h;
// between root complex and home, messages on one line keep their order (sim/coherence/message.h). The
// explorer of litmus programs has the same two freedoms. Without them the ways are queues, which show a
// program less than machines may do to it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/line.h"
#include "base/random.h"
#include "base/time.h"
#include "engine/ordering/link_rules.h"
#include "sim/host/config/coherent_config.h"

namespace wharf::sim {

/// How long something is held up: some of them, evenly up to a longest time. Draws from a stream of its own,
/// so that nothing else of a run changes.
class HoldUp {
 public:
  HoldUp(const RootComplexConfig& config, const RandomStream& random)
      : share_(Probability::from(config.passing == LegalPassing::kOn ? config.passing_share : 0)),
        longest_(static_cast<std::uint64_t>(std::max<std::int64_t>(config.passing_delay.ps, 0))),
        random_(random) {}

  bool is_on() const { return !share_.never(); }
  TimePs next() {
    if (!random_.chance(share_)) return kTimeZero;
    return picoseconds(static_cast<std::int64_t>(random_.below(longest_ + 1)));
  }

 private:
  Probability share_;
  std::uint64_t longest_;
  RandomStream random_;
};

/// Requests of one device on their way to the queue.
class LinkPassing {
 public:
  LinkPassing(const RootComplexConfig& config, const RandomStream& random)
      : hold_up_(config, random),
        on_bus_(config.on_bus),
        design_(config.queue.design),
        options_(config.queue.order) {}

  /// When `request`, which the device sends at `now` and which would be through at `arrives`, is through:
  /// never before an earlier one that it may not pass. Those that arrive at once keep their order.
  TimePs arrival(TimePs now, TimePs arrives, const ordering::Request& request) {
    if (!hold_up_.is_on() || on_bus_) return arrives;
    std::erase_if(under_way_, [now](const UnderWay& each) { return each.arrives <= now; });
    arrives = arrives + hold_up_.next();
    bool passes = false;
    for (const UnderWay& earlier : under_way_) {
      if (earlier.arrives > arrives && !may_pass(earlier, request)) arrives = earlier.arrives;
    }
    for (const UnderWay& earlier : under_way_) passes = passes || earlier.arrives > arrives;
    if (passes) ++passed_;
    under_way_.push_back(
        {arrives, request.kind, request.label, request.domain, request.number, request.line});
    return arrives;
  }

  /// Requests that passed an earlier one.
  std::uint64_t passed() const { return passed_; }

 private:
  /// What of a request decides its order.
  struct UnderWay {
    TimePs arrives;
    ordering::Kind kind;
    ordering::Label label;
    ordering::Domain domain;
    std::uint64_t number;
    LineNumber line;
  };

  bool may_pass(const UnderWay& earlier, const ordering::Request& later) const {
    ordering::Request first;
    first.kind = earlier.kind;
    first.label = earlier.label;
    first.domain = earlier.domain;
    first.number = earlier.number;
    first.line = earlier.line;
    return ordering::may_pass_on_link(design_, options_, first, later);
  }

  HoldUp hold_up_;
  bool on_bus_;
  ordering::RlsqDesign design_;
  ordering::OrderOptions options_;
  std::uint64_t passed_ = 0;
  std::vector<UnderWay> under_way_;  ///< In the order in which they were sent.
};

/// Messages of a root complex on their way to the home.
class HomePassing {
 public:
  HomePassing(const RootComplexConfig& config, const RandomStream& random) : hold_up_(config, random) {}

  /// When a message on `line` that is ready at `now` leaves; `now` itself: at once. One that does not leave
  /// at once is under way until left().
  TimePs departure(TimePs now, LineNumber line) {
    if (!hold_up_.is_on()) return now;
    TimePs leaves = now + hold_up_.next();
    bool waits = leaves > now;
    for (const UnderWay& earlier : under_way_) {
      if (earlier.line != line) continue;
      leaves = max(leaves, earlier.leaves);
      waits = true;
    }
    if (waits) leaves = max(leaves, now + picoseconds(1));
    for (const UnderWay& earlier : under_way_) {
      if (earlier.leaves <= leaves) continue;
      ++passed_;
      break;
    }
    if (waits) under_way_.push_back({line, leaves});
    return leaves;
  }
  /// The first that is under way on `line` has left.
  void left(LineNumber line) {
    const auto first = std::find_if(under_way_.begin(), under_way_.end(),
                                    [line](const UnderWay& each) { return each.line == line; });
    under_way_.erase(first);
  }

  /// Messages that passed an earlier one, which was about another line.
  std::uint64_t passed() const { return passed_; }

 private:
  struct UnderWay {
    LineNumber line;
    TimePs leaves;
  };
  HoldUp hold_up_;
  std::uint64_t passed_ = 0;
  std::vector<UnderWay> under_way_;  ///< In the order in which they were ready.
};

}  // namespace wharf::sim
