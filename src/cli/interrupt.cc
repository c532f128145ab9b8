// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <unistd.h>
#include <csignal>
#include <cstring>

namespace wharf::cli {
namespace {

std::atomic<bool> requested{false};
std::atomic<bool> leaves{false};
std::atomic<const char*> last_sentence{nullptr};

void on_signal(int) {
  if (const char* const sentence = last_sentence) {
    static_cast<void>(!::write(STDERR_FILENO, sentence, std::strlen(sentence)));
    ::_exit(130);
  }
  if (requested.exchange(true)) ::_exit(130);
}

constexpr int kSignals[] = {SIGINT, SIGTERM};

void restart_calls(bool restart) {
  for (const int number : kSignals) {
    struct sigaction action {};
    ::sigaction(number, nullptr, &action);
    if (action.sa_handler != on_signal) continue;
    action.sa_flags = restart ? SA_RESTART : 0;
    ::sigaction(number, &action, nullptr);
  }
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int number : kSignals) ::sigaction(number, &action, nullptr);
}

UncutWrites::UncutWrites() { restart_calls(true); }
UncutWrites::~UncutWrites() { restart_calls(false); }

void end_at_interrupt(const char* sentence) {
  last_sentence = sentence;
  // One that came before.
  if (sentence != nullptr && requested) on_signal(SIGINT);
}

void leave_at_end() { leaves = true; }
bool leaves_at_end() { return leaves; }

const std::atomic<bool>& interrupt_requested() { return requested; }

}  // namespace wharf::cli
