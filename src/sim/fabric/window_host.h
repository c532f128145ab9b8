// SPDX-License-Identifier: Apache-2.0
// The simplest traffic that loads a fabric: a constant window toward one destination, one small answer per
// packet. For tests of the fabric and for measuring it without an engine.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "sim/fabric/fabric_host.h"

namespace wharf::sim {

class WindowHost {
 public:
  struct Body {
    std::uint32_t source = 0;
    std::uint32_t number = 0;
    TimePs sent;
  };
  struct Options {
    std::uint32_t host = 0;
    std::uint32_t destination = 0;  ///< Its own number: sends nothing.
    std::uint32_t window = 32;      ///< Packets without an answer.
    std::uint64_t packets = ~std::uint64_t{0};
    std::uint16_t data_bytes = 4160;
    std::uint16_t answer_bytes = 64;
    bool trimmable = false;
    TimePs start{};
  };

  explicit WindowHost(const Options& options)
      : options_(options), start_(options.destination == options.host ? kNever : options.start) {}

  bool transmit(TimePs now, std::uint32_t /*port*/, ClassMask /*allowed*/, Body& body, PacketHead& head) {
    if (answers_first_ != answers_last_) {
      const Answer& answer = answers_[answers_first_++ % kAnswers];
      body = {options_.host, answer.number, answer.sent};
      head.destination = answer.to;
      head.flow = options_.host << 16U ^ answer.to;
      head.bytes = options_.answer_bytes;
      head.entropy = static_cast<std::uint16_t>(answer.number);
      head.traffic_class = 0;
      return true;
    }
    if (!started_ || sent_ - answered_ >= options_.window || sent_ == options_.packets) return false;
    body = {options_.host, static_cast<std::uint32_t>(sent_), now};
    head.destination = options_.destination;
    head.flow = options_.host << 16U ^ options_.destination;
    head.bytes = options_.data_bytes;
    head.entropy = static_cast<std::uint16_t>(sent_);
    head.traffic_class = 4;
    head.flags = static_cast<std::uint8_t>(kHeadEcnCapable | (options_.trimmable ? kHeadTrimmable : 0));
    ++sent_;
    return true;
  }

  void receive(TimePs now, std::uint32_t /*port*/, Body& body, const PacketHead& head) {
    if (head.traffic_class == 0) {
      ++answered_;
      last_round_trip_ = now - body.sent;
      last_answer_ = now;
      return;
    }
    ++received_;
    received_bytes_ += head.bytes;
    last_arrival_ = now;
    if ((head.flags & kHeadMarked) != 0) ++marked_;
    if ((head.flags & kHeadTrimmed) != 0) ++trimmed_;
    if (answers_last_ - answers_first_ < kAnswers)
      answers_[answers_last_++ % kAnswers] = {body.source, body.number, body.sent};
  }

  void expire(TimePs now) {
    if (now >= start_) {
      started_ = true;
      start_ = kNever;
    }
  }
  TimePs deadline() const { return start_; }

  std::uint64_t sent() const { return sent_; }
  std::uint64_t received() const { return received_; }
  std::uint64_t received_bytes() const { return received_bytes_; }
  std::uint64_t answered() const { return answered_; }
  std::uint64_t marked() const { return marked_; }
  std::uint64_t trimmed() const { return trimmed_; }
  TimePs last_round_trip() const { return last_round_trip_; }
  TimePs last_arrival() const { return last_arrival_; }
  TimePs last_answer() const { return last_answer_; }

 private:
  static constexpr std::uint32_t kAnswers = 8;
  struct Answer {
    std::uint32_t to = 0;
    std::uint32_t number = 0;
    TimePs sent;
  };

  Options options_;
  TimePs start_;
  bool started_ = false;
  std::uint64_t sent_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t received_bytes_ = 0;
  std::uint64_t marked_ = 0;
  std::uint64_t trimmed_ = 0;
  TimePs last_round_trip_;
  TimePs last_arrival_;
  TimePs last_answer_;
  std::uint32_t answers_first_ = 0;
  std::uint32_t answers_last_ = 0;
  Answer answers_[kAnswers];
};
static_assert(FabricHost<WindowHost>);

}  // namespace wharf::sim
