// SPDX-License-Identifier: Apache-2.0
#include "sim/host/mmio_path.h"

#include <utility>

#include "base/check.h"
#include "sim/host/keep_slot.h"

namespace wharf::sim {

using ordering::MmioArrival;
using ordering::MmioOperation;

MmioPath::MmioPath(Simulation& simulation, const MmioConfig& config, std::uint64_t seed, std::string name)
    : simulation_(simulation),
      config_(config),
      combining_(config.combining),
      sequencer_(config.sequencer),
      reorder_(config.reorder),
      link_(config.link.cycle, config.link.width_bytes,
            (config.link.header_bytes + config.link.width_bytes - 1) / config.link.width_bytes,
            config.link.down),
      random_(seed, "mmio"),
      flying_(256),
      credits_(256),
      at_root_(64) {
  simulation.add(*this, std::move(name));
}

bool MmioPath::store(TimePs now, const MmioOperation& operation) {
  if (fencing_) return false;
  if (ordering::is_numbered(operation.kind)) {
    const bool waits = sequencer_.blocked_by(operation.thread, operation.device, operation.kind, true) !=
                       ordering::IssueBlock::kNone;
    if (waits || on_the_way_ == config_.way_entries) {
      refused_ = true;
      return false;
    }
    MmioOperation stamped = operation;
    sequencer_.stamp(stamped);
    leave_core(now, stamped);
    return true;
  }
  while (!combining_.store(operation, &random_)) {
    // A line that has just been closed to make room for this one may leave at once.
    const std::uint32_t before = on_the_way_;
    send_from_core(now);
    if (on_the_way_ > before) continue;
    refused_ = true;
    return false;
  }
  send_from_core(now);
  return true;
}

void MmioPath::fence(TimePs now) {
  fencing_ = true;
  combining_.fence();
  send_from_core(now);
  look_ready(now);
}

/// What may leave the core, as far as the way has room.
void MmioPath::send_from_core(TimePs now) {
  MmioOperation write;
  while (on_the_way_ < config_.way_entries && combining_.next_leaving(write)) leave_core(now, write);
}

void MmioPath::leave_core(TimePs now, const MmioOperation& write) {
  ++on_the_way_;
  ++answers_awaited_;
  simulation_.schedule(now + cycles(config_.down_cycles) + draw(config_.spread), id(), id(), kAtRoot,
                       keep_slot(flying_, write));
}

void MmioPath::handle(const Event& event) {
  const TimePs now = event.time;
  switch (static_cast<EventKind>(event.kind)) {
    case kAtRoot:
      if (at_root_.full()) at_root_.reserve(2 * at_root_.capacity());
      at_root_.push_back(event.argument);
      take_at_root(now);
      break;
    case kLeavesRoot:
      --in_root_;
      leave_root(now, event.argument);
      reorder_out(now);
      take_at_root(now);
      break;
    case kAtDevice: {
      const MmioOperation write = take_slot(flying_, event.argument);
      if (!reorders_at(MmioOrderPlace::kDevice, write.kind)) {
        client_->mmio_arrived(now, write);
        break;
      }
      WHARF_CHECK(reorder_.accept(write) == MmioArrival::kAccepted);
      MmioOperation ordered;
      while (reorder_.next_dispatch(ordered)) client_->mmio_arrived(now, ordered);
      give_credits(now);
      break;
    }
    case kCredit: {
      sequencer_.acknowledge(take_slot(credits_, event.argument));
      look_ready(now);
      break;
    }
    case kAnswered:
      --answers_awaited_;
      if (event.argument != 0) combining_.arrived();
      look_ready(now);
      break;
  }
}

/// The root complex takes what waits before it, in order of arrival.
void MmioPath::take_at_root(TimePs now) {
  while (!at_root_.empty()) {
    const std::uint32_t slot = at_root_.front();
    const bool numbered = ordering::is_numbered(flying_[slot].kind);
    if (reorders_at(MmioOrderPlace::kRootComplex, flying_[slot].kind)) {
      const MmioArrival arrival = reorder_.accept(flying_[slot]);
      if (arrival == MmioArrival::kHeld) break;
      WHARF_CHECK(arrival == MmioArrival::kAccepted);
      flying_.release(slot);
      reorder_out(now);
    } else {
      if (in_root_ == config_.root_complex_entries) break;
      enter_root(now, slot);
    }
    at_root_.pop_front();
    --on_the_way_;
    // A posted write is answered when it is taken.
    simulation_.schedule(now + cycles(config_.up_cycles), id(), id(), kAnswered, numbered ? 0 : 1);
  }
  send_from_core(now);
  if (refused_) look_ready(now);
}

void MmioPath::enter_root(TimePs now, std::uint32_t slot) {
  ++in_root_;
  simulation_.schedule(now + config_.root_complex, id(), id(), kLeavesRoot, slot);
}

void MmioPath::reorder_out(TimePs now) {
  if (config_.place != MmioOrderPlace::kRootComplex) return;
  MmioOperation ordered;
  while (in_root_ < config_.root_complex_entries && reorder_.next_dispatch(ordered))
    enter_root(now, keep_slot(flying_, ordered));
  give_credits(now);
}

void MmioPath::leave_root(TimePs now, std::uint32_t slot) {
  const MessageLane::Crossing crossing = link_.send(now, flying_[slot].length);
  TimePs at = crossing.data + config_.device + draw(config_.link_spread);
  if (config_.link_spread == kTimeZero) at = last_in_order_ = max(at, last_in_order_);
  simulation_.schedule(at, id(), id(), kAtDevice, slot);
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
  if (fencing_) {
    if (!combining_.drained() || answers_awaited_ > 0) return;
    fencing_ = false;
    refused_ = false;
    client_->mmio_ready(now);
    return;
  }
  if (std::exchange(refused_, false)) client_->mmio_ready(now);
}

void MmioPath::describe_waiting(std::vector<std::string>& lines) const {
  if (!at_root_.empty())
    lines.push_back(std::to_string(at_root_.size()) + " writes wait before the root complex");
  if (reorder_.waiting() > 0)
    lines.push_back(std::to_string(reorder_.waiting()) + " writes wait in the reorder buffer");
}

}  // namespace wharf::sim
