// SPDX-License-Identifier: Apache-2.0
// The program behind `wharf perf --verb`: repeats one verb on slots of the server's memory and proves that
// every byte arrived where it should, once. Apart from workload/verb_loop.h, which proves less: here every
// worker owns its slots, so what each must hold at any moment is known.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "verbs/core.h"
#include "verbs/remote_memory.h"
#include "verbs/verb.h"
#include "wire/payload.h"
#include "workload/join.h"
#include "workload/loop.h"
#include "workload/violation.h"

namespace wharf::live {

struct VerbMeasurementConfig {
  verbs::Verb verb = verbs::Verb::kRead;
  std::uint32_t size = 64;  ///< Bytes of a message; atomics: 4, 8 or 16.
  workload::LoopConfig loop;
  std::optional<std::uint64_t> tag = std::nullopt;  ///< Of sends.
  std::uint64_t slice_offset = 0;                   ///< Of the segment: memory that nobody else uses.
  std::uint64_t slice_bytes = 0;
  std::uint32_t receive_entries = 0;  ///< Verbs that consume them: as many as the server keeps posted.
};

/// Bytes from one slot to the next: the message, 8-byte aligned, and the word that a notify lands in.
constexpr std::uint64_t slot_stride(const VerbMeasurementConfig& config) {
  const std::uint64_t rounded = (std::uint64_t{config.size} + 7) / 8 * 8;
  return std::max<std::uint64_t>(rounded, 8) + (config.verb == verbs::Verb::kWriteNotify ? 8 : 0);
}

/// Slots of one worker: odd, so that neighbours and successive passes hold different patterns, and not more
/// than it has operations. 0: no room.
constexpr std::uint64_t slots_per_worker(const VerbMeasurementConfig& config) {
  constexpr std::uint64_t kMostSlots = 1023;
  const workload::LoopConfig& loop = config.loop;
  const std::uint64_t room = config.slice_bytes / slot_stride(config) / loop.concurrency;
  std::uint64_t wanted = std::max<std::uint64_t>(kMostSlots / loop.concurrency, 1);
  if (loop.operations != 0) {
    wanted = std::min(wanted, (loop.operations + loop.warmup_operations) / loop.concurrency + 1);
  }
  wanted = std::min(wanted, room);
  return wanted % 2 == 0 && wanted != 0 ? wanted - 1 : wanted;
}

namespace verb_measurement_detail {

/// Different contents that a worker's messages rotate through.
inline constexpr std::uint32_t kPatterns = 4;
/// Reads longer than this are compared in full only now and then; their ends always.
inline constexpr std::uint32_t kCompareAlways = 256;
inline constexpr std::uint64_t kCompareEvery = 64;

/// The first bytes of message `number` of `worker`: never zero, never the same twice.
constexpr std::uint64_t stamp(std::uint32_t worker, std::uint64_t number) {
  return (std::uint64_t{worker} << 48U) | (number + 1);
}
constexpr std::uint32_t pattern_of(std::uint32_t worker, std::uint64_t number) {
  return worker * kPatterns + static_cast<std::uint32_t>(number % kPatterns);
}
inline void write_stamp(std::span<std::byte> message, std::uint64_t value) {
  std::array<std::byte, 8> bytes;
  store_le64(bytes.data(), value);
  std::memcpy(message.data(), bytes.data(), std::min<std::size_t>(message.size(), 8));
}
inline void write_message(std::span<std::byte> message, std::uint32_t worker, std::uint64_t number) {
  const auto length = static_cast<std::uint32_t>(message.size());
  wire::fill(wire::pattern_payload(pattern_of(worker, number), 0, length), message);
  write_stamp(message, stamp(worker, number));
}
inline bool stamp_holds(std::span<const std::byte> message, std::uint64_t value) {
  std::array<std::byte, 8> bytes;
  store_le64(bytes.data(), value);
  return std::memcmp(message.data(), bytes.data(), std::min<std::size_t>(message.size(), 8)) == 0;
}
inline bool message_holds(std::span<const std::byte> message, std::uint32_t worker, std::uint64_t number) {
  if (!stamp_holds(message, stamp(worker, number))) return false;
  if (message.size() <= 8) return true;
  const auto rest = static_cast<std::uint32_t>(message.size() - 8);
  return wire::payload_equal(wire::bytes_payload(message.subspan(8)),
                             wire::pattern_payload(pattern_of(worker, number), 8, rest));
}

/// Slots are prepared and read back so many bytes at a time: whole slots, at least one.
constexpr std::uint64_t chunk_bytes(const VerbMeasurementConfig& config) {
  constexpr std::uint64_t kWanted = 64 * 1024;
  return std::max<std::uint64_t>(kWanted / slot_stride(config), 1) * slot_stride(config);
}

/// What an atomic works on, whatever its width.
__extension__ using Word = unsigned __int128;
using Halves = std::array<std::uint64_t, 2>;
constexpr Word word_of(const Halves& halves) { return (Word{halves[1]} << 64U) | halves[0]; }
constexpr Halves halves_of(Word word) {
  return {static_cast<std::uint64_t>(word), static_cast<std::uint64_t>(word >> 64U)};
}
constexpr Word mask_of_width(std::uint32_t bytes) {
  return bytes >= 16 ? ~Word{0} : (Word{1} << (8 * bytes)) - 1;
}
/// The word of `bytes` bytes, 4, 8 or 16, at `at`.
inline Word load_word(const std::byte* at, std::uint32_t bytes) {
  if (bytes == 4) return load_le32(at);
  return bytes == 8 ? Word{load_le64(at)} : word_of({load_le64(at), load_le64(at + 8)});
}

/// What an atomic leaves behind, and what it must return (nothing for a store).
struct AtomicStep {
  Word operand = 0;
  Word compare = 0;
  Word next = 0;
};

/// Operation `number` on a word that holds `value`; every eighth compare_swap must fail.
constexpr AtomicStep atomic_step(verbs::Verb verb, Word value, std::uint64_t number, Word mask) {
  using verbs::Verb;
  AtomicStep step;
  const std::uint64_t drawn = number * 0x9e37'79b9'7f4a'7c15U | 1U;
  step.operand = word_of({drawn, ~drawn}) & mask;
  step.next = step.operand;
  if (verb == Verb::kCompareSwap) {
    const bool fails = number % 8 == 7;
    step.compare = (value + (fails ? 1 : 0)) & mask;
    if (fails) step.next = value;
  } else if (verb == Verb::kFetchAdd) {
    step.next = value + step.operand;
  } else if (verb == Verb::kFetchSub) {
    step.next = value - step.operand;
  } else if (verb == Verb::kFetchAnd) {
    step.next = value & step.operand;
  } else if (verb == Verb::kFetchOr) {
    step.next = value | step.operand;
  } else if (verb == Verb::kFetchXor) {
    step.next = value ^ step.operand;
  } else if (verb == Verb::kAtomicLoad) {
    step.next = value;
  }
  step.next &= mask;
  return step;
}

/// What the workers share. Lives in the frame of measure_verb().
template <typename R, typename C>
struct Bench {
  const VerbMeasurementConfig& config;
  R& remote;
  C& core;
  workload::LoopResult& result;
  workload::Loop loop;
  std::uint64_t slots;
  std::vector<std::uint64_t> done;  ///< Operations of each worker.
  std::vector<Word> words;          ///< Atomics: what each slot must hold.
  workload::Join join;

