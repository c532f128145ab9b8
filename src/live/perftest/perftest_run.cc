// SPDX-License-Identifier: Apache-2.0
#include "live/perftest/perftest_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/units.h"
#include "engine/roce/counter_names.h"
#include "engine/roce/exchange.h"
#include "live/perftest/conversation.h"
#include "live/perftest/key_message.h"
#include "live/udp/control_channel.h"
#include "live/udp/live_capture.h"
#include "verbs/segment.h"

namespace wharf::live {
namespace {

using Engine = roce::RoceEngine;

/// The two hosts have numbers inside the engine alone.
constexpr wire::HostAddress kOwn{1};
constexpr wire::HostAddress kPeer{2};
/// READs and atomics in flight: what rdma_rxe has.
constexpr std::uint8_t kReads = 128;
constexpr TimePs kLookInterval = milliseconds(2);
constexpr std::uint32_t kMostDepth = 4096;
constexpr std::uint32_t kMostBytes = 1U << 23U;

roce::RoceConfig engine_config(const PerftestConfig& config) {
  roce::RoceConfig out;
  out.host = kOwn;
  out.seed = config.seed;
  out.path_mtu = config.path_mtu;
  out.max_read_atomic = kReads;
  out.responses_ahead = kReads;
  out.retry_count = 7;
  out.ack_timeout = 1;
  while (roce::ack_timeout_duration(out.ack_timeout) < config.repetition.first()) ++out.ack_timeout;
  while (roce::ack_timeout_duration(static_cast<std::uint8_t>(out.ack_timeout + out.backoff_limit)) <
         config.repetition.cap)
    ++out.backoff_limit;
  out.timeout_floor = config.repetition.floor;
  return out;
}

class Run {
 public:
  Run(const PerftestConfig& config, std::unique_ptr<EthernetPort> port, std::unique_ptr<EngineMemory> memory,
      std::unique_ptr<Engine> engine, std::unique_ptr<LiveCapture> capture, const std::atomic<bool>& stop)
      : config_(config),
        stop_(stop),
        capture_(std::move(capture)),
        ethernet_(*port),
        memory_(std::move(memory)),
        host_(std::move(engine), kOwn, memory_->payloads, std::move(port), clock_, config.seed, config.faults,
              capture_.get()),
        idle_(config.idle) {}

  Result<PerftestResult> run(const std::function<void()>& listening) {
    const auto whole = converse(listening);
    if (!whole && !stopped_) return whole.error();
    PerftestResult result;
    if (traffic_) result.traffic = traffic_->result();
    const auto landed = target_.first(std::min<std::size_t>(target_.size(), config_.traffic.bytes));
    result.landed.assign(landed.begin(), landed.end());
    result.path_mtu = path_mtu_;
    result.peer = peer_;
    result.counters = host_.counters();
    result.ethernet = ethernet_.counters();
    result.engine = roce::named(host_.engine().counters());
    result.interrupted = stopped_;
    if (capture_) WHARF_TRY(capture_->close());
    return result;
  }

 private:
  Result<void> converse(const std::function<void()>& listening) {
    WHARF_TRY(meet(listening));
    const auto opening = conversation_->open(config_.path_mtu);
    if (!opening) return opening.error();
    path_mtu_ = opening->path_mtu;
    WHARF_TRY(prepare(opening->round_bytes));
    WHARF_TRY(introduce());
    traffic_->start();
    WHARF_TRY(exchange_traffic());
    if (!stopped_) WHARF_TRY(part());
    if (!stopped_) traffic_->judge();
    return {};
  }
  /// Whether the user wants it to end. What was measured until then is told.
  bool is_stopped() {
    stopped_ = stopped_ || stop_.load(std::memory_order_relaxed);
    return stopped_;
  }

  Result<void> prepare(std::uint32_t round_bytes) {
    const TrafficConfig& traffic = config_.traffic;
    const std::uint64_t bytes = std::max(traffic.bytes, round_bytes);
    const std::uint64_t base = host_.core().allocate(Bytes{bytes});
    target_ = host_.core().bytes(base, Bytes{bytes});
    source_ = host_.core().bytes(host_.core().allocate(Bytes{traffic.bytes}), Bytes{traffic.bytes});
    Engine& engine = host_.engine();
    verbs::SegmentConfig segment;
    segment.base = base;
    segment.length = bytes;
    auto token = engine.register_segment(host_.now(), segment);
    if (!token) return token.error();
    engine::QueueConfig depths;
    depths.send_depth = depths.receive_depth = std::bit_ceil(std::max(traffic.depth, 2U));
    auto queue = engine.create_queue(host_.now(), depths);
    if (!queue) return queue.error();
    queue_ = *queue;
    auto blob = engine.export_queue(queue_);
    if (!blob) return blob.error();
    const auto own = roce::decode_exchange(*blob);
    if (!own) return own.error();
    const bool answers_reads = traffic.kind.verb == verbs::Verb::kRead || traffic.kind.atomic();
    key_.outstanding_reads = answers_reads ? own->responder_resources : 1;
    key_.queue_number = own->queue_number;
    key_.starting_psn = own->starting_psn;
    key_.key = traffic.kind.two_sided() ? 0 : token->id;
    key_.address = base;
    key_.gid = gid_of(config_.ethernet.address);
    return {};
  }

