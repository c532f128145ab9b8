// SPDX-License-Identifier: Apache-2.0
// The Remote Load-Store Queue of a root complex (or of a home agent on an on-chip bus): where the order of a
// device's accesses to host memory is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/ordering/request.h"
#include "engine/ordering/rlsq_design.h"
#include "engine/ordering/rlsq_port.h"

namespace wharf::ordering {

struct RlsqConfig {
  RlsqDesign design = RlsqDesign::kBaseline;
  OrderOptions order;
  std::uint32_t entries = 256;   ///< Lines at once, of every kind.
  std::uint32_t trackers = 256;  ///< Different lines at once.
  /// Entries and trackers beyond those, for posted writes only: they always get past reads that wait.
  std::uint32_t posted_reserve = 16;
  /// Answers leave in the order in which the requests came, as in the paper's simulator; otherwise as they
  /// complete. An entry is occupied until its answer is taken.
  bool answers_in_order = false;
};

/// One queue. It knows no time, no coherence protocol and no link; it takes memory when it is made and none
/// later. Copies are independent. After every input, drain next_memory_request(), next_perform() and
/// next_response() until each is empty; draining later is legal and only delays.
///
/// How values are bound: a read of a non-speculative design is sent when it may take effect and its value is
/// final when it arrives. A speculative design sends reads at once, asks to be snooped for those that may not
/// take effect yet, and discards what a snoop hits. Requests on one line: reads of a run share one memory
/// read where that is sound; writes and atomics wait for older reads of the line and reads for older writes
/// (Choice: no forwarding out of the queue, so that every value read was in coherent memory).
class Rlsq {
 public:
  /// Refuses sizes of zero or above 16,384 entries and trackers, naming the value.
  static Result<Rlsq> create(const RlsqConfig& config);

  // Device side in.
  /// Whether accept() would take it now. Posted writes have entries of their own.
  bool can_accept(const Request& request) const;
  /// Takes a request; false (and no change) when there is no room: the link holds it.
  bool accept(const Request& request);

  // Memory side out.
  bool next_memory_request(MemoryRequest& out);
  bool next_perform(Perform& out);

  // Memory side in. An answer that was not asked for is our bug and aborts.
  /// The bytes of the line of a kRead or kReadTracked.
  void read_done(LineNumber line, const LineBytes& bytes);
  /// The line is owned, until it is performed without keeps_ownership or lost.
  void owned(LineNumber line);
  /// The Perform of the line has happened; `old_value` for atomics.
  void performed(LineNumber line, const std::array<std::uint64_t, 2>& old_value = {});
  /// Another agent writes the line, or its home forgets who shares it: call when the invalidation arrives,
  /// before it is acknowledged. Any line, at any time (but see Perform).
  SnoopResult snoop_invalidate(LineNumber line);
  /// Another agent reads the line: an ownership not yet used is lost, values that were read stay good.
  SnoopResult snoop_share(LineNumber line);

  // Device side out.
  bool next_response(Response& out);

  // Observation.
  const RlsqConfig& config() const { return config_; }
  const RlsqStatistics& statistics() const { return statistics_; }
  /// Nothing inside: no entry, no request or answer to be taken.
  bool is_idle() const;
  /// Appends what decides the queue's future, and nothing else: equal bytes, equal futures.
  void append_state(std::vector<std::byte>& state) const;
  /// Appends one line of text for each entry that is not complete: what it waits for.
  void who_waits(std::vector<std::string>& lines) const;

 private:
  RlsqConfig config_;
  RlsqStatistics statistics_;
};

}  // namespace wharf::ordering
