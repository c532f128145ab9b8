// SPDX-License-Identifier: Apache-2.0
// The C++ engine of RoCE behind the ports of the hardware NIC, so that a host, a memory and a wire of the
// co-simulation cannot tell which of the two they have. Apart from them: they know no engine.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/bytes.h"
#include "engine/driver/engine_driver.h"
#include "engine/roce/exchange.h"
#include "engine/roce/roce_engine.h"
#include "rtl/cosim/nic_memory.h"
#include "rtl/cosim/packed.h"
#include "rtl/roce_nic/roce_plan.h"
#include "verbs/atomic_value.h"
#include "wire/frame.h"
#include "wire/ub_opcode.h"

namespace wharf::rtl {

/// As a Verilated class would be: eval() with the clock low shows outputs, with the clock high moves on.
class RoceEngineNic {
 public:
  static constexpr std::uint32_t kFirstNumber = roce::kFirstQueueNumber;  ///< Of queue pair 0.
  static constexpr wire::Psn kStartingPsn = 0xff'ffe0;                    ///< Of all of them.
  /// A cycle stands for that long: four are a tick of the hardware.
  static constexpr TimePs kCycle = nanoseconds(1000 / RocePlan::kTick);

  template <typename Context>
  explicit RoceEngineNic(Context*) {
    remake();
  }

  // The ports of wharf_roce_nic.
  std::uint8_t clk_i = 0, rst_i = 0;
  std::array<std::uint32_t, 6> route_i{};
  std::uint64_t ring_i = 0;
  std::uint8_t open_valid_i = 0, segment_valid_i = 0, consumed_i = 0;
  std::uint32_t open_pair_i = 0, open_remote_i = 0, open_send_psn_i = 0, open_receive_psn_i = 0;
  std::uint32_t segment_index_i = 0;
  std::array<std::uint32_t, 5> segment_i{};
  std::uint8_t doorbell_valid_i = 0, doorbell_ready_o = 1, doorbell_refused_o = 0;
  std::uint32_t doorbell_pair_i = 0;
  std::array<std::uint32_t, 15> doorbell_i{};
  std::uint8_t post_valid_i = 0, post_ready_o = 1, post_refused_o = 0;
  std::uint32_t post_pair_i = 0;
  std::array<std::uint32_t, 4> post_i{};
  std::uint8_t tx_valid_o = 0, tx_ready_i = 0, tx_bytes_o = 0, tx_last_o = 0;
  std::array<std::uint32_t, 16> tx_data_o{};
  std::uint8_t rx_valid_i = 0, rx_bytes_i = 0, rx_last_i = 0, rx_bad_i = 0;
  std::array<std::uint32_t, 16> rx_data_i{};
  std::uint8_t memory_valid_o = 0, memory_ready_i = 0, answer_valid_i = 0, answer_tag_i = 0;
  std::array<std::uint32_t, 20> memory_o{};
  std::array<std::uint32_t, 16> answer_data_i{};
  std::uint8_t stages_o = 0;
  std::array<std::uint32_t, 29> counters_o{};
  /// It reads and writes the host's memory itself.
  NicMemory* memory = nullptr;

  void eval() {
    if (clk_i != 0) return tick();
    doorbell_refused_o = doorbell_valid_i != 0 && (doorbell_pair_i >= RocePlan::kPairs ||
                                                   outstanding_[doorbell_pair_i] >= RocePlan::kDepth ||
                                                   ended_[doorbell_pair_i] || !request());
    post_refused_o = post_valid_i != 0 &&
                     (post_pair_i >= RocePlan::kPairs || receives_[post_pair_i] >= RocePlan::kReceivePlaces);
  }
  void final() {}

 private:
  // ---------------------------------------------------------------- The engine's host
  struct User {
    RoceEngineNic& nic;
    // NOLINTNEXTLINE(readability-convert-member-functions-to-static): the driver calls it.
    bool begin(TimePs, engine::Access& access, engine::AccessResult& result) {
      nic.perform(access, result);
      return true;
    }
    void reclaim(engine::AccessResult& result) { nic.pool_->release(result.data.buffer); }
    void completed(TimePs, const verbs::Completion& completion) { nic.done_.push_back(completion); }
  };
  using Driver = engine::EngineDriver<roce::RoceEngine, User, engine::PullingWire, User>;

