// SPDX-License-Identifier: Apache-2.0
#include "trace/timeline_sink.h"

#include <fmt/format.h>

#include <protozero/pbf_builder.hpp>

#include "base/check.h"
#include "trace/perfetto_fields.h"

namespace wharf::trace {
namespace {

using protozero::pbf_builder;

/// All packets are on one sequence, so that they share the interned names.
constexpr std::uint32_t kSequence = 1;

// Interned names: stages, then event kinds; and the arguments.
constexpr std::uint64_t kFirstStageName = 1;
constexpr std::uint64_t kFirstKindName = kFirstStageName + kStageCount;
constexpr std::uint64_t kBeginPsArgument = 1;
constexpr std::uint64_t kLengthPsArgument = 2;
constexpr std::uint64_t kValueArgument = 3;
constexpr std::uint64_t kPacketsArgument = 4;
constexpr std::uint64_t kToArgument = 5;
constexpr std::uint64_t kStatusArgument = 6;
constexpr std::uint64_t kQueueArgument = 7;

// Rows of a host below its stages.
constexpr std::uint16_t kOperationRow = kStageCount;
constexpr std::uint16_t kInstantRow = kStageCount + 1;

/// Slices on more lanes than this in one row tell a reader nothing.
constexpr std::size_t kMostLanes = 256;
/// Hosts with rows; more would run out of thread ids, which are 31 bits.
constexpr std::size_t kMostHosts = 65'536;
constexpr std::uint64_t kNoTrack = 0;

/// More than any one drawing or description takes, and room for the note at the end.
constexpr std::uint64_t kDrawingBytes = 512;
constexpr std::uint64_t kNoteBytes = 512;

std::uint64_t stage_name(Stage stage) { return kFirstStageName + static_cast<std::uint64_t>(stage); }
std::uint64_t kind_name(EventKind kind) { return kFirstKindName + static_cast<std::uint64_t>(kind); }

// Perfetto shows a thread in the process whose pid its track names. Pids and tids are unique in the file:
// they follow from the place of a host among those that have rows, and tids begin where pids have ended.
constexpr std::int32_t kFirstTid = 1'000'000;
static_assert(kMostHosts + 1 < kFirstTid);
std::int32_t pid_of(std::uint32_t place) { return static_cast<std::int32_t>(place) + 1; }
/// The process track of a host; thread tracks count up from 1 and stay below.
std::uint64_t process_track(std::uint32_t host) { return (std::uint64_t{1} << 32U) + host; }

/// What the second value of an event of `kind` is called; 0 when it has none.
std::uint64_t second_argument(EventKind kind) {
  if (kind == EventKind::kRetransmission) return kPacketsArgument;
  if (kind == EventKind::kStateChange) return kToArgument;
  if (kind == EventKind::kLineLost) return kStatusArgument;
  if (kind == EventKind::kAsyncEvent) return kQueueArgument;
  return 0;
}

/// "async_event peer_unreachable" when `names` has a word for what happened; else empty.
std::string title_of(const TraceEvent& event, const ValueNames& names) {
  if (event.kind == EventKind::kAsyncEvent && names.async_event != nullptr)
    return fmt::format("{} {}", name(event.kind), names.async_event(event.a));
  if (event.kind == EventKind::kPacketDropped && names.drop_reason != nullptr)
    return fmt::format("{} {}", name(event.kind), names.drop_reason(event.a));
  if (event.kind == EventKind::kLineLost && names.status != nullptr)
    return fmt::format("{} {}", name(event.kind), names.status(event.b));
  return {};
}

std::uint64_t whole_nanoseconds(TimePs time) { return static_cast<std::uint64_t>(time.ps) / 1000; }

void add_name(pbf_builder<perfetto::InternedData>& data, perfetto::InternedData list, std::uint64_t iid,
              std::string_view name) {
  pbf_builder<perfetto::InternedName> entry(data, list);
  entry.add_uint64(perfetto::InternedName::kIid, iid);
  entry.add_string(perfetto::InternedName::kName, name.data(), name.size());
}

void add_argument(pbf_builder<perfetto::TrackEvent>& event, std::uint64_t name_iid, std::uint64_t value) {
  pbf_builder<perfetto::DebugAnnotation> argument(event, perfetto::TrackEvent::kDebugAnnotations);
  argument.add_uint64(perfetto::DebugAnnotation::kNameIid, name_iid);
  argument.add_uint64(perfetto::DebugAnnotation::kUintValue, value);
}

}  // namespace

TimelineSink::TimelineSink(std::ostream& out, Bytes budget, ValueNames names)
    : out_(out), budget_(budget.count), names_(names) {
  WHARF_CHECK(budget >= kLeastBudget);
  write_head();
}

bool TimelineSink::has_room(std::uint64_t bytes) { return bytes_ + bytes + kNoteBytes <= budget_; }

void TimelineSink::write_packet(const std::string& packet) {
  std::string framed;
  pbf_builder<perfetto::Trace> trace(framed);
  trace.add_message(perfetto::Trace::kPacket, packet);
  out_.write(framed.data(), static_cast<std::streamsize>(framed.size()));
  bytes_ += framed.size();
}

void TimelineSink::write_head() {
  std::string packet;
  pbf_builder<perfetto::TracePacket> builder(packet);
  builder.add_uint32(perfetto::TracePacket::kTrustedPacketSequenceId, kSequence);
  builder.add_uint32(perfetto::TracePacket::kSequenceFlags, perfetto::kIncrementalStateCleared);
  {
    pbf_builder<perfetto::InternedData> data(builder, perfetto::TracePacket::kInternedData);
    for (int i = 0; i < kStageCount; ++i) {
      const auto stage = static_cast<Stage>(i);
      add_name(data, perfetto::InternedData::kEventNames, stage_name(stage), name(stage));
    }
    for (int i = 0; i < kEventKindCount; ++i) {
      const auto kind = static_cast<EventKind>(i);
      add_name(data, perfetto::InternedData::kEventNames, kind_name(kind), name(kind));
    }
    add_name(data, perfetto::InternedData::kDebugAnnotationNames, kBeginPsArgument, "begin_ps");
    add_name(data, perfetto::InternedData::kDebugAnnotationNames, kLengthPsArgument, "length_ps");
    add_name(data, perfetto::InternedData::kDebugAnnotationNames, kValueArgument, "value");
    add_name(data, perfetto::InternedData::kDebugAnnotationNames, kPacketsArgument, "packets");
    add_name(data, perfetto::InternedData::kDebugAnnotationNames, kToArgument, "to");
    add_name(data, perfetto::InternedData::kDebugAnnotationNames, kStatusArgument, "status");
    add_name(data, perfetto::InternedData::kDebugAnnotationNames, kQueueArgument, "queue");
  }
  write_packet(packet);
}

std::uint32_t TimelineSink::describe_host(std::uint32_t host) {
  const auto place = static_cast<std::uint32_t>(place_of_host_.size());
  const auto [known, fresh] = place_of_host_.try_emplace(host, place);
  if (!fresh) return known->second;
  std::string packet;
  pbf_builder<perfetto::TracePacket> builder(packet);
  builder.add_uint32(perfetto::TracePacket::kTrustedPacketSequenceId, kSequence);
  {
    pbf_builder<perfetto::TrackDescriptor> track(builder, perfetto::TracePacket::kTrackDescriptor);
    track.add_uint64(perfetto::TrackDescriptor::kUuid, process_track(host));
    pbf_builder<perfetto::ProcessDescriptor> process(track, perfetto::TrackDescriptor::kProcess);
    process.add_int32(perfetto::ProcessDescriptor::kPid, pid_of(place));
    process.add_string(perfetto::ProcessDescriptor::kProcessName, fmt::format("host {}", host));
  }
  write_packet(packet);
  return place;
}

std::uint64_t TimelineSink::lane(LaneKey key, TimePs begin, TimePs end) {
  std::vector<Lane>& lanes = lanes_[key];
  for (Lane& candidate : lanes) {
    if (candidate.busy_until > begin) continue;
    candidate.busy_until = end;
    return candidate.track;
  }
  if (lanes.size() >= kMostLanes) return kNoTrack;
  // Host 0 always has a row: the note at the end needs one.
  if (place_of_host_.size() >= kMostHosts && key.host != 0 && !place_of_host_.contains(key.host))
    return kNoTrack;
  const std::uint32_t place = describe_host(key.host);
  const std::uint64_t uuid = next_track_++;
  lanes.push_back({uuid, end});

  std::string title = key.row < kStageCount    ? std::string(name(static_cast<Stage>(key.row)))
                      : key.row == kInstantRow ? "events"
                                               : "operations";
  if (lanes.size() > 1) title += fmt::format(" {}", lanes.size());
  std::string packet;
  pbf_builder<perfetto::TracePacket> builder(packet);
  builder.add_uint32(perfetto::TracePacket::kTrustedPacketSequenceId, kSequence);
  {
    pbf_builder<perfetto::TrackDescriptor> track(builder, perfetto::TracePacket::kTrackDescriptor);
    track.add_uint64(perfetto::TrackDescriptor::kUuid, uuid);
    track.add_uint64(perfetto::TrackDescriptor::kParentUuid, process_track(key.host));
    pbf_builder<perfetto::ThreadDescriptor> thread(track, perfetto::TrackDescriptor::kThread);
    thread.add_int32(perfetto::ThreadDescriptor::kPid, pid_of(place));
    // Perfetto lists threads by tid: operations first, then stages in the order of an operation's path, then
    // events.
    const std::int32_t rank = key.row == kOperationRow ? 0 : key.row + 1;
    constexpr std::int32_t kRanks = kStageCount + 2;
    const std::int32_t tid =
        kFirstTid +
        (static_cast<std::int32_t>(place) * kRanks + rank) * static_cast<std::int32_t>(kMostLanes) +
        static_cast<std::int32_t>(lanes.size());
    thread.add_int32(perfetto::ThreadDescriptor::kTid, tid);
    thread.add_string(perfetto::ThreadDescriptor::kThreadName, title);
  }
  write_packet(packet);
  return uuid;
}

void TimelineSink::draw(const Drawing& drawing) {
  std::string packet;
  const auto begin_packet = [&packet, &drawing](TimePs at, int type, auto fill) {
    packet.clear();
    pbf_builder<perfetto::TracePacket> builder(packet);
    builder.add_uint64(perfetto::TracePacket::kTimestamp, whole_nanoseconds(at));
    builder.add_uint32(perfetto::TracePacket::kTrustedPacketSequenceId, kSequence);
    builder.add_uint32(perfetto::TracePacket::kSequenceFlags, perfetto::kNeedsIncrementalState);
    pbf_builder<perfetto::TrackEvent> event(builder, perfetto::TracePacket::kTrackEvent);
    event.add_enum(perfetto::TrackEvent::kType, type);
    event.add_uint64(perfetto::TrackEvent::kTrackUuid, drawing.track);
    fill(event);
  };
  begin_packet(drawing.begin, drawing.instant ? perfetto::kInstant : perfetto::kSliceBegin,
               [&drawing](pbf_builder<perfetto::TrackEvent>& event) {
                 if (drawing.name != nullptr) {
                   event.add_string(perfetto::TrackEvent::kName, *drawing.name);
                 } else {
                   event.add_uint64(perfetto::TrackEvent::kNameIid, drawing.name_iid);
                 }
                 if (drawing.flow != 0) {
                   event.add_fixed64(drawing.ends_flow ? perfetto::TrackEvent::kTerminatingFlowIds
                                                       : perfetto::TrackEvent::kFlowIds,
                                     drawing.flow);
                 }
                 add_argument(event, kBeginPsArgument, static_cast<std::uint64_t>(drawing.begin.ps));
                 if (!drawing.instant) {
                   add_argument(event, kLengthPsArgument,
                                static_cast<std::uint64_t>((drawing.end - drawing.begin).ps));
                 }
                 if (drawing.argument != 0) add_argument(event, kValueArgument, drawing.argument);
                 if (drawing.second_name != 0) add_argument(event, drawing.second_name, drawing.second_value);
               });
  write_packet(packet);
  if (drawing.instant) return;
  begin_packet(drawing.end, perfetto::kSliceEnd, [](pbf_builder<perfetto::TrackEvent>&) {});
  write_packet(packet);
}

void TimelineSink::draw_span(const TraceEvent& event) {
  const std::uint64_t track =
      lane({event.host, static_cast<std::uint16_t>(event.stage)}, event.begin, event.end);
  if (track == kNoTrack) {
    ++left_out_;
    return;
  }
  draw({.track = track,
        .name_iid = stage_name(event.stage),
        .begin = event.begin,
        .end = event.end,
        .flow = event.operation.value});
}

void TimelineSink::end_operation(const TraceEvent& event) {
  const auto found = open_.find(event.operation.value);
  if (found == open_.end()) return;
  const OpenOperation operation = found->second;
  open_.erase(found);
  const std::uint64_t track = lane({operation.host, kOperationRow}, operation.begin, event.begin);
  if (track == kNoTrack) {
    ++left_out_;
    return;
  }
  const std::string title = names_.verb != nullptr
                                ? fmt::format("{} {} B", names_.verb(operation.verb), operation.bytes)
                                : fmt::format("verb {} {} B", operation.verb, operation.bytes);
  draw({.track = track,
        .name = &title,
        .begin = operation.begin,
        .end = event.begin,
        .flow = event.operation.value,
        .argument = event.a});
  // The arrow of the last stage ends at the completion.
  draw({.track = track,
        .name_iid = kind_name(event.kind),
        .begin = event.begin,
        .end = event.begin,
        .flow = event.operation.value,
        .ends_flow = true,
        .instant = true});
}

void TimelineSink::draw_instant(const TraceEvent& event) {
  const std::uint64_t track = lane({event.host, kInstantRow}, event.begin, event.begin);
  if (track == kNoTrack) {
    ++left_out_;
    return;
  }
  const std::string title = title_of(event, names_);
  draw({.track = track,
        .name_iid = kind_name(event.kind),
        .name = title.empty() ? nullptr : &title,
        .begin = event.begin,
        .end = event.begin,
        .flow = event.operation.value,
        .instant = true,
        .argument = event.a,
        .second_name = second_argument(event.kind),
        .second_value = event.b});
}

void TimelineSink::record(const TraceEvent& event) {
  // A drawing may bring the description of a host and of up to one lane with it.
  if (cut_at_ != kNever || !has_room(4 * kDrawingBytes)) {
    cut_at_ = min(cut_at_, event.begin);
    ++left_out_;
    return;
  }
  switch (event.kind) {
    case EventKind::kSpan:
      draw_span(event);
      break;
    case EventKind::kOperationBegin:
      // Without a tag its end could not be told from the ends of others.
      if (event.operation.value != 0)
        open_[event.operation.value] = {event.begin, event.a, event.b, event.host};
      break;
    case EventKind::kOperationEnd:
      end_operation(event);
      break;
    case EventKind::kPacketSent:
    case EventKind::kPacketReceived:
      break;  // Spans on the wire show them.
    case EventKind::kPacketDropped:
    case EventKind::kRetransmission:
    case EventKind::kTimeout:
    case EventKind::kStateChange:
    case EventKind::kContextMiss:
    case EventKind::kContextEviction:
    case EventKind::kLineLost:
    case EventKind::kAsyncEvent:
      draw_instant(event);
      break;
  }
}

Result<void> TimelineSink::finish() {
  if (left_out_ > 0) {
    const bool cut = cut_at_ != kNever;
    const std::string note = cut ? fmt::format("CUT: {} events from here on did not fit into {}", left_out_,
                                               format_bytes(Bytes{budget_}))
                                 : fmt::format("{} events were left out: too many at one time", left_out_);
    const TimePs at = cut ? cut_at_ : kTimeZero;
    const std::uint64_t track = lane({0, kInstantRow}, at, at);
    const std::uint64_t shown = track == kNoTrack ? lanes_[LaneKey{0, kInstantRow}].front().track : track;
    draw({.track = shown, .name = &note, .begin = at, .end = at, .instant = true});
  }
  out_.flush();
  if (!out_.good()) return Error{ErrorKind::kEnvironment, "the timeline could not be written"};
  return {};
}

}  // namespace wharf::trace