  Result<void> meet(const std::function<void()>& listening) {
    if (!config_.traffic.server) {
      auto channel = ControlChannel::connect(config_.meeting, config_.connect_patience);
      if (!channel)
        return Error{channel.error().kind,
                     fmt::format("perftest's server at {} cannot be reached; is ib_{} running there?",
                                 format_endpoint(config_.meeting), config_.traffic.kind.name)};
      talk(*std::move(channel), Conversation::Side::kClient);
      return {};
    }
    auto listener = ControlListener::open(config_.meeting);
    if (!listener) return listener.error();
    listening();
    for (;;) {
      if (auto channel = listener->accept()) {
        talk(*std::move(channel), Conversation::Side::kServer);
        return {};
      }
      if (is_stopped()) return Error{ErrorKind::kStalled, "interrupted before a client came"};
      step();
    }
  }
  void talk(ControlChannel channel, Conversation::Side side) {
    heard_ = host_.now();
    conversation_.emplace(std::move(channel), side, [this] { return turn(); });
  }

  Result<void> introduce() {
    const auto theirs = conversation_->swap_keys(key_);
    if (!theirs) return theirs.error();
    const auto address = address_of(theirs->gid);
    if (!address) return address.error();
    peer_ = {*address, config_.ethernet.port};
    roce::ExchangeRecord record;
    record.host = kPeer;
    record.queue_number = theirs->queue_number;
    record.starting_psn = theirs->starting_psn;
    record.path_mtu = path_mtu_;
    record.responder_resources =
        static_cast<std::uint8_t>(std::clamp<std::uint32_t>(theirs->outstanding_reads, 1, kReads));
    const auto connected = host_.engine().connect(host_.now(), queue_, roce::encode(record));
    if (!connected) return connected.error();
    host_.add_peer_of_any_port(kPeer, peer_);
    ethernet_.resolve(peer_.address);
    verbs::RemoteSegment segment;
    segment.base = theirs->address;
    segment.length = config_.traffic.bytes;
    segment.token = {theirs->key, 0};
    remote_.emplace(host_, queue_, *connected, segment);
    traffic_.emplace(config_.traffic, host_, *remote_, target_, source_);
    traffic_->post_receives();
    for (int more = 1; more < config_.traffic.kind.keys_before; ++more) {
      const auto again = conversation_->swap_keys(key_);
      if (!again) return again.error();
    }
    return {};
  }

  Result<void> exchange_traffic() {
    TimePs next_look = kTimeZero;
    while (!traffic_->finished()) {
      step();
      if (traffic_->result().violations != 0) return {};
      if (host_.round_time() < next_look) continue;
      next_look = host_.round_time() + kLookInterval;
      if (is_stopped()) return {};
      if (!conversation_->peer_gone()) {
        WHARF_TRY(silent_too_long());
      } else if (traffic_->only_acknowledgements_missing()) {
        return {};
      } else {
        return Error{ErrorKind::kStalled, "perftest's peer closed the connection in the middle of the run"};
      }
    }
    return {};
  }

  /// What follows the traffic; the side that only answers spends the traffic here.
  Result<void> part() {
    const TestKind& kind = config_.traffic.kind;
    if (traffic_->result().violations != 0) return {};
    if (kind.keys_after != 0) WHARF_TRY(swap_key_again());
    if (kind.reports) {
      for (const std::uint64_t each : report()) {
        std::array<std::byte, 8> bytes;
        store_be64(bytes.data(), each);
        const auto theirs = conversation_->swap(bytes);
        if (!theirs) return theirs.error();
      }
      WHARF_TRY(swap_key_again());
    }
    if (kind.keys_after != 0) conversation_->say_done();
    // The peer may lack an acknowledgement yet: until it goes, or asks for nothing any more. Who goes on
    // asking is left in the end.
    heard_ = host_.now();
    const TimePs end = heard_ + config_.stall_patience;
    const TimePs quiet = quiet_after(config_.repetition);
    while (!conversation_->peer_gone() && host_.now() - heard_ < quiet && host_.now() < end && !is_stopped())
      step();
    return {};
  }
  /// Longer than perftest's local ACK time-out, 67 ms, several times over; and than wharf's longest wait
  /// before a repetition, twice, as one may be lost.
  static TimePs quiet_after(const RepetitionTimes& repetition) {
    return milliseconds(400) + repetition.cap + repetition.cap;
  }

