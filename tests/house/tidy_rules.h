// SPDX-License-Identifier: Apache-2.0
// The style rules that a program can check: what a reviewer should not have to say twice.
#pragma once

#include <vector>

#include "house/finding.h"
#include "house/source_tree.h"

namespace wharf::house {

/// Checks every file of a tree against these rules:
/// - C++ starts with the SPDX line, then a comment that says what the file holds (x.cc and x_test.cc may
/// leave that
///   to x.h); headers have "#pragma once" and no "using namespace"; scripts have the SPDX line, CMake files
///   outside src/ too (inside it they are one call); TOML starts with a comment;
/// - engine, wire, verbs, workload, trace and sim reach no clock and no unseeded randomness; they and base
/// print
///   nothing (base/check.cc, the last words before an abort, excepted); no std::function where packets and
///   events pass;
/// - no trailing white space, tab or carriage return; no line over 110 columns in C++, 120 in CMake and
/// scripts;
/// - no file over 600 lines (tests 900) unless tests/house/long_files.txt gives a reason;
/// - no escape sequence in src/ outside src/cli/terminal.cc;
/// - no markers of unfinished work, no paths that exist on one machine only, no file named after nothing;
/// - profiles, scenarios and studies are printable ASCII.
/// @param files  the tree as read_tree() gives it; tests/house/long_files.txt is looked up in it.
/// @return one finding per broken rule and line, in order of the files.
std::vector<Finding> check_tidy(const std::vector<SourceFile>& files);

/// Every folder of src/ that holds a file must be named (as `src/x` or `x/`) in docs/architecture.md.
std::vector<Finding> check_architecture_tour(const std::vector<SourceFile>& files);

}  // namespace wharf::house
