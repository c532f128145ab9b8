// SPDX-License-Identifier: Apache-2.0
// Merging, closing and leaving of write-combining buffers.
#include "engine/ordering/write_combining.h"

#include <algorithm>
#include <bit>

#include "engine/ordering/mmio_mutation.h"

namespace wharf::ordering {
namespace {

std::uint32_t offset_in_line(const MmioOperation& operation) {
  return static_cast<std::uint32_t>(operation.address % kLineBytes);
}

}  // namespace

WriteCombining::WriteCombining(const WriteCombiningConfig& config)
    : config_(config), lines_(config.buffers), uncached_(config.uncached_entries) {
  WHARF_CHECK(config.buffers >= 1 && config.buffers <= kCombiningBuffersMax && config.uncached_entries >= 1);
  WHARF_CHECK(std::has_single_bit(config.partial_bytes_max) && config.partial_bytes_max <= kLineBytes / 2);
}

bool WriteCombining::store(const MmioOperation& operation, RandomStream* random) {
  WHARF_CHECK(!is_load(operation.kind));
  if (fencing_ && !drained()) return false;
  fencing_ = false;
  if (operation.kind == MmioKind::kUncachedStore) return store_uncached(operation);
  if (!uncached_.empty()) return false;

  const bool merges = operation.kind == MmioKind::kWriteCombiningStore;
  const ByteMask bytes = byte_mask(offset_in_line(operation), operation.length);
  Line* combined = nullptr;
  for (const std::uint8_t index : in_age_order()) {
    Line& other = lines_[index];
    if (other.content.address != operation.line() || other.content.device != operation.device) continue;
    const bool combines = merges && other.content.kind == MmioKind::kWriteCombiningStore;
    if (combines) combined = &other;
    if (combines || (other.valid & bytes) == 0) continue;
    other.closed = true;
    return false;
  }
  const bool found = combined != nullptr;
  if (found && combined->closed) return false;
  if (!found && in_use_ == config_.buffers) {
    make_room(random);
    return false;
  }
  const auto first_free = static_cast<std::uint8_t>(std::countr_one(used_));
  Line& line = found ? *combined : lines_[first_free];
  if (!found) {
    by_age_[in_use_++] = first_free;
    used_ |= std::uint64_t{1} << first_free;
    line = Line{.content = operation};
    line.content.address = operation.line();
    line.content.length = kLineBytes;
    line.content.data = {};
  }
  std::copy_n(operation.data.begin(), operation.length,
              line.content.data.begin() + offset_in_line(operation));
  line.valid |= bytes;
  line.closed = !merges || line.valid == kWholeLine;
  return true;
}

bool WriteCombining::store_uncached(const MmioOperation& operation) {
  for (const std::uint8_t index : in_age_order()) lines_[index].closed = true;
  if (in_use_ != 0 || uncached_.size() == config_.uncached_entries) return false;
  uncached_.push_back(operation);
  return true;
}

void WriteCombining::make_room(RandomStream* random) {
  // A line that is on its way out already will make the room.
  const std::uint32_t open = open_lines();
  if (open < in_use_) return;
  WHARF_CHECK(config_.victim == CombiningVictim::kOldest || random != nullptr);
  close(config_.victim == CombiningVictim::kRandom ? static_cast<std::uint32_t>(random->below(open)) : 0);
}

void WriteCombining::fence() {
  fencing_ = true;
  if (mutated(MmioMutation::kFenceForgetsOpenLines)) return;
  send_off_unnumbered();
}

void WriteCombining::send_off_unnumbered() {
  for (const std::uint8_t index : in_age_order()) lines_[index].closed = true;
}

bool WriteCombining::send_off_line_of(const MmioOperation& operation) {
  for (const std::uint8_t index : in_age_order()) {
    Line& line = lines_[index];
    if (line.content.address != operation.line() || line.content.device != operation.device) continue;
    if ((line.valid & byte_mask(offset_in_line(operation), operation.length)) == 0) continue;
    line.closed = true;
    return false;
  }
  return true;
}

bool WriteCombining::unnumbered_left() const {
  const auto lines = in_age_order();
  return uncached_.empty() && std::all_of(lines.begin(), lines.end(), [this](std::uint8_t index) {
           return is_numbered(lines_[index].content.kind);
         });
}

void WriteCombining::close(std::uint32_t index) {
  for (const std::uint8_t line : in_age_order()) {
    if (lines_[line].closed || index-- != 0) continue;
    lines_[line].closed = true;
    return;
  }
  WHARF_UNREACHABLE();
}

void WriteCombining::arrived() {
  WHARF_CHECK(on_the_way_ > 0);
  --on_the_way_;
}

std::uint32_t WriteCombining::piece_bytes(ByteMask valid) const {
  if (valid == kWholeLine) return kLineBytes;
  const std::uint32_t offset = first_byte(valid);
  std::uint32_t bytes = config_.partial_bytes_max;
  while (offset % bytes != 0 || (byte_mask(offset, bytes) & ~valid) != 0) bytes /= 2;
  return bytes;
}

std::uint32_t WriteCombining::leaving_choices() const {
  std::uint32_t choices = uncached_.empty() ? 0 : 1;
  for (const std::uint8_t index : in_age_order()) {
    const Line& line = lines_[index];
    if (!line.closed) continue;
    if (is_numbered(line.content.kind)) {
      ++choices;
      continue;
    }
    for (ByteMask valid = line.valid; valid != 0; ++choices)
      valid &= ~byte_mask(first_byte(valid), piece_bytes(valid));
  }
  return choices;
}

MmioOperation WriteCombining::take_leaving(std::uint32_t choice) {
  for (std::uint32_t age = 0; age < in_use_; ++age) {
    const Line& line = lines_[by_age_[age]];
    if (!line.closed) continue;
    if (is_numbered(line.content.kind)) {
      // The bytes of one instruction are one run.
      if (choice-- == 0) return take_piece(age, first_byte(line.valid), byte_count(line.valid));
      continue;
    }
    for (ByteMask valid = line.valid; valid != 0;) {
      const std::uint32_t offset = first_byte(valid);
      const std::uint32_t bytes = piece_bytes(valid);
      if (choice-- == 0) return take_piece(age, offset, bytes);
      valid &= ~byte_mask(offset, bytes);
    }
  }
  WHARF_CHECK(choice == 0 && !uncached_.empty());
  const MmioOperation operation = uncached_.front();
  uncached_.pop_front();
  ++on_the_way_;
  return operation;
}

bool WriteCombining::next_leaving(MmioOperation& out) {
  if (leaving_choices() == 0) return false;
  out = take_leaving(0);
  return true;
}

MmioOperation WriteCombining::take_piece(std::uint32_t age, std::uint32_t offset, std::uint32_t bytes) {
  Line& line = lines_[by_age_[age]];
  MmioOperation piece = line.content;
  piece.address += offset;
  piece.length = static_cast<std::uint8_t>(bytes);
  piece.data = {};
  std::copy_n(line.content.data.begin() + offset, bytes, piece.data.begin());
  std::fill_n(line.content.data.begin() + offset, bytes, std::byte{0});
  line.valid &= ~byte_mask(offset, bytes);
  if (line.valid == 0) {
    used_ &= ~(std::uint64_t{1} << by_age_[age]);
    std::copy(by_age_.begin() + age + 1, by_age_.begin() + in_use_, by_age_.begin() + age);
    --in_use_;
  }
  ++on_the_way_;
  return piece;
}

std::uint32_t WriteCombining::open_lines() const {
  std::uint32_t open = 0;
  for (const std::uint8_t index : in_age_order()) open += lines_[index].closed ? 0U : 1U;
  return open;
}

bool WriteCombining::drained() const {
  if (mutated(MmioMutation::kFenceForgetsOpenLines)) {
    return in_use_ == open_lines() && uncached_.empty() && on_the_way_ == 0;
  }
  return in_use_ == 0 && uncached_.empty() && on_the_way_ == 0;
}

}  // namespace wharf::ordering
