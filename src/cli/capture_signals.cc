// SPDX-License-Identifier: Apache-2.0
#include "cli/capture_signals.h"

#include <csignal>

namespace wharf::cli {
namespace {

live::CaptureOrders orders{live::CaptureOrder::kNone};

void on_capture_signal(int number) {
  orders = number == SIGUSR1 ? live::CaptureOrder::kBegin : live::CaptureOrder::kEnd;
}

}  // namespace

live::CaptureOrders& take_capture_orders() {
  struct sigaction action {};
  action.sa_handler = on_capture_signal;
  ::sigaction(SIGUSR1, &action, nullptr);
  ::sigaction(SIGUSR2, &action, nullptr);
  return orders;
}

}  // namespace wharf::cli
