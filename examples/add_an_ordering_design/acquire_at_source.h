// SPDX-License-Identifier: Apache-2.0
// An ordering design in a device: acquire and release are obeyed before the link, by waiting, and everything
// else overlaps. The machine first, which knows no time; then what puts it between a DMA engine and a root
// complex.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/ordering/request.h"
#include "engine/ordering/rlsq_port.h"
#include "sim/host/pcie/request_sink.h"

namespace wharf::example {

/// Holds back the lines of a domain that may not be sent yet. Lines of one domain leave in the order in which
/// they came; domains never wait for each other. What is sent says kStrong, which every root complex of today
/// understands: posted writes stay in order among themselves, and reads behind them.
class AcquireAtSource {
 public:
  void accept(const ordering::Request& request) { held_.push_back(request); }

  // guide: begin
  /// The oldest line that may be sent, or null.
  const ordering::Request* front() const {
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const auto is_of_its_domain = [&](const ordering::Request& older) {
        return older.domain == held_[i].domain;
      };
      const bool is_oldest = std::none_of(held_.begin(), held_.begin() + distance(i), is_of_its_domain);
      if (is_oldest && may_be_sent(held_[i])) return &held_[i];
    }
    return nullptr;
  }
  // guide: end

  /// Takes what front() has shown.
  ordering::Request take() {
    const auto at = static_cast<std::size_t>(front() - held_.data());
    ordering::Request sent = held_[at];
    held_.erase(held_.begin() + distance(at));
    if (!sent.is_posted()) {
      State& state = state_of(sent.domain);
      ++state.unanswered;
      if (sent.label == ordering::Label::kAcquire) {
        ++state.acquired_lines;
        state.acquire = sent.number;
        state.acquire_is_whole = sent.is_last;
      }
    }
    sent.label = ordering::Label::kStrong;
    return sent;
  }

  /// The answer to a line has arrived.
  void answered(const ordering::Response& response) {
    if (response.kind == ordering::Kind::kWrite) return;  // No device is told.
    State& state = state_of(response.domain);
    --state.unanswered;
    if (state.acquired_lines > 0 && response.number == state.acquire) --state.acquired_lines;
  }

  std::size_t held() const { return held_.size(); }

 private:
  struct State {
    ordering::Domain domain;
    std::uint32_t unanswered = 0;      ///< Reads and atomics.
    std::uint32_t acquired_lines = 0;  ///< Of them, lines of the last acquire.
    bool acquire_is_whole = true;      ///< All of its lines have been sent.
    std::uint64_t acquire = 0;         ///< Its number.
  };

  // guide: begin
  /// Behind an acquire, nothing but its own lines; a release, when nothing is unanswered.
  bool may_be_sent(const ordering::Request& request) const {
    const State* const state = find(request.domain);
    if (state == nullptr) return true;
    const bool acquires = state->acquired_lines > 0 || !state->acquire_is_whole;
    if (acquires && request.number != state->acquire) return false;
    return request.label != ordering::Label::kRelease || state->unanswered == 0;
  }
  // guide: end

  static std::ptrdiff_t distance(std::size_t index) { return static_cast<std::ptrdiff_t>(index); }
  const State* find(ordering::Domain domain) const {
    const auto at = std::find_if(states_.begin(), states_.end(),
                                 [&](const State& state) { return state.domain == domain; });
    return at == states_.end() ? nullptr : &*at;
  }
  State& state_of(ordering::Domain domain) {
    if (find(domain) == nullptr) states_.push_back({domain});
    return const_cast<State&>(*find(domain));
  }

  std::vector<ordering::Request> held_;  ///< In order of arrival.
  std::vector<State> states_;
};

/// The machine in a simulated device: to its DMA engine it is the link, to the link it is the device.
class AcquireAtSourceLink final : public sim::RequestSink, public sim::IoDevice {
 public:
  explicit AcquireAtSourceLink(sim::RequestSink& link) : link_(link) { link.connect(*this); }

  // guide: begin
  // What the DMA engine calls.
  void connect(sim::IoDevice& device) override { device_ = &device; }
  bool can_submit(ordering::Kind) override { return true; }
  TimePs link_free() const override { return link_.link_free(); }
  void submit(TimePs now, const ordering::Request& request) override {
    order_.accept(request);
    send(now);
  }

  // What the root complex calls.
  void answered(TimePs now, const ordering::Response& response) override {
    order_.answered(response);
    device_->answered(now, response);
    send(now);
  }
  void credits_back(TimePs now) override { send(now); }
  // guide: end

 private:
  void send(TimePs now) {
    for (const ordering::Request* next = order_.front(); next != nullptr; next = order_.front()) {
      if (!link_.can_submit(next->kind)) return;
      link_.submit(now, order_.take());
    }
  }

  AcquireAtSource order_;
  sim::RequestSink& link_;
  sim::IoDevice* device_ = nullptr;
};

}  // namespace wharf::example
