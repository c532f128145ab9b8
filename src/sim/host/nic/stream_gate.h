// SPDX-License-Identifier: Apache-2.0
// When a memory access may begin, given the label it carries and the earlier accesses of its stream. The
// source waits: nothing below it (bus, PCIe) has to keep an order that the label asks for.
#pragma once

#include <cstdint>
#include <vector>

#include "base/flat_map.h"
#include "base/time.h"
#include "engine/contract.h"

namespace wharf::sim {

/// The ordering state of every stream of one memory port. Takes memory when a stream is first seen.
class StreamGate {
 public:
  /// The earliest instant, not before `now`, at which `access` may begin. An access that has to wait is asked
  /// about again then, and until it begins those behind it in its stream do not overtake it.
  TimePs earliest(TimePs now, const engine::Access& access) {
    Stream& stream = find(access.stream);
    TimePs begin = max(now, stream.acquired);
    switch (access.order) {
      case verbs::AccessOrder::kRelaxed:
      case verbs::AccessOrder::kAcquire:
      case verbs::AccessOrder::kAscending:  // The parts of one access become visible together.
        break;
      case verbs::AccessOrder::kRelease:
        begin = max(begin, max(stream.reads_done, stream.writes_done));
        break;
      case verbs::AccessOrder::kReadRelease:
        begin = max(begin, stream.reads_done);
        break;
    }
    begin = max(begin, stream.held_until);
    stream.held_until = begin;
    return begin;
  }

  /// `access` has begun and will be done (a write: visible) at `done`.
  void began(const engine::Access& access, TimePs done) {
    Stream& stream = find(access.stream);
    if (access.kind != engine::AccessKind::kRead) stream.writes_done = max(stream.writes_done, done);
    if (access.kind != engine::AccessKind::kWrite) stream.reads_done = max(stream.reads_done, done);
    if (access.order == verbs::AccessOrder::kAcquire) stream.acquired = max(stream.acquired, done);
  }

 private:
  struct Stream {
    TimePs acquired;     ///< When the last acquire is done.
    TimePs reads_done;   ///< When every read so far is done.
    TimePs writes_done;  ///< When every write so far is visible.
    TimePs held_until;   ///< When the access that waited last begins.
  };

  Stream& find(std::uint64_t stream) {
    if (stream == last_stream_) return streams_[last_index_];
    const std::uint32_t* known = index_.find(stream);
    last_stream_ = stream;
    if (known != nullptr) {
      last_index_ = *known;
    } else {
      last_index_ = static_cast<std::uint32_t>(streams_.size());
      index_.insert(stream, last_index_);
      streams_.emplace_back();
    }
    return streams_[last_index_];
  }

  FlatMap index_;
  std::vector<Stream> streams_;
  std::uint64_t last_stream_ = ~std::uint64_t{0};
  std::uint32_t last_index_ = 0;
};

}  // namespace wharf::sim
