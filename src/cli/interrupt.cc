// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <unistd.h>
#include <csignal>

namespace wharf::cli {
namespace {

std::atomic<bool> requested{false};
std::atomic<bool> leaves{false};

void on_signal(int) {
  if (requested.exchange(true)) ::_exit(130);
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

void leave_at_end() { leaves = true; }
bool leaves_at_end() { return leaves; }

const std::atomic<bool>& interrupt_requested() { return requested; }

}  // namespace wharf::cli
