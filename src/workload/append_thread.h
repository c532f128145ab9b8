// SPDX-License-Identifier: Apache-2.0
// What a thread of the target's program does when clients send it records instead of asking a worker: it
// knows the tail, copies, moves the tail in memory, and answers. It speaks the extended form of RDMO's
// messages, so that clients are the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ring.h"
#include "base/slot_pool.h"
#include "engine/rdmo/ports.h"
#include "wire/rdmo_extended.h"

namespace wharf::workload {

class AppendThread {
 public:
  AppendThread(std::uint32_t clients, std::uint32_t window, std::uint64_t cell, std::uint64_t first,
               std::uint64_t end)
      : window_(window),
        cell_(cell),
        tail_(first),
        landed_(first),
        stored_(first),
        end_(end),
        ended_(clients, 0),
        records_(clients * window),
        order_(clients * window),
        accesses_(clients * window + 1),
        messages_(clients * window),
        releases_(clients * window) {}

  rdmo::Taken receive(std::uint32_t client, std::uint32_t id, std::span<const std::byte> header,
                      const rdmo::Payload& payload) {
    wire::RdmoExtendedRequest request;
    if (id != wire::kRdmoExtendedMessageId || wire::decode(header, request) != wire::RdmoError::kNone)
      return rdmo::Taken::kDone;
    wire::RdmoStatus status = wire::RdmoStatus::kDone;
    const bool appends = request.operation == wire::RdmoExtendedOperation::kAppend;
    if (!appends && request.operation != wire::RdmoExtendedOperation::kFlush &&
        request.operation != wire::RdmoExtendedOperation::kHello)
      status = wire::RdmoStatus::kMalformed;
    if (appends && (request.flags != 0 || request.cell != cell_)) status = wire::RdmoStatus::kBadAddress;
    if (appends && payload.length > end_ - tail_) status = wire::RdmoStatus::kNoRoom;
    // A flush has nothing to add: what was answered is in memory, and so is its tail.
    if (!appends || status != wire::RdmoStatus::kDone || payload.length == 0) {
      answer(client, request.operation, request.sequence, request.cookie, status, tail_);
      return rdmo::Taken::kDone;
    }
    const std::uint32_t index = records_.acquire();
    WHARF_CHECK(index != kNoSlot);  // Clients keep to their credits.
    records_[index] = {client, request.sequence, request.cookie, tail_, payload, false, false};
    tail_ += payload.length;
    order_.push_back(index);
    accesses_.push_back(index);
    return rdmo::Taken::kHeld;
  }

  void access_done(std::uint32_t id, const rdmo::AccessResult& result) {
    if (id == kStoreTail) {
      storing_ = false;
      stored_ = storing_value_;
    } else {
      records_[id].done = true;
      records_[id].failed = result.status != rdmo::AccessStatus::kDone;
      releases_.push_back(records_[id].payload.handle);
    }
    for (std::size_t i = 0; i < order_.size() && records_[order_[i]].done; ++i)
      landed_ = std::max(landed_, records_[order_[i]].place + records_[order_[i]].payload.length);
    while (!order_.empty() && records_[order_.front()].done &&
           records_[order_.front()].place + records_[order_.front()].payload.length <= stored_) {
      const std::uint32_t index = order_.front();
      const Record& record = records_[index];
      answer(record.client, wire::RdmoExtendedOperation::kAppend, record.sequence, record.cookie,
             record.failed ? wire::RdmoStatus::kMemoryFailed : wire::RdmoStatus::kDone, record.place);
      order_.pop_front();
      records_.release(index);
    }
    if (!storing_ && landed_ > stored_) {
      storing_ = true;
      storing_value_ = landed_;
      accesses_.push_back(kStoreTail);
    }
  }

  bool next_access(rdmo::Access& out) {
    if (accesses_.empty()) return false;
    const std::uint32_t id = accesses_.front();
    accesses_.pop_front();
    out = {};
    out.id = id;
    if (id == kStoreTail) {
      out.kind = rdmo::AccessKind::kWriteCell;
      out.address = cell_;
      out.length = 8;
      out.value = storing_value_;
      return true;
    }
    out.kind = rdmo::AccessKind::kWrite;
    out.address = records_[id].place;
    out.length = records_[id].payload.length;
    out.data = records_[id].payload.data;
    out.payload = records_[id].payload.handle;
    return true;
  }
  bool next_message(rdmo::Message& out) { return next_of(messages_, out); }
  bool next_release(std::uint64_t& out) { return next_of(releases_, out); }

 private:
  static constexpr std::uint32_t kStoreTail = ~std::uint32_t{0} - 1;
  struct Record {
    std::uint32_t client = 0;
    std::uint32_t sequence = 0;
    std::uint64_t cookie = 0;
    std::uint64_t place = 0;
    rdmo::Payload payload;
    bool done = false;
    bool failed = false;
  };

  template <typename T>
  static bool next_of(Ring<T>& ring, T& out) {
    if (ring.empty()) return false;
    out = ring.front();
    ring.pop_front();
    return true;
  }
  void answer(std::uint32_t client, wire::RdmoExtendedOperation operation, std::uint32_t sequence,
              std::uint64_t cookie, wire::RdmoStatus status, std::uint64_t place) {
    wire::RdmoAnswer answer;
    answer.operation = operation;
    answer.status = status;
    answer.sequence = sequence;
    answer.cookie = cookie;
    answer.place = place;
    answer.credit_limit = ++ended_[client] + window_;
    rdmo::Message& message = messages_.push_stale();
    message.peer = client;
    message.message_id = wire::kRdmoExtendedMessageId;
    message.length = wire::encode(answer, message.header.data());
  }

  std::uint32_t window_;
  std::uint64_t cell_;
  std::uint64_t tail_;    ///< The next free place.
  std::uint64_t landed_;  ///< All places before it are written.
  std::uint64_t stored_;  ///< What the cell says.
  std::uint64_t end_;
  std::uint64_t storing_value_ = 0;
  bool storing_ = false;
  std::vector<std::uint32_t> ended_;
  SlotPool<Record> records_;
  Ring<std::uint32_t> order_;  ///< In the order of places.
  Ring<std::uint32_t> accesses_;
  Ring<rdmo::Message> messages_;
  Ring<std::uint64_t> releases_;
};

}  // namespace wharf::workload
