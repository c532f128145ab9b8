// SPDX-License-Identifier: Apache-2.0
#include "sim/host/pcie/rlsq_agent.h"

#include <cstring>

#include "base/check.h"
#include "base/line.h"
#include "verbs/atomic_value.h"

namespace wharf::sim {

void RlsqAgent::settle() {
  for (;;) {
    bool moved = (waiting_ || queue_.has_memory_request()) && ask();
    while (agent_.has_event()) {
      moved = true;
      if (const IoEvent* const read = agent_.read_answer()) {
        queue_.read_done(read->line, read->bytes);
        agent_.read_answer_taken();
        if (queue_.has_perform()) perform_all();
        continue;
      }
      IoEvent event;
      agent_.next_event(event);
      switch (event.kind) {
        case IoEvent::Kind::kRead:
          WHARF_UNREACHABLE();
        case IoEvent::Kind::kOwned:
          queue_.owned(event.line);
          break;
        case IoEvent::Kind::kInvalidated:
          queue_.snoop_invalidate(event.line);
          break;
        case IoEvent::Kind::kDowngraded:
          queue_.snoop_share(event.line);
          break;
      }
      // An owner writes before it hears of the next event, which may take the line away.
      if (queue_.has_perform()) perform_all();
    }
    if (queue_.has_perform()) moved |= perform_all();
    if (!moved) return;
  }
}

bool RlsqAgent::ask() {
  bool moved = false;
  while (waiting_ || (queue_.has_memory_request() && queue_.next_memory_request(held_))) {
    waiting_ = true;
    if (held_.operation != ordering::MemoryOperation::kDrop && !agent_.has_room(held_.line)) return moved;
    waiting_ = false;
    moved = true;
    switch (held_.operation) {
      case ordering::MemoryOperation::kRead:
        agent_.read(0, held_.line, false);
        break;
      case ordering::MemoryOperation::kReadTracked:
        agent_.read(0, held_.line, true);
        break;
      case ordering::MemoryOperation::kOwn:
        agent_.own(0, held_.line, held_.is_whole_line);
        break;
      case ordering::MemoryOperation::kDrop:
        agent_.drop_tracking(held_.line);
        break;
    }
  }
  return moved;
}

bool RlsqAgent::perform_all() {
  ordering::Perform work;
  bool moved = false;
  while (queue_.next_perform(work)) {
    moved = true;
    perform(work);
  }
  return moved;
}

void RlsqAgent::perform(const ordering::Perform& work) {
  if (work.kind == ordering::Kind::kWrite) {
    agent_.perform_write(work.line, work.bytes, work.mask, work.keeps_ownership);
    queue_.performed(work.line);
    return;
  }
  const LineBytes* const line = agent_.owned_bytes(work.line);
  WHARF_CHECK(line != nullptr);
  const std::uint32_t offset = ordering::first_byte(work.mask);
  const std::uint32_t width = ordering::byte_count(work.mask);
  std::array<std::uint64_t, 2> old{};
  WHARF_CHECK(width <= sizeof old);
  std::memcpy(old.data(), line->data() + offset, width);
  std::array<std::uint64_t, 2> next = old;
  bool writes = true;
  if (work.atomic == verbs::Verb::kCompareSwap) {
    const std::uint64_t low = width >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * width)) - 1;
    writes = (old[0] & low) == (work.compare[0] & low) && (width < 16 || old[1] == work.compare[1]);
    if (writes) next = work.operand;
  } else if (work.atomic == verbs::Verb::kSwap) {
    next = work.operand;
  } else {
    // PCIe has no wider atomic beside swap and compare-and-swap. [PCIe Base 5.0 6.15]
    WHARF_CHECK(width <= 8);
    next[0] = verbs::atomic_value(work.atomic, old[0], work.operand[0], std::uint64_t{0});
  }
  if (writes || work.keeps_ownership) {
    LineBytes bytes{};
    std::memcpy(bytes.data() + offset, next.data(), width);
    agent_.perform_write(work.line, bytes, work.mask, work.keeps_ownership);
  } else {
    agent_.release(work.line);
  }
  queue_.performed(work.line, old);
}

void RlsqAgent::append_state(std::vector<std::byte>& state) const {
  queue_.append_state(state);
  agent_.append_state(state);
  append_bytes(state, static_cast<std::uint8_t>(waiting_ ? 1 : 0));
  if (!waiting_) return;
  append_bytes(state, static_cast<std::uint8_t>(held_.operation));
  append_bytes(state, static_cast<std::uint8_t>(held_.is_whole_line ? 1 : 0));
  append_bytes(state, held_.line);
}

}  // namespace wharf::sim