  void remake() {
    engine_.reset();
    arena_ = std::make_unique<Arena>();
    pool_ = std::make_unique<wire::PayloadPool>();
    roce::RoceConfig config;
    config.host = {kHost};
    config.path_mtu = RocePlan::kMtu;
    config.window_packets = RocePlan::kWindow;
    config.starting_psn = kStartingPsn;
    config.ack_timeout = 5;  // 131 us.
    config.retry_count = RocePlan::kRetries;
    config.rnr_retry = RocePlan::kNotReadyRetries;
    config.min_rnr_timer = 1;
    config.max_read_atomic = RocePlan::kFetches;
    engine_ = std::make_unique<roce::RoceEngine>(
        std::move(roce::RoceEngine::create(config, *pool_, *arena_).value()));
    done_.clear();
    frame_.clear();
    heard_.clear();
    outstanding_.fill(0);
    receives_.fill(0);
    ended_.fill(false);
    unread_ = next_ = 0;
    phase_ = true;
    tx_valid_o = 0;
  }

  void tick() {
    now_ = now_ + kCycle;
    if (rst_i != 0) return remake();
    User user{*this};
    engine::PullingWire wire;
    Driver driver(*engine_, user, wire, user);
    if (segment_valid_i != 0) add_region();
    if (open_valid_i != 0) open();
    if (consumed_i != 0) --unread_;
    if (doorbell_valid_i != 0 && doorbell_refused_o == 0) ring();
    if (post_valid_i != 0 && post_refused_o == 0) post_receive();
    if (rx_valid_i != 0) hear();
    driver.wake(now_);
    report();
    leave(driver);
  }

  void perform(const engine::Access& access, engine::AccessResult& result) {
    using engine::AccessKind;
    if (access.kind != AccessKind::kRead && access.kind != AccessKind::kWrite &&
        access.kind != AccessKind::kAtomic)
      return;
    const std::uint32_t length = access.kind == AccessKind::kAtomic ? access.width : access.length;
    if (access.address < NicMemory::kBase || access.address + length > NicMemory::kBase + RocePlan::kBytes) {
      result.status = engine::AccessStatus::kFault;
      return;
    }
    std::byte* const at = memory->at(access.address);
    if (access.kind == AccessKind::kWrite) return wire::fill(access.data, {at, length});
    if (access.kind == AccessKind::kRead) {
      if (length == 0) return;
      const wire::BufferId buffer = pool_->acquire(length);
      std::memcpy(pool_->data(buffer), at, length);
      result.data = wire::bytes_payload(pool_->data(buffer), length, buffer);
      return;
    }
    const std::uint64_t old = load_le64(at);
    result.old_value[0] = old;
    store_le64(at, verbs::atomic_value(access.atomic, old, access.operand[0], access.compare[0]));
  }

  // ---------------------------------------------------------------- What the host sets
  void add_region() {
    Unpacked bits(segment_i.data(), 148);
    verbs::SegmentConfig config;
    bits.take(1);
    const std::uint64_t rights = bits.take(3);
    config.rights = {(rights & 4U) != 0, (rights & 2U) != 0, (rights & 1U) != 0};
    const auto key = static_cast<std::uint32_t>(bits.take(32));
    config.base = bits.take(64);
    config.length = bits.take(48);
    const Result<verbs::SegmentToken> token = engine_->register_segment(now_, config);
    WHARF_CHECK(token && token->id == key);
  }
  void open() {
    engine::QueueConfig config;
    config.send_depth = 2 * RocePlan::kDepth;
    config.receive_depth = 2 * RocePlan::kReceivePlaces;
    const Result<engine::QueueId> queue = engine_->create_queue(now_, config);
    WHARF_CHECK(queue && *queue == open_pair_i && open_send_psn_i == kStartingPsn);
    roce::ExchangeRecord peer;
    peer.host = {1 - kHost};
    peer.queue_number = open_remote_i;
    peer.starting_psn = open_receive_psn_i;
    peer.path_mtu = RocePlan::kMtu;
    peer.responder_resources = RocePlan::kFetches;
    const Result<engine::PeerId> made = engine_->connect(now_, *queue, roce::encode(peer));
    WHARF_CHECK(made.ok());
    peers_[open_pair_i] = *made;
  }

