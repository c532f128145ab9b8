// SPDX-License-Identifier: Apache-2.0
// A C++ engine behind the ports that all NICs of the hardware have: frames, memory, and the ring of
// completions. Apart from what a protocol's host sets and asks for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/bytes.h"
#include "engine/driver/engine_driver.h"
#include "rtl/cosim/nic_memory.h"
#include "rtl/cosim/packed.h"
#include "verbs/atomic_value.h"
#include "wire/frame.h"

namespace wharf::rtl {

/// `Plan` says where things stand in memory, and how large the ring is.
template <typename Engine, typename Plan>
class EnginePorts {
 public:
  std::uint8_t clk_i = 0, rst_i = 0;
  std::uint64_t ring_i = 0;
  std::uint8_t consumed_i = 0;
  std::array<std::uint32_t, 5> segment_i{};
  std::array<std::uint32_t, 15> doorbell_i{};
  std::array<std::uint32_t, 4> post_i{};
  std::uint8_t open_valid_i = 0, segment_valid_i = 0;
  std::uint8_t doorbell_valid_i = 0, doorbell_ready_o = 1, doorbell_refused_o = 0;
  std::uint8_t post_valid_i = 0, post_ready_o = 1, post_refused_o = 0;
  std::uint8_t tx_valid_o = 0, tx_ready_i = 0, tx_bytes_o = 0, tx_last_o = 0;
  std::array<std::uint32_t, 16> tx_data_o{};
  std::uint8_t rx_valid_i = 0, rx_bytes_i = 0, rx_last_i = 0, rx_bad_i = 0;
  std::array<std::uint32_t, 16> rx_data_i{};
  std::uint8_t memory_valid_o = 0, memory_ready_i = 0, answer_valid_i = 0, answer_tag_i = 0;
  std::array<std::uint32_t, 20> memory_o{};
  std::array<std::uint32_t, 16> answer_data_i{};
  std::uint8_t stages_o = 0;
  /// The engine reads and writes the host's memory itself.
  NicMemory* memory = nullptr;
  std::uint64_t frames_dropped = 0;  ///< The wire codec took them for none of the protocol, or for malformed.

  void final() {}

 protected:
  static constexpr std::uint32_t kHost = 1;

  struct User {
    EnginePorts& nic;
    // NOLINTNEXTLINE(readability-convert-member-functions-to-static): the driver calls it.
    bool begin(TimePs, engine::Access& access, engine::AccessResult& result) {
      nic.perform(access, result);
      return true;
    }
    void reclaim(engine::AccessResult& result) { nic.pool_->release(result.data.buffer); }
    void completed(TimePs, const verbs::Completion& completion) { nic.done_.push_back(completion); }
  };
  using Driver = engine::EngineDriver<Engine, User, engine::PullingWire, User>;

  /// A new engine, as after a reset.
  template <typename Config>
  void remake(const Config& config) {
    engine_.reset();
    arena_ = std::make_unique<Arena>();
    pool_ = std::make_unique<wire::PayloadPool>();
    engine_ = std::make_unique<Engine>(std::move(Engine::create(config, *pool_, *arena_).value()));
    done_.clear();
    frame_.clear();
    heard_.clear();
    unread_ = next_ = 0;
    phase_ = true;
    tx_valid_o = 0;
    frames_dropped = 0;
  }

  /// What has come: a whole frame goes to the engine.
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
  /// The next flit; true when a new frame was asked for, so that completions may have come.
  bool leave(Driver& driver) {
    if (tx_valid_o != 0 && tx_ready_i != 0) {
      frame_.erase(frame_.begin(), frame_.begin() + tx_bytes_o);
      tx_valid_o = 0;
    }
    const bool asks = frame_.empty();
    if (asks) {
      wire::Packet packet;
      if (!driver.pull(now_, 0, wire::kAllTrafficClasses, packet)) return false;
      frame_.resize(2048);
      frame_.resize(wire::encode(packet, frame_));
      pool_->release(packet.payload.buffer);
    }
    Flit flit{};
    tx_bytes_o = static_cast<std::uint8_t>(std::min<std::size_t>(64, frame_.size()));
    std::copy_n(frame_.begin(), tx_bytes_o, flit.begin());
    put_flit(flit, tx_data_o.data());
    tx_last_o = tx_bytes_o == frame_.size();
    tx_valid_o = 1;
    return asks;
  }

