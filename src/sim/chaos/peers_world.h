// SPDX-License-Identifier: Apache-2.0
// Engines on one wire, each with its memory, and a program that uses them all: until one host dies, is reset
// or lies.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/driver/engine_driver.h"
#include "sim/chaos/peers_memory.h"
#include "sim/chaos/peers_plan.h"
#include "sim/chaos/peers_program.h"
#include "sim/chaos/peers_wire.h"
#include "sim/protocols/protocol.h"
#include "wire/payload_pool.h"

namespace wharf::sim {

template <typename P>
class PeersWorld {
 public:
  using Engine = typename P::Engine;

  PeersWorld(const PeersPlan& plan, const typename P::Config& config)
      : plan_(plan),
        config_(config),
        random_(plan.seed, "chaos.peers.world"),
        wire_(plan, payloads_),
        memories_(plan.hosts, PeersMemory(PeersProgram::memory_bytes(plan), plan.memory_delay, payloads_)),
        program_(plan, memories_),
        hosts_(plan.hosts) {
    P::limit_retries(config_, plan.attempts);
  }

  /// Refuses when the engines do.
  Result<void> run() {
    for (std::uint32_t host = 0; host < plan_.hosts; ++host) WHARF_TRY(make(host, 0));
    for (std::uint32_t host = 0; host < plan_.hosts; ++host) {
      for (std::uint32_t peer = 0; peer < host; ++peer) WHARF_TRY(join(host, peer));
    }
    if (plan_.event == PeerEvent::kNone) event_at_ = kNever;
    settle_all();
    go_on([this] { return program_.is_finished(); });
    if (is_sound()) part();
    if (is_sound()) program_.judge_end();
    return {};
  }

  const std::optional<PeersProgram::Fault>& fault() const { return program_.fault(); }
  std::uint64_t operations() const { return program_.ended(); }
  /// Calls `note(counters)` for each engine that is left.
  template <typename Note>
  void each_counters(Note note) const {
    for (const Host& host : hosts_) {
      if (host.engine) note(host.engine->counters());
    }
  }

 private:
  /// More than the longest run takes.
  static constexpr std::uint64_t kSteps = 3'000'000;
  /// Tries of forget_host(), which waits for memory.
  static constexpr std::uint32_t kForgetTries = 1000;

  struct Joined {
    engine::QueueId queue = 0;
    verbs::PeerId peer = 0;
    verbs::SegmentToken token;  ///< Of what the peer grants.
    bool usable = false;
    std::vector<bool> receives;  ///< Posted.
  };
  struct Host {
    std::unique_ptr<Engine> engine;
    std::vector<Joined> joined;                ///< By peer.
    std::vector<verbs::SegmentToken> granted;  ///< To each peer.
    TimePs forgets_at = kNever;                ///< The host that was reset.
    std::uint32_t tries = 0;
  };

  bool is_sound() const { return !program_.fault(); }
  bool is_alive(std::uint32_t host) const { return hosts_[host].engine != nullptr; }

  Result<void> make(std::uint32_t number, std::uint32_t life) {
    Host& host = hosts_[number];
    auto config = P::thin(config_, number, plan_.hosts, plan_.seed);
    if (life > 0) P::renew(config, life, plan_.seed + number);
    typename P::Engines engines;
    auto made = engines.make(config, number, payloads_, arenas_.emplace_back());
    if (!made) return made.error();
    host.engine = std::make_unique<Engine>(*std::move(made));
    program_.limit_sends(host.engine->capabilities().max_send_bytes);
    host.joined.assign(plan_.hosts, {});
    host.granted.assign(plan_.hosts, {});
    for (std::uint32_t peer = 0; peer < plan_.hosts; ++peer) {
      if (peer == number) continue;
      const std::uint32_t secret = random_.next_u32();
      const auto token = host.engine->register_segment(
          now_, {.base = program_.grant_base(peer), .length = program_.grant_bytes(), .token_value = secret});
      if (!token) return token.error();
      host.granted[peer] = *token;
      WHARF_TRY(give_queue(number, peer));
    }
    return {};
  }

  /// A queue of `number` for `peer`, or the one for all.
  Result<void> give_queue(std::uint32_t number, std::uint32_t peer) {
    Host& host = hosts_[number];
    Joined& joined = host.joined[peer];
    const bool shares = plan_.shared_queue && !host.engine->capabilities().queue_per_peer;
    for (const Joined& other : host.joined) {
      if (!shares || &other == &joined || other.receives.empty()) continue;
      joined.queue = other.queue;
      joined.receives.assign(PeersProgram::receives(plan_), false);
      return {};
    }
    const auto queue = host.engine->create_queue(now_, {.send_depth = 256, .receive_depth = 256});
    if (!queue) return queue.error();
    joined.queue = *queue;
    joined.receives.assign(PeersProgram::receives(plan_), false);
    return {};
  }