  /// What the doorbell asks for; nothing when no packet can carry it.
  std::optional<verbs::WorkRequest> request() {
    Unpacked bits(doorbell_i.data(), 464);
    verbs::WorkRequest made;
    const auto operation = static_cast<wire::TaOpcode>(bits.take(4));
    bits.take(3);  // Inline data is in memory, too; there are no order tags.
    made.fence = bits.take(1) != 0;
    bits.take(20);
    made.remote.address = bits.take(64);
    bits.take(20);
    made.remote.token.id = static_cast<std::uint32_t>(bits.take(32));
    made.length = static_cast<std::uint32_t>(bits.take(32));
    const std::uint64_t local = bits.take(64);
    made.immediate = bits.take(64);
    made.operand[0] = bits.take(64);
    made.compare[0] = bits.take(64);
    made.id = bits.take(32);
    made.local_count = made.length == 0 ? 0 : 1;
    made.local[0] = {local, made.length};
    const std::optional<verbs::Verb> verb = verb_of(operation);
    if (!verb || (verbs::is_atomic(*verb) && made.length != 8)) return {};
    made.verb = *verb;
    made.peer = peers_[doorbell_pair_i];
    return made;
  }
  void ring() {
    ++outstanding_[doorbell_pair_i];
    const verbs::WorkRequest asked = *request();
    if (engine_->post(now_, doorbell_pair_i, asked, engine::Submission::kInHand) == engine::PostStatus::kOk)
      return;
    // It has ended, and nobody has been told of it yet.
    verbs::Completion flushed;
    flushed.queue = doorbell_pair_i;
    flushed.id = asked.id;
    flushed.verb = asked.verb;
    flushed.status = verbs::CompletionStatus::kFlushed;
    done_.push_back(flushed);
  }
  void post_receive() {
    Unpacked bits(post_i.data(), 128);
    verbs::ReceiveRequest receive;
    receive.local_count = 1;
    receive.local[0].address = bits.take(64);
    receive.local[0].length = static_cast<std::uint32_t>(bits.take(32));
    receive.id = bits.take(32);
    const engine::PostStatus status = engine_->post_receive(now_, post_pair_i, receive);
    if (status == engine::PostStatus::kOk) ++receives_[post_pair_i];
  }

  // ---------------------------------------------------------------- What comes and goes
  void hear() {
    const Flit flit = flit_of(rx_data_i.data());
    heard_.insert(heard_.end(), flit.begin(), flit.begin() + rx_bytes_i);
    if (rx_last_i == 0) return;
    const std::vector<std::byte> frame = std::exchange(heard_, {});
    wire::Packet packet;
    if (rx_bad_i != 0 || wire::decode(frame, wire::LinkType::kEthernet, packet) != wire::DropReason::kNone)
      return;
    const std::uint32_t length = packet.payload.length;
    if (length > 0) {
      const wire::BufferId buffer = pool_->acquire(length);
      wire::fill(packet.payload, {pool_->data(buffer), length});
      packet.payload = wire::bytes_payload(pool_->data(buffer), length, buffer);
    }
    engine_->receive(now_, 0, packet);
    pool_->release(packet.payload.buffer);
  }
  void leave(Driver& driver) {
    if (tx_valid_o != 0 && tx_ready_i != 0) {
      frame_.erase(frame_.begin(), frame_.begin() + tx_bytes_o);
      tx_valid_o = 0;
    }
    if (frame_.empty()) {
      wire::Packet packet;
      if (!driver.pull(now_, 0, wire::kAllTrafficClasses, packet)) return;
      frame_.resize(2048);
      frame_.resize(wire::encode(packet, frame_));
      pool_->release(packet.payload.buffer);
      report();
    }
    Flit flit{};
    tx_bytes_o = static_cast<std::uint8_t>(std::min<std::size_t>(64, frame_.size()));
    std::copy_n(frame_.begin(), tx_bytes_o, flit.begin());
    put_flit(flit, tx_data_o.data());
    tx_last_o = tx_bytes_o == frame_.size();
    tx_valid_o = 1;
  }

