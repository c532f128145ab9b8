// SPDX-License-Identifier: Apache-2.0
// Checks of the Markdown documents against the tree that they describe: what a reader would trip over.
#pragma once

#include <string>
#include <vector>

#include "house/finding.h"
#include "house/source_tree.h"

namespace wharf::docs {

using house::Finding;
using house::SourceFile;

/// Every relative link of every Markdown file among `files` names a file or folder of the tree. Links to
/// other sites are not followed, and code is not looked at.
std::vector<Finding> check_links(const std::vector<SourceFile>& files);

/// docs/guides/add-a-thing.md quotes examples/add_a_thing/, where "guide: begin" and "guide: end" comments
/// mark what is to be quoted: each marked region is a code block of the guide, and each code block with a
/// language (cpp, toml, cmake) is a marked region, indentation aside. Every guide has an example and the
/// reverse.
std::vector<Finding> check_guides(const std::vector<SourceFile>& files);

/// Words of capital letters in the prose of the pages about fabrics, schedules and litmus programs and of the
/// decisions from 0085 on stand in docs/glossary.md, or everybody knows them.
std::vector<Finding> check_abbreviations(const std::vector<SourceFile>& files);

/// docs/guides/README.md and docs/decisions/README.md link every other page of their folder.
std::vector<Finding> check_indexes(const std::vector<SourceFile>& files);

}  // namespace wharf::docs
