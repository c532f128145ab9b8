// SPDX-License-Identifier: Apache-2.0
// Valid vectors, the length address register and the test for a complete message.
#include "engine/ordering/reorder_unit.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "engine/ordering/mmio_mutation.h"
#include "engine/ordering/mmio_state.h"

namespace wharf::ordering {
namespace {

std::uint32_t rounded_up(std::uint32_t value, std::uint32_t multiple) {
  return (value + multiple - 1U) & ~(multiple - 1U);
}

}  // namespace

ReorderUnit::ReorderUnit(const ReorderUnitConfig& config)
    : config_(config),
      reach_(std::min(config.buffer_bytes, config.window_bytes - kLineBytes)),
      stale_span_(std::max(kLineBytes, (config.window_bytes - reach_) / 2)),
      queues_(config.queues),
      data_(std::size_t{config.active_buffers} * config.buffer_bytes),
      valid_(std::size_t{config.active_buffers} * config.buffer_bytes / kLineBytes),
      free_(config.active_buffers),
      free_count_(config.active_buffers),
      pending_(config.queues),
      memory_free_(config.memory_bytes) {
  WHARF_CHECK(config.queues >= 1 && config.active_buffers >= 1);
  WHARF_CHECK(std::has_single_bit(config.buffer_bytes) && config.buffer_bytes >= kLineBytes);
  WHARF_CHECK(std::has_single_bit(config.window_bytes) && config.window_bytes >= 2 * kLineBytes);
  WHARF_CHECK(config.window_bytes >= config.buffer_bytes);
  WHARF_CHECK(config.length_bytes >= 1 && config.length_bytes <= 4 && config.length_offset <= 4095);
  WHARF_CHECK(config.length_offset + config.length_bytes <= reach_);
  WHARF_CHECK(std::has_single_bit(config.alignment) && config.alignment <= kLineBytes);
  WHARF_CHECK(config.memory_bytes % kLineBytes == 0 && config.memory_bytes >= config.buffer_bytes);
  for (std::uint32_t i = 0; i < free_count_; ++i) free_[i] = free_count_ - 1U - i;
}

std::uint32_t ReorderUnit::length_address(std::uint32_t queue) const {
  return (queues_[queue].start + config_.length_offset) & (config_.window_bytes - 1U);
}

ByteMask ReorderUnit::ahead(const Queue& queue, std::uint32_t offset, ByteMask enabled, bool& too_far) const {
  const std::uint32_t window_mask = config_.window_bytes - 1U;
  // Nearly always the whole line lies ahead.
  if (((offset - queue.start) & window_mask) + kLineBytes <= reach_) return enabled;
  ByteMask result = 0;
  for (ByteMask left = enabled; left != 0; left &= left - 1U) {
    const std::uint32_t byte = first_byte(left);
    const std::uint32_t distance = (offset + byte - queue.start) & window_mask;
    if (distance < reach_) {
      result |= ByteMask{1} << byte;
    } else if (config_.window_bytes - distance > stale_span_) {
      too_far = true;
    } else if (mutated(MmioMutation::kStaleBytesAccepted)) {
      result |= ByteMask{1} << byte;
    }
  }
  return result;
}

ReorderedWrite ReorderUnit::write(std::uint32_t queue_index, std::uint32_t offset,
                                  std::span<const std::byte> bytes, ByteMask enabled) {
  WHARF_CHECK(!bytes.empty() && offset % kLineBytes + bytes.size() <= kLineBytes);
  if (queue_index >= queues_.size() || offset >= config_.window_bytes) {
    ++errors_.outside;
    return ReorderedWrite::kOutside;
  }
  Queue& queue = queues_[queue_index];
  if (queue.fault != ReorderFault::kNone) return ReorderedWrite::kFailed;
  bool too_far = false;
  const ByteMask written = enabled & byte_mask(0, static_cast<std::uint32_t>(bytes.size()));
  const ByteMask fresh = ahead(queue, offset, written, too_far);
  if (too_far) {
    // Complete messages that NIC memory has no room for: the credits of the link stall the core.
    if (queue.pending) return ReorderedWrite::kHeld;
    ++errors_.too_far;
    return ReorderedWrite::kTooFar;
  }
  if (fresh == 0) return ReorderedWrite::kStale;
  if (queue.buffer == kNoBuffer) {
    if (free_count_ == 0) return ReorderedWrite::kHeld;
    queue.buffer = free_[--free_count_];
  }
  const std::uint32_t first = offset & (config_.buffer_bytes - 1U);
  std::byte* data = data_.data() + std::size_t{queue.buffer} * config_.buffer_bytes + first;
  if (fresh == byte_mask(0, static_cast<std::uint32_t>(bytes.size()))) {
    std::copy(bytes.begin(), bytes.end(), data);
  } else {
    for (ByteMask left = fresh; left != 0; left &= left - 1U)
      data[first_byte(left)] = bytes[first_byte(left)];
  }
  // A write stays within a line, and a line's valid bits are one word.
  valid_words(queue.buffer)[first / kLineBytes] |= fresh << (first % kLineBytes);
  if (!queue.pending) pending_.push_back(queue_index);
  queue.pending = true;
  return ReorderedWrite::kTaken;
}

void ReorderUnit::transmitted(std::uint32_t length) {
  memory_free_ += rounded_up(length, kLineBytes);
  WHARF_CHECK(memory_free_ <= config_.memory_bytes);
}

ReorderUnit::Length ReorderUnit::read_length(const Queue& queue) const {
  Length length;
  const std::uint32_t field = queue.start + config_.length_offset;
  const std::uint32_t needed = mutated(MmioMutation::kLengthByteAlone) ? 1 : config_.length_bytes;
  if (queue.buffer == kNoBuffer || !all_valid(queue.buffer, field, needed)) return length;
  length.valid = true;
  for (std::uint32_t i = 0; i < config_.length_bytes; ++i) {
    length.bytes |= std::to_integer<std::uint32_t>(byte_at(queue.buffer, field + i)) << (8U * i);
  }
  if (config_.continuation_bit) {
    const std::uint32_t bit = 1U << (8U * config_.length_bytes - 1U);
    length.continued = (length.bytes & bit) != 0;
    length.bytes &= ~bit;
  }
  return length;
}

bool ReorderUnit::complete(Queue& queue, ReorderedMessage& out) {
  Length length = read_length(queue);
  while (length.valid && length.bytes == 0 && config_.zero_length == ZeroLength::kSkipToNextLine) {
    const std::uint32_t next = rounded_up(queue.start + 1U, kLineBytes);
    advance(queue, next, queue.start, {});
    length = read_length(queue);
  }
  if (!length.valid) return false;
  if (length.bytes < config_.length_offset + config_.length_bytes) queue.fault = ReorderFault::kTooShort;
  if (length.bytes > reach_) queue.fault = ReorderFault::kTooLong;
  if (queue.fault != ReorderFault::kNone) {
    const std::uint32_t start = queue.start;
    advance(queue, start + reach_, start, {});  // Its data buffer serves others.
    queue.start = start;
    return false;
  }
  if (!all_valid(queue.buffer, queue.start, length.bytes)) return false;
  out.offset = queue.start;
  out.length = length.bytes;
  out.continued = length.continued;
  return true;
}

bool ReorderUnit::next_message(ReorderedMessage& out, std::span<std::byte> into) {
  WHARF_CHECK(into.size() >= reach_);
  while (!pending_.empty()) {
    const std::uint32_t index = pending_.front();
    Queue& queue = queues_[index];
    out.queue = index;
    if (!complete(queue, out)) {
      pending_.pop_front();
      queue.pending = false;
      continue;
    }
    const std::uint32_t memory = rounded_up(out.length, kLineBytes);
    if (memory > memory_free_) return false;
    memory_free_ -= memory;
    ++messages_;
    advance(queue, rounded_up(queue.start + out.length, config_.alignment), queue.start,
            into.first(out.length));
    // Queues take turns.
    pending_.pop_front();
    pending_.push_back(index);
    return true;
  }
  return false;
}

void ReorderUnit::advance(Queue& queue, std::uint32_t start, std::uint32_t from, std::span<std::byte> into) {
  const auto words = valid_words(queue.buffer);
  const std::uint32_t index_mask = config_.buffer_bytes - 1U;
  if (!into.empty()) {
    const std::byte* data = data_.data() + std::size_t{queue.buffer} * config_.buffer_bytes;
    const std::size_t before_end =
        std::min<std::size_t>(into.size(), config_.buffer_bytes - (from & index_mask));
    std::copy_n(data + (from & index_mask), before_end, into.begin());
    std::copy_n(data, into.size() - before_end, into.begin() + static_cast<std::ptrdiff_t>(before_end));
  }
  for (std::uint32_t offset = from; offset != start && !mutated(MmioMutation::kValidBitsStay);) {
    const std::uint32_t in_line = offset % kLineBytes;
    const std::uint32_t count = std::min(kLineBytes - in_line, start - offset);
    words[(offset & index_mask) / kLineBytes] &= ~byte_mask(in_line, count);
    offset += count;
  }
  queue.start = start & (config_.window_bytes - 1U);
  release_if_empty(queue);
}

void ReorderUnit::release_if_empty(Queue& queue) {
  const auto words = valid_words(queue.buffer);
  if (std::any_of(words.begin(), words.end(), [](std::uint64_t word) { return word != 0; })) return;
  free_[free_count_++] = queue.buffer;
  queue.buffer = kNoBuffer;
}

std::optional<std::uint32_t> ReorderUnit::first_missing(std::uint32_t queue_index) const {
  const Queue& queue = queues_[queue_index];
  if (queue.buffer == kNoBuffer) return std::nullopt;
  std::uint32_t offset = queue.start;
  while (valid(queue.buffer, offset) && offset - queue.start < reach_) ++offset;
  return offset & (config_.window_bytes - 1U);
}

void ReorderUnit::read(std::uint32_t queue_index, std::uint32_t offset, std::span<std::byte> out) const {
  const Queue& queue = queues_[queue_index];
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    const std::uint32_t distance = (offset + i - queue.start) & (config_.window_bytes - 1U);
    const bool held = queue.buffer != kNoBuffer && distance < reach_ && valid(queue.buffer, offset + i);
    out[i] = held ? byte_at(queue.buffer, offset + i) : std::byte{0};
  }
}

