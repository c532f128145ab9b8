// SPDX-License-Identifier: Apache-2.0
// Ping-pong with send and receive: party 0 sends messages, party 1 sends each one back. Both sides keep
// receive entries posted ahead, so that a message never waits for one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "verbs/gate.h"
#include "workload/crew.h"
#include "workload/pattern.h"

namespace wharf::workload {

struct PingPongConfig {
  LoopConfig loop;
  std::uint64_t region_offset = 0;        ///< Not used: messages go to receive entries, not to a region.
  std::uint32_t payload = 64;             ///< Message length in bytes, at least 16.
  TimePs start_delay = microseconds(10);  ///< Party 0 waits this long for party 1's receive entries.
};

template <typename Keys>
void bind_keys(PingPongConfig& config, Keys& keys) {
  bind_keys(config.loop, keys);
  keys.bytes("payload", config.payload, "message length", 16, std::uint64_t{1} << 30U);
  keys.time("start_delay", config.start_delay,
            "how long party 0 waits for party 1 to post its receive entries");
}

struct PingPongResult {
  LoopResult loop;           ///< Party 0: round trips. Party 1: only errors and checks.
  std::uint64_t echoed = 0;  ///< Party 1: messages sent back.
};

/// The program needs no target region, only receive entries.
inline std::uint64_t memory_needed(const PingPongConfig&, Party) { return 0; }

/// Refuses combinations of keys that make no sense.
inline Result<void> check(const PingPongConfig& config, Party party) {
  WHARF_TRY(check(config.loop));
  if (party.count != 2) return refuse("parties", party.count, "2: one sends, one answers");
  return {};
}

inline void prepare(const PingPongConfig&, Party, std::span<std::byte>, std::uint64_t) {}

/// Every measured round trip must have been echoed. `results` holds one entry per party.
inline Verdict verify(const PingPongConfig&, Party, std::span<const std::byte>, std::uint64_t,
                      std::span<const PingPongResult> results) {
  Verdict verdict;
  if (results.size() != 2) return verdict;
  const std::uint64_t trips = results[0].loop.operations + results[0].loop.warmup_operations;
  const std::uint64_t echoed = results[1].echoed;
  verdict.expect(results[0].loop.errors != 0 || trips == echoed,
                 {"messages lost or doubled", 0, trips, echoed});
  return verdict;
}

namespace ping_pong_detail {

/// Word 0 of the message that ends one receiver; other messages carry their number.
inline constexpr std::uint64_t kStop = ~std::uint64_t{0};

/// Two receive entries per worker: one for the message in flight and one spare, so that a completed receive
/// can be handled before its entry is posted again.
inline std::uint32_t receivers(const PingPongConfig& config) { return 2 * config.loop.concurrency; }

inline void write_message(std::span<std::byte> message, std::uint64_t seed, std::uint64_t number,
                          std::uint32_t worker) {
  store_le64(message.data(), number);
  store_le64(message.data() + 8, sealed(seed, number, worker));
  fill_words(message.subspan(16), seed ^ number, worker);
}

inline bool message_holds(std::span<const std::byte> message, std::uint64_t seed) {
  const std::uint64_t number = load_le64(message.data());
  const std::uint64_t seal = load_le64(message.data() + 8);
  const std::span<const std::byte> rest = message.subspan(16);
  return seal_holds(seed, number, seal) &&
         first_wrong_byte(rest, seed ^ number, sealed_value(seal)) == rest.size();
}

/// A message that is on its way, by worker.
struct InFlight {
  verbs::Gate back;  ///< Opened when the answer is there.
  std::uint64_t number = 0;
  TimePs arrived;  ///< When the answer came; the completion of the send may come later.
  bool waiting = false;
};

template <typename R, typename C>
struct Players : Crew<PingPongConfig, PingPongResult, R, C> {
  using Crew<PingPongConfig, PingPongResult, R, C>::Crew;
  std::vector<InFlight> in_flight;
  bool receive_failed = false;  ///< A receive entry ended in an error: no answer may be waited for.
  Join senders;
};

/// Party 1: sends back what it receives until a stop message, which it sends back too.
template <typename R, typename C>
verbs::Task<void> answer(Players<R, C>& crew, std::uint32_t worker) {
  const std::uint32_t length = crew.config.payload;
  Verdict& verdict = crew.loop.verdict();
  LoopResult& counts = crew.result.loop;
  const std::uint64_t local = crew.core.allocate(Bytes{length});
  for (bool stopped = false; !stopped;) {
    const verbs::Completion received = co_await crew.remote.receive(local, length);
    if (!received.ok()) {
      if (counts.errors++ == 0) counts.first_error = received.status;
      break;  // The queue is gone, and with it every entry.
    }
    const std::span<const std::byte> message = crew.core.bytes(local, Bytes{length});
    verdict.expect(received.length == length, {"message of wrong length", worker, length, received.length});
    verdict.expect(message_holds(message, crew.seed),
                   {"damaged message", worker, 0, load_le64(message.data())});
    stopped = load_le64(message.data()) == kStop;
    const verbs::Completion sent = co_await crew.remote.send(local, length);
    if (!sent.ok() && counts.errors++ == 0) counts.first_error = sent.status;
    if (sent.ok() && !stopped) ++crew.result.echoed;
  }
  crew.join.leave();
}

/// Party 0: hands answers to the workers that wait for them.
template <typename R, typename C>
verbs::Task<void> take_answers(Players<R, C>& crew, std::uint32_t) {
  const std::uint32_t length = crew.config.payload;
  Verdict& verdict = crew.loop.verdict();
  LoopResult& counts = crew.result.loop;
  const std::uint64_t local = crew.core.allocate(Bytes{length});
  for (;;) {
    const verbs::Completion received = co_await crew.remote.receive(local, length);
    if (!received.ok()) {
      if (counts.errors++ == 0) counts.first_error = received.status;
      crew.receive_failed = true;
      for (InFlight& message : crew.in_flight) {
        if (!message.waiting) continue;
        message.waiting = false;
        message.back.open();
      }
      break;
    }
    const std::span<const std::byte> message = crew.core.bytes(local, Bytes{length});
    const std::uint64_t number = load_le64(message.data());
    const std::uint32_t worker = sealed_value(load_le64(message.data() + 8));
    verdict.expect(message_holds(message, crew.seed) && received.length == length,
                   {"damaged answer", number, 0, worker});
    if (number == kStop) break;
    if (worker >= crew.in_flight.size() || !crew.in_flight[worker].waiting ||
        crew.in_flight[worker].number != number) {
      verdict.note({"answer that nobody waits for", number, 0, worker});
      continue;
    }
    crew.in_flight[worker].waiting = false;
    crew.in_flight[worker].arrived = crew.core.now();
    crew.in_flight[worker].back.open();
  }
  crew.join.leave();
}

/// Party 0: one message at a time.
template <typename R, typename C>
verbs::Task<void> ask(Players<R, C>& crew, std::uint32_t worker) {
  const std::uint32_t length = crew.config.payload;
  InFlight& flight = crew.in_flight[worker];
  const std::uint64_t local = crew.core.allocate(Bytes{length});
  Loop::Ticket ticket;
  while (!crew.receive_failed && crew.loop.take(crew.core.now(), ticket)) {
    if (ticket.wait > kTimeZero) co_await crew.core.sleep(ticket.wait);
    write_message(crew.core.bytes(local, Bytes{length}), crew.seed, ticket.number, worker);
    crew.loop.start(crew.core.now(), ticket);
    flight.number = ticket.number;
    flight.waiting = true;
    const verbs::Completion sent = co_await crew.remote.send(local, length);
    verbs::CompletionStatus status = sent.status;
    if (sent.ok()) {
      co_await flight.back.wait();
      if (crew.receive_failed) status = crew.result.loop.first_error;
    }
    flight.waiting = false;
    // A trip that failed has no arrival; it ended with the news of that.
    const TimePs end = status == verbs::CompletionStatus::kSuccess ? flight.arrived : crew.core.now();
    crew.loop.finish_at(end, crew.core, "round_trip", worker, ticket, 2 * length, status);
  }
  crew.senders.leave();
}

template <typename R, typename C>
verbs::Task<void> lead(Players<R, C>& crew) {
  const PingPongConfig& config = crew.config;
  const std::uint64_t local = crew.core.allocate(Bytes{config.payload});
  if (config.start_delay > kTimeZero) co_await crew.core.sleep(config.start_delay);
  crew.senders.spawn(crew.core, config.loop.concurrency,
                     [&crew](std::uint32_t worker) { return ask(crew, worker); });
  co_await crew.senders.all();
  for (std::uint32_t i = 0; i < receivers(config); ++i) {
    write_message(crew.core.bytes(local, Bytes{config.payload}), crew.seed, kStop, i);
    const verbs::Completion sent = co_await crew.remote.send(local, config.payload);
    if (!sent.ok()) break;  // Then the receive entries are flushed.
  }
}

}  // namespace ping_pong_detail

/// Runs one side of the program on `core`: party 0 asks, party 1 answers. Both use the same config and
/// `seed`. `config`, `remote`, `core` and `result` outlive the task.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> run(const PingPongConfig& config, Party party, std::uint64_t seed, R& remote, C& core,
                      PingPongResult& result) {
  WHARF_CHECK(check(config, party).ok());
  ping_pong_detail::Players<R, C> crew(config, party, seed, remote, core, result);
  if (party.index == 0) {
    std::vector<ping_pong_detail::InFlight> flights(config.loop.concurrency);
    crew.in_flight.swap(flights);
    crew.join.spawn(core, ping_pong_detail::receivers(config),
                    [&crew](std::uint32_t worker) { return ping_pong_detail::take_answers(crew, worker); });
    co_await ping_pong_detail::lead(crew);
  } else {
    crew.join.spawn(core, ping_pong_detail::receivers(config),
                    [&crew](std::uint32_t worker) { return ping_pong_detail::answer(crew, worker); });
  }
  co_await crew.join.all();
}

}  // namespace wharf::workload
