// SPDX-License-Identifier: Apache-2.0
// A program allocates when it starts, never per operation. Apart from the other tests because it replaces the
// allocator of its program.
#include <gtest/gtest.h>

#include <cstring>
#include <list>

#include "tests/support/counting_allocator.h"
#include "workload/workload.h"

namespace wharf::workload {
namespace {

using test::allocations;

/// There at once: no suspension, so that only the program's own work is counted.
template <typename T>
struct Ready {
  T value{};
  bool await_ready() const { return true; }
  void await_suspend(std::coroutine_handle<>) {}
  T await_resume() { return value; }
};
struct Done {
  bool await_ready() const { return true; }
  void await_suspend(std::coroutine_handle<>) {}
  void await_resume() {}
};

class InstantCore {
 public:
  std::uint64_t allocate(Bytes size) { return (next_ += size.count + 64) - size.count - 64; }
  std::span<std::byte> bytes(std::uint64_t address, Bytes size) {
    return std::span<std::byte>(memory_).subspan(address, size.count);
  }
  Ready<std::uint64_t> load(std::uint64_t address, std::uint32_t) {
    return {load_le64(memory_.data() + address)};
  }
  Done store(std::uint64_t, std::uint32_t, std::uint64_t) { return {}; }
  Ready<std::uint64_t> compare_swap(std::uint64_t, std::uint64_t, std::uint64_t) { return {}; }
  Ready<std::uint64_t> fetch_add(std::uint64_t, std::uint64_t) { return {}; }
  Done fence() { return {}; }
  Done compute(TimePs duration) { return sleep(duration); }
  Done sleep(TimePs duration) {
    now_ += duration;
    return {};
  }
  TimePs now() const { return now_; }
  void spawn(verbs::Task<void> task) { tasks_.emplace_back(std::move(task)).start(); }
  RandomStream random(std::string_view name) { return RandomStream(1, name); }

 private:
  std::vector<std::byte> memory_ = std::vector<std::byte>(1U << 20U);
  std::uint64_t next_ = 64;
  TimePs now_;
  std::list<verbs::Task<void>> tasks_;
};

class InstantRemote {
 public:
  InstantRemote(InstantCore& core, std::size_t size, bool load_store)
      : core_(core), memory_(size), load_store_(load_store) {}
  std::span<std::byte> memory() { return memory_; }

  verbs::RemoteSegment segment() const { return {0x1000, memory_.size(), {}, verbs::kFullAccess}; }
  bool supports(verbs::Verb verb) const { return load_store_ || !verbs::is_load_store(verb); }
  Ready<verbs::Completion> execute(const verbs::WorkRequest& request) {
    return request.verb == verbs::Verb::kWrite
               ? write(request.local[0].address, request.remote, request.length)
               : read(request.local[0].address, request.remote, request.length);
  }
  Ready<verbs::Completion> read(std::uint64_t local, verbs::RemoteAddress from, std::uint32_t length) {
    std::memcpy(core_.bytes(local, Bytes{length}).data(), at(from), length);
    return done();
  }
  Ready<verbs::Completion> write(std::uint64_t local, verbs::RemoteAddress to, std::uint32_t length) {
    std::memcpy(at(to), core_.bytes(local, Bytes{length}).data(), length);
    return done();
  }
  Ready<verbs::Completion> write_imm(std::uint64_t local, verbs::RemoteAddress to, std::uint32_t length,
                                     std::uint64_t) {
    return write(local, to, length);
  }
  Ready<verbs::Completion> send(std::uint64_t, std::uint32_t) { return done(); }
  Ready<verbs::Completion> receive(std::uint64_t, std::uint32_t) { return done(); }
  Ready<verbs::Completion> receive(const verbs::ReceiveRequest&) { return done(); }
  Ready<verbs::Completion> fetch_add(verbs::RemoteAddress target, std::uint64_t value) {
    const std::uint64_t before = load_le64(at(target));
    store_le64(at(target), before + value);
    return done(before);
  }
  Ready<verbs::Completion> compare_swap(verbs::RemoteAddress target, std::uint64_t compare,
                                        std::uint64_t swap) {
    const std::uint64_t before = load_le64(at(target));
    if (before == compare) store_le64(at(target), swap);
    return done(before);
  }
  Ready<verbs::LoadedValue> load(verbs::RemoteAddress from, std::uint32_t) {
    core_.sleep(nanoseconds(500));
    return {{load_le64(at(from)), verbs::CompletionStatus::kSuccess}};
  }
  Ready<verbs::CompletionStatus> store(verbs::RemoteAddress to, std::uint32_t, std::uint64_t value) {
    core_.sleep(nanoseconds(500));
    store_le64(at(to), value);
    return {};
  }
  Ready<verbs::CompletionStatus> publish(verbs::RemoteAddress, std::uint32_t) {
    core_.sleep(nanoseconds(500));
    return {};
  }

 private:
  std::byte* at(verbs::RemoteAddress address) { return memory_.data() + (address.address - 0x1000); }
  Ready<verbs::Completion> done(std::uint64_t before = 0) {
    core_.sleep(nanoseconds(500));
    Ready<verbs::Completion> ready;
    ready.value.atomic_result[0] = before;
    return ready;
  }

  InstantCore& core_;
  std::vector<std::byte> memory_;
  bool load_store_;
};
static_assert(verbs::Core<InstantCore>);
static_assert(verbs::RemoteMemory<InstantRemote>);

/// Allocations of one run of `operations`, preparation and checks apart.
std::uint64_t allocations_of(WorkloadConfig config, std::uint64_t operations, bool load_store) {
  loop_config(config).operations = operations;
  InstantCore core;
  InstantRemote remote(core, memory_needed(config, {}), load_store);
  prepare(config, {}, remote.memory(), 1);
  WorkloadResult result = empty_result(config);
  const std::uint64_t before = allocations;
  core.spawn(run(config, {}, 1, remote, core, result));
  const std::uint64_t used = allocations - before;
  EXPECT_EQ(loop_result(result).operations, operations);
  EXPECT_TRUE(verify(config, {}, remote.memory(), 1, {&result, 1}).holds());
  return used;
}

TEST(SteadyState, OperationsAllocateNothing) {
  for (int k = 0; k < kWorkloadKindCount; ++k) {
    const auto kind = static_cast<WorkloadKind>(k);
    if (kind == WorkloadKind::kPingPong || kind == WorkloadKind::kRingCollective)
      continue;  // Needs another side; its loops are of the same kind.
    for (const bool load_store : {false, true}) {
      for (const Pacing pacing : {Pacing::kClosed, Pacing::kOpen}) {
        WorkloadConfig config = default_config(kind);
        loop_config(config).pacing = pacing;
        if (auto* appends = std::get_if<RdmoConfig>(&config)) appends->protocol = RdmoProtocol::kTwoStep;
        const std::uint64_t few = allocations_of(config, 10, load_store);
        const std::uint64_t many = allocations_of(config, 20'000, load_store);
        EXPECT_EQ(few, many) << name(kind);
        EXPECT_GT(few, 0U) << "the counter does not count";
      }
    }
  }
}

}  // namespace
}  // namespace wharf::workload
