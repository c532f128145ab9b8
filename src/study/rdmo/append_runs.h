// SPDX-License-Identifier: Apache-2.0
// The runs of these studies: ways to append a record to one log, over one network, and who is ahead of whom.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/frame/runs.h"
#include "study/frame/study.h"

namespace wharf::study::rdmo {

enum class Way : std::uint8_t {
  kCardWorker,    ///< The worker on the processor of the target's network card.
  kTargetWorker,  ///< The worker on a core of the target.
  kTwoStep,       ///< Fetch-and-add, wait, write.
  kClientLock,    ///< A lock by compare-and-swap, the tail, the write, tail and lock.
  kServerThread,  ///< A message to a thread of the target's program.
};
inline constexpr std::array<Way, 5> kWays{Way::kCardWorker, Way::kTargetWorker, Way::kTwoStep,
                                          Way::kClientLock, Way::kServerThread};
std::string_view name(Way way);

struct Stack {
  std::string_view key;   ///< "model.stack"
  std::string_view name;  ///< For people.
};
/// Of each protocol the first stack that goes by work requests.
std::span<const Stack> stacks();

/// One run. Each client has one append under way at a time.
struct Point {
  Way way = Way::kCardWorker;
  std::string_view stack;
  std::uint32_t clients = 16;
  std::uint32_t bytes = 64;
  std::uint32_t batch = 1;         ///< Records of one append.
  std::uint32_t load_percent = 0;  ///< Of the target's core, by other work.
  /// What the worker computes for one message. 0: on the card kCardRequestNs, on the target the profile's.
  std::uint32_t request_ns = 0;

  bool operator==(const Point&) const = default;
};
/// Assumed: a card's core takes three times as long as a server's core was measured to take. No public source
/// times one request there; rdmo/worker-time varies it.
inline constexpr std::uint32_t kCardRequestNs = 400;

class AppendRuns {
 public:
  explicit AppendRuns(const StudyContext& context) : context_(context), batch_(context) {}

  void add(const Point& point);
  Result<void> run() { return batch_.run(); }

  double records_per_second(const Point& point) const;
  double microseconds(const Point& point, double percentile) const;
  /// In the order in which they were added.
  std::span<const Point> points() const { return points_; }
  Check integrity() const { return batch_.integrity(); }

 private:
  const sim::RunReport& report(const Point& point) const;

  const StudyContext& context_;
  RunBatch batch_;
  std::vector<Point> points_;
  std::vector<std::size_t> places_;
};

/// Where `first` is ahead of `second`, both by the places of an axis: "at 1 to 16 clients", "nowhere".
std::string where_ahead(std::span<const std::string> places, std::span<const double> first,
                        std::span<const double> second);

/// Where the line through (x, first) crosses the one through (x, second), both logarithmic between the
/// places: the first crossing; 0 when there is none.
double crossing(std::span<const double> x, std::span<const double> first, std::span<const double> second);

}  // namespace wharf::study::rdmo
