// SPDX-License-Identifier: Apache-2.0
#include "sim/host/replay/access_trace.h"

#include <algorithm>

#include "base/check.h"

namespace wharf::sim {

namespace {

/// Where valgrind loads the dynamic linker, and the room that it and its data take.
constexpr AddressRange kLinkerRange{0x4000000, 0x5000000};

}  // namespace

bool TraceRegions::is_heap(std::uint64_t address) const {
  if (!exact) return !stack.contains(address) && !kLinkerRange.contains(address);
  const auto after =
      std::upper_bound(heap.begin(), heap.end(), address,
                       [](std::uint64_t a, const AddressRange& range) { return a < range.first; });
  return after != heap.begin() && std::prev(after)->contains(address);
}

void TraceRegions::add_heap(AddressRange range) {
  exact = true;
  if (range.empty()) return;
  auto at = std::lower_bound(heap.begin(), heap.end(), range,
                             [](const AddressRange& a, const AddressRange& b) { return a.end < b.first; });
  while (at != heap.end() && at->first <= range.end) {
    range = {std::min(range.first, at->first), std::max(range.end, at->end)};
    at = heap.erase(at);
  }
  heap.insert(at, range);
  if (heap.size() <= kMaxHeapRanges) return;
  std::size_t nearest = 1;
  for (std::size_t i = 2; i < heap.size(); ++i) {
    if (heap[i].first - heap[i - 1].end < heap[nearest].first - heap[nearest - 1].end) nearest = i;
  }
  heap[nearest - 1].end = heap[nearest].end;
  heap.erase(heap.begin() + static_cast<std::ptrdiff_t>(nearest));
}

void TraceCounts::count(const TraceRecord& record) {
  instructions += record.instructions;
  switch (record.kind) {
    case TraceKind::kLoad:
      ++loads;
      return;
    case TraceKind::kStore:
      ++stores;
      return;
    case TraceKind::kModify:
      ++modifies;
      return;
    case TraceKind::kInstructions:
      return;
  }
  WHARF_UNREACHABLE();
}

}  // namespace wharf::sim
