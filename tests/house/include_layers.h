// SPDX-License-Identifier: Apache-2.0
// The layers of src/: reads the arrows in tools/layers.txt and finds includes and link lines that break them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "house/finding.h"
#include "house/source_tree.h"

namespace wharf::house {

/// The arrows of tools/layers.txt.
struct Layers {
  std::map<std::string, std::set<std::string>>
      allowed;                    ///< Folder (below src/) to the folders it may include.
  std::vector<Finding> findings;  ///< Mistakes in the table itself.

  /// The name of the line that speaks for `folder`: its own, else "PARENT/*", if there is one.
  std::string line_of(const std::string& folder) const;
};

/// Reads the table: one "folder : folder..." per line, '#' starts a comment. A folder may only name folders
/// of earlier lines, so the table cannot hold a cycle. "engine/*" stands for each folder of engine/ without a
/// line of its own: the protocols, of which none may name another.
Layers read_layers(const SourceFile& table);

/// Every file in src/ against the table: a folder that it does not know, an include that is not written from
/// src/ or names a file that is not there, an arrow that is not allowed (tests beside the sources included),
/// a library in a folder's CMakeLists.txt that the table does not allow, and an arrow that no include needs.
std::vector<Finding> check_layers(const Layers& layers, const std::vector<SourceFile>& files);

}  // namespace wharf::house
