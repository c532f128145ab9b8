// SPDX-License-Identifier: Apache-2.0
// A hostile peer: lists of hand-made packets, posts, memory answers and time steps against one RoCE engine.
// It must not crash, touch memory outside its segments, leak payload buffers, or go on asking for ever.
// LINK: wharf_roce
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <vector>

#include "engine/roce/exchange.h"
#include "engine/roce/roce_engine.h"

namespace {

using namespace wharf;  // NOLINT: one file, one purpose.

constexpr std::uint64_t kBase = 0x10000;
constexpr std::uint64_t kBytes = 4096;

/// Reads numbers from the input; zeros behind its end.
class Script {
 public:
  Script(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool done() const { return at_ >= size_; }
  std::uint32_t byte() { return done() ? 0 : data_[at_++]; }
  std::uint32_t word() { return byte() | (byte() << 8U) | (byte() << 16U); }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

void require(bool condition) {
  if (!condition) std::abort();
}

/// Answers accesses; those of the peer must stay inside the segment.
class World {
 public:
  explicit World(Script& script) : script_(script) {
    roce::RoceConfig config;
    config.host = {1};
    config.path_mtu = 256;
    config.ack_timeout = 1;
    config.starting_psn = 1000;
    config.queue_cache_entries = script.byte() % 2;
    config.key_cache_entries = config.queue_cache_entries;
    config.deferred_packets = 8;
    config.access_slots = 64;
    config.responses_ahead = 8;
    engine_ = roce::RoceEngine::create(config, pool_).value();
    token_ = engine_->register_segment(now_, {.base = kBase, .length = kBytes}).value();
    for (std::uint32_t queue = 0; queue < 2; ++queue) {
      const engine::QueueId id = engine_->create_queue(now_, {.send_depth = 4, .receive_depth = 4}).value();
      roce::ExchangeRecord peer;
      peer.host = {0};
      peer.queue_number = 17 + queue;
      peer.starting_psn = 5000;
      peer.path_mtu = 256;
      peer.responder_resources = 4;
      require(engine_->connect(now_, id, roce::encode(peer)).ok());
    }
    drain();
  }
  ~World() {
    engine_.reset();
    require(pool_.in_use() == 0);
  }

  void step() {
    switch (script_.byte() % 8) {
      case 0:
      case 1:
      case 2:
        receive();
        break;
      case 3:
        post();
        break;
      case 4:
        post_receive();
        break;
      case 5:
        now_ += picoseconds(static_cast<std::int64_t>(script_.word()) * 100);
        break;
      case 6:
        answer(script_.byte());
        break;
      case 7:
        control();
        break;
    }
    if (engine_->deadline() <= now_) engine_->expire(now_);
    drain();
  }

  void finish() {
    for (int round = 0; round < 100000 && !pending_.empty(); ++round) {
      answer(0);
      drain();
    }
    require(pending_.empty());
  }

 private:
  void receive() {
    wire::Packet packet = wire::roce_packet();
    packet.source = {script_.byte() % 16 == 0 ? 9U : 0U};
    packet.destination = {1};
    wire::RocePacket& roce = packet.roce;
    roce.bth.opcode = static_cast<wire::RoceOpcode>(script_.byte() % 40 == 39 ? 0x81 : script_.byte() % 32);
    roce.bth.destination_queue_pair = 17 + script_.byte() % 3;
    const bool answers = (wire::roce_headers(roce.bth.opcode) & wire::kRoceAeth) != 0;
    roce.bth.psn = (answers ? 1000 : 5000) + script_.byte() % 16 + script_.byte() % 2 * 0xfffff8;
    roce.bth.psn &= wire::kPsnMask;
    roce.bth.acknowledge_request = script_.byte() % 2 == 0;
    const std::uint16_t headers = wire::roce_headers(roce.bth.opcode);
    const std::uint32_t key = script_.byte() % 4 == 0 ? script_.word() : token_.id;
    const std::uint64_t address = kBase + script_.word() % 8192 - 256;
    if ((headers & wire::kRoceReth) != 0) roce.reth = {address, key, script_.word() % 2048};
    if ((headers & wire::kRoceAtomicEth) != 0) roce.atomic = {address & ~std::uint64_t{3}, 1, 0, key};
    if (answers) {
      roce.ack.aeth.syndrome = static_cast<std::uint8_t>(script_.byte());
      roce.ack.aeth.msn = script_.word();
    }
    roce.invalidate_key = key;
    static const std::array<std::byte, 512> kData{};
    const std::uint32_t shape = script_.byte();
    const std::uint32_t length = shape % 3 == 0 ? 256 : shape % 3 == 1 ? shape : shape * 2;
    wire::BufferId buffer = wire::kNoBuffer;
    if ((headers & wire::kRocePayload) != 0 && length > 0) {
      buffer = pool_.acquire(512);
      std::copy(kData.begin(), kData.end(), pool_.data(buffer));
      packet.payload = wire::bytes_payload(pool_.data(buffer), length, buffer);
    }
    engine_->receive(now_, 0, packet);
    pool_.release(buffer);
  }

  void post() {
    verbs::WorkRequest request;
    request.verb = static_cast<verbs::Verb>(script_.byte() % verbs::kVerbCount);
    request.length = verbs::is_atomic(request.verb) ? 8 : script_.byte() * 4;
    request.local_count = 1;
    request.local[0] = {kBase, request.length};
    request.remote = {kBase, {17, 0}};
    request.fence = script_.byte() % 4 == 0;
    static_cast<void>(
        engine_->post(now_, script_.byte() % 3, request,
                      script_.byte() % 2 == 0 ? engine::Submission::kInHand : engine::Submission::kDoorbell));
  }

  void post_receive() {
    verbs::ReceiveRequest request;
    request.local_count = 1;
    request.local[0] = {kBase, script_.byte() * 8};
    static_cast<void>(engine_->post_receive(now_, script_.byte() % 3, request));
  }

  void control() {
    const engine::QueueId queue = script_.byte() % 2;
    switch (script_.byte() % 8) {
      case 0:
        static_cast<void>(engine_->reset(now_, queue));
        break;
      case 1:
        static_cast<void>(engine_->disconnect(now_, queue, queue));
        break;
      case 2:
        static_cast<void>(engine_->deregister_segment(now_, token_));
        break;
      case 3: {
        const auto token = engine_->register_segment(now_, {.base = kBase, .length = kBytes});
        if (token.ok()) token_ = token.value();
        break;
      }
      default: {
        roce::ExchangeRecord peer;
        peer.host = {0};
        peer.queue_number = 17 + queue;
        peer.starting_psn = 5000;
        peer.path_mtu = 256;
        peer.responder_resources = 4;
        static_cast<void>(engine_->connect(now_, queue, roce::encode(peer)));
      }
    }
  }

  void answer(std::uint32_t which) {
    if (pending_.empty()) return;
    const std::size_t at = which % pending_.size();
    const engine::Access access = pending_[at];
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(at));
    engine::AccessResult result;
    wire::BufferId buffer = wire::kNoBuffer;
    const bool reads =
        access.kind == engine::AccessKind::kRead || access.kind == engine::AccessKind::kFetchContext;
    if (access.kind == engine::AccessKind::kWriteContext) {
      std::vector<std::byte>& record = contexts_[access.address % contexts_.size()];
      record.resize(access.length);
      wire::fill(access.data, record);
    }
    if (reads) {
      buffer = pool_.acquire(access.length);
      std::fill_n(pool_.data(buffer), access.length, std::byte{0});
      if (access.kind == engine::AccessKind::kFetchContext) {
        const std::vector<std::byte>& record = contexts_[access.address % contexts_.size()];
        require(record.size() == access.length);
        std::copy(record.begin(), record.end(), pool_.data(buffer));
      }
      result.data = wire::bytes_payload(pool_.data(buffer), access.length, buffer);
    }
    const bool fault = reads && access.kind == engine::AccessKind::kRead && which % 32 == 31;
    if (fault) result.status = engine::AccessStatus::kFault;
    engine_->access_done(now_, access.id, result);
    pool_.release(buffer);
  }

  void drain() {
    for (int round = 0; round < 100000; ++round) {
      bool progress = false;
      engine::Access access;
      while (engine_->next_access(access)) {
        progress = true;
        const bool remote = access.at_target && access.kind == engine::AccessKind::kAtomic;
        const bool touches =
            access.kind == engine::AccessKind::kRead || access.kind == engine::AccessKind::kWrite;
        if (remote || (touches && access.at_target)) {
          require(access.address >= kBase && access.address + access.length <= kBase + kBytes);
        }
        pending_.push_back(access);
      }
      wire::Packet packet;
      while (engine_->transmit(now_, 0, wire::kAllTrafficClasses, packet)) {
        progress = true;
        pool_.release(packet.payload.buffer);
      }
      engine::QueueId queue = 0;
      verbs::Completion completion;
      while (engine_->next_completed_queue(queue)) {
        while (engine_->poll(queue, completion)) progress = true;
      }
      engine::AsyncEvent event;
      while (engine_->poll_event(event)) progress = true;
      if (!progress) return;
    }
    std::abort();  // It never comes to rest.
  }

  Script& script_;
  wire::PayloadPool pool_;
  std::unique_ptr<roce::RoceEngine> engine_;
  verbs::SegmentToken token_;
  TimePs now_;
  std::deque<engine::Access> pending_;
  std::array<std::vector<std::byte>, 4099> contexts_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Script script(data, size);
  World world(script);
  while (!script.done()) world.step();
  world.finish();
  return 0;
}
