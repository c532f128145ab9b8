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
/// that know it alone (src/live/perftest), the wire formats (src/wire), tests and documentation.
std::vector<std::string> files_that_name(const ProtocolSpelling& protocol,
                                         const std::vector<SourceFile>& files);

}  // namespace wharf::house