  verbs::RemoteAddress slot(std::uint32_t worker, std::uint64_t number) const {
    return remote.segment().at(config.slice_offset + (worker * slots + number % slots) * slot_stride(config));
  }
  Word& word(std::uint32_t worker, std::uint64_t number) { return words[worker * slots + number % slots]; }
  bool failed() const { return result.errors != 0; }
  void fail(verbs::CompletionStatus status) {
    if (result.errors++ == 0) result.first_error = status;
  }
};

template <typename R, typename C>
verbs::WorkRequest request_of(Bench<R, C>& bench, std::uint32_t worker, std::uint64_t number,
                              std::uint64_t local) {
  const VerbMeasurementConfig& config = bench.config;
  verbs::WorkRequest request;
  request.verb = config.verb;
  request.length = config.size;
  if (verbs::is_send(config.verb)) {
    request.tagged = config.tag.has_value();
    request.tag = config.tag.value_or(0);
  } else {
    request.remote = bench.slot(worker, number);
  }
  if (config.verb == verbs::Verb::kWriteNotify) {
    request.notify = request.remote;
    request.notify.address += slot_stride(config) - 8;
  }
  request.immediate = stamp(worker, number);
  if (verbs::is_atomic(config.verb)) {
    request.width = static_cast<std::uint8_t>(config.size);
  } else {
    request.local_count = 1;
    request.local[0] = {local, config.size};
  }
  return request;
}

/// One worker: repeats the verb on its own slots.
template <typename R, typename C>
verbs::Task<void> repeat(Bench<R, C>& bench, std::uint32_t worker) {
  const VerbMeasurementConfig& config = bench.config;
  const verbs::Verb verb = config.verb;
  workload::Verdict& verdict = bench.loop.verdict();
  const Word mask = mask_of_width(config.size);
  std::array<std::uint64_t, kPatterns> local{};
  for (std::uint32_t index = 0; index < kPatterns; ++index) {
    local[index] = bench.core.allocate(Bytes{config.size});
    write_message(bench.core.bytes(local[index], Bytes{config.size}), worker, index);
  }
  std::uint64_t number = 0;
  workload::Loop::Ticket ticket;
  while (!bench.failed() && bench.loop.take(bench.core.now(), ticket)) {
    const std::uint64_t buffer = local[number % kPatterns];
    const std::span<std::byte> message = bench.core.bytes(buffer, Bytes{config.size});
    verbs::WorkRequest request = request_of(bench, worker, number, buffer);
    AtomicStep step;
    if (verbs::carries_payload(verb)) {
      write_stamp(message, stamp(worker, number));
    } else if (verbs::is_atomic(verb)) {
      step = atomic_step(verb, bench.word(worker, number), number, mask);
      request.operand = halves_of(step.operand);
      request.compare = halves_of(step.compare);
    } else {
      write_stamp(message, 0);
      write_stamp(message.last(std::min<std::size_t>(message.size(), 8)), 0);
    }
    bench.loop.start(bench.core.now(), ticket);
    if (ticket.wait == kTimeZero) ticket.arrived = ticket.started;  // Filling the message does not count.
    const verbs::Completion completion = co_await bench.remote.execute(request);
    bench.loop.finish(bench.core, verbs::name(verb), worker, ticket, config.size, completion.status);
    if (!completion.ok()) break;
    if (verb == verbs::Verb::kRead) {
      const std::uint64_t slot = number % bench.slots;
      const bool all = config.size <= kCompareAlways || number % kCompareEvery == 0;
      verdict.expect(all ? message_holds(message, worker, slot) : stamp_holds(message, stamp(worker, slot)),
                     {"wrong bytes read from slot", slot, stamp(worker, slot), 0});
    } else if (verbs::is_atomic(verb)) {
      Word& value = bench.word(worker, number);
      if (verb != verbs::Verb::kAtomicStore) {
        const Word old = word_of(completion.atomic_result) & mask;
        verdict.expect(old == value, {"wrong old value returned from slot", number % bench.slots,
                                      halves_of(value)[0], halves_of(old)[0]});
      }
      value = step.next;
    }
    ++number;
  }
  bench.done[worker] = number;
  bench.join.leave();
}

/// The last message that slot `slot` of `worker` took, if any.
template <typename R, typename C>
std::optional<std::uint64_t> last_in_slot(const Bench<R, C>& bench, std::uint32_t worker,
                                          std::uint64_t slot) {
  const std::uint64_t done = bench.done[worker];
  if (done <= slot) return std::nullopt;
  return (done - 1 - slot) / bench.slots * bench.slots + slot;
}

/// Moves all slots of all workers between `chunk` (of chunk_bytes()) and the server, a chunk at a time:
/// `each(worker, slot, bytes)` sees every slot before it is written, or after it was read.
template <typename R, typename C, typename Each>
verbs::Task<void> move_slots(Bench<R, C>& bench, verbs::Verb verb, std::uint64_t chunk, Each each) {
  const std::uint64_t stride = slot_stride(bench.config);
  const std::uint64_t total = bench.slots * bench.config.loop.concurrency;
  const std::uint64_t per_chunk = chunk_bytes(bench.config) / stride;
  for (std::uint64_t first = 0; first < total; first += per_chunk) {
    const std::uint64_t count = std::min(per_chunk, total - first);
    const auto length = static_cast<std::uint32_t>(count * stride);
    const verbs::RemoteAddress target = bench.remote.segment().at(bench.config.slice_offset + first * stride);
    const auto visit = [&] {
      for (std::uint64_t index = first; index < first + count; ++index) {
        each(static_cast<std::uint32_t>(index / bench.slots), index % bench.slots,
             bench.core.bytes(chunk + (index - first) * stride, Bytes{stride}));
      }
    };
    verbs::Completion done;
    if (verb == verbs::Verb::kWrite) {
      visit();
      done = co_await bench.remote.write(chunk, target, length);
    } else {
      done = co_await bench.remote.read(chunk, target, length);
    }
    if (!done.ok()) {
      bench.fail(done.status);
      co_return;
    }
    if (verb == verbs::Verb::kRead) visit();
  }
}

/// Gives every slot its first content: what reads must find, zeros for everything else. Zeros also where
/// messages of an earlier run may lie, which would look like those of this one.
template <typename R, typename C>
verbs::Task<void> prepare(Bench<R, C>& bench, std::uint64_t chunk) {
  return move_slots(
      bench, verbs::Verb::kWrite, chunk,
      [&config = bench.config](std::uint32_t worker, std::uint64_t slot, std::span<std::byte> bytes) {
        if (config.verb == verbs::Verb::kRead) write_message(bytes.first(config.size), worker, slot);
      });
}

/// Compares what slot `slot` of `worker` holds at the end with what it must hold.
template <typename R, typename C>
void check_slot(Bench<R, C>& bench, std::uint32_t worker, std::uint64_t slot,
                std::span<const std::byte> content) {
  const VerbMeasurementConfig& config = bench.config;
  workload::Verdict& verdict = bench.loop.verdict();
  const auto last = last_in_slot(bench, worker, slot);
  if (!last) return;
  if (verbs::is_atomic(config.verb)) {
    const Word found = load_word(content.data(), config.size);
    const Word expected = bench.word(worker, slot);
    verdict.expect(found == expected,
                   {"wrong word read back from slot", slot, halves_of(expected)[0], halves_of(found)[0]});
    return;
  }
  const std::uint64_t number = config.verb == verbs::Verb::kRead ? slot : *last;
  verdict.expect(message_holds(content.first(config.size), worker, number),
                 {"wrong bytes read back from slot", slot, stamp(worker, number), 0});
  if (config.verb == verbs::Verb::kWriteNotify) {
    const std::uint64_t found = load_le64(content.last(8).data());
    verdict.expect(found == stamp(worker, number),
                   {"wrong notification in slot", slot, stamp(worker, number), found});
  }
}

/// Reads the receive entries back: different messages of this run, each whole. (How many arrived is the
/// server's report to tell.)
template <typename R, typename C>
verbs::Task<void> check_entries(Bench<R, C>& bench, std::uint64_t buffer) {
  const VerbMeasurementConfig& config = bench.config;
  workload::Verdict& verdict = bench.loop.verdict();
  if (config.size < 8) co_return;  // Too short to carry a stamp.
  std::uint64_t total = 0;
  for (const std::uint64_t done : bench.done) total += done;
  std::vector<std::uint64_t> seen;
  const std::uint64_t used = std::min<std::uint64_t>(total, config.receive_entries);
  for (std::uint64_t entry = 0; entry < used; ++entry) {
    const verbs::RemoteAddress at = bench.remote.segment().at(config.slice_offset + entry * config.size);
    const verbs::Completion done = co_await bench.remote.read(buffer, at, config.size);
    if (!done.ok()) {
      bench.fail(done.status);
      co_return;
    }
    const std::span<const std::byte> content = bench.core.bytes(buffer, Bytes{config.size});
    const std::uint64_t value = load_le64(content.data());
    const auto worker = static_cast<std::uint32_t>(value >> 48U);
    const std::uint64_t number = (value & 0xffff'ffff'ffffU) - 1;
    const bool known = worker < config.loop.concurrency && number < bench.done[worker];
    verdict.expect(known && message_holds(content, worker, number),
                   {"damaged message in entry", entry, 0, value});
    verdict.expect(std::find(seen.begin(), seen.end(), value) == seen.end(),
                   {"message received twice, again in entry", entry, 0, value});
    seen.push_back(value);
  }
}

}  // namespace verb_measurement_detail

/// Prepares the slice, repeats the verb, and proves the bytes. `config`, `remote`, `core` and `result`
/// outlive the task. A request that fails ends it: `result` says how, and nothing more is proven.
template <verbs::RemoteMemory R, verbs::Core C>
verbs::Task<void> measure_verb(const VerbMeasurementConfig& config, R& remote, C& core,
                               workload::LoopResult& result) {
  namespace detail = verb_measurement_detail;
  const bool sends = verbs::is_send(config.verb);
  detail::Bench<R, C> bench{config,
                            remote,
                            core,
                            result,
                            workload::Loop(config.loop, core.random("live.arrivals"), result),
                            slots_per_worker(config),
                            std::vector<std::uint64_t>(config.loop.concurrency),
                            std::vector<detail::Word>(config.loop.concurrency * slots_per_worker(config)),
                            {}};
  WHARF_CHECK(bench.slots > 0);
  const std::uint64_t buffer = core.allocate(Bytes{detail::chunk_bytes(config)});
  co_await prepare(bench, buffer);
  if (bench.failed()) co_return;
  bench.join.spawn(core, config.loop.concurrency,
                   [&bench](std::uint32_t worker) { return repeat(bench, worker); });
  co_await bench.join.all();
  if (bench.failed()) co_return;
  if (sends) {
    co_await check_entries(bench, buffer);
  } else {
    co_await move_slots(
        bench, verbs::Verb::kRead, buffer,
        [&bench](std::uint32_t worker, std::uint64_t slot, std::span<const std::byte> content) {
          check_slot(bench, worker, slot, content);
        });
  }
}

}  // namespace wharf::live
