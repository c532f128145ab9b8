// SPDX-License-Identifier: Apache-2.0
// The other end of a connection: it asks a worker for appends, flushes and scatters on one target, in the
// published form or in the extended one, and learns what became of them. A machine without clock, socket or
// thread; takes no memory after create().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/index_list.h"
#include "base/result.h"
#include "base/ring.h"
#include "base/slot_pool.h"
#include "base/time.h"
#include "wire/rdmo_extended.h"
#include "wire/rdmo_message.h"

namespace wharf::rdmo {

enum class Form : std::uint8_t { kPublished, kExtended };

struct InitiatorConfig {
  Form form = Form::kExtended;
  wire::RdmoLayout layout = wire::RdmoLayout::kShipped;  ///< Of the published form.
  std::uint64_t client = 0;                              ///< Id of the target.
  std::uint32_t in_flight_max = 64;  ///< Messages. Extended: no more than the worker gives credits for.
  /// Extended: appends that follow each other to one cell go as one message of at most so many records and
  /// bytes. 1: each goes by itself.
  std::uint32_t batch_records_max = 1;
  std::uint32_t batch_bytes_max = 4096;
  TimePs batch_delay =
      kTimeZero;  ///< A batch that is not full waits so long; zero: until push() or a full one.
  /// A request that has no answer after so long ends the connection. So every request ends. One in a batch
  /// that gathers is none yet.
  TimePs time_max = seconds(10);
};

struct AppendRequest {
  std::uint64_t cookie = 0;
  std::uint64_t cell = 0;
  std::uint64_t cell_key = 0;
  std::uint64_t data_key = 0;
  /// Valid until the outcome, unless it was gathered into a batch. No outcome comes before sent(), or while
  /// the host has the message otherwise.
  std::span<const std::byte> data;
  bool fence = false;
  // Extended form only:
  bool queue = false;    ///< The cell is a queue with a consumer.
  bool quiet = false;    ///< Completes when it is sent; a failure is told by the next flush.
  bool compare = false;  ///< Only if the tail is `expected`.
  std::uint64_t expected = 0;
};

enum class Posted : std::uint8_t {
  kOk,
  kFull,         ///< Again after a completion.
  kLost,         ///< The connection has ended.
  kUnsupported,  ///< The form has no such thing, or no room for such a number.
};

/// How a request ended. A published append or scatter is done when it has been sent: only a flush knows more.
struct Outcome {
  std::uint64_t cookie = 0;
  wire::RdmoExtendedOperation operation = wire::RdmoExtendedOperation::kAppend;
  wire::RdmoStatus status = wire::RdmoStatus::kDone;
  std::uint64_t place = 0;
};

/// A message for the worker. The host says sent() when its payload is not needed any more: also of a
/// connection that has ended, whose messages it has to give up.
struct Outgoing {
  std::uint32_t id = 0;
  std::uint32_t message_id = 0;
  std::uint32_t header_length = 0;
  std::array<std::byte, wire::kRdmoHeaderBytesMax> header{};
  std::span<const std::byte> payload;
};

struct InitiatorCounters {
  std::uint64_t messages = 0;
  std::uint64_t records = 0;
  std::uint64_t answers = 0;
  std::uint64_t malformed = 0;   ///< Answers that make no sense.
  std::uint64_t unexpected = 0;  ///< Answers to nothing that was asked, or a second time.
  std::uint64_t quiet_failures = 0;
  std::uint64_t without_credit = 0;  ///< Times that a message had to wait for credits.
};

class Initiator {
 public:
  /// Refuses a config that makes no sense, by naming the key.
  static Result<Initiator> create(const InitiatorConfig& config);

