// SPDX-License-Identifier: Apache-2.0
// Once a worker has seen its connections, messages, answers and write-back take nothing from the heap.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "engine/rdmo/worker.h"
#include "tests/support/counting_allocator.h"

namespace wharf::rdmo {
namespace {

using test::allocations;

/// A host whose memory is in place, or answers writes late.
class Host {
 public:
  explicit Host(bool direct) : direct_(direct), worker_(*Worker::create({})), memory_(1U << 16U) {
    base_ = reinterpret_cast<std::uint64_t>(memory_.data());
    store_le64(memory_.data(), base_ + 8);
    const std::vector<std::byte> name(1);
    for (const auto type : {wire::RdmoCommandType::kClientInit, wire::RdmoCommandType::kMrRegister,
                            wire::RdmoCommandType::kRqCreate}) {
      wire::RdmoCommand command;
      command.type = type;
      command.address = base_;
      command.length = memory_.size();
      (type == wire::RdmoCommandType::kMrRegister ? command.rkey : command.peer) = name;
      std::vector<std::byte> bytes;
      wire::encode(command, bytes);
      worker_.command(now_, 0, bytes);
      Action action;
      while (worker_.next_action(action)) {
        ActionResult result;
        result.direct = direct_;
        result.random = 5;
        result.peer = 0;
        worker_.action_done(now_, action.id, result);
      }
    }
  }

  void send(wire::RdmoExtendedRequest request, std::span<const std::byte> data) {
    request.sequence = sequence_++;
    request.cell = base_;
    request.cell_key = request.data_key = 5;
    std::array<std::byte, wire::kRdmoHeaderBytesMax> header{};
    const std::uint32_t length = encode(request, header.data());
    now_ = now_ + nanoseconds(100);
    worker_.receive(now_, 0, wire::kRdmoExtendedMessageId, std::span(header).first(length),
                    {data.data(), static_cast<std::uint32_t>(data.size()), 1});
    Access access;
    while (worker_.next_access(access)) {
      AccessResult result;
      auto* at = reinterpret_cast<std::byte*>(access.address);
      if (access.kind == AccessKind::kWrite) std::memcpy(at, access.data, access.length);
      if (access.kind == AccessKind::kWriteCell) store_le64(at, access.value);
      if (access.kind == AccessKind::kRead) std::memcpy(result.words.data(), at, access.length);
      worker_.access_done(now_, access.id, result);
    }
    Message message;
    while (worker_.next_message(message)) ++answers_;
    std::uint64_t handle = 0;
    while (worker_.next_release(handle)) {
    }
  }
  void round() {
    std::array<std::byte, 5000> data{};
    for (const std::size_t bytes : {8U, 64U, 5000U}) {
      wire::RdmoExtendedRequest append;
      append.operation = wire::RdmoExtendedOperation::kAppend;
      send(append, std::span(data).first(bytes));
    }
    wire::RdmoExtendedRequest scatter;
    scatter.operation = wire::RdmoExtendedOperation::kScatter;
    scatter.count = 1;
    encode(wire::RdmoEntry{base_ + 8, 5, 16}, data.data());
    send(scatter, std::span(data).first(wire::kRdmoEntryBytes + 16));
    wire::RdmoExtendedRequest flush;
    flush.operation = wire::RdmoExtendedOperation::kFlush;
    flush.flags = wire::RdmoFlag::kFence;
    send(flush, {});
    store_le64(memory_.data(), base_ + 8);
  }
  std::uint64_t answers() const { return answers_; }

 private:
  bool direct_;
  Worker worker_;
  std::vector<std::byte> memory_;
  std::uint64_t base_ = 0;
  TimePs now_ = kTimeZero;
  std::uint32_t sequence_ = 0;
  std::uint64_t answers_ = 0;
};

TEST(RdmoSteadyState, MessagesTakeNothingFromTheHeap) {
  for (const bool direct : {true, false}) {
    Host host(direct);
    host.round();
    const std::uint64_t before = allocations;
    for (int i = 0; i < 1000; ++i) host.round();
    EXPECT_EQ(allocations, before) << direct;
    EXPECT_EQ(host.answers(), 5U * 1001U);
  }
}

}  // namespace
}  // namespace wharf::rdmo
