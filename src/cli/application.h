// SPDX-License-Identifier: Apache-2.0
// The command line as a whole: parses, finds the command, maps every ending to an exit code.
#pragma once

namespace wharf::cli {

/// Runs one command line. Never throws; returns the exit code.
int run_application(int argc, const char* const* argv);

}  // namespace wharf::cli
