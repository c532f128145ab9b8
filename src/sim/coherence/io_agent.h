// SPDX-License-Identifier: Apache-2.0
// The coherent side of a root complex: an agent without a data cache that reads, owns and writes lines for
// devices. Apart from the ordering queue, which decides when; the two are joined by whoever has both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ring.h"
#include "base/slot_index.h"
#include "sim/coherence/coherence_observer.h"
#include "sim/coherence/message.h"
#include "sim/coherence/store_mirror.h"

namespace wharf::sim {

/// How the home hears that a line is tracked no more.
enum class DropNotice : std::uint8_t {
  kAnswered,  ///< By a put, which costs a credit until it is answered.
  kPassing,   ///< By a message that is not answered and that a busy home ignores.
  kSilent,    ///< Not at all: later writers snoop this agent for nothing, and directory entries fill up.
};
inline constexpr int kDropNoticeCount = static_cast<int>(DropNotice::kSilent) + 1;

struct IoAgentConfig {
  std::uint32_t operations = 256;  ///< Reads and owns that are not answered yet.
  std::uint32_t lines = 512;       ///< Lines that are tracked, owned, asked for or on their way home.
  std::uint32_t credits = 256;     ///< Unanswered requests, as the home has been told.
  DropNotice drops = DropNotice::kPassing;
};

/// The caller's own name of a read or an own; written into states as it is.
using IoTag = std::uint32_t;

/// What happens to the lines of a device, in the order in which it happens.
struct IoEvent {
  enum class Kind : std::uint8_t {
    kRead,   ///< The read of `tag` has `bytes`. With `is_tracked` the caller will be told when they become
             ///< stale.
    kOwned,  ///< The own of `tag` is granted: perform_write() may follow until kInvalidated or kDowngraded
             ///< names the line.
    /// Somebody else is going to write: bytes that were read (or are in flight) may be stale from now on,
    /// ownership and tracking are gone. May come for lines of which the caller holds nothing.
    kInvalidated,
    kDowngraded,  ///< Somebody else is going to read: ownership is gone, what was read stays good and
                  ///< tracked.
  };
  Kind kind = Kind::kRead;
  bool is_tracked = false;
  IoTag tag = 0;
  LineNumber line = 0;
  LineBytes bytes{};  ///< kRead only.
};

/// Which bytes of a line a write touches: bit i stands for byte i.
using ByteMask = std::uint64_t;
inline constexpr ByteMask kWholeLineMask = ~ByteMask{0};

struct IoAgentStatistics {
  std::uint64_t reads = 0;
  std::uint64_t tracked_reads = 0;
  std::uint64_t local_reads = 0;  ///< Reads answered from a line that is owned or on its way home.
  std::uint64_t owns = 0;
  std::uint64_t writes = 0;
  std::uint64_t drops = 0;  ///< Tracked lines given up.
  std::uint64_t snoops = 0;
  std::uint64_t invalidations = 0;           ///< kInvalidated of lines that were tracked, owned or in flight.
  std::uint64_t flight_invalidations = 0;    ///< Those that overtook the bytes of a read.
  std::uint64_t spurious_invalidations = 0;  ///< Those of lines that nobody here needed any more.
  std::uint64_t stolen_ownerships = 0;       ///< Lines that were owned and taken before they were written.
};

/// Reads, owns and writes of one line are done in the order of the calls; different lines are not ordered. A
/// line is in one of these states, each with or without being tracked:
///
/// | state | read | own | Invalidate | Supply | Fetch... |
/// |---|---|---|---|---|---|
/// | none | GetTracked, ReadOnce | GetModified, WriteLine | kInvalidated, acknowledge | acknowledge | never |
/// | reading | waits | waits | kInvalidated, acknowledge; untracked answer | acknowledge | never |
/// | owning | waits | waits | kInvalidated, acknowledge | acknowledge | kOwned first, then as owned |
/// | owned, bytes here | at once | at once | never | never | kInvalidated or kDowngraded, bytes |
/// | owned, no bytes (WriteLine) | waits for the write | whole line: at once | never | never | kInvalidated,
/// acknowledge | | going home | waits | waits | kInvalidated, acknowledge | acknowledge | bytes, then taken |
/// | going home, taken | waits | waits | kInvalidated, acknowledge | acknowledge | never |
///
/// (FetchOnce takes nothing away and announces nothing.) The answer to a snoop leaves only after its event
/// was taken by next_event(), so that a queue above has seen it before the writer goes on. An owner that is
/// fetched before its bytes have come is first told kOwned: it may write in that instant, before it takes the
/// next event, so that two writers cannot starve each other.
///
/// Joining reads: one that takes the bytes of an earlier one must have been tracked all the time, or it could
/// see bytes from before it was issued. This class never joins reads; who does so above sends tracked ones.
///
/// A line that was dropped is asked for again without waiting: an invalidation may then be meant for the
/// former registration. It is passed up all the same; that costs a repeated read and never a wrong value.
///
/// Order of calls: one input, then next_event() until it is empty, then next_request() and next_response().
class IoAgent {
 public:
  IoAgent(AgentId agent, const IoAgentConfig& config);

