// SPDX-License-Identifier: Apache-2.0
// The C++ engine of the Unified Bus behind the ports of the hardware NIC, so that a host, a memory and a wire
// of the co-simulation cannot tell which of the two they have. Apart from them: they know no engine.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "engine/ub/exchange.h"
#include "engine/ub/ub_engine.h"
#include "rtl/cosim/engine_ports.h"
#include "rtl/ub_nic/nic_plan.h"
#include "wire/ub_opcode.h"

namespace wharf::rtl {

/// As a Verilated class would be: eval() with the clock low shows outputs, with the clock high moves on.
class EngineNic : public EnginePorts<ub::UbEngine, NicPlan> {
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

  // The ports of wharf_ub_nic that others have not.
  std::array<std::uint32_t, 7> route_i{};
  std::uint8_t open_value_i = 0;
  std::uint32_t open_jetty_i = 0, open_token_i = 0, segment_index_i = 0;
  std::uint32_t doorbell_jetty_i = 0, post_jetty_i = 0;
  std::uint8_t failed_o = 0;
  std::array<std::uint32_t, 17> counters_o{};
  const ub::UbCounters& counted() const { return engine_->counters(); }

  void eval() {
    if (clk_i != 0) return tick();
    const bool asks = doorbell_valid_i != 0 && (doorbell_jetty_i >= NicPlan::kJetties ||
                                                outstanding_[doorbell_jetty_i] >= kDepth || !request());
    doorbell_refused_o = asks ? 1 : 0;
    post_refused_o = post_valid_i != 0 && post_jetty_i >= NicPlan::kJetties ? 1 : 0;
  }

 private:
  static constexpr std::uint32_t kDepth = 8;  ///< Requests of a jetty that are not over.

  void remake() {
    ub::UbConfig config;
    config.mtu = 128;
    config.send_window = 8;
    config.receive_window = 64;
    config.retransmission = {.base = kCycle * 600, .attempts_max = reliability::kUnlimitedAttempts};
    config.rnr_retry = NicPlan::kNotReadyAttempts;
    config.min_rnr_timer = 1;
    config.host = {kHost};
    EnginePorts::remake(config);
    peers_.clear();
    outstanding_.fill(0);
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
    if (leave(driver)) report();
  }

  // ---------------------------------------------------------------- What the host sets
  void add_segment() {
    Segment made = segment();
    made.config.check_value = made.first;
    made.config.token_value = made.word;
    const Result<verbs::SegmentToken> token = engine_->register_segment(now_, made.config);
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
    if (engine_->post_receive(now_, kFirstJetty + post_jetty_i, receive()) != engine::PostStatus::kOk)
      failed_o = 1;
  }

  /// Completions, as the hardware writes them into the ring.
  void report() {
    while (has_completion()) {
      const verbs::Completion completion = take_completion();
      const bool is_receive = completion.kind == verbs::CompletionKind::kReceive;
      const std::uint32_t jetty = completion.queue - kFirstJetty;
      if (!is_receive) --outstanding_[jetty];
      write_completion(completion, jetty, is_receive || completion.ok() ? completion.length : 0,
                       status_of(completion.status), static_cast<std::byte>(opcode_of(completion.verb)));
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

  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, verbs::PeerId> peers_;
  std::array<std::uint32_t, NicPlan::kJetties> outstanding_{};
};

}  // namespace wharf::rtl
