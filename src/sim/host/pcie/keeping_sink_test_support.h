// SPDX-License-Identifier: Apache-2.0
// The other end of a device's link, for tests: it keeps what it gets and answers when the test says so.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "base/line.h"
#include "sim/host/pcie/request_sink.h"

namespace wharf::sim {

class KeepingSink : public RequestSink {
 public:
  void connect(IoDevice& device) override { device_ = &device; }
  bool can_submit(ordering::Kind) override { return credits > 0; }
  void submit(TimePs now, const ordering::Request& request) override {
    EXPECT_GT(credits, 0U);
    EXPECT_GE(now, free_);
    --credits;
    free_ = now + gap;
    at.push_back(now);
    requests.push_back(request);
  }
  TimePs link_free() const override { return free_; }

  void answer(TimePs now, std::size_t which) {
    const ordering::Request& asked = requests.at(which);
    ordering::Response response;
    response.kind = asked.kind;
    response.tag = asked.tag;
    response.line = asked.line;
    response.mask = asked.mask;
    for (std::size_t i = 0; i < kLineBytes; ++i)
      response.bytes[i] = static_cast<std::byte>(asked.line * kLineBytes + i);
    response.old_value = {which, 0};
    device_->answered(now, response);
  }
  void give_credits(TimePs now, std::uint32_t count) {
    credits += count;
    device_->credits_back(now);
  }

  std::uint32_t credits = 1000;
  TimePs gap;  ///< Between two lines on the link.
  std::vector<TimePs> at;
  std::vector<ordering::Request> requests;

 private:
  IoDevice* device_ = nullptr;
  TimePs free_;
};

}  // namespace wharf::sim
