// SPDX-License-Identifier: Apache-2.0
// Brings what the hosts of a world report into the order of time: each is brought forward for a while by
// itself, while sinks (captures, timelines, logs) want one history.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/time.h"
#include "trace/tracer.h"
#include "wire/packet.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

class OrderedSink {
 public:
  /// Packets that are reported keep their payload in `payloads` until they are handed on. Further NICs of
  /// hosts report under addresses from `hosts` on (nic_map.h): their events become those of their host.
  OrderedSink(trace::Sink& target, std::uint32_t mask, wire::PayloadPool& payloads, std::uint32_t hosts)
      : target_(target), mask_(mask), payloads_(payloads), hosts_(hosts) {}

  /// Attaches the source of one host, whose `clock` tells when it reports.
  void add(trace::Tracer& tracer, const TimePs& clock) { add_source(tracer, clock, false); }
  /// Attaches a source whose `clock` stands at the end of what is being brought forward: its events tell when
  /// they happened before that.
  void add_behind(trace::Tracer& tracer, const TimePs& clock) { add_source(tracer, clock, true); }

  /// Hands on what happened before `until`, all of which has been reported: by time, of one instant by
  /// source, of one source in its order. kNever: everything.
  void flush(TimePs until) {
    std::stable_sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) {
      return a.at != b.at ? a.at < b.at : a.source < b.source;
    });
    auto each = kept_.begin();
    for (; each != kept_.end() && (each->at < until || until == kNever); ++each) {
      if (each->has_packet) each->event.packet = &packets_[each->packet];
      target_.record(each->event);
      if (each->has_packet) payloads_.release(packets_[each->packet].payload.buffer);
    }
    kept_.erase(kept_.begin(), each);
    std::vector<wire::Packet> packets;
    for (Kept& later : kept_) {
      if (!later.has_packet) continue;
      packets.push_back(packets_[later.packet]);
      later.packet = packets.size() - 1;
    }
    packets_ = std::move(packets);
  }

 private:
  class Source final : public trace::Sink {
   public:
    Source(OrderedSink& owner, const TimePs& clock, bool behind, std::uint32_t number)
        : owner_(owner), clock_(clock), behind_(behind), number_(number) {}
    void record(const trace::TraceEvent& event) override {
      // A packet is given to its link ahead of its time, or when the link has asked, which may be behind.
      const bool leaves = event.kind == trace::EventKind::kPacketSent;
      owner_.keep(event, leaves ? event.begin : behind_ ? min(clock_, event.begin) : clock_, number_);
    }

   private:
    OrderedSink& owner_;
    const TimePs& clock_;
    bool behind_;
    std::uint32_t number_;
  };
  struct Kept {
    TimePs at;
    std::uint32_t source = 0;
    bool has_packet = false;
    std::size_t packet = 0;
    trace::TraceEvent event;
  };

  void add_source(trace::Tracer& tracer, const TimePs& clock, bool behind) {
    sources_.push_back(
        std::make_unique<Source>(*this, clock, behind, static_cast<std::uint32_t>(sources_.size())));
    tracer.attach(*sources_.back(), mask_);
  }

  void keep(const trace::TraceEvent& event, TimePs at, std::uint32_t source) {
    Kept kept{at, source, event.packet != nullptr, packets_.size(), event};
    if (kept.event.host >= hosts_) kept.event.host %= hosts_;
    if (kept.has_packet) {
      packets_.push_back(*event.packet);
      payloads_.retain(event.packet->payload.buffer);
    }
    kept_.push_back(kept);
  }

  trace::Sink& target_;
  std::uint32_t mask_;
  wire::PayloadPool& payloads_;
  std::uint32_t hosts_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<Kept> kept_;
  std::vector<wire::Packet> packets_;
};

}  // namespace wharf::sim
