// SPDX-License-Identifier: Apache-2.0
// Frames of one NIC that a test plays the peer of: they go in 64 bytes a cycle, and come out whole. Apart
// from NicWire, which joins two NICs and spoils what passes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "rtl/cosim/packed.h"

namespace wharf::rtl {

class NicFeed {
 public:
  void push(std::vector<std::byte> frame) { to_come_.push_back(std::move(frame)); }
  void clear() {
    to_come_.clear();
    frame_.clear();
    at_ = 0;
  }

  /// What the NIC sees in this cycle.
  template <typename Nic>
  void drive(Nic& nic) const {
    nic.rx_valid_i = !to_come_.empty();
    if (to_come_.empty()) return;
    const std::vector<std::byte>& frame = to_come_.front();
    Flit flit{};
    const std::size_t count = std::min<std::size_t>(64, frame.size() - at_);
    std::memcpy(flit.data(), frame.data() + at_, count);
    put_flit(flit, nic.rx_data_i.data());
    nic.rx_bytes_i = static_cast<std::uint8_t>(count);
    nic.rx_last_i = at_ + count == frame.size();
    nic.rx_bad_i = 0;
  }
  /// What has passed in it, once it has settled; `hear` gets a frame that the NIC has sent whole.
  template <typename Nic, typename Hear>
  void take(const Nic& nic, Hear hear) {
    if (nic.rx_valid_i != 0) {
      at_ += 64;
      if (nic.rx_last_i != 0) {
        to_come_.pop_front();
        at_ = 0;
      }
    }
    if (nic.tx_valid_o == 0) return;
    const Flit flit = flit_of(nic.tx_data_o.data());
    frame_.insert(frame_.end(), flit.begin(), flit.begin() + nic.tx_bytes_o);
    if (nic.tx_last_o != 0) hear(std::exchange(frame_, {}));
  }

 private:
  std::deque<std::vector<std::byte>> to_come_;
  std::vector<std::byte> frame_;
  std::size_t at_ = 0;  ///< Bytes of the first frame that have gone in.
};

}  // namespace wharf::rtl
