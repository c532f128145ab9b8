// SPDX-License-Identifier: Apache-2.0
// The C++ engine of the Unified Bus behind the ports of the hardware NIC, so that a host, a memory and a wire
// of the co-simulation cannot tell which of the two they have. Apart from them: they know no engine.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/bytes.h"
#include "engine/driver/engine_driver.h"
#include "engine/ub/exchange.h"
#include "engine/ub/ub_engine.h"
#include "rtl/cosim/nic_memory.h"
#include "rtl/cosim/packed.h"
#include "rtl/ub_nic/nic_plan.h"
#include "verbs/atomic_value.h"
#include "wire/frame.h"
#include "wire/ub_opcode.h"

namespace wharf::rtl {

/// As a Verilated class would be: eval() with the clock low shows outputs, with the clock high moves on.
class EngineNic {
 public:
  static constexpr std::uint32_t kFirstJetty = ub::kFirstJettyId;  ///< The number of jetty 0 on the wire.
  static constexpr std::uint32_t kFirstToken = 1;                  ///< That of segment 0.
  /// A cycle stands for that long: forty are the shortest delay of a peer that is not ready, as in the
  /// hardware.
  static constexpr TimePs kCycle = nanoseconds(250);

  template <typename Context>
  explicit EngineNic(Context*) {
    remake();
  }

  // The ports of wharf_ub_nic.
  std::uint8_t clk_i = 0, rst_i = 0;
  std::array<std::uint32_t, 7> route_i{};
  std::uint64_t ring_i = 0;
  std::uint8_t open_valid_i = 0, open_value_i = 0, segment_valid_i = 0, consumed_i = 0;
  std::uint32_t open_jetty_i = 0, open_token_i = 0, segment_index_i = 0;
  std::array<std::uint32_t, 5> segment_i{};
  std::uint8_t doorbell_valid_i = 0, doorbell_ready_o = 1, doorbell_refused_o = 0;
  std::uint32_t doorbell_jetty_i = 0;
  std::array<std::uint32_t, 15> doorbell_i{};
  std::uint8_t post_valid_i = 0, post_ready_o = 1, post_refused_o = 0;
  std::uint32_t post_jetty_i = 0;
  std::array<std::uint32_t, 4> post_i{};
  std::uint8_t tx_valid_o = 0, tx_ready_i = 0, tx_bytes_o = 0, tx_last_o = 0;
  std::array<std::uint32_t, 16> tx_data_o{};
  std::uint8_t rx_valid_i = 0, rx_bytes_i = 0, rx_last_i = 0, rx_bad_i = 0;
  std::array<std::uint32_t, 16> rx_data_i{};
  std::uint8_t memory_valid_o = 0, memory_ready_i = 0, answer_valid_i = 0, answer_tag_i = 0;
  std::array<std::uint32_t, 20> memory_o{};
  std::array<std::uint32_t, 16> answer_data_i{};
  std::uint8_t failed_o = 0, stages_o = 0;
  std::array<std::uint32_t, 17> counters_o{};
  /// It reads and writes the host's memory itself.
  NicMemory* memory = nullptr;
  std::uint64_t frames_dropped = 0;  ///< The wire codec took them for none of UB, or for malformed ones.
  const ub::UbCounters& counted() const { return engine_->counters(); }

  void eval() {
    if (clk_i != 0) return tick();
    const bool asks = doorbell_valid_i != 0 && (doorbell_jetty_i >= NicPlan::kJetties ||
                                                outstanding_[doorbell_jetty_i] >= kDepth || !request());
    doorbell_refused_o = asks ? 1 : 0;
    post_refused_o = post_valid_i != 0 && post_jetty_i >= NicPlan::kJetties ? 1 : 0;
  }
  void final() {}

 private:
  static constexpr std::uint32_t kDepth = 8;  ///< Requests of a jetty that are not over.

  // ---------------------------------------------------------------- The engine's host
  struct User {
    EngineNic& nic;
    // NOLINTNEXTLINE(readability-convert-member-functions-to-static): the driver calls it.
    bool begin(TimePs, engine::Access& access, engine::AccessResult& result) {
      nic.perform(access, result);
      return true;
    }
    void reclaim(engine::AccessResult& result) { nic.pool_->release(result.data.buffer); }
    void completed(TimePs, const verbs::Completion& completion) { nic.done_.push_back(completion); }
  };
  using Driver = engine::EngineDriver<ub::UbEngine, User, engine::PullingWire, User>;

