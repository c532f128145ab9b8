// SPDX-License-Identifier: Apache-2.0
// The MMIO reorder buffer beside ordering::MmioRob. Among the operations that may leave, the element may
// choose any; the reference follows its choice, and refuses one that may not leave.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "Vwharf_mmio_rob.h"
#include "Vwharf_mmio_rob_planted.h"
#include "Vwharf_mmio_rob_strict.h"
#include "engine/ordering/mmio_rob.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"
#include "rtl/cosim/stream.h"

namespace wharf::rtl {
namespace {

using ordering::MmioArrival;
using ordering::MmioKind;
using ordering::MmioOperation;
using ordering::MmioRob;
using ordering::ReleaseRule;

constexpr std::uint32_t kNumberBits = 6;
constexpr std::uint32_t kMask = (1U << kNumberBits) - 1U;
constexpr std::uint32_t kEntries = 16;
constexpr std::uint32_t kNetworks = 3;
/// Cycles that the element may take for what nothing holds up: a frontier moves over one number a cycle.
constexpr std::uint32_t kPatience = 48;

std::uint64_t payload_of(const MmioOperation& operation) { return operation.address << 32U | operation.tag; }

/// A thread that numbers its operations, and the fabric that delivers them: in any order within the entries,
/// or in the order of each network and farther ahead.
class Program {
 public:
  explicit Program(RandomStream random) : random_(random), in_order_(random_.below(2) == 0) {}

  /// The next operation that arrives on `network`, with `next` as the credit; none when nothing may.
  std::optional<MmioOperation> arrive(std::uint32_t network, std::uint32_t next) {
    const std::uint32_t window = in_order_ ? 24 : kEntries;
    while (((issued_ - next) & kMask) < window) issue();
    std::vector<std::size_t> choices;
    for (std::size_t i = 0; i < under_way_.size(); ++i) {
      if (network_of(under_way_[i]) == network) choices.push_back(i);
    }
    if (random_.below(48) == 0 && !arrived_.empty()) {
      const MmioOperation again = arrived_[random_.below(arrived_.size())];
      if (network_of(again) == network) return again;
    }
    if (choices.empty()) return std::nullopt;
    const std::size_t choice = choices[in_order_ ? 0 : random_.below(choices.size())];
    MmioOperation operation = under_way_[choice];
    if (random_.below(48) == 0) {
      operation.ordered_after =
          (operation.number + 1U + static_cast<std::uint32_t>(random_.below(8))) & kMask;
      return operation;  // Malformed: ordered after a later one.
    }
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(choice));
    arrived_.push_back(operation);
    if (arrived_.size() > 8) arrived_.pop_front();
    return operation;
  }

  static std::uint32_t network_of(const MmioOperation& operation) {
    if (ordering::is_load(operation.kind)) return 2;
    return operation.kind == MmioKind::kRelease ? 1 : 0;
  }

 private:
  void issue() {
    constexpr std::array kKinds{MmioKind::kStore, MmioKind::kStore,   MmioKind::kStore, MmioKind::kStore,
                                MmioKind::kLoad,  MmioKind::kRelease, MmioKind::kStore, MmioKind::kAcquire};
    MmioOperation operation;
    operation.kind = kKinds[random_.below(kKinds.size())];
    operation.number = issued_;
    operation.ordered_after = operation.kind == MmioKind::kRelease ? issued_ : fence_;
    operation.address = random_.next_u32() & ~std::uint32_t{63};
    operation.tag = random_.next_u32();
    operation.length = 64;
    under_way_.push_back(operation);
    issued_ = (issued_ + 1U) & kMask;
    // A fence now and then, and often enough that it is never half of all numbers ago.
    if (random_.below(6) == 0 || ((issued_ - fence_) & kMask) > 20) fence_ = issued_;
  }

  RandomStream random_;
  bool in_order_;
  std::vector<MmioOperation> under_way_;
  std::deque<MmioOperation> arrived_;
  std::uint32_t issued_ = 0;
  std::uint32_t fence_ = 0;
};

struct Shown {
  std::uint32_t number = 0;
  std::uint64_t payload = 0;
  bool operator==(const Shown&) const = default;
};

template <typename Model>
class Harness {
 public:
  Harness(Clocked<Model>& dut, ReleaseRule rule, RandomStream random, Findings& found)
      : dut_(dut), random_(random), found_(found) {
    config_.numbering.bits = kNumberBits;
    config_.entries_per_network = kEntries;
    config_.rule = rule;
    config_.overflow = ordering::RobOverflow::kHold;
    for (std::uint32_t port = 0; port < kPorts; ++port) stalls_.emplace_back(random.substream(port));
    Coverage& coverage = found.coverage;
    coverage.require_stalls({"stores", "releases", "loads", "posted", "load"});
    for (const char* name : {"duplicate", "malformed", "held", "load passed by a write",
                             "release waits for a store", "reset with operations inside"})
      coverage.require(name);
    if (rule == ReleaseRule::kRefined) {
      coverage.require("store passes a store");
      coverage.require("beyond the window");
    }
  }

