// SPDX-License-Identifier: Apache-2.0
// Reads a timeline back with protozero's reader, for the tests of the sink and of the files that runs leave.
// What Perfetto relies on is checked on the way.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <protozero/pbf_message.hpp>
#include <string>
#include <vector>

#include "trace/perfetto_fields.h"

namespace wharf::trace {

/// The rows, slices and names of a timeline as Perfetto would read them.
struct DecodedTrack {
  std::uint64_t uuid = 0;
  std::uint64_t parent = 0;
  std::string process_name;
  std::string thread_name;
  std::int32_t pid = 0;
  std::int32_t tid = 0;
};

struct DecodedEvent {
  int type = 0;
  std::uint64_t track = 0;
  std::uint64_t timestamp = 0;
  std::string name;
  std::vector<std::uint64_t> flows;
  std::vector<std::uint64_t> ended_flows;
  std::map<std::string, std::uint64_t> arguments;
};

struct Decoded {
  std::map<std::uint64_t, DecodedTrack> tracks;
  std::vector<DecodedEvent> events;
  std::map<std::uint64_t, std::string> names;
  std::map<std::uint64_t, std::string> argument_names;
  unsigned cleared = 0;
};

inline void decode_names(protozero::pbf_message<perfetto::InternedData> data, Decoded& out) {
  while (data.next()) {
    auto& names = data.tag() == perfetto::InternedData::kEventNames ? out.names : out.argument_names;
    protozero::pbf_message<perfetto::InternedName> entry(data.get_message());
    std::uint64_t iid = 0;
    std::string text;
    while (entry.next()) {
      if (entry.tag() == perfetto::InternedName::kIid) iid = entry.get_uint64();
      if (entry.tag() == perfetto::InternedName::kName) text = entry.get_string();
    }
    EXPECT_TRUE(names.emplace(iid, text).second) << "interned twice: " << iid;
  }
}

inline void decode_track(protozero::pbf_message<perfetto::TrackDescriptor> message, Decoded& out) {
  DecodedTrack track;
  while (message.next()) {
    switch (message.tag()) {
      case perfetto::TrackDescriptor::kUuid:
        track.uuid = message.get_uint64();
        break;
      case perfetto::TrackDescriptor::kParentUuid:
        track.parent = message.get_uint64();
        break;
      case perfetto::TrackDescriptor::kProcess: {
        protozero::pbf_message<perfetto::ProcessDescriptor> process(message.get_message());
        while (process.next()) {
          if (process.tag() == perfetto::ProcessDescriptor::kPid) track.pid = process.get_int32();
          if (process.tag() == perfetto::ProcessDescriptor::kProcessName)
            track.process_name = process.get_string();
        }
        break;
      }
      case perfetto::TrackDescriptor::kThread: {
        protozero::pbf_message<perfetto::ThreadDescriptor> thread(message.get_message());
        while (thread.next()) {
          if (thread.tag() == perfetto::ThreadDescriptor::kPid) track.pid = thread.get_int32();
          if (thread.tag() == perfetto::ThreadDescriptor::kTid) track.tid = thread.get_int32();
          if (thread.tag() == perfetto::ThreadDescriptor::kThreadName)
            track.thread_name = thread.get_string();
        }
        break;
      }
      case perfetto::TrackDescriptor::kName:
        message.skip();
        break;
    }
  }
  EXPECT_TRUE(out.tracks.emplace(track.uuid, track).second) << "described twice: " << track.uuid;
}

inline DecodedEvent decode_event(protozero::pbf_message<perfetto::TrackEvent> message, const Decoded& known) {
  DecodedEvent event;
  while (message.next()) {
    switch (message.tag()) {
      case perfetto::TrackEvent::kType:
        event.type = message.get_enum();
        break;
      case perfetto::TrackEvent::kTrackUuid:
        event.track = message.get_uint64();
        break;
      case perfetto::TrackEvent::kName:
        event.name = message.get_string();
        break;
      case perfetto::TrackEvent::kNameIid:
        event.name = known.names.at(message.get_uint64());
        break;
      case perfetto::TrackEvent::kFlowIds:
        event.flows.push_back(message.get_fixed64());
        break;
      case perfetto::TrackEvent::kTerminatingFlowIds:
        event.ended_flows.push_back(message.get_fixed64());
        break;
      case perfetto::TrackEvent::kDebugAnnotations: {
        protozero::pbf_message<perfetto::DebugAnnotation> argument(message.get_message());
        std::string argument_name;
        std::uint64_t value = 0;
        while (argument.next()) {
          if (argument.tag() == perfetto::DebugAnnotation::kNameIid) {
            argument_name = known.argument_names.at(argument.get_uint64());
          } else {
            value = argument.get_uint64();
          }
        }
        event.arguments[argument_name] = value;
        break;
      }
    }
  }
  EXPECT_TRUE(known.tracks.contains(event.track)) << "a track that nobody described";
  return event;
}

inline Decoded decode(const std::string& file) {
  Decoded out;
  protozero::pbf_message<perfetto::Trace> trace(file);
  while (trace.next()) {
    EXPECT_EQ(trace.tag(), perfetto::Trace::kPacket);
    protozero::pbf_message<perfetto::TracePacket> packet(trace.get_message());
    std::uint64_t timestamp = 0;
    unsigned flags = 0;
    while (packet.next()) {
      switch (packet.tag()) {
        case perfetto::TracePacket::kTimestamp:
          timestamp = packet.get_uint64();
          break;
        case perfetto::TracePacket::kTrustedPacketSequenceId:
          EXPECT_EQ(packet.get_uint32(), 1U);
          break;
        case perfetto::TracePacket::kSequenceFlags:
          flags = packet.get_uint32();
          if ((flags & perfetto::kIncrementalStateCleared) != 0) ++out.cleared;
          break;
        case perfetto::TracePacket::kInternedData:
          decode_names(packet.get_message(), out);
          break;
        case perfetto::TracePacket::kTrackDescriptor:
          decode_track(packet.get_message(), out);
          break;
        case perfetto::TracePacket::kTrackEvent:
          EXPECT_NE(flags & perfetto::kNeedsIncrementalState, 0U);
          out.events.push_back(decode_event(packet.get_message(), out));
          out.events.back().timestamp = timestamp;
          break;
      }
    }
  }
  return out;
}

}  // namespace wharf::trace
