// SPDX-License-Identifier: Apache-2.0
#include "sim/host/pcie/mmio_path.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sim/kernel/keep_slot.h"

namespace wharf::sim {

using ordering::MmioArrival;
using ordering::MmioKind;
using ordering::MmioOperation;

namespace {

constexpr bool is_strong(MmioKind kind) {
  return kind == MmioKind::kUncachedStore || kind == MmioKind::kUncachedLoad;
}

void push_growing(Ring<std::uint32_t>& ring, std::uint32_t slot) {
  if (ring.full()) ring.reserve(2 * ring.capacity());
  ring.push_back(slot);
}

}  // namespace

MmioPath::MmioPath(Simulation& simulation, const MmioConfig& config, std::uint64_t seed, std::string name)
    : simulation_(simulation),
      config_(config),
      combining_(config.combining),
      sequencer_(config.sequencer),
      reorder_(config.reorder),
      link_(config.link, wire::TlpOrderingForm::kProposed),
      random_(seed, "mmio"),
      flying_(256),
      credits_(256),
      at_root_(64),
      before_link_(64) {
  simulation.add(*this, std::move(name));
}

bool MmioPath::store(TimePs now, const MmioOperation& operation) {
  if (fence_ || is_held_by_load(operation.thread)) {
    refused_ = true;
    return false;
  }
  if (ordering::is_numbered(operation.kind)) return send_numbered(now, operation);
  if (asks_for(operation)) {
    refused_ = true;
    return false;
  }
  while (!combining_.store(operation, &random_)) {
    // Lines that have just been closed, to make room for this one or to go before it, may leave at once.
    const std::uint32_t before = on_the_way_;
    send_from_core(now);
    if (on_the_way_ > before) continue;
    refused_ = true;
    return false;
  }
  send_from_core(now);
  return true;
}

/// A store or load with a number; false when it has to wait for one, or for the way.
bool MmioPath::send_numbered(TimePs now, const MmioOperation& operation) {
  if (!combining_.send_off_line_of(operation)) {
    send_from_core(now);
    if (!combining_.send_off_line_of(operation)) {
      refused_ = true;
      return false;
    }
  }
  const bool follows_uncached = !ordering::is_load(operation.kind) && combining_.uncached_waiting() > 0;
  const bool waits = sequencer_.blocked_by(operation.thread, operation.device, operation.kind, true) !=
                     ordering::IssueBlock::kNone;
  if (waits || follows_uncached || !may_leave_core(now)) {
    refused_ = true;
    return false;
  }
  MmioOperation stamped = operation;
  sequencer_.stamp(stamped);
  leave_core(now, stamped);
  return true;
}

bool MmioPath::load(TimePs now, const MmioOperation& operation) {
  if (fence_ || is_held_by_load(operation.thread) || load_to_leave_) {
    refused_ = true;
    return false;
  }
  if (ordering::is_numbered(operation.kind)) {
    if (!combining_.unnumbered_left()) {
      combining_.send_off_unnumbered();
      send_from_core(now);
    }
    if (!combining_.unnumbered_left()) {
      refused_ = true;
      return false;
    }
    if (!send_numbered(now, operation)) return false;
    ++loads_;
    asking_.push_back({kTimeZero, operation.address, operation.device, operation.length});
    return true;
  }
  ++loads_;
  uncached_load_ = true;
  while (combining_.open_lines() > 0) combining_.close(0);
  load_to_leave_ = operation;
  send_from_core(now);
  return true;
}

void MmioPath::fence(TimePs now, MmioFence kind) {
  fence_ = kind;
  combining_.fence();
  send_from_core(now);
  look_ready(now);
}

/// Whether one more operation may leave now; if only the way's gap forbids it, kWayFree will come.
bool MmioPath::may_leave_core(TimePs now) {
  if (on_the_way_ == config_.way_entries) return false;
  if (now >= way_free_) return true;
  if (!std::exchange(way_wakes_, true)) simulation_.schedule(way_free_, id(), id(), kWayFree, 0);
  return false;
}

/// What may leave the core, as far as the way has room.
void MmioPath::send_from_core(TimePs now) {
  for (;;) {
    const std::uint32_t choices = combining_.leaving_choices();
    const bool uncached_next = choices > 0 && choices == std::min(1U, combining_.uncached_waiting());
    if (choices > 0 && !(uncached_next && uncached_awaited_)) {
      if (!may_leave_core(now)) return;
      MmioOperation write;
      WHARF_CHECK(combining_.next_leaving(write));
      leave_core(now, write);
    } else if (choices == 0 && load_to_leave_) {
      if (!may_leave_core(now)) return;
      leave_core(now, *load_to_leave_);
      load_to_leave_.reset();
    } else {
      return;
    }
  }
}

void MmioPath::leave_core(TimePs now, const MmioOperation& operation) {
  way_free_ = now + config_.way_gap;
  ++on_the_way_;
  TimePs at = now + cycles(config_.down_cycles) + draw(config_.spread);
  const bool is_load = ordering::is_load(operation.kind);
  at = max(at, is_strong(operation.kind) ? last_at_root_
               : is_load                 ? last_unnumbered_at_root_
                                         : last_uncached_at_root_);
  if (config_.spread > kTimeZero && !is_load) at = behind_own_bytes(now, at, operation);
  if (!is_load && !ordering::is_numbered(operation.kind))
    last_unnumbered_at_root_ = max(at, last_unnumbered_at_root_);
  if (operation.kind == MmioKind::kUncachedStore) last_uncached_at_root_ = at;
  last_at_root_ = max(at, last_at_root_);
  if (!is_load) ++answers_awaited_;
  if (operation.kind == MmioKind::kUncachedStore) uncached_awaited_ = true;
  simulation_.schedule(at, id(), id(), kAtRoot, keep_slot(flying_, operation));
}

/// Whether a load on its way asks for bytes of `store`, which has no number that would keep it behind: a load
/// returns no later store of its thread.
bool MmioPath::asks_for(const MmioOperation& store) const {
  return std::any_of(asking_.begin(), asking_.end(), [&store](const OnTheWay& load) {
    return load.device == store.device && load.address < store.address + store.length &&
           store.address < load.address + load.length;
  });
}

TimePs MmioPath::behind_own_bytes(TimePs now, TimePs at, const MmioOperation& operation) {
  std::erase_if(ways_, [now](const OnTheWay& each) { return each.at <= now; });
  for (const OnTheWay& each : ways_) {
    if (each.device == operation.device && each.address < operation.address + operation.length &&
        operation.address < each.address + each.length)
      at = max(at, each.at);
  }
  ways_.push_back({at, operation.address, operation.device, operation.length});
  return at;
}

void MmioPath::handle(const Event& event) {
  const TimePs now = event.time;
  switch (static_cast<EventKind>(event.kind)) {
    case kAtRoot:
      push_growing(at_root_, event.argument);
      take_at_root(now);
      break;
    case kLeavesRoot:
      push_growing(before_link_, event.argument);
      leave_root(now);
      break;
    case kAtDevice:
      at_device(now, event.argument);
      break;
    case kCredit: {
      sequencer_.acknowledge(take_slot(credits_, event.argument));
      look_ready(now);
      break;
    }
    case kAnswered:
      --answers_awaited_;
      if (event.argument != kNumbered) combining_.arrived();
      if (event.argument == kUncached) uncached_awaited_ = false;
      send_from_core(now);
      look_ready(now);
      break;
    case kTaken:
      --on_link_;
      leave_root(now);
      break;
    case kLoadBack:
      simulation_.schedule(now + config_.root_complex_answer + cycles(config_.up_cycles), id(), id(), kLoaded,
                           event.argument);
      break;
    case kLoaded:
      loaded(now, event.argument);
      break;
    case kWayFree:
      way_wakes_ = false;
      send_from_core(now);
      if (refused_) look_ready(now);
      break;
  }
}

/// The answer to a load is at the core, which has it when the device's writes before it are performed.
void MmioPath::loaded(TimePs now, std::uint32_t slot) {
  const auto answer = std::find_if(answers_.begin(), answers_.end(),
                                   [slot](const Answer& each) { return each.slot == slot; });
  if (answer != answers_.end()) {
    answer->is_there = true;
    if (!order_->are_writes_performed(answer->requests)) return;
    answers_.erase(answer);
  }
  const MmioOperation load = take_slot(flying_, slot);
  --loads_;
  if (load.kind == MmioKind::kUncachedLoad) uncached_load_ = false;
  if (load.kind == MmioKind::kAcquire) sequencer_.acquire_done(load.thread);
  client_->mmio_loaded(now, load);
  look_ready(now);
}

void MmioPath::writes_arrived(TimePs now) {
  // Answers that are there come before what the client does with the first of them.
  std::vector<std::uint32_t> there;
  for (const Answer& each : answers_) {
    if (each.is_there && order_->are_writes_performed(each.requests)) there.push_back(each.slot);
  }
  for (const std::uint32_t slot : there) loaded(now, slot);
}

bool MmioPath::all_acknowledged() const {
  for (std::uint32_t thread = 0; thread < config_.sequencer.numbering.threads; ++thread) {
    if (!sequencer_.all_acknowledged(thread)) return false;
  }
  return true;
}

/// The root complex takes what waits before it, in order of arrival.
void MmioPath::take_at_root(TimePs now) {
  while (!at_root_.empty()) {
    const std::uint32_t slot = at_root_.front();
    const MmioKind kind = flying_[slot].kind;
    if (reorders_at(MmioOrderPlace::kRootComplex, kind)) {
      const MmioArrival arrival = reorder_.accept(flying_[slot]);
      if (arrival == MmioArrival::kHeld) break;
      WHARF_CHECK(arrival == MmioArrival::kAccepted);
      flying_.release(slot);
      reorder_out(now);
    } else {
      if (!ordering::is_load(kind) && in_root_ == config_.root_complex_entries) break;
      enter_root(now, slot);
    }
    at_root_.pop_front();
    --on_the_way_;
    if (ordering::is_load(kind)) continue;
    // A posted write is answered when it is taken.
    const Answered answered = ordering::is_numbered(kind)        ? kNumbered
                              : kind == MmioKind::kUncachedStore ? kUncached
                                                                 : kCombined;
    simulation_.schedule(now + cycles(config_.up_cycles), id(), id(), kAnswered, answered);
  }
  send_from_core(now);
  if (refused_) look_ready(now);
}

void MmioPath::enter_root(TimePs now, std::uint32_t slot) {
  if (!ordering::is_load(flying_[slot].kind)) {
    ++in_root_;
    if (order_ != nullptr && keeps_order_below()) order_->store_entered();
  }
  simulation_.schedule(now + config_.root_complex, id(), id(), kLeavesRoot, slot);
}

void MmioPath::reorder_out(TimePs now) {
  if (config_.place != MmioOrderPlace::kRootComplex) return;
  MmioOperation ordered;
  while (reorder_.next_dispatch(ordered, {.posted = in_root_ < config_.root_complex_entries}))
    enter_root(now, keep_slot(flying_, ordered));
  give_credits(now);
}

/// What is through the root complex goes on the link, in order: a write without a credit holds up a load
/// behind it, not the reverse, for loads need none.
void MmioPath::leave_root(TimePs now) {
  while (!before_link_.empty()) {
    const std::uint32_t slot = before_link_.front();
    const MmioOperation& operation = flying_[slot];
    const bool load = ordering::is_load(operation.kind);
    if (!load && config_.link_credits != 0 && on_link_ == config_.link_credits) return;
    before_link_.pop_front();
    const bool carries_number = reorders_at(MmioOrderPlace::kDevice, operation.kind);
    TimePs at = link_.send_down(now, operation, carries_number) + config_.device +
                draw(load ? kTimeZero : config_.link_spread);
    const bool in_order = load || config_.link_spread == kTimeZero || is_strong(operation.kind);
    if (in_order) at = max(at, last_at_device_);
    last_at_device_ = max(at, last_at_device_);
    simulation_.schedule(at, id(), id(), kAtDevice, slot);
    if (load) continue;
    if (config_.link_credits != 0) ++on_link_;
    --in_root_;
    reorder_out(now);
    take_at_root(now);
  }
}

void MmioPath::at_device(TimePs now, std::uint32_t slot) {
  const MmioOperation operation = take_slot(flying_, slot);
  const bool counts = order_ != nullptr && keeps_order_below() && !ordering::is_load(operation.kind);
  if (!reorders_at(MmioOrderPlace::kDevice, operation.kind)) {
    deliver(now, operation);
    if (counts) order_->store_arrived(now);
    return;
  }
  if (counts) order_->store_arrived(now);
  WHARF_CHECK(reorder_.accept(operation) == MmioArrival::kAccepted);
  MmioOperation ordered;
  while (reorder_.next_dispatch(ordered)) deliver(now, ordered);
  give_credits(now);
}

void MmioPath::deliver(TimePs now, MmioOperation operation) {
  if (!ordering::is_load(operation.kind)) {
    client_->mmio_arrived(now, operation);
    return;
  }
  client_->mmio_read(now, operation);
  if (ordering::is_numbered(operation.kind)) {
    const auto asked = std::find_if(asking_.begin(), asking_.end(), [&operation](const OnTheWay& each) {
      return each.device == operation.device && each.address == operation.address &&
             each.length == operation.length;
    });
    WHARF_CHECK(asked != asking_.end());
    asking_.erase(asked);
    if (refused_) look_ready(now);
  }
  const std::uint32_t slot = keep_slot(flying_, operation);
  if (order_ != nullptr) answers_.push_back({slot, order_->requests(), false});
  simulation_.schedule(link_.send_up(now, operation), id(), id(), kLoadBack, slot);
}

void MmioPath::write_taken(TimePs now) {
  if (config_.link_credits != 0) simulation_.schedule(now + config_.link.up, id(), id(), kTaken, 0);
}

/// To the core: over the way back, and over the link when they come from the device.
void MmioPath::give_credits(TimePs now) {
  ordering::MmioCredit credit;
  TimePs at = now + cycles(config_.up_cycles);
  if (config_.place == MmioOrderPlace::kDevice) at += config_.link.up;
  while (reorder_.next_credit(credit)) {
    simulation_.schedule(at, id(), id(), kCredit, keep_slot(credits_, credit));
  }
}

void MmioPath::look_ready(TimePs now) {
  if (fence_) {
    if (!combining_.drained() || answers_awaited_ > 0) return;
    if (*fence_ == MmioFence::kAll && (loads_ > 0 || !all_acknowledged())) return;
    fence_.reset();
    refused_ = false;
    client_->mmio_ready(now);
    return;
  }
  if (uncached_load_) return;
  if (std::exchange(refused_, false)) client_->mmio_ready(now);
}

void MmioPath::describe_waiting(std::vector<std::string>& lines) const {
  if (!at_root_.empty())
    lines.push_back(std::to_string(at_root_.size()) + " writes wait before the root complex");
  if (!before_link_.empty())
    lines.push_back(std::to_string(before_link_.size()) + " writes and loads wait for a credit of the link");
  if (loads_ > 0) lines.push_back(std::to_string(loads_) + " loads from the device wait for their value");
  if (reorder_.waiting() > 0)
    lines.push_back(std::to_string(reorder_.waiting()) + " writes wait in the reorder buffer");
}

}  // namespace wharf::sim
