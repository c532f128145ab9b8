// SPDX-License-Identifier: Apache-2.0
// Where a command writes: results to standard output, everything else to standard error.
#pragma once

#include <concepts>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "report/part.h"

namespace wharf::cli {

/// How output is wanted, and the two streams.
struct Console {
  std::FILE* out = stdout;
  std::FILE* err = stderr;
  std::string command;  ///< The command line, quoted so that a shell reads it back.
  /// The same without --html FILE: what a page says, so that its bytes do not depend on its own name.
  std::string command_of_page;
  bool json = false;           ///< One JSON document on `out` instead of text.
  bool quiet = false;          ///< No progress, no remarks; errors still appear.
  std::string color = "auto";  ///< When text is coloured, as is_colored() takes it; never under --json.
  /// Why a write to `out` failed first, as in errno; 0 when none did. Told when the command ends.
  mutable int write_error = 0;

  /// Bytes to `out` as they are.
  void write(std::string_view text) const;
  /// Text for people; nothing under --json.
  void print(std::string_view text) const;
  /// The document of --json; nothing otherwise.
  template <std::same_as<nlohmann::ordered_json> Document>  // Nothing else becomes a document by conversion.
  void print(const Document& document) const {
    if (json) print_document(document);
  }
  /// How `out` marks titles and verdicts; empty where it is not coloured.
  report::Paint paint() const;
  /// `text` of that tone as `out` shows it.
  std::string painted(report::Tone tone, std::string_view text) const;
  /// A table, or parts, as `out` shows them.
  std::string text_of(const report::TextTable& table) const;
  std::string text_of(const std::vector<report::Part>& parts) const;
  /// `text`, lines, as `out` shows them: on a terminal those that are too wide go on below, indented; for
  /// other programs each remains one line.
  std::string folded(std::string_view text) const;
  /// A remark on standard error: one line, broken where a terminal ends; nothing under --quiet.
  void remark(std::string_view text) const;
  /// An error on standard error, likewise; a text that names the command itself is not named twice.
  void error(std::string_view text) const;

 private:
  void tell(report::Tone tone, std::string_view text) const;
  void print_document(const nlohmann::ordered_json& document) const;
};

}  // namespace wharf::cli