void ReorderUnit::append_state(std::vector<std::byte>& out) const {
  MmioStateWriter writer(out);
  writer.put(memory_free_);
  writer.put(static_cast<std::uint32_t>(pending_.size()));
  for (std::size_t i = 0; i < pending_.size(); ++i) writer.put(pending_[i]);
  for (const Queue& queue : queues_) {
    writer.put(queue.start);
    writer.put(static_cast<std::uint8_t>(queue.fault));
    writer.put(static_cast<std::uint8_t>(queue.buffer != kNoBuffer));
    if (queue.buffer == kNoBuffer) continue;
    for (const std::uint64_t word : valid_words(queue.buffer)) writer.put(word);
    for (std::uint32_t offset = queue.start; offset != queue.start + config_.buffer_bytes; ++offset) {
      if (valid(queue.buffer, offset))
        writer.put(std::to_integer<std::uint8_t>(byte_at(queue.buffer, offset)));
    }
  }
}

bool ReorderUnit::valid(std::uint32_t buffer, std::uint32_t offset) const {
  return ((valid_words(buffer)[(offset & (config_.buffer_bytes - 1U)) / kLineBytes] >>
           (offset % kLineBytes)) &
          1U) != 0;
}

bool ReorderUnit::all_valid(std::uint32_t buffer, std::uint32_t offset, std::uint32_t count) const {
  const auto words = valid_words(buffer);
  const std::uint32_t end = offset + count;
  while (offset != end) {
    const std::uint32_t in_line = offset % kLineBytes;
    const std::uint32_t here = std::min(kLineBytes - in_line, end - offset);
    if ((byte_mask(in_line, here) & ~words[(offset & (config_.buffer_bytes - 1U)) / kLineBytes]) != 0)
      return false;
    offset += here;
  }
  return true;
}

std::byte ReorderUnit::byte_at(std::uint32_t buffer, std::uint32_t offset) const {
  return data_[std::size_t{buffer} * config_.buffer_bytes + (offset & (config_.buffer_bytes - 1U))];
}

std::span<std::uint64_t> ReorderUnit::valid_words(std::uint32_t buffer) {
  const std::size_t words = config_.buffer_bytes / kLineBytes;
  return std::span(valid_).subspan(buffer * words, words);
}

std::span<const std::uint64_t> ReorderUnit::valid_words(std::uint32_t buffer) const {
  const std::size_t words = config_.buffer_bytes / kLineBytes;
  return std::span(valid_).subspan(buffer * words, words);
}

}  // namespace wharf::ordering
