// SPDX-License-Identifier: Apache-2.0
// What hosts do to each other's memory in a run of peers, and what must have become of it: each host has
// pieces of memory at each other one, and nobody else uses them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "sim/chaos/peers_memory.h"
#include "sim/chaos/peers_plan.h"
#include "verbs/completion.h"
#include "verbs/work_request.h"

namespace wharf::sim {

class PeersProgram {
 public:
  /// `memories` outlive it, one for each host, of memory_bytes(plan).
  PeersProgram(const PeersPlan& plan, std::vector<PeersMemory>& memories);

  static std::uint64_t memory_bytes(const PeersPlan& plan);
  static std::uint32_t receives(const PeersPlan& plan) { return plan.depth + 4; }
  /// What a host lets `peer` use: base and length.
  std::uint64_t grant_base(std::uint32_t peer) const;
  std::uint64_t grant_bytes() const;

  /// No Send is longer.
  void limit_sends(std::uint64_t bytes) { longest_send_ = bytes; }
  /// The next request of `host` at `peer`, if it may have one more. `token` is that of the peer's grant.
  std::optional<verbs::WorkRequest> next(TimePs now, std::uint32_t host, std::uint32_t peer,
                                         verbs::SegmentToken token);
  /// The engine refused it.
  void take_back(std::uint64_t id);
  /// A receive of `host` that is counted to `peer`; `index` of receives().
  verbs::ReceiveRequest receive(std::uint32_t peer, std::uint32_t index) const;
  /// Whether such a request has this id.
  static bool is_receive(std::uint64_t id) { return id >> 63U != 0; }

  void completed(TimePs now, std::uint32_t host, const verbs::Completion& completion);
  /// `post` a receive again: what completed() said last about one.
  struct Again {
    std::uint32_t peer = 0;
    std::uint32_t index = 0;
  };
  std::optional<Again> take_receive_to_post();

  // The event.
  /// It has happened: from now on requests of and for its host may fail, within `patience` of the last sign
  /// of life. Every pair has some more requests to come.
  void befall(TimePs patience);
  /// The host is back, and everybody has forgotten what it was: all is as at first between it and others.
  void begin_anew();

  bool spared(std::uint32_t host, std::uint32_t peer) const {
    return host != plan_.host && peer != plan_.host;
  }
  /// Requests that must end well have, and no more are to come.
  bool is_finished() const;
  /// So many requests of and for the host of the event have not ended, of hosts that live.
  std::uint64_t pending_at_event() const;
  std::string pending_text() const;
  /// What memory and messages came to.
  void judge_end();

  struct Fault {
    std::string check;
    std::string what;
  };
  const std::optional<Fault>& fault() const { return fault_; }
  void fail(std::string check, std::string what) {
    if (!fault_) fault_ = Fault{std::move(check), std::move(what)};
  }
  std::uint64_t ended() const { return ended_; }

 private:
  struct Slot {
    bool busy = false;
    bool lost = false;  ///< Nobody knows what is in it.
  };
  struct Pair {
    std::uint32_t to_come = 0;
    std::uint32_t outstanding = 0;
    std::uint32_t life = 0;  ///< Begun anew so often.
    TimePs last_failure;
    std::vector<Slot> slots;
  };
  struct Operation {
    std::uint32_t host = 0;
    std::uint32_t peer = 0;
    verbs::Verb verb = verbs::Verb::kRead;
    std::uint32_t slot = 0;
    std::uint32_t length = 0;
    std::uint32_t life = 0;
    std::uint64_t operand = 0;
    TimePs posted;
    bool ended = false;
    bool well = false;
    std::uint32_t arrivals = 0;  ///< Sends.
  };

  std::uint64_t piece() const { return plan_.longest; }
  std::uint32_t slots() const { return plan_.depth + 2; }
  std::uint64_t area_bytes() const;
  std::uint64_t area(std::uint32_t peer) const { return PeersMemory::kBase + 64 + peer * area_bytes(); }
  std::uint64_t local_base(std::uint32_t peer) const { return grant_base(peer) + grant_bytes() + 64; }
  std::uint64_t receive_base(std::uint32_t peer) const { return local_base(peer) + grant_bytes() + 64; }
  Pair& pair(std::uint32_t host, std::uint32_t peer) { return pairs_[host * plan_.hosts + peer]; }
  const Pair& pair(std::uint32_t host, std::uint32_t peer) const { return pairs_[host * plan_.hosts + peer]; }
  /// Whether what is between the two may be relied on at all.
  bool is_judged(const Operation& operation) const;
  bool may_fail(const Operation& operation) const;

  void succeed(std::uint64_t id, Operation& operation, const verbs::Completion& completion);
  void take_failure(TimePs now, const Operation& operation, const verbs::Completion& completion);
  void take_receive(std::uint32_t host, const verbs::Completion& completion);
  void settle_slot(const Operation& operation, bool known);
  std::string text(std::uint64_t id, const Operation& operation) const;

  PeersPlan plan_;
  std::vector<PeersMemory>& memories_;
  RandomStream random_;
  std::vector<Pair> pairs_;
  std::map<std::uint64_t, Operation> operations_;
  std::optional<Again> to_post_;
  std::optional<Fault> fault_;
  std::uint64_t longest_send_ = ~std::uint64_t{0};
  std::uint64_t last_id_ = 0;
  std::uint64_t ended_ = 0;
  TimePs patience_;
  bool happened_ = false;
};

}  // namespace wharf::sim