  void remake() {
    engine_.reset();
    arena_ = std::make_unique<Arena>();
    pool_ = std::make_unique<wire::PayloadPool>();
    ub::UbConfig config;
    config.mtu = 128;
    config.send_window = 8;
    config.receive_window = 64;
    config.retransmission = {.base = kCycle * 600, .attempts_max = reliability::kUnlimitedAttempts};
    config.rnr_retry = NicPlan::kNotReadyAttempts;
    config.min_rnr_timer = 1;
    config.host = {kHost};
    engine_ =
        std::make_unique<ub::UbEngine>(std::move(ub::UbEngine::create(config, *pool_, *arena_).value()));
    peers_.clear();
    done_.clear();
    frame_.clear();
    heard_.clear();
    outstanding_.fill(0);
    unread_ = next_ = 0;
    phase_ = true;
    tx_valid_o = 0;
    frames_dropped = 0;
  }

  void tick() {
    now_ = now_ + kCycle;
    if (rst_i != 0) return remake();
    User user{*this};
    engine::PullingWire wire;
    Driver driver(*engine_, user, wire, user);
    if (segment_valid_i != 0) add_segment();
    if (open_valid_i != 0) open();
    if (consumed_i != 0) --unread_;
    if (doorbell_valid_i != 0 && doorbell_refused_o == 0) {
      if (engine_->post(now_, kFirstJetty + doorbell_jetty_i, *request(), engine::Submission::kInHand) !=
          engine::PostStatus::kOk)
        failed_o = 1;
      ++outstanding_[doorbell_jetty_i];
    }
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
    if (access.address < NicMemory::kBase || access.address + length > NicMemory::kBase + NicPlan::kBytes) {
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
  void add_segment() {
    Unpacked bits(segment_i.data(), 148);
    verbs::SegmentConfig config;
    config.check_value = bits.take(1) != 0;
    const std::uint64_t rights = bits.take(3);
    config.rights = {(rights & 4U) != 0, (rights & 2U) != 0, (rights & 1U) != 0};
    config.token_value = static_cast<std::uint32_t>(bits.take(32));
    config.base = bits.take(64);
    config.length = bits.take(48);
    const Result<verbs::SegmentToken> token = engine_->register_segment(now_, config);
    if (!token || token->id != kFirstToken + segment_index_i) failed_o = 1;
  }
  void open() {
    engine::QueueConfig config;
    config.send_depth = kDepth;
    config.receive_depth = NicPlan::kReceivePlaces;
    config.token = open_token_i;
    const Result<engine::QueueId> queue = engine_->create_queue(now_, config);
    if (!queue || *queue != kFirstJetty + open_jetty_i) failed_o = 1;
    peer(open_jetty_i, 0, 0);  // The channel is there before the first frame.
  }
  /// A jetty of the hardware on the other side, as its control plane would export it.
  verbs::PeerId peer(std::uint32_t jetty, std::uint32_t target, std::uint32_t token) {
    const auto key = std::make_tuple(jetty, target, token);
    if (const auto it = peers_.find(key); it != peers_.end()) return it->second;
    ub::QueueBlob blob;
    blob.host = {1 - kHost};
    blob.jetty = target;
    blob.token = token;
    blob.mtu = 128;
    blob.receive_window = 64;
    blob.inbound_messages = 4;  // Its responses.
    const Result<engine::PeerId> made = engine_->connect(now_, kFirstJetty + jetty, ub::encode(blob));
    if (!made) failed_o = 1;
    return peers_[key] = made ? *made : verbs::PeerId{};
  }

  /// What the doorbell asks for; nothing when no packet can carry it.
  std::optional<verbs::WorkRequest> request() {
    Unpacked bits(doorbell_i.data(), 464);
    verbs::WorkRequest made;
    const auto operation = static_cast<wire::TaOpcode>(bits.take(4));
    bits.take(1);  // Inline data is in memory, too.
    made.order = static_cast<verbs::OrderTag>(bits.take(2));
    made.fence = bits.take(1) != 0;
    const auto target = static_cast<std::uint32_t>(bits.take(20));
    made.remote.address = bits.take(64);
    made.remote.token.id = static_cast<std::uint32_t>(bits.take(20));
    made.remote.token.value = static_cast<std::uint32_t>(bits.take(32));
    made.length = static_cast<std::uint32_t>(bits.take(32));
    const std::uint64_t local = bits.take(64);
    made.immediate = bits.take(64);
    made.operand[0] = bits.take(64);
    made.compare[0] = bits.take(64);
    made.id = bits.take(32) | std::uint64_t{doorbell_jetty_i} << 32U;
    made.completion_in_order = false;
    made.local_count = made.length == 0 ? 0 : 1;
    made.local[0] = {local, made.length};
    const std::optional<verbs::Verb> verb = verb_of(operation);
    if (!verb || (verbs::is_atomic(*verb) && made.length != 8)) return {};
    made.verb = *verb;
    const std::uint32_t token = verbs::is_send(made.verb) ? made.remote.token.value : 0;
    made.peer = peer(doorbell_jetty_i, target, token);
    return made;
  }
  void post_receive() {
    Unpacked bits(post_i.data(), 128);
    verbs::ReceiveRequest receive;
    receive.local_count = 1;
    receive.local[0].address = bits.take(64);
    receive.local[0].length = static_cast<std::uint32_t>(bits.take(32));
    receive.id = bits.take(32);
    if (engine_->post_receive(now_, kFirstJetty + post_jetty_i, receive) != engine::PostStatus::kOk)
      failed_o = 1;
  }

  // ---------------------------------------------------------------- What comes and goes
  void hear() {
    const Flit flit = flit_of(rx_data_i.data());
    heard_.insert(heard_.end(), flit.begin(), flit.begin() + rx_bytes_i);
    if (rx_last_i == 0) return;
    const std::vector<std::byte> frame = std::exchange(heard_, {});
    wire::Packet packet;
    if (rx_bad_i != 0 || wire::decode(frame, wire::LinkType::kEthernet, packet) != wire::DropReason::kNone) {
      ++frames_dropped;
      return;
    }
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
    while (!done_.empty() && unread_ < NicPlan::kRing) {
      const verbs::Completion completion = done_.front();
      done_.pop_front();
      const bool is_receive = completion.kind == verbs::CompletionKind::kReceive;
      const std::uint32_t jetty = completion.queue - kFirstJetty;
      if (!is_receive) --outstanding_[jetty];
      std::byte* const entry = memory->at((ring_i << 6U) + NicPlan::kEntryBytes * next_);
      std::memset(entry, 0, NicPlan::kEntryBytes);
      store_le32(entry, static_cast<std::uint32_t>(completion.id));
      store_le32(entry + 4, jetty);
      store_le32(entry + 8, is_receive || completion.ok() ? completion.length : 0);
      entry[12] = status_of(completion.status);
      entry[13] = static_cast<std::byte>(opcode_of(completion.verb));
      entry[14] = static_cast<std::byte>((is_receive ? 1 : 0) | (completion.has_immediate ? 2 : 0));
      entry[15] = static_cast<std::byte>(phase_ ? 1 : 0);
      store_le64(entry + 16, completion.has_immediate ? completion.immediate : 0);
      store_le32(entry + 24, is_receive ? completion.remote_queue : 0);
      ++unread_;
      if (++next_ == NicPlan::kRing) {
        next_ = 0;
        phase_ = !phase_;
      }
    }
  }
  /// The ring has the numbers of URMA, which are those of wharf but for poison: URMA_CR_REM_DATA_POISON.
  static std::byte status_of(verbs::CompletionStatus status) {
    return status == verbs::CompletionStatus::kRemotePoison ? std::byte{16} : static_cast<std::byte>(status);
  }
  /// The verbs of the hardware and their opcodes. Atomics are numbered alike, from compare-and-swap on.
  static constexpr std::array<std::pair<verbs::Verb, wire::TaOpcode>, 6> kVerbs{
      {{verbs::Verb::kSend, wire::TaOpcode::kSend},
       {verbs::Verb::kSendImm, wire::TaOpcode::kSendImmediate},
       {verbs::Verb::kWrite, wire::TaOpcode::kWrite},
       {verbs::Verb::kWriteImm, wire::TaOpcode::kWriteImmediate},
       {verbs::Verb::kRead, wire::TaOpcode::kRead},
       {verbs::Verb::kCompareSwap, wire::TaOpcode::kAtomicCompareSwap}}};
  static std::optional<verbs::Verb> verb_of(wire::TaOpcode opcode) {
    const bool is_atomic = wire::is_atomic(opcode);
    const wire::TaOpcode key = is_atomic ? wire::TaOpcode::kAtomicCompareSwap : opcode;
    const int step = static_cast<int>(opcode) - static_cast<int>(key);
    for (const auto& [verb, known] : kVerbs) {
      if (known == key) return static_cast<verbs::Verb>(static_cast<int>(verb) + step);
    }
    return {};
  }
  static wire::TaOpcode opcode_of(verbs::Verb verb) {
    const verbs::Verb key = verbs::is_atomic(verb) ? verbs::Verb::kCompareSwap : verb;
    const int step = static_cast<int>(verb) - static_cast<int>(key);
    for (const auto& [known, opcode] : kVerbs) {
      if (known == key) return static_cast<wire::TaOpcode>(static_cast<int>(opcode) + step);
    }
    return wire::TaOpcode::kManagement;  // None that this side asks for.
  }

  static constexpr std::uint32_t kHost = 1;

  TimePs now_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<wire::PayloadPool> pool_;
  std::unique_ptr<ub::UbEngine> engine_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, verbs::PeerId> peers_;
  std::deque<verbs::Completion> done_;
  std::vector<std::byte> frame_;  ///< What is left of the one that leaves.
  std::vector<std::byte> heard_;  ///< What has come of one.
  std::array<std::uint32_t, NicPlan::kJetties> outstanding_{};
  std::uint32_t unread_ = 0, next_ = 0;
  bool phase_ = true;
};

}  // namespace wharf::rtl
