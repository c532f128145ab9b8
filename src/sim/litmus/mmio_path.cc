// SPDX-License-Identifier: Apache-2.0
#include "sim/litmus/mmio_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/check.h"
#include "sim/litmus/litmus_mutation.h"

namespace wharf::sim {
namespace {

ordering::WriteCombiningConfig combining_of(const LitmusSettings& settings) {
  ordering::WriteCombiningConfig config;
  config.buffers = settings.combining_buffers;
  return config;
}

}  // namespace

LitmusMmioPath::LitmusMmioPath(const LitmusProgram& program, LitmusDesign design, std::uint32_t threads)
    : design_(design),
      combining_(threads, ordering::WriteCombining(combining_of(program.settings))),
      loads_(threads) {
  const LitmusSettings& settings = program.settings;
  for (const LitmusVariable& variable : program.variables) {
    if (variable.is_mmio) set_word(variable.address, variable.initial);
  }
  if (!has_rob(design)) return;
  numbering_ = numbering_of(settings, threads, program.mmio_devices());
  ordering::MmioSequencerConfig sequencer;
  sequencer.numbering = numbering_;
  sequencer.reach = settings.reach;
  sequencer.windows.fill(settings.rob_window);
  sequencer_.emplace(sequencer);
  ordering::MmioRobConfig rob;
  rob.numbering = numbering_;
  rob.rule = settings.rob_rule;
  rob.overflow = settings.rob_overflow;
  rob.entries_per_network = settings.rob_entries;
  rob.shared_network = settings.rob_shared_network;
  rob_.emplace(rob);
}

ordering::MmioKind LitmusMmioPath::kind_of(const LitmusOperation& operation) const {
  using ordering::MmioKind;
  if (operation.action == LitmusAction::kUncached) return MmioKind::kUncachedStore;
  if (operation.action == LitmusAction::kMmioLoad) {
    if (!has_rob(design_)) return MmioKind::kUncachedLoad;
    return operation.label == ordering::Label::kAcquire ? MmioKind::kAcquire : MmioKind::kLoad;
  }
  if (operation.action == LitmusAction::kCombining || !has_rob(design_))
    return MmioKind::kWriteCombiningStore;
  return operation.label == ordering::Label::kRelease ? MmioKind::kRelease : MmioKind::kStore;
}

bool LitmusMmioPath::may_execute(const LitmusOperation& operation, const LitmusVariable& variable,
                                 std::uint32_t thread, bool host_stores_drained) const {
  if (operation.action == LitmusAction::kStoreFence) return host_stores_drained;
  const ordering::MmioKind kind = kind_of(operation);
  if (is_numbered(kind) && sequencer_->blocked_by(thread, variable.device, kind, host_stores_drained) !=
                               ordering::IssueBlock::kNone)
    return false;
  if (kind == ordering::MmioKind::kUncachedStore && !host_stores_drained) return false;
  // Uncached accesses are in program order, and a load sends off what is combined before it leaves ("Intel 64
  // and IA-32 Architectures Software Developer's Manual", volume 3A, 12.3).
  if (is_load(kind)) {
    return combining_[thread].open_lines() > 0 || combining_[thread].unnumbered_left() ||
           is_mutated(LitmusMutation::kLoadsForgetCombined);
  }
  // Once its number is given nothing keeps a posted write behind the load, so the core does: a load returns
  // no later store of its thread ("The RISC-V Instruction Set Manual, Volume I", 17.1, rule 1).
  const bool is_read_first = std::find(loading_.begin(), loading_.end(),
                                       Loading{thread, variable.device, variable.address}) != loading_.end();
  if (is_read_first) return false;
  // The buffers say whether they take a store only by taking it.
  const std::array<std::byte, kLitmusWordBytes> zero{};
  ordering::WriteCombining trial = combining_[thread];
  return trial.store(ordering::mmio_store(kind, variable.address, zero));
}

LitmusMmioPath::Executed LitmusMmioPath::execute(const LitmusOperation& operation,
                                                 const LitmusVariable& variable, std::uint32_t thread,
                                                 bool host_stores_drained, std::uint32_t tag) {
  ordering::WriteCombining& combining = combining_[thread];
  if (operation.action == LitmusAction::kStoreFence) {
    WHARF_CHECK(host_stores_drained);
    combining.fence();
    return combining.drained() ? Executed::kDone : Executed::kAgain;
  }
  const ordering::MmioKind kind = kind_of(operation);
  if (is_load(kind) && !combining.unnumbered_left() && !is_mutated(LitmusMutation::kLoadsForgetCombined)) {
    combining.send_off_unnumbered();
    return Executed::kAgain;
  }
  std::array<std::byte, kLitmusWordBytes> bytes{};
  if (!is_load(kind)) std::memcpy(bytes.data(), operation.values.data(), kLitmusWordBytes);
  ordering::MmioOperation made = ordering::mmio_store(kind, variable.address, bytes);
  made.thread = static_cast<std::uint16_t>(thread);
  made.device = variable.device;
  made.tag = tag;
  if (is_numbered(kind)) sequencer_->stamp(made);
  if (is_load(kind)) {
    ++loads_[thread];
    loading_.push_back({thread, made.device, made.address});
    moving_.push_back({false, made});
    return kind == ordering::MmioKind::kLoad ? Executed::kDone : Executed::kWaits;
  }
  WHARF_CHECK(combining.store(made));
  return Executed::kDone;
}

bool LitmusMmioPath::is_fenced(std::uint32_t thread, const ordering::FenceSet& predecessors,
                               const ordering::FenceSet& successors) const {
  ordering::FenceEffect effect = ordering::fence_effect(predecessors, successors);
  const bool has_stores = predecessors.device_output && (successors.device() || successors.memory());
  const bool is_combined = !combining_[thread].unnumbered_left();
  if (has_stores && is_combined && !is_mutated(LitmusMutation::kFenceForgetsCombined)) return false;
  if (effect.wait_device_loads && loads_[thread] > 0) return false;
  if (!sequencer_ || is_mutated(LitmusMutation::kFenceForgetsNumbered)) return true;
  // What the sequencer adds where devices have counters of their own.
  if (effect.new_epoch) effect = ordering::MmioSequencer(*sequencer_).fence(thread, predecessors, successors);
  return !effect.wait_acknowledged || sequencer_->all_acknowledged(thread);
}

bool LitmusMmioPath::fence(std::uint32_t thread, const ordering::FenceSet& predecessors,
                           const ordering::FenceSet& successors) {
  if (is_fenced(thread, predecessors, successors)) {
    if (sequencer_) sequencer_->fence(thread, predecessors, successors);
    return true;
  }
  combining_[thread].send_off_unnumbered();
  return false;
}

bool LitmusMmioPath::may_leave(std::uint32_t thread, std::uint32_t choice) const {
  ordering::WriteCombining trial = combining_[thread];
  return design_ != LitmusDesign::kRobRootComplex || has_room(trial.take_leaving(choice));
}

void LitmusMmioPath::leave(std::uint32_t thread, std::uint32_t choice) {
  const ordering::MmioOperation operation = combining_[thread].take_leaving(choice);
  combining_[thread].arrived();
  at_root_complex(operation);
}

bool LitmusMmioPath::has_room(const ordering::MmioOperation& operation) const {
  if (!is_numbered(operation.kind)) return true;
  ordering::MmioRob trial = *rob_;
  return trial.accept(operation) != ordering::MmioArrival::kHeld;
}

void LitmusMmioPath::at_root_complex(const ordering::MmioOperation& operation) {
  if (design_ == LitmusDesign::kRobRootComplex && is_numbered(operation.kind)) {
    into_buffer(operation);
  } else {
    moving_.push_back({true, operation});
  }
}

void LitmusMmioPath::into_buffer(const ordering::MmioOperation& operation) {
  const ordering::MmioArrival arrival = rob_->accept(operation);
  if (arrival != ordering::MmioArrival::kAccepted) {
    failure_ = fmt::format("the MMIO reorder buffer refuses number {} of thread {}: {}", operation.number,
                           operation.thread,
                           arrival == ordering::MmioArrival::kDuplicate ? "it was seen before"
                           : arrival == ordering::MmioArrival::kTooFar  ? "it lies beyond what was promised"
                                                                        : "it is malformed");
    return;
  }
  ordering::MmioOperation next;
  while (rob_->next_dispatch(next)) {
    if (design_ == LitmusDesign::kRobRootComplex) {
      moving_.push_back({true, next});
    } else {
      at_device(next);
    }
  }
  ordering::MmioCredit credit;
  while (rob_->next_credit(credit)) sequencer_->acknowledge(credit);
}

bool LitmusMmioPath::may_move(std::uint32_t choice) const {
  const Moving& mover = moving_[choice];
  if (!mover.at_root) return design_ != LitmusDesign::kRobRootComplex || has_room(mover.operation);
  // PCIe below the root complex: nothing passes an earlier posted write, and loads pass each other. Where
  // writes pass each other, uncached stores are strong still, and a load pushes every write before itself, as
  // on the timed path. What waits at the reorder buffer of the device is off the link: loads have a network
  // of their own there.
  const bool is_numbered_load = is_load(mover.operation.kind) && is_numbered(mover.operation.kind);
  const bool is_behind_write =
      std::any_of(moving_.begin(), moving_.begin() + choice, [&](const Moving& earlier) {
        return earlier.at_root && !is_load(earlier.operation.kind) &&
               earlier.operation.device == mover.operation.device && !(is_numbered_load && is_held(earlier));
      });
  const bool pushes = is_load(mover.operation.kind) && !is_mutated(LitmusMutation::kLoadsPassStores);
  if (is_load(mover.operation.kind) && !pushes) return !is_held(mover);
  const bool passes_none = pushes || mover.operation.kind == ordering::MmioKind::kUncachedStore;
  if (is_behind_write && (passes_none || keeps_writes_in_order())) return false;
  return !is_held(mover);
}

bool LitmusMmioPath::is_held(const Moving& moving) const {
  return design_ == LitmusDesign::kRobDevice && !has_room(moving.operation);
}

std::uint32_t LitmusMmioPath::ordered_writes(std::uint8_t device) const {
  if (!keeps_writes_in_order()) return 0;
  return static_cast<std::uint32_t>(
      std::count_if(moving_.begin(), moving_.end(), [device](const Moving& moving) {
        return moving.at_root && !is_load(moving.operation.kind) && moving.operation.device == device;
      }));
}

std::optional<std::uint8_t> LitmusMmioPath::move(std::uint32_t choice) {
  const Moving moved = moving_[choice];
  moving_.erase(moving_.begin() + choice);
  if (!moved.at_root) {
    at_root_complex(moved.operation);
  } else if (design_ == LitmusDesign::kRobDevice && is_numbered(moved.operation.kind)) {
    into_buffer(moved.operation);
  } else {
    at_device(moved.operation);
  }
  if (!moved.at_root || is_load(moved.operation.kind)) return std::nullopt;
  return static_cast<std::uint8_t>(moved.operation.device);
}

void LitmusMmioPath::at_device(const ordering::MmioOperation& operation) {
  if (is_load(operation.kind)) {
    if (operation.kind == ordering::MmioKind::kAcquire) sequencer_->acquire_done(operation.thread);
    loading_.erase(std::find(loading_.begin(), loading_.end(),
                             Loading{operation.thread, operation.device, operation.address}));
    answers_.push_back({operation.thread, operation.tag, word(operation.address),
                        static_cast<std::uint8_t>(operation.device)});
    return;
  }
  for (std::uint32_t at = 0; at < operation.length; ++at) {
    const std::uint64_t address = operation.address + at;
    auto* bytes = reinterpret_cast<std::byte*>(words_.data());
    WHARF_CHECK(address < words_.size() * kLitmusWordBytes);
    bytes[address] = operation.data[at];
  }
}

bool LitmusMmioPath::next_answer(Answer& out) {
  if (answers_.empty()) return false;
  out = answers_.front();
  answers_.erase(answers_.begin());
  return true;
}

std::uint64_t LitmusMmioPath::word(std::uint64_t address) const { return words_[address / kLitmusWordBytes]; }

void LitmusMmioPath::set_word(std::uint64_t address, std::uint64_t value) {
  if (words_.size() <= address / kLitmusWordBytes)
    words_.resize(address / kLitmusWordBytes + kLineBytes / kLitmusWordBytes);
  words_[address / kLitmusWordBytes] = value;
}

bool LitmusMmioPath::is_finished() const {
  const bool drained =
      std::all_of(combining_.begin(), combining_.end(),
                  [](const ordering::WriteCombining& combining) { return combining.drained(); });
  return drained && moving_.empty() && answers_.empty() && (!rob_ || rob_->waiting() == 0);
}

std::string LitmusMmioPath::describe_moving(std::uint32_t choice) const {
  const Moving& mover = moving_[choice];
  return fmt::format("an MMIO {} of address {} arrives at the {}",
                     is_load(mover.operation.kind) ? "load" : "store", mover.operation.address,
                     mover.at_root ? "device" : "root complex");
}

void LitmusMmioPath::who_waits(std::vector<std::string>& lines) const {
  for (std::size_t thread = 0; thread < combining_.size(); ++thread) {
    if (!combining_[thread].drained())
      lines.push_back(fmt::format("stores of host thread {} wait in its write-combining buffers", thread));
  }
  if (rob_ && rob_->waiting() > 0)
    lines.push_back(fmt::format("{} operation(s) wait in the MMIO reorder buffer", rob_->waiting()));
  if (!moving_.empty()) lines.push_back(fmt::format("{} MMIO operation(s) are on their way", moving_.size()));
}

void LitmusMmioPath::append_state(std::vector<std::byte>& state) const {
  const auto base = [this](std::uint32_t thread, std::uint32_t device) {
    return rob_ ? rob_->next_number(numbering_.domain(thread, device)) : 0U;
  };
  const std::uint32_t mask = rob_ ? numbering_.mask() : 0U;
  for (const ordering::WriteCombining& combining : combining_) combining.append_state(state, base, mask);
  if (sequencer_) sequencer_->append_state(state);
  if (rob_) rob_->append_state(state);
  append_bytes(state, static_cast<std::uint32_t>(moving_.size()));
  for (const Moving& moving : moving_) {
    append_bytes(state, static_cast<std::uint8_t>(moving.at_root));
    ordering::append_state(state, moving.operation, base(moving.operation.thread, moving.operation.device),
                           mask);
  }
  for (const Answer& answer : answers_) {
    append_bytes(state, answer.thread);
    append_bytes(state, answer.tag);
    append_bytes(state, answer.value);
  }
  for (const std::uint64_t word : words_) append_bytes(state, word);
  append_bytes(state, static_cast<std::uint8_t>(failure_.empty() ? 0 : 1));
}

}  // namespace wharf::sim
