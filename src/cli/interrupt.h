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

/// While it lives, an interrupt cuts no write short: what is left is written once the interrupt has been
/// noted. Whatever else waits ends at once, as ever.
class UncutWrites {
 public:
  UncutWrites();
  UncutWrites(const UncutWrites&) = delete;
  UncutWrites& operator=(const UncutWrites&) = delete;
  ~UncutWrites();
};

/// For a command that leaves nothing behind while it works: the first interrupt ends it at once, with a
/// sentence that lasts as long as the program. Null: from now on it is asked to finish, as ever.
void end_at_interrupt(const char* sentence);

/// For a command that leaves a thread behind: the program ends at once when its output has been written,
/// without the end of anything that the thread may use.
void leave_at_end();
bool leaves_at_end();

}  // namespace wharf::cli
