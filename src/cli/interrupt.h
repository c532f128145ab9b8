// SPDX-License-Identifier: Apache-2.0
// Ctrl-C: the first one asks the command to finish cleanly, the second ends it at once.
#pragma once

#include <atomic>

namespace wharf::cli {

/// Installs the handler for SIGINT and SIGTERM. The flag is the one piece of state that a signal handler can
/// reach.
void install_interrupt_handler();

/// True once an interrupt has arrived.
const std::atomic<bool>& interrupt_requested();

}  // namespace wharf::cli
