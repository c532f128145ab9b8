// SPDX-License-Identifier: Apache-2.0
// Operations of any kind, number and domain, repeated and out of reach, into the buffer that puts numbered
// MMIO operations in order: what it takes leaves once and in the order that it asked for.
// LINK: wharf_ordering
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "engine/ordering/mmio_rob.h"
#include "fuzz/input_bytes.h"

namespace {

using namespace wharf;            // NOLINT: one file, one purpose.
using namespace wharf::ordering;  // NOLINT

MmioRobConfig read_config(InputBytes& input) {
  const std::uint32_t options = input.number();
  MmioRobConfig config;
  config.numbering.threads = 1 + (options & 1U);
  config.numbering.devices = 1 + (options >> 1U & 1U);
  if ((options & 4U) != 0) config.numbering.scope = CounterScope::kThreadAndDevice;
  if ((options & 8U) != 0) config.numbering.scheme = NumberingScheme::kEpochCount;
  if ((options & 16U) != 0) config.rule = ReleaseRule::kRefined;
  if ((options & 32U) != 0) config.overflow = RobOverflow::kHold;
  config.shared_network = (options & 64U) != 0;
  const std::uint32_t sizes = input.number();
  config.numbering.bits = 2 + sizes % 15;
  config.entries_per_network = std::min(1U << (sizes / 15 % 7), config.numbering.half());
  return config;
}

class Machine {
 public:
  explicit Machine(InputBytes& input) : input_(input), config_(read_config(input)), rob_(config_) {}

  void run() {
    for (int steps = 0; !input_.empty() && steps < 2000; ++steps) {
      const std::uint32_t what = input_.number();
      if (what % 4 != 3) {
        arrive(what);
      } else {
        leave({(what & 4U) == 0, (what & 8U) == 0}, (what & 16U) != 0);
      }
      check();
    }
    while (leave({}, false)) check();
  }

 private:
  bool counts() const { return config_.numbering.scheme == NumberingScheme::kEpochCount; }

  void arrive(std::uint32_t what) {
    MmioOperation operation;
    operation.kind = static_cast<MmioKind>(what / 4 % 16 < 14 ? what / 4 % 4 : what / 4 % 7);
    const std::uint32_t domain = input_.number();
    operation.thread = static_cast<std::uint16_t>(domain % 3);
    operation.device = static_cast<std::uint16_t>(domain / 3 % 3);
    operation.tag = static_cast<std::uint32_t>(entered_.size());
    operation.length = kLineBytes;
    // Mostly near the number that the buffer waits for.
    const MmioNumbering& numbering = config_.numbering;
    const bool known = operation.thread < numbering.threads && operation.device < numbering.devices;
    const std::uint32_t next =
        known ? rob_.next_number(numbering.domain(operation.thread, operation.device)) : 0;
    const std::uint32_t ahead = input_.number();
    operation.number =
        (next + (ahead < 224 ? ahead % 32 : ahead * 257)) & (ahead == 255 ? ~0U : numbering.mask());
    const std::uint32_t after = input_.number();
    operation.ordered_after = (after < 200 ? operation.number - after % 16 : next + after) & numbering.mask();
    if (operation.kind == MmioKind::kRelease) operation.ordered_after = operation.number;
    const std::uint32_t before = rob_.waiting();
    const MmioArrival arrival = rob_.accept(operation);
    WHARF_CHECK(rob_.waiting() == before + (arrival == MmioArrival::kAccepted ? 1 : 0));
    WHARF_CHECK(arrival != MmioArrival::kHeld || config_.overflow == RobOverflow::kHold);
    if (!known || !is_numbered(operation.kind)) WHARF_CHECK(arrival == MmioArrival::kMalformed);
    if (arrival != MmioArrival::kAccepted) return;
    entered_.push_back(operation);
    inside_.push_back(true);
  }

  bool leave(MmioLinkRoom room, bool by_choice) {
    const std::uint32_t choices = rob_.dispatch_choices(room);
    std::vector<std::uint32_t> next;
    for (std::uint32_t domain = 0; domain < config_.numbering.domains(); ++domain)
      next.push_back(rob_.next_number(domain));
    MmioOperation out;
    if (by_choice && choices > 0) {
      out = rob_.take_dispatch(input_.number() % choices, room);
    } else if (!rob_.next_dispatch(out, room)) {
      WHARF_CHECK(choices == 0);
      return false;
    }
    WHARF_CHECK(choices > 0);
    WHARF_CHECK(is_load(out.kind) ? room.non_posted : room.posted);
    WHARF_CHECK(out.tag < entered_.size() && inside_[out.tag] && entered_[out.tag] == out);
    inside_[out.tag] = false;
    if (!counts()) judge(out, next[config_.numbering.domain(out.thread, out.device)]);
    return true;
  }

  /// Nothing below what `out` comes after is still inside, but loads that a write may pass. `next` is the
  /// lowest number that had not left before it; how far numbers lie ahead of it is the only order that they
  /// have.
  void judge(const MmioOperation& out, std::uint32_t next) const {
    const MmioNumbering& numbering = config_.numbering;
    const std::uint32_t limit = config_.rule == ReleaseRule::kStrict ? out.number : out.ordered_after;
    if (numbering.reached(next, limit)) return;
    const std::uint32_t domain = numbering.domain(out.thread, out.device);
    for (std::size_t at = 0; at < entered_.size(); ++at) {
      const MmioOperation& other = entered_[at];
      if (!inside_[at] || numbering.domain(other.thread, other.device) != domain) continue;
      const bool passable = is_load(other.kind) && !is_load(out.kind);
      WHARF_CHECK(passable || numbering.distance(other.number, next) >= numbering.distance(limit, next));
    }
  }

  void check() {
    WHARF_CHECK(rob_.waiting() ==
                static_cast<std::uint32_t>(std::count(inside_.begin(), inside_.end(), true)));
    for (std::uint32_t domain = 0; !counts() && domain < config_.numbering.domains(); ++domain) {
      WHARF_CHECK(rob_.missing_number(domain).has_value() == (rob_.waiting(domain) > 0));
    }
    MmioCredit credit;
    while (rob_.next_credit(credit)) {
      WHARF_CHECK(credit.domain < config_.numbering.domains());
      if (!counts()) WHARF_CHECK(credit.next == rob_.next_number(credit.domain));
    }
    state_.clear();
    rob_.append_state(state_);
  }

  InputBytes& input_;
  MmioRobConfig config_;
  MmioRob rob_;
  std::vector<MmioOperation> entered_;  ///< By tag.
  std::vector<bool> inside_;            ///< By tag.
  std::vector<std::byte> state_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputBytes input(data, size);
  Machine(input).run();
  return 0;
}