  /// Completions, as the hardware writes them into the ring.
  void report() {
    while (!done_.empty() && unread_ < RocePlan::kRing) {
      const verbs::Completion completion = done_.front();
      done_.pop_front();
      const bool is_receive = completion.kind == verbs::CompletionKind::kReceive;
      --(is_receive ? receives_ : outstanding_)[completion.queue];
      if (!completion.ok()) ended_[completion.queue] = true;
      std::byte* const entry = memory->at((ring_i << 6U) + RocePlan::kEntryBytes * next_);
      std::memset(entry, 0, RocePlan::kEntryBytes);
      store_le32(entry, static_cast<std::uint32_t>(completion.id));
      store_le32(entry + 4, completion.queue);
      store_le32(entry + 8, completion.ok() ? completion.length : 0);
      entry[12] = static_cast<std::byte>(completion.status);
      entry[13] = static_cast<std::byte>(opcode_of(completion.verb));
      entry[14] = static_cast<std::byte>((is_receive ? 1 : 0) | (completion.has_immediate ? 2 : 0));
      entry[15] = static_cast<std::byte>(phase_ ? 1 : 0);
      store_le64(entry + 16, completion.has_immediate ? completion.immediate : 0);
      store_le32(entry + 24, is_receive ? completion.remote_queue : 0);
      ++unread_;
      if (++next_ == RocePlan::kRing) {
        next_ = 0;
        phase_ = !phase_;
      }
    }
  }
  static constexpr std::array<std::pair<verbs::Verb, wire::TaOpcode>, 7> kVerbs{
      {{verbs::Verb::kSend, wire::TaOpcode::kSend},
       {verbs::Verb::kSendImm, wire::TaOpcode::kSendImmediate},
       {verbs::Verb::kWrite, wire::TaOpcode::kWrite},
       {verbs::Verb::kWriteImm, wire::TaOpcode::kWriteImmediate},
       {verbs::Verb::kRead, wire::TaOpcode::kRead},
       {verbs::Verb::kCompareSwap, wire::TaOpcode::kAtomicCompareSwap},
       {verbs::Verb::kFetchAdd, wire::TaOpcode::kAtomicFetchAdd}}};
  static std::optional<verbs::Verb> verb_of(wire::TaOpcode opcode) {
    for (const auto& [verb, known] : kVerbs)
      if (known == opcode) return verb;
    return {};
  }
  static wire::TaOpcode opcode_of(verbs::Verb verb) {
    for (const auto& [known, opcode] : kVerbs)
      if (known == verb) return opcode;
    return wire::TaOpcode::kManagement;  // None that this side asks for.
  }

  static constexpr std::uint32_t kHost = 1;

  TimePs now_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<wire::PayloadPool> pool_;
  std::unique_ptr<roce::RoceEngine> engine_;
  std::array<engine::PeerId, RocePlan::kPairs> peers_{};
  std::deque<verbs::Completion> done_;
  std::vector<std::byte> frame_;  ///< What is left of the one that leaves.
  std::vector<std::byte> heard_;  ///< What has come of one.
  std::array<std::uint32_t, RocePlan::kPairs> outstanding_{}, receives_{};
  std::array<bool, RocePlan::kPairs> ended_{};
  std::uint32_t unread_ = 0, next_ = 0;
  bool phase_ = true;
};

}  // namespace wharf::rtl
