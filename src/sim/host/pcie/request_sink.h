// SPDX-License-Identifier: Apache-2.0
// Where a device sends its requests, and who it hears from: the seam between a device and whatever its link
// leads to.
#pragma once

#include "base/time.h"
#include "engine/ordering/request.h"
#include "engine/ordering/rlsq_port.h"

namespace wharf::sim {

/// What is at the device's end of a link.
class IoDevice {
 public:
  virtual ~IoDevice() = default;
  /// The answer to a read or atomic has arrived, or (kind kWrite) a posted write has just been performed in
  /// the host, which a real device is not told: for measurements only.
  virtual void answered(TimePs now, const ordering::Response& response) = 0;
  /// A request that was refused for want of credits may be submitted now.
  virtual void credits_back(TimePs now) = 0;
};

/// The other end: a root complex, a switch, another device.
class RequestSink {
 public:
  virtual ~RequestSink() = default;
  virtual void connect(IoDevice& device) = 0;
  /// Whether there is a credit for a request of this kind. If not, credits_back() will be called.
  virtual bool can_submit(ordering::Kind kind) = 0;
  /// A request enters the link now, or when those before it have; can_submit() has just said that there is a
  /// credit.
  virtual void submit(TimePs now, const ordering::Request& request) = 0;
  /// When the link can take the next packet of the device.
  virtual TimePs link_free() const = 0;
};

}  // namespace wharf::sim
