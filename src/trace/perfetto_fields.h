// SPDX-License-Identifier: Apache-2.0
// Field numbers of the messages of Perfetto's trace format that the timeline uses, from protos/perfetto/trace
// of the Perfetto project (trace_packet.proto, track_event.proto, track_descriptor.proto,
// interned_data.proto).
#pragma once

#include <protozero/types.hpp>

namespace wharf::trace::perfetto {

enum class Trace : protozero::pbf_tag_type { kPacket = 1 };

enum class TracePacket : protozero::pbf_tag_type {
  kTimestamp = 8,
  kTrustedPacketSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kTrackDescriptor = 60,
};
inline constexpr unsigned kIncrementalStateCleared = 1;
inline constexpr unsigned kNeedsIncrementalState = 2;

enum class TrackDescriptor : protozero::pbf_tag_type {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kThread = 4,
  kParentUuid = 5,
};
enum class ProcessDescriptor : protozero::pbf_tag_type { kPid = 1, kProcessName = 6 };
enum class ThreadDescriptor : protozero::pbf_tag_type { kPid = 1, kTid = 2, kThreadName = 5 };

enum class TrackEvent : protozero::pbf_tag_type {
  kDebugAnnotations = 4,
  kType = 9,
  kNameIid = 10,
  kTrackUuid = 11,
  kName = 23,
  kFlowIds = 47,
  kTerminatingFlowIds = 48,
};
inline constexpr int kSliceBegin = 1;
inline constexpr int kSliceEnd = 2;
inline constexpr int kInstant = 3;

enum class DebugAnnotation : protozero::pbf_tag_type { kNameIid = 1, kUintValue = 3 };

enum class InternedData : protozero::pbf_tag_type { kEventNames = 2, kDebugAnnotationNames = 3 };
/// EventName and DebugAnnotationName have the same two fields.
enum class InternedName : protozero::pbf_tag_type { kIid = 1, kName = 2 };

}  // namespace wharf::trace::perfetto