  Result<void> join(std::uint32_t one, std::uint32_t other) {
    for (const auto& [host, peer] : {std::pair{one, other}, std::pair{other, one}}) post_receives(host, peer);
    const auto first = hosts_[one].engine->export_queue(hosts_[one].joined[other].queue);
    if (!first) return first.error();
    const auto second = hosts_[other].engine->export_queue(hosts_[other].joined[one].queue);
    if (!second) return second.error();
    WHARF_TRY(connect(one, other, *second));
    return connect(other, one, *first);
  }
  Result<void> connect(std::uint32_t host, std::uint32_t peer, const engine::ExchangeBlob& blob) {
    Joined& joined = hosts_[host].joined[peer];
    const auto id = hosts_[host].engine->connect(now_, joined.queue, blob);
    if (!id) return id.error();
    joined.peer = *id;
    joined.token = hosts_[peer].granted[host];
    joined.usable = true;
    return {};
  }

  void post_receives(std::uint32_t host, std::uint32_t peer) {
    Joined& joined = hosts_[host].joined[peer];
    for (std::uint32_t index = 0; index < joined.receives.size(); ++index) {
      if (!joined.receives[index]) post_receive(host, peer, index);
    }
  }
  void post_receive(std::uint32_t host, std::uint32_t peer, std::uint32_t index) {
    Joined& joined = hosts_[host].joined[peer];
    joined.receives[index] =
        hosts_[host].engine->post_receive(now_, joined.queue, program_.receive(peer, index)) ==
        engine::PostStatus::kOk;
  }

  // --- What an engine's driver calls.
  struct Inside {
    PeersWorld& world;
    std::uint32_t number;

    bool begin(TimePs now, const engine::Access& access, engine::AccessResult& result) {
      return world.memories_[number].begin(now, access, result);
    }
    void reclaim(const engine::AccessResult& result) { world.memories_[number].reclaim(result); }
    wire::TrafficClassMask open(TimePs) const { return wire::kAllTrafficClasses; }
    void send(TimePs now, const wire::Packet& packet) { world.wire_.send(now, packet); }
    void completed(TimePs now, const verbs::Completion& completion) {
      world.program_.completed(now, number, completion);
      if (completion.kind == verbs::CompletionKind::kReceive) world.note_receive(number, completion.id);
      if (const auto again = world.program_.take_receive_to_post())
        world.post_receive(number, again->peer, again->index);
    }
    void event(TimePs, const engine::AsyncEvent& event) { world.note_event(number, event); }
    bool gave(TimePs, engine::Taken taken) { return world.post_more(number) || taken.any(); }
  };

  void settle(std::uint32_t host) {
    if (!is_alive(host)) return;
    Inside inside{*this, host};
    engine::EngineDriver(*hosts_[host].engine, inside, inside, inside).settle(now_);
  }
  void settle_all() {
    for (std::uint32_t host = 0; host < plan_.hosts; ++host) settle(host);
  }

  bool post_more(std::uint32_t host) {
    bool any = false;
    if (parting_) return false;
    for (std::uint32_t peer = 0; peer < plan_.hosts; ++peer) {
      Joined& joined = hosts_[host].joined[peer];
      while (joined.usable) {
        auto request = program_.next(now_, host, peer, joined.token);
        if (!request) break;
        request->peer = joined.peer;
        const engine::PostStatus status =
            hosts_[host].engine->post(now_, joined.queue, *request, engine::Submission::kInHand);
        if (status == engine::PostStatus::kOk) {
          any = true;
          continue;
        }
        if (program_.spared(host, peer))
          program_.fail("errors",
                        fmt::format("host {} cannot post to host {}: {}", host, peer, engine::name(status)));
        program_.take_back(request->id);
        joined.usable = false;
      }
    }
    return any;
  }

