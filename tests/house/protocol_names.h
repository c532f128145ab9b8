// SPDX-License-Identifier: Apache-2.0
// Which files name a protocol where they need not: one is registered in one place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "house/source_tree.h"

namespace wharf::house {

/// A protocol as code spells it.
struct ProtocolSpelling {
  std::string_view key;    ///< "uet": a word, or a part of one between underscores.
  std::string_view camel;  ///< "Uet": the beginning of a word in a name.
  std::string_view upper;  ///< "UET": a word.
};

/// Whether `text` has the protocol's name as a part of a word: `uet::`, `kUet`, `UetEngine`, "uet",
/// `uet_keys`.
bool names_protocol(std::string_view text, const ProtocolSpelling& protocol);

/// The files of the program, its benchmarks, tools and build that name it, in their text or in their path,
/// sorted. Left out: its engine (src/engine/KEY), its C interface (src/live/urma), what speaks with programs
/// that know it alone (src/live/perftest), the wire formats (src/wire), the map of folders
/// (tools/layers.txt), tests and documentation; in the others, lines that are documentation: examples of help
/// texts, and sources of rules, "[UB-Base 2.0.1 6.4]".
std::vector<std::string> files_that_name(const ProtocolSpelling& protocol,
                                         const std::vector<SourceFile>& files);

/// Whether a file belongs to a study, which reproduces what a document says about protocols by name.
bool is_study(std::string_view path);

}  // namespace wharf::house
