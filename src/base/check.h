// SPDX-License-Identifier: Apache-2.0
// Invariants: a broken one is our bug, so the program stops with a message instead of going on wrong.
#pragma once

#include <source_location>

namespace wharf {

/// Prints "file:line: invariant broken: <what>" to standard error and exits through std::abort.
/// The command line maps the signal to exit code 6.
[[noreturn]] void check_failed(const char* what, std::source_location where);

}  // namespace wharf

/// Aborts when `condition` is false, in every build type. For our own invariants, never for user input.
#define WHARF_CHECK(condition)                                              \
  do {                                                                      \
    if (!(condition)) [[unlikely]]                                          \
      ::wharf::check_failed(#condition, ::std::source_location::current()); \
  } while (false)

/// Marks a place that cannot be reached, such as the end of a switch that covers every enumerator.
#define WHARF_UNREACHABLE() ::wharf::check_failed("unreachable code", ::std::source_location::current())
