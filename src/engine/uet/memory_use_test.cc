// SPDX-License-Identifier: Apache-2.0
// What many peers cost: one engine with a queue for each of 1,024 hosts, at the default depths and windows.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/arena.h"
#include "engine/uet/uet_engine.h"

namespace wharf::uet {
namespace {

constexpr std::uint32_t kHosts = 1024;
constexpr std::uint64_t kBase = 0x10000;

std::uint64_t bytes_of(const UetEngine& engine) {
  std::uint64_t bytes = 0;
  for (const MemoryUse& use : engine.memory_use()) bytes += use.bytes;
  return bytes;
}

/// Host 0 in the middle, with a queue for each of the others. Memory and wire take no time.
class Hub {
 public:
  Hub() : hub_(make(0)), empty_(bytes_of(*hub_)) {
    for (std::uint32_t host = 1; host <= kHosts; ++host) {
      leaves_.push_back(make(host));
      UetEngine& leaf = *leaves_.back();
      const engine::QueueId far = leaf.create_queue({}, {}).value();
      token_ = leaf.register_segment({}, {.base = kBase, .length = 65536}).value();
      queues_.push_back(hub_->create_queue({}, {}).value());
      peers_.push_back(hub_->connect({}, queues_.back(), leaf.export_queue(far).value()).value());
    }
  }

  UetEngine& engine() { return *hub_; }
  std::uint64_t empty() const { return empty_; }

  /// Posts writes of 64 bytes to every host until nothing more is taken; how many were.
  std::uint64_t post_all() {
    std::uint64_t posted = 0;
    verbs::WorkRequest request;
    request.verb = verbs::Verb::kWrite;
    request.length = 64;
    request.inline_data = wire::pattern_payload(1, 0, 64);
    request.remote = {kBase, token_};
    for (std::uint32_t i = 0; i < kHosts; ++i) {
      request.peer = peers_[i];
      while (hub_->post({}, queues_[i], request, engine::Submission::kInHand) == engine::PostStatus::kOk)
        ++posted;
    }
    return posted;
  }
  /// Until nothing moves; completions stay unread, so this cannot be the driver's loop.
  void run() {
    for (bool moved = true; moved;) {
      moved = serve(*hub_);
      for (const auto& leaf : leaves_) moved = serve(*leaf) || moved;
    }
  }
  std::uint64_t read_completions() {
    std::uint64_t read = 0;
    verbs::Completion completion;
    for (const engine::QueueId queue : queues_) {
      while (hub_->poll(queue, completion)) read += completion.ok() ? 1 : 0;
    }
    return read;
  }

 private:
  std::unique_ptr<UetEngine> make(std::uint32_t host) {
    UetConfig config;
    config.host = {host};
    config.pdc_limit = 4 * kHosts;
    return std::make_unique<UetEngine>(std::move(UetEngine::create(config, pool_, arena_).value()));
  }
  bool serve(UetEngine& engine) {
    bool moved = false;
    engine::Access access;
    wire::Packet packet;
    while (engine.next_access(access)) {
      moved = true;
      engine.access_done({}, access.id, {});
    }
    while (engine.transmit({}, 0, wire::kAllTrafficClasses, packet)) {
      moved = true;
      const std::uint32_t to = packet.destination.number;
      (to == 0 ? *hub_ : *leaves_[to - 1]).receive({}, 0, packet);
    }
    return moved;
  }

  Arena arena_;
  wire::PayloadPool pool_;
  std::unique_ptr<UetEngine> hub_;
  std::uint64_t empty_;
  std::vector<std::unique_ptr<UetEngine>> leaves_;
  std::vector<engine::QueueId> queues_;
  std::vector<verbs::PeerId> peers_;
  verbs::SegmentToken token_;
};

TEST(UetMemory, APeerThatWasNeverTouchedTakesTwoKibibytes) {
  Hub hub;
  EXPECT_LE((bytes_of(hub.engine()) - hub.empty()) / kHosts, 2048u);
}

TEST(UetMemory, AThousandQueuesAtFullDepthTakeLessThan64MiB) {
  Hub hub;
  const std::uint64_t posted = hub.post_all();
  EXPECT_EQ(posted, kHosts * 128u);
  EXPECT_LT(bytes_of(hub.engine()), std::uint64_t{64} << 20U);
  hub.run();
  EXPECT_LT(bytes_of(hub.engine()), std::uint64_t{64} << 20U);
  EXPECT_EQ(hub.read_completions(), posted);
  // What has been used once serves again.
  const std::uint64_t before = bytes_of(hub.engine());
  EXPECT_EQ(hub.post_all(), posted);
  hub.run();
  EXPECT_EQ(bytes_of(hub.engine()), before);
  RecordProperty("bytes", static_cast<int>(before));
}

}  // namespace
}  // namespace wharf::uet