  Result<void> swap_key_again() {
    const auto theirs = conversation_->swap_keys(key_);
    if (!theirs) return theirs.error();
    return {};
  }

  /// Bytes of a message, iterations, peak and mean bandwidth in MB/s and the rate in million messages per
  /// second; the last three are floating-point numbers.
  std::array<std::uint64_t, 5> report() const {
    const TrafficResult& result = traffic_->result();
    const TimePs span = result.operations == 0 ? kTimeZero : result.end - result.begin;
    const double seconds = static_cast<double>(span.ps) / 1e12;
    const double rate = seconds > 0 ? static_cast<double>(result.operations) / seconds : 0;
    const double bandwidth = rate * config_.traffic.bytes / static_cast<double>(1U << 20U);
    return {config_.traffic.bytes, config_.traffic.iterations, std::bit_cast<std::uint64_t>(bandwidth),
            std::bit_cast<std::uint64_t>(bandwidth), std::bit_cast<std::uint64_t>(rate / 1e6)};
  }

  /// One round of the reactor; rests for a millisecond at most when there is nothing to do.
  void step() {
    const std::int64_t before = understood();
    bool worked = host_.step();
    if (traffic_) worked |= traffic_->look();
    if (understood() > before) heard_ = host_.round_time();
    if (worked) {
      idle_.worked();
    } else {
      idle_.idle(host_.round_time(), min(host_.deadline(), host_.round_time() + kLookInterval), host_.port());
    }
  }
  /// Packets of the peer: what is none says nothing of it.
  std::int64_t understood() const {
    const LiveCounters& all = host_.counters();
    return static_cast<std::int64_t>(all.datagrams_received - all.unknown_sender - all.undecodable -
                                     all.injected_losses);
  }
  Result<void> turn() {
    step();
    if (is_stopped()) return Error{ErrorKind::kStalled, "interrupted"};
    if (traffic_ && traffic_->result().violations != 0)
      return input_error(traffic_->result().first_violation);
    return silent_too_long();
  }
  Result<void> silent_too_long() const {
    if (host_.round_time() - heard_ < config_.stall_patience) return {};
    return Error{ErrorKind::kStalled,
                 fmt::format("perftest's peer was silent for {}", format_time(config_.stall_patience))};
  }

  const PerftestConfig& config_;
  const std::atomic<bool>& stop_;
  LiveClock clock_;
  std::unique_ptr<LiveCapture> capture_;
  EthernetPort& ethernet_;
  std::unique_ptr<EngineMemory> memory_;
  // Before the host, whose programs use them until it ends.
  std::optional<LiveRemote<Engine>> remote_;
  std::optional<Traffic> traffic_;
  LiveHost<Engine> host_;
  IdlePolicy idle_;
  std::optional<Conversation> conversation_;
  engine::QueueId queue_ = 0;
  KeyMessage key_;
  std::span<std::byte> target_;
  std::span<std::byte> source_;
  UdpEndpoint peer_;
  std::uint32_t path_mtu_ = 0;
  TimePs heard_;
  bool stopped_ = false;
};

}  // namespace

Result<void> check(const PerftestConfig& config) {
  const TrafficConfig& traffic = config.traffic;
  if (traffic.kind.atomic() && traffic.bytes != 8)
    return input_error(fmt::format("an atomic of {} bytes, expected 8", traffic.bytes));
  if (traffic.bytes == 0 || traffic.bytes > kMostBytes)
    return input_error(
        fmt::format("messages of {} bytes, expected 1 to {}, which is the most that Soft-RoCE takes",
                    traffic.bytes, kMostBytes));
  if (traffic.iterations == 0) return input_error("0 iterations, expected 1 at least");
  if (traffic.depth == 0 || traffic.depth > kMostDepth)
    return input_error(fmt::format("{} requests in flight, expected 1 to {}", traffic.depth, kMostDepth));
  return {};
}

Result<PerftestResult> run_perftest(const PerftestConfig& config, const std::function<void()>& listening,
                                    const std::atomic<bool>& stop) {
  WHARF_TRY(check(config));
  auto capture = LiveCapture::create(config.capture);
  if (!capture) return capture.error();
  auto port = EthernetPort::open(config.ethernet);
  if (!port) return port.error();
  auto memory = std::make_unique<EngineMemory>();
  auto engine = Engine::create(engine_config(config), memory->payloads, memory->arena);
  if (!engine) return engine.error();
  Run run(config, *std::move(port), std::move(memory), std::make_unique<Engine>(*std::move(engine)),
          *std::move(capture), stop);
  return run.run(listening);
}

}  // namespace wharf::live
