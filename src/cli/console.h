// SPDX-License-Identifier: Apache-2.0
// Where a command writes: results to standard output, everything else to standard error.
#pragma once

#include <cerrno>
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
  std::string command;  ///< The command line, quoted so that a shell reads it back.
  bool json = false;    ///< One JSON document on `out` instead of text.
  bool quiet = false;   ///< No progress, no remarks; errors still appear.
  /// Why a write to `out` failed first, as in errno; 0 when none did. Told when the command ends.
  mutable int write_error = 0;

  /// Bytes to `out` as they are.
  void write(std::string_view text) const {
    if (std::fwrite(text.data(), 1, text.size(), out) != text.size() && write_error == 0) write_error = errno;
  }

  /// Text for people; nothing under --json.
  void print(std::string_view text) const {
    if (!json) write(text);
  }
  /// The document of --json; nothing otherwise.
  template <std::same_as<nlohmann::ordered_json> Document>  // Nothing else becomes a document by conversion.
  void print(const Document& document) const {
    if (!json) return;
    write(document.dump(2) + "\n");
  }
  /// A remark on standard error, one line; nothing under --quiet.
  void remark(std::string_view text) const {
    if (!quiet) std::fprintf(err, "wharf: %s\n", printable(text).c_str());
  }
  /// An error on standard error, one line; a text that names the command itself is not named twice.
  void error(std::string_view text) const {
    const bool named = text.starts_with("wharf");
    std::fprintf(err, "%s%s\n", named ? "" : "wharf: ", printable(text).c_str());
  }

 private:
  /// What was typed or read may hold anything: control characters as \n, \t or \xNN, so that a message stays
  /// one line and drives no terminal.
  static std::string printable(std::string_view text) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string shown;
    shown.reserve(text.size());
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x20 && byte != 0x7f) {
        shown += c;
      } else if (c == '\n' || c == '\t') {
        shown += c == '\n' ? "\\n" : "\\t";
      } else {
        shown += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
      }
    }
    return shown;
  }
};

}  // namespace wharf::cli
