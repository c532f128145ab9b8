// SPDX-License-Identifier: Apache-2.0
// Appends through the worker's engine, memory in place, on one core: messages in as bytes, accesses
// performed, answers out as bytes.
//
//   published      64 B appends, a fenced flush every 64
//   batch/N        extended appends of N records of 64 B; items are records
//
// The worker is to do 10 million appends per second and core: `items_per_second`. A hash of the log shows
// what was done.
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "engine/rdmo/worker.h"

namespace {

using namespace wharf;
using namespace wharf::rdmo;

constexpr std::uint32_t kRecordBytes = 64;
constexpr std::uint64_t kLogBytes = 1U << 20U;

class Bench {
 public:
  Bench() : worker_(*Worker::create(config())), memory_(kLogBytes) {
    base_ = reinterpret_cast<std::uint64_t>(memory_.data());
    store_le64(memory_.data(), base_ + 8);
    const std::vector<std::byte> name(1);
    wire::RdmoCommand init;
    init.id = 1;
    init.peer = name;
    command(init);
    wire::RdmoCommand reg;
    reg.type = wire::RdmoCommandType::kMrRegister;
    reg.address = base_;
    reg.length = kLogBytes;
    reg.rkey = name;
    command(reg);
    wire::RdmoCommand queue;
    queue.type = wire::RdmoCommandType::kRqCreate;
    queue.peer = name;
    command(queue);
  }

  void append_published(const std::byte* data) {
    wire::RdmoRequest request;
    request.client = 1;
    request.operation = wire::RdmoOperation::kAppend;
    request.cell = base_;
    request.cell_key = request.data_key = kKey;
    send(wire::kRdmoMessageId, wire::encode(request, wire::RdmoLayout::kShipped, header_.data()), data,
         kRecordBytes);
  }
  void flush_published() {
    wire::RdmoRequest request;
    request.client = 1;
    request.fence = true;
    send(wire::kRdmoMessageId, wire::encode(request, wire::RdmoLayout::kShipped, header_.data()), nullptr, 0);
  }
  void append_batch(const std::byte* data, std::uint32_t records) {
    wire::RdmoExtendedRequest request;
    request.operation = wire::RdmoExtendedOperation::kAppend;
    request.client = 1;
    request.sequence = sequence_++;
    request.cell = base_;
    request.cell_key = request.data_key = kKey;
    request.records = static_cast<std::uint16_t>(records);
    send(wire::kRdmoExtendedMessageId, wire::encode(request, header_.data()), data, records * kRecordBytes);
  }
  void flush_extended() {
    wire::RdmoExtendedRequest request;
    request.operation = wire::RdmoExtendedOperation::kFlush;
    request.client = 1;
    request.sequence = sequence_++;
    request.flags = wire::RdmoFlag::kFence;
    send(wire::kRdmoExtendedMessageId, wire::encode(request, header_.data()), nullptr, 0);
  }
  /// After a flush the worker holds no tail: the log begins anew when it is nearly full.
  void wrap() {
    if (load_le64(memory_.data()) - base_ > kLogBytes / 2) store_le64(memory_.data(), base_ + 8);
  }
  std::uint64_t answers() const { return answers_; }
  const WorkerCounters& counters() const { return worker_.counters(); }

 private:
  static constexpr std::uint64_t kKey = 77;
  static WorkerConfig config() {
    WorkerConfig config;
    config.requests_max = 1024;
    config.cells_max = 64;
    return config;
  }
  void command(const wire::RdmoCommand& command) {
    std::vector<std::byte> bytes;
    wire::encode(command, bytes);
    worker_.command(now_, 0, bytes);
    Action action;
    while (worker_.next_action(action)) {
      ActionResult result;
      result.direct = true;
      result.random = kKey;
      result.peer = 0;
      worker_.action_done(now_, action.id, result);
    }
    Notice notice;
    while (worker_.next_notice(notice)) {
    }
  }
  void send(std::uint32_t id, std::uint32_t header, const std::byte* data, std::uint32_t length) {
    now_ = now_ + nanoseconds(10);
    worker_.receive(now_, 0, id, {header_.data(), header}, {data, length, 1});
    Access access;
    while (worker_.next_access(access)) {
      AccessResult result;
      auto* at = reinterpret_cast<std::byte*>(access.address);
      if (access.kind == AccessKind::kWrite) std::memcpy(at, access.data, access.length);
      if (access.kind == AccessKind::kWriteCell) store_le64(at, access.value);
      if (access.kind == AccessKind::kRead) std::memcpy(result.words.data(), at, access.length);
      worker_.access_done(now_, access.id, result);
    }
    std::uint64_t handle = 0;
    while (worker_.next_release(handle)) {
    }
    Message message;
    while (worker_.next_message(message)) answers_ += message.length > 0 ? 1 : 0;
  }

  Worker worker_;
  std::vector<std::byte> memory_;
  std::uint64_t base_ = 0;
  std::array<std::byte, wire::kRdmoHeaderBytesMax> header_{};
  TimePs now_ = kTimeZero;
  std::uint32_t sequence_ = 0;
  std::uint64_t answers_ = 0;
};

void published(benchmark::State& state) {
  Bench bench;
  std::vector<std::byte> data(kRecordBytes, std::byte{7});
  std::uint64_t appends = 0;
  for (auto _ : state) {
    bench.append_published(data.data());
    if (++appends % 64 != 0) continue;
    bench.flush_published();
    bench.wrap();
  }
  state.SetItemsProcessed(state.iterations());
  WHARF_CHECK(bench.counters().appends == appends);
}

void batch(benchmark::State& state) {
  const auto records = static_cast<std::uint32_t>(state.range(0));
  Bench bench;
  std::vector<std::byte> data(std::size_t{records} * kRecordBytes, std::byte{7});
  std::uint64_t messages = 0;
  for (auto _ : state) {
    bench.append_batch(data.data(), records);
    if (++messages % 64 != 0) continue;
    bench.flush_extended();
    bench.wrap();
  }
  state.SetItemsProcessed(state.iterations() * records);
  WHARF_CHECK(bench.counters().records == messages * records && bench.answers() == messages + messages / 64);
}

BENCHMARK(published);
BENCHMARK(batch)->Arg(1)->Arg(16);

}  // namespace

BENCHMARK_MAIN();
