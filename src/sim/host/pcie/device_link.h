// SPDX-License-Identifier: Apache-2.0
// The link between a device and its root complex (or a peer): two directions, whose packets take either a
// header of fixed size or the room of real transaction layer packets; and who may watch them.
#pragma once

#include <cstdint>

#include "sim/host/config/coherent_config.h"
#include "sim/host/pcie/link_tlp.h"
#include "sim/kernel/message_lane.h"

namespace wharf::sim {

/// Hears of what crosses a link. `now` never decreases; `at`, from `now` on and in each direction increasing,
/// is when the packet's first byte enters the link.
class LinkObserver {
 public:
  virtual ~LinkObserver() = default;
  virtual void requested(TimePs now, TimePs at, const ordering::Request& request) = 0;
  /// Not for posted writes, which are not answered on the link. The device has all of it at `arrives`.
  virtual void answered(TimePs now, TimePs at, TimePs arrives, const ordering::Response& response) = 0;
};

class DeviceLink {
 public:
  DeviceLink(const IoLinkConfig& config, wire::TlpOrderingForm form)
      : real_sizes_(config.tlp_sizes),
        form_(form),
        up_(config.cycle, config.width_bytes, header_cycles(config), config.up),
        down_(config.cycle, config.width_bytes, header_cycles(config), config.down) {}

  /// Null for nobody.
  void observe_with(LinkObserver* observer) { observer_ = observer; }

  /// From the device. When the whole packet is there.
  TimePs send_up(TimePs now, const ordering::Request& request) {
    const bool has_data = request.kind != ordering::Kind::kRead;
    const MessageLane::Crossing crossing =
        real_sizes_ ? up_.send_packet(now, tlp_link_bytes_of(request, form_))
                    : up_.send(now, has_data ? ordering::byte_count(request.mask) : 0);
    if (observer_ != nullptr) observer_->requested(now, crossing.header - up_.way(), request);
    return crossing.data;
  }
  /// An answer that is handed to the link at `now` and may enter it from `from` on.
  TimePs send_down(TimePs now, TimePs from, const ordering::Response& response) {
    const MessageLane::Crossing crossing = real_sizes_
                                               ? down_.send_packet(from, tlp_link_bytes_of(response))
                                               : down_.send(from, ordering::byte_count(response.mask));
    if (observer_ != nullptr)
      observer_->answered(now, crossing.header - down_.way(), crossing.data, response);
    return crossing.data;
  }
  /// A core's store to the device, or its request to load from it.
  TimePs send_down(TimePs now, const ordering::MmioOperation& operation, bool carries_number) {
    if (real_sizes_) return down_.send_packet(now, tlp_link_bytes_of(operation, carries_number)).data;
    return down_.send(now, ordering::is_load(operation.kind) ? 0U : operation.length).data;
  }
  /// The device's answer to a core's load.
  TimePs send_up(TimePs now, const ordering::MmioOperation& load) {
    return (real_sizes_ ? up_.send_packet(now, tlp_completion_bytes_of(load)) : up_.send(now, load.length))
        .data;
  }

  /// When the device may send its next packet.
  TimePs up_free() const { return up_.free(); }
  TimePs way_up() const { return up_.way(); }
  TimePs way_down() const { return down_.way(); }

 private:
  static std::uint32_t header_cycles(const IoLinkConfig& config) {
    return (config.header_bytes + config.width_bytes - 1) / config.width_bytes;
  }

  bool real_sizes_;
  wire::TlpOrderingForm form_;
  MessageLane up_;
  MessageLane down_;
  LinkObserver* observer_ = nullptr;
};

}  // namespace wharf::sim
