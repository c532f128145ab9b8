// SPDX-License-Identifier: Apache-2.0
#include "engine/rdmo/initiator.h"

#include <fmt/format.h>

#include <cstring>

#include "base/check.h"

namespace wharf::rdmo {

using wire::RdmoFlag;
using wire::RdmoStatus;
using Operation = wire::RdmoExtendedOperation;

namespace {

/// What is set aside for records and outcomes, and for what batches gather: some hundred MiB, and a GiB.
constexpr std::uint64_t kRecordsMost = 1U << 24U;
constexpr std::uint64_t kGatheredBytesMost = 1U << 30U;

}  // namespace

Result<Initiator> Initiator::create(const InitiatorConfig& config) {
  const auto within = [](const char* key, std::uint64_t found, std::uint64_t least,
                         std::uint64_t most) -> Result<void> {
    if (found >= least && found <= most) return {};
    return input_error(fmt::format("{} is {}, expected {} to {}", key, found, least, most));
  };
  const std::uint64_t records_most = config.form == Form::kExtended ? 0xffffU : 1;
  WHARF_TRY(within("in_flight_max", config.in_flight_max, 1, 1U << 16U));
  WHARF_TRY(within("batch_records_max", config.batch_records_max, 1, records_most));
  WHARF_TRY(within("batch_bytes_max", config.batch_bytes_max, 1, 1U << 20U));
  const std::uint64_t records = std::uint64_t{config.in_flight_max} * config.batch_records_max;
  if (records > kRecordsMost) {
    return input_error(
        fmt::format("in_flight_max * batch_records_max is {}, expected at most {}", records, kRecordsMost));
  }
  const std::uint64_t gathered = std::uint64_t{config.in_flight_max} * config.batch_bytes_max;
  if (config.batch_records_max > 1 && gathered > kGatheredBytesMost) {
    return input_error(fmt::format("in_flight_max * batch_bytes_max is {}, expected at most {}", gathered,
                                   kGatheredBytesMost));
  }
  if (config.time_max <= kTimeZero) return input_error("time_max is not positive");
  if (config.batch_delay < kTimeZero) return input_error("batch_delay is negative");
  const bool fits = config.form == Form::kExtended || config.layout == wire::RdmoLayout::kShipped ||
                    config.client <= 0xffff'ffffU;
  if (!fits) return input_error(fmt::format("client is {}, expected at most 32 bits", config.client));
  return Initiator(config);
}

Initiator::Initiator(const InitiatorConfig& config)
    : config_(config),
      slots_(config.in_flight_max),
      records_(std::size_t{config.in_flight_max} * config.batch_records_max),
      buffers_(config.batch_records_max > 1 ? std::size_t{config.in_flight_max} * config.batch_bytes_max : 0),
      queue_(config.in_flight_max),
      outcomes_(std::size_t{config.in_flight_max} * config.batch_records_max) {}

std::uint32_t Initiator::acquire(TimePs now) {
  // The completions of all messages must find room, also of those that nobody has polled.
  const std::size_t room = outcomes_.capacity() - outcomes_.size();
  if (room < (std::size_t{slots_.in_use()} + 1) * config_.batch_records_max) return kNoSlot;
  const std::uint32_t index = slots_.acquire();
  if (index == kNoSlot) return kNoSlot;
  Slot& slot = slots_[index];
  slot = {};
  slot.generation = ++generation_;
  slot.since = now;
  slot.request.client = config_.client;
  slot.request.cookie = std::uint64_t{slot.generation} << 32U | index;
  slot.previous = newest_;
  (newest_ == kNoSlot ? oldest_ : slots_[newest_].next) = index;
  newest_ = index;
  return index;
}

bool Initiator::joins(const AppendRequest& request) const {
  if (gathering_ == kNoSlot || request.fence || request.compare) return false;
  const Slot& slot = slots_[gathering_];
  const std::uint16_t flags = static_cast<std::uint16_t>((request.queue ? RdmoFlag::kQueue : 0) |
                                                         (request.quiet ? RdmoFlag::kQuiet : 0));
  return slot.request.cell == request.cell && slot.request.cell_key == request.cell_key &&
         slot.request.data_key == request.data_key && (slot.request.flags & ~RdmoFlag::kFence) == flags &&
         slot.records < config_.batch_records_max &&
         request.data.size() <= config_.batch_bytes_max - slot.bytes;
}

Posted Initiator::append(TimePs now, const AppendRequest& request) {
  if (lost_) return Posted::kLost;
  const bool extended = config_.form == Form::kExtended;
  if (!extended && (request.queue || request.quiet || request.compare)) return Posted::kUnsupported;
  const bool narrow = !extended && config_.layout == wire::RdmoLayout::kGuide;
  if (narrow && (request.cell_key > 0xffffU || request.data_key > 0xffffU)) return Posted::kUnsupported;
  if (request.data.size() > 0xffff'ffffU) return Posted::kUnsupported;
  if (!joins(request)) {
    close_batch(now);
    const std::uint32_t index = acquire(now);
    if (index == kNoSlot) return Posted::kFull;
    Slot& slot = slots_[index];
    slot.request.operation = Operation::kAppend;
    slot.request.cell = request.cell;
    slot.request.cell_key = request.cell_key;
    slot.request.data_key = request.data_key;
    slot.request.expected = request.expected;
    slot.request.flags = static_cast<std::uint16_t>(
        (request.fence ? RdmoFlag::kFence : 0) | (request.quiet ? RdmoFlag::kQuiet : 0) |
        (request.compare ? RdmoFlag::kCompare : 0) | (request.queue ? RdmoFlag::kQueue : 0));
    slot.quiet = request.quiet;
    slot.batch =
        config_.batch_records_max > 1 && !request.compare && request.data.size() <= config_.batch_bytes_max;
    if (!slot.batch) {
      slot.payload = request.data;
      slot.records = 1;
      slot.bytes = static_cast<std::uint32_t>(request.data.size());
      *records_of(index) = {request.cookie, slot.bytes};
      enqueue(now, index);
      return Posted::kOk;
    }
    slot.gathering = true;
    gathering_ = index;
  }
  Slot& slot = slots_[gathering_];
  std::byte* buffer = buffers_.data() + std::size_t{gathering_} * config_.batch_bytes_max;
  if (!request.data.empty()) std::memcpy(buffer + slot.bytes, request.data.data(), request.data.size());
  records_of(gathering_)[slot.records++] = {request.cookie, static_cast<std::uint32_t>(request.data.size())};
  slot.bytes += static_cast<std::uint32_t>(request.data.size());
  slot.payload = {buffer, slot.bytes};
  if (slot.records == config_.batch_records_max || slot.bytes == config_.batch_bytes_max) close_batch(now);
  return Posted::kOk;
}

void Initiator::close_batch(TimePs now) {
  if (gathering_ == kNoSlot) return;
  const std::uint32_t index = gathering_;
  gathering_ = kNoSlot;
  slots_[index].gathering = false;
  enqueue(now, index);
}

void Initiator::push(TimePs now) { close_batch(now); }

void Initiator::enqueue(TimePs now, std::uint32_t index) {
  Slot& slot = slots_[index];
  slot.since = now;
  slot.request.sequence = sequence_++;
  slot.request.records = static_cast<std::uint16_t>(slot.records);
  slot.queued = true;
  counters_.records += slot.request.operation == Operation::kAppend ? slot.records : 0;
  queue_.push_back(index);
}

Posted Initiator::flush(TimePs now, std::uint64_t cookie, bool fence) {
  if (lost_) return Posted::kLost;
  close_batch(now);
  const std::uint32_t index = acquire(now);
  if (index == kNoSlot) return Posted::kFull;
  Slot& slot = slots_[index];
  slot.request.operation = Operation::kFlush;
  slot.request.flags = fence ? RdmoFlag::kFence : 0;
  slot.records = 1;
  *records_of(index) = {cookie, 0};
  enqueue(now, index);
  return Posted::kOk;
}

Posted Initiator::scatter(TimePs now, std::uint64_t cookie, std::span<const std::byte> payload,
                          std::uint64_t count, bool fence) {
  if (lost_) return Posted::kLost;
  if (payload.size() > 0xffff'ffffU) return Posted::kUnsupported;
  close_batch(now);
  const std::uint32_t index = acquire(now);
  if (index == kNoSlot) return Posted::kFull;
  Slot& slot = slots_[index];
  slot.request.operation = Operation::kScatter;
  slot.request.flags = fence ? RdmoFlag::kFence : 0;
  slot.request.count = count;
  slot.records = 1;
  slot.payload = payload;
  *records_of(index) = {cookie, 0};
  enqueue(now, index);
  return Posted::kOk;
}

bool Initiator::next_message(Outgoing& out) {
  if (queue_.empty()) return false;
  const std::uint32_t index = queue_.front();
  Slot& slot = slots_[index];
  const bool extended = config_.form == Form::kExtended;
  // Numbers wrap: what counts is how far the limit is ahead.
  if (extended && static_cast<std::int32_t>(credit_limit_ - slot.request.sequence) <= 0) {
    ++counters_.without_credit;
    return false;
  }
  queue_.pop_front();
  slot.queued = false;
  ++counters_.messages;
  out.id = index;
  out.payload = slot.payload;
  if (extended) {
    out.message_id = wire::kRdmoExtendedMessageId;
    out.header_length = wire::encode(slot.request, out.header.data());
    return true;
  }
  wire::RdmoRequest request;
  request.client = slot.request.client;
  request.operation = static_cast<wire::RdmoOperation>(slot.request.operation);
  request.fence = (slot.request.flags & RdmoFlag::kFence) != 0;
  request.flush_id = slot.request.operation == Operation::kFlush ? slot.request.cookie : 0;
  request.cell = slot.request.cell;
  request.cell_key = slot.request.cell_key;
  request.data_key = slot.request.data_key;
  request.count = slot.request.count;
  out.message_id = wire::kRdmoMessageId;
  out.header_length = wire::encode(request, config_.layout, out.header.data());
  return true;
}

void Initiator::sent(TimePs, std::uint32_t id) {
  if (!slots_.is_used(id) || slots_[id].queued || slots_[id].gathering || slots_[id].sent) return;
  Slot& slot = slots_[id];
  slot.sent = true;
  const bool unanswered = slot.request.operation != Operation::kFlush && (!answers_all() || slot.quiet);
  if (slot.answered) {
    if (!slot.told) tell(id);
    release(id);
  } else if (unanswered) {
    end(id, RdmoStatus::kDone, 0);
  }
}

void Initiator::all_sent(TimePs now) {
  for (std::uint32_t index = oldest_; index != kNoSlot;) {
    const std::uint32_t next = slots_[index].next;
    sent(now, index);
    index = next;
  }
}

void Initiator::end(std::uint32_t index, RdmoStatus status, std::uint64_t place) {
  Slot& slot = slots_[index];
  slot.answered = true;
  slot.status = status;
  slot.place = place;
  // With the outcome the caller has its bytes back; what a batch gathered is ours.
  const bool lent = !slot.sent && !slot.batch && !slot.payload.empty();
  if (!lent) tell(index);
  if (slot.sent) release(index);
}

void Initiator::tell(std::uint32_t index) {
  Slot& slot = slots_[index];
  slot.told = true;
  const Record* records = records_of(index);
  for (std::uint32_t i = 0; i < slot.records; ++i) {
    outcomes_.push_back({records[i].cookie, slot.request.operation, slot.status, slot.place});
    // The records of a batch lie one behind the other.
    if (slot.status == RdmoStatus::kDone) slot.place += records[i].length;
  }
}

void Initiator::release(std::uint32_t index) {
  Slot& slot = slots_[index];
  (slot.previous == kNoSlot ? oldest_ : slots_[slot.previous].next) = slot.next;
  (slot.next == kNoSlot ? newest_ : slots_[slot.next].previous) = slot.previous;
  slots_.release(index);
}

void Initiator::receive(TimePs, std::uint32_t message_id, std::span<const std::byte> header) {
  const std::uint32_t wanted =
      config_.form == Form::kExtended ? wire::kRdmoExtendedMessageId : wire::kRdmoMessageId;
  if (message_id != wanted) {
    ++counters_.malformed;
  } else if (config_.form == Form::kExtended) {
    receive_extended(header);
  } else {
    receive_published(header);
  }
}

void Initiator::hear_limit(std::uint32_t limit) {
  // News may overtake each other: the limit never moves back. No worker gives more than it has numbers for.
  const auto ahead = static_cast<std::int32_t>(limit - credit_limit_);
  if (ahead > 0 && ahead <= (1 << 20)) credit_limit_ = limit;
}

void Initiator::receive_published(std::span<const std::byte> header) {
  std::uint64_t id = 0;
  if (wire::decode_rdmo_response(header, config_.layout, id) != wire::RdmoError::kNone) {
    ++counters_.malformed;
    return;
  }
  const auto index = static_cast<std::uint32_t>(id);
  const bool expected = slots_.is_used(index) && slots_[index].request.cookie == id &&
                        !slots_[index].queued && !slots_[index].answered &&
                        slots_[index].request.operation == Operation::kFlush;
  if (!expected) {
    ++counters_.unexpected;
    return;
  }
  ++counters_.answers;
  end(index, RdmoStatus::kDone, 0);
}

void Initiator::receive_extended(std::span<const std::byte> header) {
  wire::RdmoAnswer answer;
  if (wire::decode(header, answer) != wire::RdmoError::kNone) {
    ++counters_.malformed;
    return;
  }
  hear_limit(answer.credit_limit);
  if (answer.operation == Operation::kCredit) return;
  const auto index = static_cast<std::uint32_t>(answer.cookie);
  const bool expected = slots_.is_used(index) && slots_[index].request.cookie == answer.cookie &&
                        !slots_[index].queued && !slots_[index].gathering && !slots_[index].answered &&
                        slots_[index].request.operation == answer.operation &&
                        slots_[index].request.sequence == answer.sequence;
  if (!expected) {
    ++(answer.status == RdmoStatus::kDone ? counters_.unexpected : counters_.quiet_failures);
    return;
  }
  ++counters_.answers;
  end(index, answer.status, answer.place);
}

void Initiator::fail_all(RdmoStatus first, RdmoStatus others) {
  lost_ = true;
  gathering_ = kNoSlot;
  queue_.clear();
  RdmoStatus status = first;
  for (std::uint32_t index = oldest_; index != kNoSlot;) {
    Slot& slot = slots_[index];
    const std::uint32_t next = slot.next;
    if (slot.queued || slot.gathering) slot.sent = true;  // The host never had it.
    if (!slot.answered) {
      end(index, status, 0);
      status = others;
    }
    index = next;
  }
}

void Initiator::lost(TimePs) { fail_all(RdmoStatus::kConnectionLost, RdmoStatus::kConnectionLost); }

void Initiator::expire(TimePs now) {
  if (lost_) return;
  if (gathering_ != kNoSlot && config_.batch_delay > kTimeZero &&
      now >= slots_[gathering_].since + config_.batch_delay)
    close_batch(now);
  if (oldest_ != gathering_ && now >= slots_[oldest_].since + config_.time_max)
    fail_all(RdmoStatus::kTimedOut, RdmoStatus::kConnectionLost);
}

TimePs Initiator::deadline() const {
  TimePs earliest = kNever;
  if (lost_) return earliest;
  // What gathers is the newest: it is the oldest only when there is nothing else.
  if (oldest_ != gathering_) earliest = slots_[oldest_].since + config_.time_max;
  if (gathering_ != kNoSlot && config_.batch_delay > kTimeZero)
    earliest = min(earliest, slots_[gathering_].since + config_.batch_delay);
  return earliest;
}

bool Initiator::poll(Outcome& out) {
  if (outcomes_.empty()) return false;
  out = outcomes_.front();
  outcomes_.pop_front();
  return true;
}

}  // namespace wharf::rdmo