  void run(std::uint64_t cycles) {
    reset();
    while (dut_.cycles() < cycles && found_.agrees()) {
      if (random_.below(1500) == 0) {
        found_.coverage.hit_if(rob_->waiting() > 0, "reset with operations inside");
        reset();
      }
      cycle();
    }
  }

 private:
  static constexpr std::uint32_t kPorts = 5;

  void reset() {
    rob_ = std::make_unique<MmioRob>(config_);
    program_ = std::make_unique<Program>(random_.substream(100 + resets_++));
    offered_ = {};
    took_.reset();
    new_posted_ = new_load_ = true;
    posted_rule_.reset();
    load_rule_.reset();
    write_waited_ = load_waited_ = settled_ = held_ = 0;
    dut_->in_valid_i = 0;
    dut_->posted_ready_i = 0;
    dut_->load_ready_i = 0;
    dut_.reset();
  }
  void differ(const char* what) { found_.differ(dut_.cycles(), what); }

  void set_field(auto& port, std::uint32_t network, std::uint32_t value) {
    const std::uint32_t shift = network * kNumberBits;
    port = (port & ~(kMask << shift)) | (value << shift);
  }

  void cycle() {
    std::uint32_t open = 0;
    for (std::uint32_t port = 0; port < kPorts; ++port) open |= (stalls_[port].open() ? 1U : 0U) << port;
    found_.coverage.hit_stalls(open);
    std::uint32_t valid = 0;
    for (std::uint32_t network = 0; network < kNetworks; ++network) {
      if (!offered_[network] && ((open >> network) & 1U) != 0) {
        offered_[network] = program_->arrive(network, dut_->next_o);
        if (offered_[network]) {
          set_field(dut_->in_number_i, network, offered_[network]->number);
          set_field(dut_->in_after_i, network, offered_[network]->ordered_after);
          const std::uint64_t payload = payload_of(*offered_[network]);
          dut_->in_payload_i[2 * network] = static_cast<std::uint32_t>(payload);
          dut_->in_payload_i[2 * network + 1] = static_cast<std::uint32_t>(payload >> 32U);
        }
      }
      valid |= (offered_[network] ? 1U : 0U) << network;
    }
    const bool posted_open = ((open >> 3U) & 1U) != 0;
    const bool load_open = ((open >> 4U) & 1U) != 0;
    dut_->in_valid_i = static_cast<std::uint8_t>(valid);
    dut_->posted_ready_i = posted_open;
    dut_->load_ready_i = load_open;
    dut_.settle();

    check_flags();
    const Shown posted{dut_->posted_number_o, dut_->posted_payload_o};
    const Shown load{dut_->load_number_o, dut_->load_payload_o};
    if (!posted_rule_.holds(dut_->posted_valid_o, posted_open, posted)) differ("an offered write changed");
    if (!load_rule_.holds(dut_->load_valid_o, load_open, load)) differ("an offered load changed");
    if (dut_->posted_valid_o && new_posted_) left(posted, true);
    if (dut_->load_valid_o && new_load_ && found_.agrees()) left(load, false);
    new_posted_ = !dut_->posted_valid_o || posted_open;
    new_load_ = !dut_->load_valid_o || load_open;
    check_progress(posted_open, load_open, valid);
    accept(valid & dut_->in_ready_o);
    dut_.tick();
  }

  /// What the element has handed on in the cycle before must be something that may leave.
  void left(const Shown& shown, bool posted) {
    const ordering::MmioLinkRoom room{.posted = posted, .non_posted = !posted};
    const std::uint32_t choices = rob_->dispatch_choices(room);
    for (std::uint32_t choice = 0; choice < choices; ++choice) {
      MmioRob after = *rob_;
      const MmioOperation operation = after.take_dispatch(choice, room);
      if (operation.number != shown.number) continue;
      if (payload_of(operation) != shown.payload) return differ("the content of an operation");
      if (posted && (operation.kind == MmioKind::kRelease) != (dut_->posted_release_o != 0))
        return differ("whether it is a release");
      const std::uint32_t before = rob_->next_number(0);
      *rob_ = after;
      const bool passes = shown.number != before && rob_->next_number(0) == before;
      const bool passes_load = passes && rob_->dispatch_choices({.posted = false, .non_posted = true}) > 0;
      found_.coverage.hit_if(posted && passes_load, "load passed by a write");
      found_.coverage.hit_if(posted && passes && !passes_load, "store passes a store");
      return;
    }
    differ(posted ? "a write that must wait, or was handed on before"
                  : "a load that must wait, or was handed on before");
  }

