// SPDX-License-Identifier: Apache-2.0
// One direction of a wire between two NICs: frames that are lost, doubled, spoiled or late. Apart from the
// NICs, which see flits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/random.h"
#include "rtl/cosim/packed.h"
#include "rtl/cosim/stall.h"

namespace wharf::rtl {

class NicWire {
 public:
  struct Frame {
    std::vector<std::byte> bytes;
    bool is_bad = false;
    std::uint64_t due = 0;
  };
  static constexpr std::uint64_t kDelay = 20;  ///< Cycles.

  explicit NicWire(RandomStream random, std::uint64_t delay = kDelay)
      : delay_(delay), random_(random), ready_(random.substream(0)), gaps_(random.substream(1)) {}

  /// Of a thousand frames, so many are lost, so many come twice, so many are spoiled, so many come late.
  void spoil(std::uint32_t per_mille) { per_mille_ = per_mille; }
  /// Half of the spoiled ones come with a check sequence that is right: a switch has spoiled them.
  void hide_spoiled() { hides_ = true; }
  void reset() {
    sent_.clear();
    on_way_.clear();
    at_ = 0;
  }
  bool is_empty() const { return on_way_.empty() && sent_.empty(); }
  /// A frame that nobody sent.
  void inject(std::vector<std::byte> bytes, std::uint64_t now) {
    on_way_.push_back({std::move(bytes), false, now});
  }

  std::uint64_t lost = 0, doubled = 0, spoiled = 0, late = 0;

  template <typename From, typename To>
  void drive(From& from, To& to, std::uint64_t now, bool stalls) {
    from.tx_ready_i = !stalls || ready_.open();
    const bool comes = !on_way_.empty() && on_way_.front().due <= now && (!stalls || gaps_.open());
    to.rx_valid_i = comes;
    if (!comes) return;
    const Frame& frame = on_way_.front();
    Flit flit{};
    const std::size_t count = std::min<std::size_t>(64, frame.bytes.size() - at_);
    std::copy_n(frame.bytes.begin() + static_cast<std::ptrdiff_t>(at_), count, flit.begin());
    put_flit(flit, to.rx_data_i.data());
    to.rx_bytes_i = static_cast<std::uint8_t>(count);
    to.rx_last_i = at_ + count == frame.bytes.size();
    to.rx_bad_i = frame.is_bad;
  }

  /// `seen(frame)` is called for each whole frame that leaves.
  template <typename From, typename To, typename Seen>
  void take(From& from, To& to, std::uint64_t now, Seen&& seen) {
    if (to.rx_valid_i) {
      at_ += 64;
      if (to.rx_last_i) {
        on_way_.pop_front();
        at_ = 0;
      }
    }
    if (!from.tx_valid_o || !from.tx_ready_i) return;
    const Flit flit = flit_of(from.tx_data_o.data());
    sent_.insert(sent_.end(), flit.begin(), flit.begin() + from.tx_bytes_o);
    if (!from.tx_last_o) return;
    seen(sent_);
    send({std::move(sent_), false, now + delay_});
    sent_.clear();
  }

 private:
  void send(Frame frame) {
    const std::uint64_t fate = per_mille_ == 0 ? 1000 : random_.below(1000);
    if (fate < per_mille_) {
      ++lost;
      return;
    }
    if (fate < 2 * per_mille_) {
      ++doubled;
      on_way_.push_back(frame);
    } else if (fate < 3 * per_mille_) {
      ++spoiled;
      frame.is_bad = !hides_ || random_.below(2) == 0;
      frame.bytes[random_.below(frame.bytes.size())] ^= std::byte{1} << static_cast<int>(random_.below(8));
    } else if (fate < 4 * per_mille_ && on_way_.size() > 1) {
      ++late;
      std::swap(frame.bytes, on_way_.back().bytes);
      std::swap(frame.is_bad, on_way_.back().is_bad);
    }
    on_way_.push_back(std::move(frame));
  }

  std::uint64_t delay_;
  RandomStream random_;
  Stall ready_;
  Stall gaps_;
  std::uint32_t per_mille_ = 0;
  bool hides_ = false;
  std::vector<std::byte> sent_;  ///< The frame that is leaving.
  std::deque<Frame> on_way_;
  std::size_t at_ = 0;  ///< Bytes of the first one that have come.
};

}  // namespace wharf::rtl