  void note_receive(std::uint32_t host, std::uint64_t id) {
    if (!PeersProgram::is_receive(id)) return;
    const auto peer = static_cast<std::uint32_t>((id >> 32U) & 0x7fff'ffffU);
    const auto index = static_cast<std::uint32_t>(id);
    if (peer < plan_.hosts && index < hosts_[host].joined[peer].receives.size())
      hosts_[host].joined[peer].receives[index] = false;
  }

  /// Queues that no befallen host uses never fail.
  void note_event(std::uint32_t host, const engine::AsyncEvent& event) {
    if (event.kind != engine::AsyncEventKind::kQueueError) return;
    for (std::uint32_t peer = 0; peer < plan_.hosts; ++peer) {
      if (peer != host && program_.spared(host, peer) && hosts_[host].joined[peer].queue == event.queue)
        program_.fail("errors", fmt::format("host {}: the queue for host {} failed", host, peer));
    }
  }

  // --- Time.
  TimePs next_time() const {
    TimePs next = min(min(wire_.next_arrival(), event_at_), min(back_at_, anew_at_));
    for (std::uint32_t host = 0; host < plan_.hosts; ++host) {
      next = min(next, hosts_[host].forgets_at);
      if (!is_alive(host)) continue;
      next = min(next, min(memories_[host].next_time(), hosts_[host].engine->deadline()));
    }
    return next;
  }

  void step(TimePs next) {
    now_ = max(now_, next);
    if (event_at_ <= now_) befall();
    if (back_at_ <= now_) come_back();
    for (std::uint32_t number = 0; number < plan_.hosts; ++number) {
      if (hosts_[number].forgets_at <= now_) forget(number);
      if (!is_alive(number)) continue;
      Engine& engine = *hosts_[number].engine;
      bool input = false;
      while (memories_[number].next_time() <= now_) {
        engine::AccessResult result;
        const engine::AccessId id = memories_[number].take(result);
        engine.access_done(now_, id, result);
        memories_[number].reclaim(result);
        input = true;
      }
      if (engine.deadline() <= now_) {
        engine.expire(now_);
        input = true;
      }
      if (input) settle(number);
    }
    if (anew_at_ <= now_) begin_anew();
    while (wire_.next_arrival() <= now_) {
      const wire::Packet packet = wire_.take();
      const std::uint32_t to = packet.destination.number;
      if (to < plan_.hosts && is_alive(to)) {
        hosts_[to].engine->receive(now_, 0, packet);
        settle(to);
      }
      payloads_.release(packet.payload.buffer);
    }
  }

  template <typename Condition>
  bool go_on(Condition condition) {
    for (; is_sound() && !condition(); ++steps_) {
      const TimePs next = next_time();
      if (next == kNever || steps_ > kSteps) {
        std::vector<std::string> lines;
        for (const Host& host : hosts_) {
          if (host.engine) host.engine->describe_waiting(lines);
        }
        if (lines.size() > 6) lines.resize(6);
        program_.fail("end", fmt::format("{} at {} ns: {}; {}",
                                         next == kNever ? "the run stalled" : "the run comes to no end",
                                         now_.ps / 1000, program_.pending_text(), fmt::join(lines, "; ")));
        return false;
      }
      step(next);
    }
    return is_sound();
  }

  // --- What befalls the host of the plan.
  void befall() {
    event_at_ = kNever;
    program_.befall(P::given_up_within(config_) + microseconds(200));
    if (plan_.event == PeerEvent::kLies) {
      wire_.let_lie(true);
    } else {
      end(plan_.host);
    }
    if (plan_.event == PeerEvent::kReset) {
      back_at_ = now_ + plan_.away;
      for (std::uint32_t host = 0; host < plan_.hosts; ++host) {
        const auto span = static_cast<std::uint64_t>(plan_.away.ps) * 2 + 1;
        if (host != plan_.host)
          hosts_[host].forgets_at = now_ + picoseconds(static_cast<std::int64_t>(random_.below(span)));
      }
    }
    settle_all();
  }

  void end(std::uint32_t host) {
    hosts_[host].engine.reset();
    for (Joined& joined : hosts_[host].joined) joined.usable = false;
  }

  void come_back() {
    back_at_ = kNever;
    ++lives_;
    if (const auto made = make(plan_.host, lives_); !made)
      program_.fail("end", fmt::format("no engine for the next life: {}", made.error().message));
    plan_anew();
  }

  void forget(std::uint32_t number) {
    Host& host = hosts_[number];
    host.joined[plan_.host].usable = false;
    if (!host.engine->forget_host(now_, {plan_.host}).ok()) {
      // It serves a request of it.
      host.forgets_at = now_ + microseconds(1);
      if (++host.tries > kForgetTries)
        program_.fail("end", fmt::format("host {} cannot forget host {}", number, plan_.host));
      return;
    }
    host.forgets_at = kNever;
    settle(number);
    plan_anew();
  }

  /// When all is forgotten and the host is back, and no memory is at work for its old life.
  void plan_anew() {
    bool ready = plan_.event == PeerEvent::kReset && back_at_ == kNever && lives_ > 0;
    for (const Host& host : hosts_) ready = ready && host.forgets_at == kNever;
    if (ready) anew_at_ = now_ + plan_.memory_delay * std::int64_t{8} + nanoseconds(1);
  }

  void begin_anew() {
    anew_at_ = kNever;
    if (program_.pending_at_event() > 0) {
      // They wait their turn behind requests for others.
      anew_at_ = now_ + microseconds(10);
      if (++tries_ > kForgetTries)
        program_.fail("end", fmt::format("the host is forgotten: {}", program_.pending_text()));
      return;
    }
    if (P::kOpensByFirstPacket && wire_.is_at_work_for_host()) {
      // What arrives for the first time is done, whoever has been forgotten: its time is before the new life.
      anew_at_ = wire_.next_arrival() + plan_.memory_delay * std::int64_t{8} + nanoseconds(1);
      if (++tries_ > kForgetTries)
        program_.fail("end", fmt::format("packets of host {} are under way without an end", plan_.host));
      return;
    }
    program_.begin_anew();
    for (std::uint32_t host = 0; host < plan_.hosts; ++host) {
      if (host == plan_.host) continue;
      if (const auto joined = join_anew(host); !joined)
        program_.fail("end", fmt::format("hosts {} and {} cannot be joined again: {}", host, plan_.host,
                                         joined.error().message));
    }
    wire_.replay(now_, plan_.delay * std::int64_t{20});
    settle_all();
  }

  Result<void> join_anew(std::uint32_t number) {
    Host& host = hosts_[number];
    Joined& joined = host.joined[plan_.host];
    if (host.engine->capabilities().queue_per_peer) {
      if (random_.below(2) == 0) {
        WHARF_TRY(host.engine->destroy_queue(now_, joined.queue));
        joined.receives.clear();
        WHARF_TRY(give_queue(number, plan_.host));
      } else if (host.engine->queue_state(joined.queue) == engine::QueueState::kError) {
        WHARF_TRY(host.engine->reset_queue(now_, joined.queue));
      }
    }
    return join(number, plan_.host);
  }

  /// Everybody forgets the host that is not to be relied on; then nothing of it is left.
  void part() {
    parting_ = true;
    if (plan_.event == PeerEvent::kDeath || plan_.event == PeerEvent::kLies) {
      wire_.let_lie(false);
      TimePs forgets_at = now_ + nanoseconds(1);
      if (P::kOpensByFirstPacket && is_alive(plan_.host)) {
        // What arrives after that opens a connection again: it is silent first, until nothing is under way.
        end(plan_.host);
        forgets_at += plan_.delay * std::int64_t{4} + plan_.jitter + plan_.memory_delay * std::int64_t{8};
      }
      for (std::uint32_t host = 0; host < plan_.hosts; ++host) {
        if (host != plan_.host) hosts_[host].forgets_at = forgets_at;
      }
      const auto forgotten = [this] {
        for (const Host& host : hosts_) {
          if (host.forgets_at != kNever) return false;
        }
        return true;
      };
      if (!go_on(forgotten)) return;
      end(plan_.host);
    }
    wire_.forget_old();
    while (next_time() != kNever) {
      if (!go_on([this] { return next_time() == kNever; })) return;
    }
    if (program_.pending_at_event() > 0)
      return program_.fail("completions", fmt::format("all is at rest, and {}", program_.pending_text()));
    if (payloads_.in_use() > 0)
      program_.fail("leak", fmt::format("all is at rest, and {} buffers are held", payloads_.in_use()));
  }

  PeersPlan plan_;
  typename P::Config config_;
  RandomStream random_;
  wire::PayloadPool payloads_;
  PeersWire<P> wire_;
  std::vector<PeersMemory> memories_;
  PeersProgram program_;
  std::deque<Arena> arenas_;
  std::vector<Host> hosts_;
  TimePs now_;
  TimePs event_at_ = plan_.at;
  TimePs back_at_ = kNever;
  TimePs anew_at_ = kNever;
  std::uint32_t lives_ = 0;
  std::uint32_t tries_ = 0;  ///< Of beginning anew.
  std::uint64_t steps_ = 0;
  bool parting_ = false;
};

}  // namespace wharf::sim
