// SPDX-License-Identifier: Apache-2.0
// The exit codes of every command.
#pragma once

#include "base/result.h"

namespace wharf::cli {

enum class ExitCode : int {
  kDone = 0,          ///< Done and every expectation holds.
  kJudgedFailed = 1,  ///< A judged result fails: an expectation, a study, a comparison.
  kUsage = 2,         ///< The command line itself cannot be understood.
  kInput = 3,         ///< Something named or contained in it is wrong.
  kEnvironment = 4,   ///< Missing library, busy port, no permission, output not writable.
  kStalled = 5,       ///< Stalled or timed out.
  kBug = 6,           ///< A bug of ours.
  kInterrupted = 130,
};

constexpr ExitCode exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return ExitCode::kUsage;
    case ErrorKind::kInput:
      return ExitCode::kInput;
    case ErrorKind::kEnvironment:
      return ExitCode::kEnvironment;
    case ErrorKind::kStalled:
      return ExitCode::kStalled;
  }
  return ExitCode::kBug;
}

}  // namespace wharf::cli
