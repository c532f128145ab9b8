// SPDX-License-Identifier: Apache-2.0
#include "live/perftest/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "verbs/completion.h"

namespace wharf::live {
namespace {

/// What the memory of a side holds before the first message comes.
constexpr std::byte kUntouched{0};

}  // namespace

Traffic::Traffic(const TrafficConfig& config, Host& host, LiveRemote<roce::RoceEngine>& remote,
                 std::span<std::byte> target, std::span<std::byte> source)
    : config_(config), host_(host), remote_(remote), target_(target), source_(source) {
  std::fill(target_.begin(), target_.end(), kUntouched);
  const bool is_read = config.server && config.kind.verb == verbs::Verb::kRead;
  for (const std::span<std::byte> filled : {source_, is_read ? target_ : std::span<std::byte>()}) {
    for (std::size_t at = 0; at < filled.size(); ++at) filled[at] = payload_byte(at);
  }
}

void Traffic::post_receives() {
  const bool receives = config_.kind.two_sided() && (config_.kind.ping_pong() || config_.server);
  if (!receives) return;
  const std::uint64_t entries = std::min<std::uint64_t>(config_.depth, config_.iterations);
  for (std::uint64_t each = 0; each < entries; ++each) host_.core().spawn(receiver());
}

void Traffic::start() {
  result_.begin = host_.now();
  if (config_.kind.ping_pong()) {
    host_.core().spawn(ping_pong());
  } else if (!config_.server && config_.kind.bandwidth) {
    const std::uint64_t workers = std::min<std::uint64_t>(config_.depth, config_.iterations);
    for (std::uint64_t each = 0; each < workers; ++each) host_.core().spawn(stream());
  } else if (!config_.server) {
    host_.core().spawn(one_by_one());
  }
  host_.drain();
}

bool Traffic::look() {
  if (!waiter_ || !has_come(awaited_)) return false;
  std::exchange(waiter_, {}).resume();
  host_.drain();
  return true;
}

bool Traffic::only_acknowledgements_missing() const {
  if (result_.violations != 0) return false;
  if (config_.kind.ping_pong())
    return started_ == config_.iterations && seen_ == config_.iterations && !waiter_;
  return false;
}

std::uint8_t Traffic::last_byte() const {
  return std::to_integer<std::uint8_t>(
      std::atomic_ref(target_[config_.bytes - 1]).load(std::memory_order_acquire));
}

// A write shows itself by its last byte alone, which counts modulo 256; it lands last. [IBTA vol 1 9.5: in
// order]
bool Traffic::has_come(std::uint64_t count) {
  if (config_.kind.two_sided()) return result_.arrivals >= count;
  const std::uint8_t found = last_byte();
  if (found == static_cast<std::uint8_t>(count)) return true;
  if (found == static_cast<std::uint8_t>(count - 1)) return false;
  expect(false, fmt::format("message {} ends with byte {}, expected {}", count, found, count % 256));
  return true;
}

void Traffic::expect(bool holds, const std::string& otherwise) {
  ++result_.checks;
  if (holds) return;
  if (result_.violations++ == 0) result_.first_violation = otherwise;
}

LiveRemote<roce::RoceEngine>::Operation Traffic::request() {
  const auto from = reinterpret_cast<std::uint64_t>(source_.data());
  const verbs::RemoteAddress to = remote_.segment().at(0);
  if (config_.kind.verb == verbs::Verb::kRead)
    return remote_.read(reinterpret_cast<std::uint64_t>(target_.data()), to, config_.bytes);
  if (config_.kind.two_sided()) return remote_.send(from, config_.bytes);
  if (config_.kind.atomic()) return remote_.fetch_add(to, operand_);
  return remote_.write(from, to, config_.bytes);
}

/// False when the program has to end.
bool Traffic::take(const verbs::Completion& completion) {
  result_.end = host_.now();
  if (!completion.ok()) {
    expect(false, fmt::format("{} {} ended with {}, expected success", config_.kind.name,
                              result_.operations + 1, verbs::name(completion.status)));
    return false;
  }
  if (config_.kind.atomic()) {
    // The first one tells what was there; nobody else changes it.
    const std::uint64_t found = completion.atomic_result[0];
    if (result_.operations != 0)
      expect(found == word_,
             fmt::format("atomic {} returned {}, expected {}", result_.operations + 1, found, word_));
    word_ = found + operand_;
  }
  ++result_.operations;
  return true;
}

// The server of writes begins, the client of sends. Each waits for the peer's message, then for its own
// acknowledgement.
verbs::Task<void> Traffic::ping_pong() {
  const bool begins = config_.kind.two_sided() != config_.server;
  const std::uint64_t all = config_.iterations;
  TimePs last = kNever;
  while (started_ < all || seen_ < all) {
    if (seen_ < all && !(started_ == 0 && begins)) {
      co_await Arrived(*this, seen_ + 1);
      ++seen_;
      if (result_.violations != 0) co_return;
      if (!config_.kind.two_sided()) ++result_.arrivals, ++result_.checks;
    }
    if (started_ == all) continue;
    ++started_;
    source_.back() = static_cast<std::byte>(started_);
    const TimePs now = host_.now();
    if (last != kNever) result_.latency.record((now - last).ps / 2);
    last = now;
    if (!take(co_await request())) co_return;
  }
}

verbs::Task<void> Traffic::one_by_one() {
  while (started_ < config_.iterations) {
    ++started_;
    const TimePs begin = host_.now();
    if (!take(co_await request())) co_return;
    result_.latency.record((host_.now() - begin).ps);
  }
}

verbs::Task<void> Traffic::stream() {
  while (started_ < config_.iterations && result_.violations == 0) {
    ++started_;
    const TimePs begin = host_.now();
    if (!take(co_await request())) co_return;
    result_.latency.record((host_.now() - begin).ps);
  }
}

verbs::Task<void> Traffic::receiver() {
  while (receives_posted_ < config_.iterations) {
    ++receives_posted_;
    const verbs::Completion completion =
        co_await remote_.receive(reinterpret_cast<std::uint64_t>(target_.data()), config_.bytes);
    if (!completion.ok()) {
      expect(false, fmt::format("receive {} ended with {}, expected success", result_.arrivals + 1,
                                verbs::name(completion.status)));
      co_return;
    }
    expect(completion.length == config_.bytes,
           fmt::format("message {} has {} bytes, expected {}", result_.arrivals + 1, completion.length,
                       config_.bytes));
    ++result_.arrivals;
    result_.end = host_.now();
  }
}

void Traffic::judge() {
  if (!config_.server || config_.kind.ping_pong() || !config_.kind.atomic()) return;
  // perftest adds the same number each time, to one word or to words in turn.
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + 8 <= target_.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, target_.data() + at, sizeof word);
    sum += word;
  }
  expect(sum != 0 && sum % config_.iterations == 0,
         fmt::format("{} atomics added {}, expected a multiple of their count", config_.iterations, sum));
}

}  // namespace wharf::live