  /// The rights, base and length of the segment that the host registers; `first` and `word` are a protocol's.
  struct Segment {
    bool first = false;
    std::uint32_t word = 0;
    verbs::SegmentConfig config;
  };
  Segment segment() const {
    Unpacked bits(segment_i.data(), 148);
    Segment made;
    made.first = bits.take(1) != 0;
    const std::uint64_t rights = bits.take(3);
    made.config.rights = {(rights & 4U) != 0, (rights & 2U) != 0, (rights & 1U) != 0};
    made.word = static_cast<std::uint32_t>(bits.take(32));
    made.config.base = bits.take(64);
    made.config.length = bits.take(48);
    return made;
  }
  verbs::ReceiveRequest receive() const {
    Unpacked bits(post_i.data(), 128);
    verbs::ReceiveRequest made;
    made.local_count = 1;
    made.local[0].address = bits.take(64);
    made.local[0].length = static_cast<std::uint32_t>(bits.take(32));
    made.id = bits.take(32);
    return made;
  }

  /// The next completion, when the ring has room for it.
  bool has_completion() const { return !done_.empty() && unread_ < Plan::kRing; }
  verbs::Completion take_completion() {
    const verbs::Completion completion = done_.front();
    done_.pop_front();
    return completion;
  }
  /// Writes it as the hardware writes its own; what differs by protocol is given.
  void write_completion(const verbs::Completion& completion, std::uint32_t queue, std::uint32_t length,
                        std::byte status, std::byte operation) {
    const bool is_receive = completion.kind == verbs::CompletionKind::kReceive;
    std::byte* const entry = memory->at((ring_i << 6U) + Plan::kEntryBytes * next_);
    std::memset(entry, 0, Plan::kEntryBytes);
    store_le32(entry, static_cast<std::uint32_t>(completion.id));
    store_le32(entry + 4, queue);
    store_le32(entry + 8, length);
    entry[12] = status;
    entry[13] = operation;
    entry[14] = static_cast<std::byte>((is_receive ? 1 : 0) | (completion.has_immediate ? 2 : 0));
    entry[15] = static_cast<std::byte>(phase_ ? 1 : 0);
    store_le64(entry + 16, completion.has_immediate ? completion.immediate : 0);
    store_le32(entry + 24, is_receive ? completion.remote_queue : 0);
    ++unread_;
    if (++next_ == Plan::kRing) {
      next_ = 0;
      phase_ = !phase_;
    }
  }

  TimePs now_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<wire::PayloadPool> pool_;
  std::unique_ptr<Engine> engine_;
  std::deque<verbs::Completion> done_;
  std::uint32_t unread_ = 0;  ///< Completions that the host has not taken.

 private:
  void perform(const engine::Access& access, engine::AccessResult& result) {
    using engine::AccessKind;
    if (access.kind != AccessKind::kRead && access.kind != AccessKind::kWrite &&
        access.kind != AccessKind::kAtomic)
      return;
    const std::uint32_t length = access.kind == AccessKind::kAtomic ? access.width : access.length;
    if (access.address < NicMemory::kBase || access.address + length > NicMemory::kBase + Plan::kBytes) {
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

  std::vector<std::byte> frame_;  ///< What is left of the one that leaves.
  std::vector<std::byte> heard_;  ///< What has come of one.
  std::uint32_t next_ = 0;        ///< Entry of the ring.
  bool phase_ = true;
};

}  // namespace wharf::rtl