  void accept(std::uint32_t taken) {
    if ((taken & (taken - 1U)) != 0) return differ("two operations at once");
    for (std::uint32_t network = 0; network < kNetworks; ++network) {
      if (((taken >> network) & 1U) == 0) continue;
      const MmioOperation& operation = *offered_[network];
      const std::uint32_t ahead = (operation.number - rob_->next_number(0)) & kMask;
      took_ = rob_->accept(operation);
      found_.coverage.hit_if(took_ == MmioArrival::kAccepted && ahead >= kEntries, "beyond the window");
      if (took_ == MmioArrival::kHeld || took_ == MmioArrival::kTooFar)
        differ("an operation without room was taken");
      offered_[network].reset();
      held_ = 0;
    }
  }

  void check_flags() {
    const bool duplicate = took_ == MmioArrival::kDuplicate;
    const bool malformed = took_ == MmioArrival::kMalformed;
    if ((dut_->duplicate_o != 0) != duplicate) differ("what was seen before");
    if ((dut_->malformed_o != 0) != malformed) differ("what is malformed");
    found_.coverage.hit_if(duplicate, "duplicate");
    found_.coverage.hit_if(malformed, "malformed");
    took_.reset();
  }

  void check_progress(bool posted_open, bool load_open, std::uint32_t valid) {
    const bool writes = rob_->dispatch_choices({.posted = true, .non_posted = false}) > 0;
    const bool loads = rob_->dispatch_choices({.posted = false, .non_posted = true}) > 0;
    const bool moved = dut_->posted_valid_o || dut_->load_valid_o;
    write_waited_ = writes && !dut_->posted_valid_o ? write_waited_ + 1 : 0;
    load_waited_ = loads && !dut_->load_valid_o ? load_waited_ + 1 : 0;
    if (write_waited_ > kPatience || load_waited_ > kPatience)
      differ("an operation that may leave does not come");
    if (!writes && !loads && !moved && rob_->waiting() == 0) {
      settled_ = settled_ + 1;
      if (settled_ > kPatience && dut_->next_o != rob_->next_number(0)) differ("the credit");
    } else {
      settled_ = 0;
    }
    if (((dut_->next_o - rob_->next_number(0)) & kMask) != 0 &&
        ((rob_->next_number(0) - dut_->next_o) & kMask) > 32)
      differ("a credit for what has not left");
    if (valid != 0 && (valid & dut_->in_ready_o) == 0) {
      found_.coverage.hit("held");
      if (posted_open && load_open) ++held_;
      if (held_ > 8 * kPatience) differ("operations are held for ever");
    }
    const auto missing = rob_->missing_number(0);
    found_.coverage.hit_if(missing && !writes && !loads && rob_->waiting() > 0, "release waits for a store");
  }

  Clocked<Model>& dut_;
  ordering::MmioRobConfig config_;
  RandomStream random_;
  Findings& found_;
  std::vector<Stall> stalls_;
  std::unique_ptr<MmioRob> rob_;
  std::unique_ptr<Program> program_;
  std::array<std::optional<MmioOperation>, kNetworks> offered_;
  std::optional<MmioArrival> took_;
  StreamRule<Shown> posted_rule_;
  StreamRule<Shown> load_rule_;
  bool new_posted_ = true;
  bool new_load_ = true;
  std::uint32_t write_waited_ = 0;
  std::uint32_t load_waited_ = 0;
  std::uint32_t settled_ = 0;
  std::uint32_t held_ = 0;
  std::uint64_t resets_ = 0;
};

auto harness(ReleaseRule rule) {
  return [rule]<typename Model>(Clocked<Model>& dut, RandomStream random, std::uint64_t cycles,
                                Findings& found) { Harness<Model>(dut, rule, random, found).run(cycles); };
}

TEST(MmioRob, AgreesWithTheStrictRule) {
  expect_agreement<Vwharf_mmio_rob_strict>(harness(ReleaseRule::kStrict), 60000);
}

TEST(MmioRob, AgreesWithTheRefinedRule) {
  expect_agreement<Vwharf_mmio_rob>(harness(ReleaseRule::kRefined), 60000);
}

TEST(MmioRob, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_mmio_rob_planted>(harness(ReleaseRule::kRefined), "rtl/mmio_rob/faults.txt",
                                               60000);
}

// Stores in order, with nothing in the way.
TEST(MmioRob, HandsOnAnOperationInEachCycle) {
  Clocked<Vwharf_mmio_rob_strict> dut;
  dut->in_valid_i = 0;
  dut->posted_ready_i = 1;
  dut->load_ready_i = 1;
  dut.reset();
  constexpr std::uint32_t kCount = 1000;
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
  const std::uint64_t from = dut.cycles();
  while (received < kCount && dut.cycles() < from + 10 * kCount) {
    dut->in_valid_i = sent < kCount ? 1 : 0;
    dut->in_number_i = sent & kMask;
    dut->in_after_i = sent & kMask;
    dut.settle();
    if ((dut->in_valid_i & dut->in_ready_o) != 0) ++sent;
    if (dut->posted_valid_o) ++received;
    dut.tick();
  }
  EXPECT_LE(dut.cycles() - from, kCount + 3);
}

}  // namespace
}  // namespace wharf::rtl
