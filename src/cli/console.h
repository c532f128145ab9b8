// SPDX-License-Identifier: Apache-2.0
// Where a command writes: results to standard output, everything else to standard error.
#pragma once

#include <concepts>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace wharf::cli {

/// How output is wanted, and the two streams.
struct Console {
  std::FILE* out = stdout;
  std::FILE* err = stderr;
  bool json = false;   ///< One JSON document on `out` instead of text.
  bool quiet = false;  ///< No progress, no remarks; errors still appear.

  /// Text for people; nothing under --json.
  void print(std::string_view text) const {
    if (!json) std::fwrite(text.data(), 1, text.size(), out);
  }
  /// The document of --json; nothing otherwise.
  template <std::same_as<nlohmann::ordered_json> Document>  // Nothing else becomes a document by conversion.
  void print(const Document& document) const {
    if (!json) return;
    const std::string text = document.dump(2) + "\n";
    std::fwrite(text.data(), 1, text.size(), out);
  }
  /// A remark on standard error, one line; nothing under --quiet.
  void remark(std::string_view text) const {
    if (!quiet) std::fprintf(err, "wharf: %.*s\n", static_cast<int>(text.size()), text.data());
  }
  /// An error on standard error, one line.
  void error(std::string_view text) const {
    std::fprintf(err, "wharf: %.*s\n", static_cast<int>(text.size()), text.data());
  }
};

}  // namespace wharf::cli
