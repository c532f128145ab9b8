// SPDX-License-Identifier: Apache-2.0
// Signals that order a capture of a running command.
#pragma once

#include "live/udp/capture_orders.h"

namespace wharf::cli {

/// From now on SIGUSR1 orders a capture to begin and SIGUSR2 to end. What they have ordered.
live::CaptureOrders& take_capture_orders();

}  // namespace wharf::cli
