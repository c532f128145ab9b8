// SPDX-License-Identifier: Apache-2.0
// Writes a run as a Perfetto timeline (timeline.pftrace, opened with ui.perfetto.dev): a process per host, a
// thread track per stage, a slice per span, and flow arrows that follow each operation from slice to slice.
//
// The file is a sequence of `Trace.packet` messages of Perfetto's protobuf schema (protos/perfetto/trace:
// TracePacket, TrackDescriptor, TrackEvent). Timestamps are nanoseconds, as Perfetto has them; the exact
// picoseconds are arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "trace/event_text.h"
#include "trace/tracer.h"

namespace wharf::trace {

class TimelineSink : public Sink {
 public:
  /// What it can draw; hand this to Tracer::attach().
  static constexpr std::uint32_t kMask =
      bit(EventKind::kOperationBegin) | bit(EventKind::kOperationEnd) | bit(EventKind::kSpan) |
      bit(EventKind::kPacketDropped) | bit(EventKind::kRetransmission) | bit(EventKind::kTimeout) |
      bit(EventKind::kStateChange) | bit(EventKind::kContextMiss) | bit(EventKind::kContextEviction) |
      bit(EventKind::kLineLost) | bit(EventKind::kAsyncEvent);

  /// Smallest useful budget: the descriptions at the head of the file and the note that it was cut.
  static constexpr Bytes kLeastBudget = kibibytes(16);

  /// Writes to `out`, which outlives the sink, and stops drawing before the file grows beyond `budget` (at
  /// least kLeastBudget).
  TimelineSink(std::ostream& out, Bytes budget, ValueNames names = {});

  void record(const TraceEvent& event) override;

  /// Ends the file, saying in it when it was cut and how much is missing. An Error of kind kEnvironment when
  /// `out` could not be written. Called once, last.
  Result<void> finish();

  /// Events that did not fit into the budget.
  std::uint64_t left_out() const { return left_out_; }
  /// Time of the first event that did not fit; kNever when all did.
  TimePs cut_at() const { return cut_at_; }
  /// Bytes written so far.
  std::uint64_t bytes() const { return bytes_; }

 private:
  /// A row of the timeline: slices on one lane never overlap.
  struct Lane {
    std::uint64_t track = 0;
    TimePs busy_until;
  };
  /// Lanes of one stage (or of the operations, or of the instants) of one host.
  struct LaneKey {
    std::uint32_t host = 0;
    std::uint16_t row = 0;
    auto operator<=>(const LaneKey&) const = default;
  };
  struct OpenOperation {
    TimePs begin;
    std::uint64_t verb = 0;
    std::uint64_t bytes = 0;
    std::uint32_t host = 0;
  };
  /// One slice or instant, before it is encoded.
  struct Drawing {
    std::uint64_t track = 0;
    std::uint64_t name_iid = 0;
    const std::string* name = nullptr;  ///< When the name is not interned.
    TimePs begin;
    TimePs end;
    std::uint64_t flow = 0;
    bool ends_flow = false;
    bool instant = false;
    std::uint64_t argument = 0;      ///< Shown when not zero.
    std::uint64_t second_name = 0;   ///< Interned name of a second argument; 0: there is none.
    std::uint64_t second_value = 0;  ///< Shown whatever it is.
  };

  bool has_room(std::uint64_t bytes);
  void write_packet(const std::string& packet);
  void write_head();
  /// The place of `host` among the hosts that have rows, described at its first.
  std::uint32_t describe_host(std::uint32_t host);
  /// A lane of `key` that is free from `begin`, occupied until `end` from now on.
  std::uint64_t lane(LaneKey key, TimePs begin, TimePs end);
  void draw(const Drawing& drawing);
  void draw_span(const TraceEvent& event);
  void end_operation(const TraceEvent& event);
  void draw_instant(const TraceEvent& event);

  std::ostream& out_;
  std::uint64_t budget_;
  ValueNames names_;
  std::uint64_t bytes_ = 0;
  std::uint64_t left_out_ = 0;
  TimePs cut_at_ = kNever;
  std::uint64_t next_track_ = 1;
  std::map<LaneKey, std::vector<Lane>> lanes_;
  std::unordered_map<std::uint32_t, std::uint32_t> place_of_host_;  // Looked up, never iterated.
  std::unordered_map<std::uint64_t, OpenOperation> open_;           // Looked up by tag, never iterated.
};

}  // namespace wharf::trace
