// SPDX-License-Identifier: Apache-2.0
// The C++ engine of RoCE behind the ports of the hardware NIC, so that a host, a memory and a wire of the
// co-simulation cannot tell which of the two they have. Apart from them: they know no engine.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "engine/roce/exchange.h"
#include "engine/roce/roce_engine.h"
#include "rtl/cosim/engine_ports.h"
#include "rtl/roce_nic/roce_plan.h"
#include "wire/ub_opcode.h"

namespace wharf::rtl {

/// As a Verilated class would be: eval() with the clock low shows outputs, with the clock high moves on.
class RoceEngineNic : public EnginePorts<roce::RoceEngine, RocePlan> {
 public:
  static constexpr std::uint32_t kFirstNumber = roce::kFirstQueueNumber;  ///< Of queue pair 0.
  static constexpr wire::Psn kStartingPsn = 0xff'ffe0;                    ///< Of all of them.
  /// A cycle stands for that long: four are a tick of the hardware.
  static constexpr TimePs kCycle = nanoseconds(1000 / RocePlan::kTick);

  template <typename Context>
  explicit RoceEngineNic(Context*) {
    remake();
  }

  // The ports of wharf_roce_nic that others have not.
  std::array<std::uint32_t, 6> route_i{};
  std::uint32_t open_pair_i = 0, open_remote_i = 0, open_send_psn_i = 0, open_receive_psn_i = 0;
  std::uint32_t segment_index_i = 0, doorbell_pair_i = 0, post_pair_i = 0;
  std::array<std::uint32_t, 29> counters_o{};

  void eval() {
    if (clk_i != 0) return tick();
    doorbell_refused_o = doorbell_valid_i != 0 && (doorbell_pair_i >= RocePlan::kPairs ||
                                                   outstanding_[doorbell_pair_i] >= RocePlan::kDepth ||
                                                   ended_[doorbell_pair_i] || !request());
    post_refused_o = post_valid_i != 0 &&
                     (post_pair_i >= RocePlan::kPairs || receives_[post_pair_i] >= RocePlan::kReceivePlaces);
  }

 private:
  void remake() {
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
    EnginePorts::remake(config);
    outstanding_.fill(0);
    receives_.fill(0);
    ended_.fill(false);
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
    if (leave(driver)) report();
  }

  // ---------------------------------------------------------------- What the host sets
  void add_region() {
    const Segment made = segment();
    const Result<verbs::SegmentToken> token = engine_->register_segment(now_, made.config);
    WHARF_CHECK(token && token->id == made.word);
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
    if (engine_->post_receive(now_, post_pair_i, receive()) == engine::PostStatus::kOk)
      ++receives_[post_pair_i];
  }

  /// Completions, as the hardware writes them into the ring.
  void report() {
    while (has_completion()) {
      const verbs::Completion completion = take_completion();
      --(completion.kind == verbs::CompletionKind::kReceive ? receives_ : outstanding_)[completion.queue];
      if (!completion.ok()) ended_[completion.queue] = true;
      write_completion(completion, completion.queue, completion.ok() ? completion.length : 0,
                       static_cast<std::byte>(completion.status),
                       static_cast<std::byte>(opcode_of(completion.verb)));
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

  std::array<engine::PeerId, RocePlan::kPairs> peers_{};
  std::array<std::uint32_t, RocePlan::kPairs> outstanding_{}, receives_{};
  std::array<bool, RocePlan::kPairs> ended_{};
};

}  // namespace wharf::rtl