  // --- Inputs ---
  Posted append(TimePs now, const AppendRequest& request);
  Posted flush(TimePs now, std::uint64_t cookie, bool fence = true);
  /// `payload`: `count` entries as the wire has them; valid until the completion.
  Posted scatter(TimePs now, std::uint64_t cookie, std::span<const std::byte> payload, std::uint64_t count,
                 bool fence = false);
  /// Lets a batch go that is not full.
  void push(TimePs now);
  /// An active message of the worker. It may be hostile: what makes no sense is counted and dropped.
  void receive(TimePs now, std::uint32_t message_id, std::span<const std::byte> header);
  void sent(TimePs now, std::uint32_t id);
  /// How many messages the worker has said that it takes, where it says so before the first: to who joins.
  void hear_limit(std::uint32_t limit);
  /// The host has none of the messages any more.
  void all_sent(TimePs now);
  /// The endpoint is dead: everything ends with kConnectionLost, what the host has when it is sent().
  void lost(TimePs now);
  void expire(TimePs now);

  // --- Outputs ---
  bool next_message(Outgoing& out);
  bool poll(Outcome& out);
  TimePs deadline() const;

  // --- Observation ---
  bool is_lost() const { return lost_; }
  /// Messages that have not ended.
  std::uint32_t in_flight() const { return slots_.in_use(); }
  /// Whether nothing is under way but a batch, which nobody has let go.
  bool only_gathers() const { return gathering_ != kNoSlot && oldest_ == gathering_; }
  /// Whether another request would be taken now.
  bool has_room() const { return !lost_ && slots_.in_use() < config_.in_flight_max; }
  const InitiatorCounters& counters() const { return counters_; }

 private:
  struct Record {
    std::uint64_t cookie = 0;
    std::uint32_t length = 0;
  };
  struct Slot {
    std::uint32_t next = kNoSlot;  ///< Among those that were posted, the oldest first.
    std::uint32_t previous = kNoSlot;
    wire::RdmoExtendedRequest request;
    std::uint32_t generation = 0;
    std::uint32_t records = 0;
    std::uint32_t bytes = 0;
    std::span<const std::byte> payload;
    bool quiet = false;
    bool batch = false;
    bool gathering = false;
    bool queued = false;  ///< Not handed out yet.
    bool sent = false;
    bool answered = false;
    bool told = false;  ///< Its outcomes are there. Later than `answered` while the host has the payload.
    wire::RdmoStatus status = wire::RdmoStatus::kDone;
    std::uint64_t place = 0;
    TimePs since = kTimeZero;  ///< It was posted; of a batch that gathers: its first record.
  };

  explicit Initiator(const InitiatorConfig& config);
  std::uint32_t acquire(TimePs now);
  Record* records_of(std::uint32_t slot) {
    return records_.data() + std::size_t{slot} * config_.batch_records_max;
  }
  bool joins(const AppendRequest& request) const;
  void close_batch(TimePs now);
  void enqueue(TimePs now, std::uint32_t slot);
  void end(std::uint32_t slot, wire::RdmoStatus status, std::uint64_t place);
  void tell(std::uint32_t slot);
  void release(std::uint32_t slot);
  void fail_all(wire::RdmoStatus first, wire::RdmoStatus others);
  void receive_published(std::span<const std::byte> header);
  void receive_extended(std::span<const std::byte> header);
  bool answers_all() const { return config_.form == Form::kExtended; }

  InitiatorConfig config_;
  SlotPool<Slot> slots_;
  std::vector<Record> records_;
  std::vector<std::byte> buffers_;
  Ring<std::uint32_t> queue_;  ///< To be handed out, in order.
  Ring<Outcome> outcomes_;
  std::uint32_t oldest_ = kNoSlot;
  std::uint32_t newest_ = kNoSlot;
  std::uint32_t gathering_ = kNoSlot;
  std::uint32_t sequence_ = 0;
  std::uint32_t credit_limit_ = 1;  ///< The first message brings news of credits.
  std::uint32_t generation_ = 0;
  bool lost_ = false;
  InitiatorCounters counters_;
};

}  // namespace wharf::rdmo
