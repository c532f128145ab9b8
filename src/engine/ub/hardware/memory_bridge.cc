// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/hardware/memory_bridge.h"

#include <cstring>
#include <span>

namespace wharf::hardware {
namespace {

constexpr std::uint32_t kSlotBits = 16;

}  // namespace

MemoryBridge::Slot& MemoryBridge::add(Kind kind, std::uint64_t address, std::uint32_t length) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  waiting_.push_back(index);
  Slot& slot = slots_[index];
  slot.kind = kind;
  slot.address = address;
  slot.length = length;
  if (kind == Kind::kRead) {
    slot.number = reads_taken_++;
  } else {
    slot.number = writes_taken();
    written_.push_back(false);
  }
  return slot;
}

void MemoryBridge::take(const std::array<std::uint32_t, 20>& words) {
  // is_write, tag, line, data, enable.
  const bool is_write = (words[19] >> 27U & 1U) != 0;
  const bool tag = (words[19] >> 26U & 1U) != 0;
  const std::uint64_t address = (words[18] | std::uint64_t{words[19] & 0x3ff'ffffU} << 32U) << 6U;
  if (!is_write) {
    const Slot& slot = add(Kind::kRead, address, sizeof(Line));
    reads_.push_back({slot.number, tag, false, {}});
    return;
  }
  const std::uint64_t enable = words[0] | std::uint64_t{words[1]} << 32U;
  const Line line = line_of(&words[2]);
  const auto enabled = [&](std::uint32_t byte) { return (enable >> (63 - byte) & 1U) != 0; };
  const Kind kind = address - ring_ < ring_bytes_ ? Kind::kCompletion : Kind::kWrite;
  // Each run of bytes is an access.
  for (std::uint32_t from = 0; from < sizeof(Line);) {
    if (!enabled(from)) {
      ++from;
      continue;
    }
    std::uint32_t to = from;
    while (to < sizeof(Line) && enabled(to)) ++to;
    Slot& slot = add(kind, address + from, to - from);
    std::memcpy(slot.data.data(), &line[from], to - from);
    from = to;
  }
}

MemoryBridge::Answer MemoryBridge::take_answer() {
  const Answer answer{reads_.front().tag, reads_.front().line};
  reads_.pop_front();
  return answer;
}

bool MemoryBridge::next_access(engine::Access& access) {
  if (waiting_.empty()) return false;
  const std::uint32_t index = waiting_.front();
  Slot& slot = slots_[index];
  if (slot.kind != Kind::kWrite && writes_under_way_ > 0) return false;
  waiting_.pop_front();
  ++under_way_;
  if (slot.kind == Kind::kWrite) ++writes_under_way_;
  access = {};
  access.id = slot.generation << kSlotBits | index;
  access.address = slot.address;
  access.length = slot.length;
  access.kind = slot.kind == Kind::kRead    ? engine::AccessKind::kRead
                : slot.kind == Kind::kWrite ? engine::AccessKind::kWrite
                                            : engine::AccessKind::kWriteCompletion;
  if (slot.kind != Kind::kRead) access.data = wire::bytes_payload(slot.data.data(), slot.length);
  return true;
}

void MemoryBridge::narrow(engine::Access& access, std::uint64_t from, std::uint64_t to) {
  Slot& slot = slots_[access.id & ((1U << kSlotBits) - 1)];
  slot.address = access.address = from;
  slot.length = access.length = static_cast<std::uint32_t>(to - from);
}

std::optional<MemoryBridge::Done> MemoryBridge::done(engine::AccessId id,
                                                     const engine::AccessResult& result) {
  const std::uint32_t index = id & ((1U << kSlotBits) - 1);
  if (index >= slots_.size()) return {};
  Slot& slot = slots_[index];
  if (slot.kind == Kind::kFree || (slot.generation << kSlotBits | index) != id) return {};
  Done outcome;
  outcome.address = slot.address;
  outcome.length = slot.length;
  outcome.is_write = slot.kind != Kind::kRead;
  outcome.failed = result.status != engine::AccessStatus::kDone;
  if (slot.kind == Kind::kRead) {
    for (Read& read : reads_) {
      if (read.number != slot.number) continue;
      read.is_there = true;
      if (outcome.failed || result.data.length != slot.length) {
        outcome.failed = true;  // It has no way to say so: zeros, and the engine ends what there is.
      } else {
        wire::fill(result.data, std::span(read.line).subspan(slot.address % sizeof(Line), slot.length));
      }
    }
  } else {
    if (slot.kind == Kind::kCompletion && slot.length == sizeof(RingEntry)) {
      outcome.entry.emplace();
      std::memcpy(outcome.entry->data(), slot.data.data(), sizeof(RingEntry));
    }
    written_[slot.number - first_] = true;
    while (!written_.empty() && written_.front()) {
      written_.pop_front();
      ++first_;
    }
    if (slot.kind == Kind::kWrite) --writes_under_way_;
  }
  --under_way_;
  slot.kind = Kind::kFree;
  slot.generation = (slot.generation + 1) & 0xffffU;
  free_.push_back(index);
  return outcome;
}

void MemoryBridge::reset() {
  for (std::uint32_t index = 0; index < slots_.size(); ++index) {
    if (slots_[index].kind == Kind::kFree) continue;
    slots_[index].kind = Kind::kFree;
    slots_[index].generation = (slots_[index].generation + 1) & 0xffffU;
    free_.push_back(index);
  }
  waiting_.clear();
  reads_.clear();
  first_ = writes_taken();
  written_.clear();
  under_way_ = writes_under_way_ = 0;
}

}  // namespace wharf::hardware