  /// Null for none. The observer outlives its use; a copy of this object has the same pointer.
  void observe_with(CoherenceObserver* observer) { observer_ = observer; }
  /// Likewise: who is told of every store that is performed.
  void mirror_to(StoreMirror* mirror) { mirror_ = mirror; }

  // Inputs from above.
  /// There is room for one more read or own of `line`.
  bool has_room(LineNumber line) const;
  /// Asks for the bytes; kRead answers. After a tracked read the line is tracked until drop_tracking() or
  /// kInvalidated; an answer without is_tracked says that this has happened already. Needs has_room().
  void read(IoTag tag, LineNumber line, bool is_tracked);
  /// Asks for ownership; kOwned answers. `whole_line`: all 64 bytes will be written, memory's are not
  /// fetched. The ownership is held until perform_write() or release(), or until it is lost.
  void own(IoTag tag, LineNumber line, bool whole_line);
  /// True from kOwned until the line is written, released or lost.
  bool is_owned(LineNumber line) const;
  /// The bytes of an owned line, for atomics; null if it was owned as a whole line and its bytes were not
  /// fetched.
  const LineBytes* owned_bytes(LineNumber line) const;
  /// Performs a write: from now on every agent sees it. With `keeps_ownership` more may follow, otherwise the
  /// ownership of one kOwned is used up and the line goes home with the last one. If the bytes of the line
  /// are not here, `mask` is all ones. The line is owned.
  void perform_write(LineNumber line, const LineBytes& bytes, ByteMask mask, bool keeps_ownership);
  /// Gives up the ownership of one kOwned without a write (a compare-and-swap that found another value). The
  /// line is owned.
  void release(LineNumber line);
  /// The line is tracked no more, by reads in flight neither. Nothing happens if it is not.
  void drop_tracking(LineNumber line);

  /// A snoop, or the answer to a request.
  void receive(const Message& message);

  // Outputs: false when there is none.
  bool has_event() const { return !events_.empty(); }
  bool next_event(IoEvent& out);
  /// The next event if it is a read's answer, else null: next_event() without a copy, for most events. It is
  /// taken by read_answer_taken(); no call comes in between.
  const IoEvent* read_answer() const {
    const bool is_next = !events_.empty() && events_.front().event.kind == IoEvent::Kind::kRead;
    return is_next ? &events_.front().event : nullptr;
  }
  void read_answer_taken() { events_.pop_front(); }
  /// There may be a request or a response; false saves the calls.
  bool has_message() const { return !responses_.empty() || !requests_.empty(); }
  bool has_response() const { return !responses_.empty(); }
  bool next_request(Message& out);  ///< Stops when the credits are used up.
  /// The same in two steps, without a copy: what there is, or null, and that it is taken.
  const Message* first_request() const {
    if (requests_.empty()) return nullptr;
    return credits_ == 0 && costs_credit(requests_.front()) ? nullptr : &requests_.front();
  }
  void first_request_taken() {
    if (costs_credit(requests_.front())) --credits_;
    requests_.pop_front();
  }
  bool next_response(Message& out);

