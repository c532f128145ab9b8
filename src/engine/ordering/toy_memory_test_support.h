// SPDX-License-Identifier: Apache-2.0
// A coherent memory around one queue, whose every step is the test's choice: when a read or an ownership is
// ordered at the home, when its answer arrives, when a write is performed, when somebody else writes. Memory
// holds one word per line.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "engine/ordering/rlsq.h"
#include "verbs/atomic_value.h"

namespace wharf::ordering {

inline LineBytes line_of_word(std::uint64_t word) {
  LineBytes bytes{};
  std::memcpy(bytes.data(), &word, sizeof word);
  return bytes;
}
inline std::uint64_t word_of_line(const LineBytes& bytes) { return load_le64(bytes.data()); }

class ToyMemory {
 public:
  /// A request that the queue has sent: not yet ordered at the home, or ordered with an answer on its way.
  struct Sent {
    MemoryRequest request;
    bool is_ordered = false;
    LineBytes bytes{};
  };
  struct Write {
    LineNumber line;
    std::uint64_t word;
    std::uint64_t time;
  };

  explicit ToyMemory(const RlsqConfig& config) : queue(Rlsq::create(config).value()) {}

  /// Takes what the queue wants to send; performs wait in `performs` if `performs_at_once` is not set.
  void drain() {
    for (bool is_busy = true; is_busy;) {
      is_busy = false;
      for (MemoryRequest request; queue.next_memory_request(request);) {
        sent.push_back(Sent{request, false, {}});
        is_busy = true;
      }
      for (Perform perform; performs_at_once && queue.next_perform(perform);) {
        do_perform(perform);
        is_busy = true;
      }
      for (Response response; queue.next_response(response);) responses.push_back(response);
    }
  }

  /// The `index`-th sent request is ordered at the home; those before it on its line were.
  void order(std::size_t index) {
    Sent& at = sent[index];
    WHARF_CHECK(!at.is_ordered);
    at.is_ordered = true;
    const LineNumber line = at.request.line;
    switch (at.request.operation) {
      case MemoryOperation::kReadTracked:
        tracked.insert(line);
        [[fallthrough]];
      case MemoryOperation::kRead:
        at.bytes = line_of_word(memory[line]);
        break;
      case MemoryOperation::kOwn:
        tracked.erase(line);
        owned.insert(line);
        break;
      case MemoryOperation::kDrop:
        tracked.erase(line);
        sent.erase(sent.begin() + static_cast<std::ptrdiff_t>(index));
        break;
    }
  }
  /// The answer of the `index`-th sent request, which is ordered, arrives.
  void arrive(std::size_t index) {
    const Sent at = sent[index];
    WHARF_CHECK(at.is_ordered);
    sent.erase(sent.begin() + static_cast<std::ptrdiff_t>(index));
    if (at.request.operation == MemoryOperation::kOwn) {
      // A snoop that overtook the grant has been held back by the agent, or has taken the line away again.
      queue.owned(at.request.line);
      granted.insert(at.request.line);
    } else {
      queue.read_done(at.request.line, at.bytes);
    }
    drain();
  }
  /// May the `index`-th sent request be ordered now: not before others of its line.
  bool may_order(std::size_t index) const {
    if (sent[index].is_ordered) return false;
    for (std::size_t i = 0; i < index; ++i) {
      if (sent[i].request.line == sent[index].request.line) return false;
    }
    return true;
  }

  /// Whether somebody else may write the line now: no grant of it is under way, no perform has been taken.
  bool may_host_write(LineNumber line) const {
    return performing.count(line) == 0 && (owned.count(line) == 0 || granted.count(line) != 0);
  }
  SnoopResult host_write(LineNumber line, std::uint64_t word) {
    SnoopResult result = SnoopResult::kMiss;
    if (owned.count(line) != 0 || tracked.count(line) != 0) result = queue.snoop_invalidate(line);
    owned.erase(line);
    granted.erase(line);
    tracked.erase(line);
    memory[line] = word;
    writes.push_back(Write{line, word, time});
    drain();
    return result;
  }
  SnoopResult host_read(LineNumber line) {
    SnoopResult result = SnoopResult::kMiss;
    if (owned.count(line) != 0) result = queue.snoop_share(line);
    owned.erase(line);
    granted.erase(line);
    drain();
    return result;
  }

  bool take_perform() {
    Perform perform;
    if (!queue.next_perform(perform)) return false;
    performing[perform.line] = perform;
    return true;
  }
  void finish_perform(LineNumber line) {
    const Perform perform = performing.at(line);
    performing.erase(line);
    do_perform(perform);
    drain();
  }

  bool accept(const Request& request) {
    const bool could = queue.can_accept(request);
    const bool did = queue.accept(request);
    WHARF_CHECK(could == did);
    drain();
    return did;
  }

  // For tests written by hand.
  std::size_t find(LineNumber line) const {
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (sent[i].request.line == line) return i;
    }
    return sent.size();
  }
  bool is_asked(LineNumber line) const { return find(line) != sent.size(); }
  void order_line(LineNumber line) { order(find(line)); }
  void arrive_line(LineNumber line) { arrive(find(line)); }
  void serve(LineNumber line) {
    order_line(line);
    arrive_line(line);
  }
  /// Orders and answers everything, oldest first, until nothing is left to do.
  void serve_all() {
    drain();
    while (!sent.empty()) {
      if (sent.front().request.operation == MemoryOperation::kDrop) {
        order(0);
        continue;
      }
      if (!sent.front().is_ordered) order(0);
      arrive(0);
    }
  }
  /// The tags of the answers so far, reads and atomics only.
  std::vector<std::uint32_t> answered() const {
    std::vector<std::uint32_t> tags;
    for (const Response& response : responses) {
      if (response.kind != Kind::kWrite) tags.push_back(response.tag);
    }
    return tags;
  }
  const Response* response_of(std::uint32_t tag) const {
    for (const Response& response : responses) {
      if (response.tag == tag) return &response;
    }
    return nullptr;
  }
  std::uint64_t word_read(std::uint32_t tag) const { return word_of_line(response_of(tag)->bytes); }

  Rlsq queue;
  bool performs_at_once = true;
  std::deque<Sent> sent;
  std::vector<Response> responses;
  std::map<LineNumber, std::uint64_t> memory;
  std::set<LineNumber> tracked;  ///< The home would snoop the queue for these.
  std::set<LineNumber> owned;    ///< As the home sees it.
  std::set<LineNumber> granted;  ///< And the grant has arrived.
  std::map<LineNumber, Perform> performing;
  std::vector<Write> writes;       ///< Everybody's, in order.
  bool performed_unowned = false;  ///< The queue has broken the rule that only an owner writes.
  std::uint64_t time = 0;

 private:
  void do_perform(const Perform& perform) {
    if (granted.count(perform.line) == 0) performed_unowned = true;
    std::uint64_t& word = memory[perform.line];
    std::array<std::uint64_t, 2> old{word, 0};
    word = perform.kind == Kind::kWrite
               ? word_of_line(perform.bytes)
               : verbs::atomic_value(perform.atomic, word, perform.operand[0], perform.compare[0]);
    writes.push_back(Write{perform.line, word, time});
    if (!perform.keeps_ownership) {
      owned.erase(perform.line);
      granted.erase(perform.line);
    }
    queue.performed(perform.line, old);
  }
};

}  // namespace wharf::ordering
