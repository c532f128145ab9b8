// SPDX-License-Identifier: Apache-2.0
// A recorded memory trace as the replay sees it, whatever file it came from: data accesses with the number of
// instructions between them, and what is known of the program's heap and stack.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wharf::sim {

enum class TraceKind : std::uint8_t {
  kLoad,
  kStore,
  kModify,        ///< A load and a store of the same bytes by one instruction: one access.
  kInstructions,  ///< No access: instructions only (the end of a trace, or a run too long for one record).
};

/// One data access and the instructions executed since the previous record, its own included.
struct TraceRecord {
  std::uint64_t address = 0;
  std::uint32_t instructions = 0;
  std::uint16_t size = 0;  ///< Bytes, 1 to 65535; 0 for kInstructions. address + size does not wrap.
  TraceKind kind = TraceKind::kLoad;

  bool operator==(const TraceRecord&) const = default;
};
static_assert(sizeof(TraceRecord) == 16);

/// Addresses first <= a < end.
struct AddressRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;

  bool empty() const { return first >= end; }
  bool contains(std::uint64_t address) const { return address - first < end - first; }
  bool operator==(const AddressRange&) const = default;
};

/// Where the traced program had its heap and stack.
///
/// Exact when the recording also has valgrind's `--trace-syscalls=yes`: the heap is then what brk returned
/// and what mmap gave without a file and without a fixed address. Otherwise a heuristic for valgrind 3.19 on
/// amd64 (the layout is valgrind's own and has not changed since 3.0): the stack is the 256 MiB below
/// 0x1fff001000, and the heap is everything else that is not known to be code or data of a file: since that
/// is not in the trace, every address outside the stack and the 16 MiB after 0x4000000 (where the dynamic
/// linker lands) counts as heap, so a library's static data is taken for heap.
struct TraceRegions {
  static constexpr std::size_t kMaxHeapRanges = 32;

  std::vector<AddressRange> heap;  ///< Sorted, disjoint, not adjacent; at most kMaxHeapRanges.
  AddressRange stack{0x1fef001000, 0x1fff001000};
  bool exact = false;  ///< The heap ranges were recorded.

  bool is_stack(std::uint64_t address) const { return stack.contains(address); }
  bool is_heap(std::uint64_t address) const;
  /// Adds a range to the heap, joining what touches. Past kMaxHeapRanges the two ranges with the smallest gap
  /// between them become one.
  void add_heap(AddressRange range);

  bool operator==(const TraceRegions&) const = default;
};

/// What a trace contains.
struct TraceCounts {
  std::uint64_t loads = 0;
  std::uint64_t stores = 0;
  std::uint64_t modifies = 0;
  std::uint64_t instructions = 0;

  std::uint64_t accesses() const { return loads + stores + modifies; }
  void count(const TraceRecord& record);
  bool operator==(const TraceCounts&) const = default;
};

}  // namespace wharf::sim