  AgentId agent() const { return agent_; }
  bool is_tracked(LineNumber line) const;
  /// Bytes of `line` that memory may lack, or null.
  const LineBytes* modified_bytes(LineNumber line) const;
  /// Nothing is under way and nothing is held.
  bool is_idle() const;
  const IoAgentStatistics& statistics() const { return statistics_; }
  /// All that decides the future; the observer is not part of it.
  void append_state(std::vector<std::byte>& state) const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  enum class OperationKind : std::uint8_t { kRead, kTrackedRead, kOwn, kOwnWhole };
  struct Operation {
    OperationKind kind = OperationKind::kRead;
    IoTag tag = 0;
    std::uint32_t next = kNone;
  };

  /// What was asked for and is not answered.
  enum class Flight : std::uint8_t { kNone, kRead, kTrackedRead, kOwn };
  enum class Hold : std::uint8_t { kNone, kOwned, kGoingHome, kTaken };

  struct Line {
    LineNumber line = 0;
    Flight flight = Flight::kNone;
    Hold hold = Hold::kNone;
    bool has_bytes = false;
    bool is_modified = false;
    bool was_invalidated = false;  ///< While the bytes of a read were in flight.
    bool has_snoop = false;        ///< A fetch waits for the ownership to come and be seen.
    MessageKind snoop = MessageKind::kFetchOnce;
    bool is_tracked = false;
    std::uint32_t granted = 0;    ///< Owns that are answered and neither used nor released.
    std::uint32_t first = kNone;  ///< Operations that wait, in order.
    std::uint32_t last = kNone;
    LineBytes bytes{};
  };

  /// An event with what happens once it was taken.
  struct Queued {
    IoEvent event;
    bool is_snoop = false;
    MessageKind snoop = MessageKind::kInvalidate;
  };

  static bool costs_credit(const Message& request) { return request.kind != MessageKind::kDropShared; }
  Line* find(LineNumber line);
  const Line* find(LineNumber line) const;
  void add_operation(LineNumber line, OperationKind kind, IoTag tag);
  IoTag end_operation(Line& entry);
  void advance(Line& entry);
  bool start(Line& entry);
  void answer_read(Line& entry, const LineBytes& bytes, bool is_tracked);
  void granted(Line& entry, const Message& message);
  void send(LineNumber line, MessageKind kind, const LineBytes* bytes, bool keeps_shared);
  void go_home(Line& entry);
  void snooped(const Message& message);
  void fetched(Line& entry, MessageKind snoop);
  void answer_fetch(Line& entry, MessageKind snoop);
  void answer_snoop(LineNumber line, const LineBytes* bytes, bool is_dirty, bool keeps_shared);
  void announce(IoEvent::Kind kind, LineNumber line, MessageKind snoop);
  void observe_copy(const Line& entry);
  void leave_if_unused(Line& entry);

  // Constant after construction.
  AgentId agent_;
  DropNotice drops_;
  CoherenceObserver* observer_ = nullptr;
  StoreMirror* mirror_ = nullptr;

  SlotIndex index_;
  std::vector<Line> lines_;
  std::vector<std::uint32_t> free_lines_;
  std::vector<Operation> operations_;
  std::vector<std::uint32_t> free_operations_;
  std::uint32_t credits_;
  Ring<Queued> events_;
  Ring<Message> requests_;
  Ring<Message> responses_;
  IoAgentStatistics statistics_;
};

}  // namespace wharf::sim
