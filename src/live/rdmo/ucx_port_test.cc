// SPDX-License-Identifier: Apache-2.0
// What UCX does with buffers when an endpoint is closed over data that is under way.
#include "live/rdmo/ucx_port.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace wharf::live {
namespace {

constexpr std::size_t kBytes = 8U << 20U;

/// One process's UCX, with what it was offered.
class Side : public MessageTaker {
 public:
  Side() : port(*UcxPort::create("tcp,self", *this)) {}
  rdmo::Taken take(ucp_ep_h reply, std::uint32_t, std::span<const std::byte>,
                   const rdmo::Payload& payload) override {
    from = reply;
    offered = payload;
    return rdmo::Taken::kHeld;
  }
  ucp_ep_h from = nullptr;
  std::optional<rdmo::Payload> offered;
  std::unique_ptr<UcxPort> port;
};

class UcxPortTest : public ::testing::Test {
 protected:
  /// A connection each way; then `near_` offers data to `far_`.
  void offer() {
    to_far_ = *near_.port->connect(far_.port->address());
    to_near_ = *far_.port->connect(near_.port->address());
    near_.port->send(to_far_, 1, header_, data_, UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_RNDV, 7);
    until([this] { return far_.offered.has_value(); });
    ASSERT_EQ(far_.offered->data, nullptr);
  }
  /// It is fetched into `place_`; gives how that ended.
  void fetch() {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data = &fetched_;
    param.cb.recv_am = [](void* request, ucs_status_t status, std::size_t, void* user) {
      *static_cast<std::optional<ucs_status_t>*>(user) = status;
      ucp_request_free(request);
    };
    ASSERT_TRUE(UCS_PTR_IS_PTR(far_.port->fetch(far_.offered->handle, place_.data(), kBytes, param)));
  }
  void until(const auto& holds) {
    for (std::uint64_t tries = 0; !holds(); ++tries) {
      ASSERT_LT(tries, 50'000'000U) << "it never came";
      near_.port->progress();
      far_.port->progress();
    }
  }
  void go_on(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      near_.port->progress();
      far_.port->progress();
    }
  }
  bool sent() {
    std::uint64_t tag = 0;
    return near_.port->take_sent(tag) && tag == 7;
  }

  Side near_;
  Side far_;
  ucp_ep_h to_far_ = nullptr;
  ucp_ep_h to_near_ = nullptr;
  std::array<std::byte, 16> header_{};
  std::vector<std::byte> data_ = std::vector<std::byte>(kBytes, std::byte{1});
  std::vector<std::byte> place_ = std::vector<std::byte>(kBytes);
  std::optional<ucs_status_t> fetched_;
};

TEST_F(UcxPortTest, AReceiverThatClosesHearsOfItsFetchAndItsBufferIsItsOwnThen) {
  offer();
  fetch();
  near_.port->progress();  // Some of it comes.
  far_.port->progress();
  far_.port->close(to_near_);
  until([this] { return fetched_.has_value(); });
  std::fill(place_.begin(), place_.end(), std::byte{9});
  go_on(20'000);
  EXPECT_TRUE(std::all_of(place_.begin(), place_.end(), [](std::byte each) { return each == std::byte{9}; }))
      << "UCX wrote into a buffer that it had given back";
}

TEST_F(UcxPortTest, ASenderThatClosesHearsOfItsMessageAndItsBytesAreItsOwnThen) {
  offer();
  near_.port->close(to_far_);
  until([this] { return sent(); });
  std::fill(data_.begin(), data_.end(), std::byte{9});
  fetch();
  go_on(20'000);
  EXPECT_TRUE(std::none_of(place_.begin(), place_.end(), [](std::byte each) { return each == std::byte{9}; }))
      << "UCX read bytes that it had given back";
}

TEST_F(UcxPortTest, WhatIsNotClosedArrives) {
  offer();
  fetch();
  until([this] { return fetched_.has_value(); });
  EXPECT_EQ(*fetched_, UCS_OK);
  EXPECT_EQ(place_, data_);
  until([this] { return sent(); });
}

}  // namespace
}  // namespace wharf::live
