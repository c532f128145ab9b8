// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include <cerrno>
#include <nlohmann/json.hpp>
#include "wharf/schema_version.h"

namespace wharf::cli {
namespace {

/// What was typed or read may hold anything: control characters as \n, \t or \xNN, so that a message stays
/// one line and drives no terminal.
std::string printable(std::string_view text) {
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

}  // namespace

void Console::write(std::string_view text) const {
  if (std::fwrite(text.data(), 1, text.size(), out) != text.size() && write_error == 0) write_error = errno;
}

void Console::print(std::string_view text) const {
  if (!json) write(text);
}

void Console::print_document(const nlohmann::ordered_json& document) const {
  // A name of a file may be no text.
  write((document.is_object() ? versioned(document) : document)
            .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
        "\n");
}

void Console::remark(std::string_view text) const {
  if (!quiet) std::fprintf(err, "wharf: %s\n", printable(text).c_str());
}

void Console::error(std::string_view text) const {
  const bool named = text.starts_with("wharf");
  std::fprintf(err, "%s%s\n", named ? "" : "wharf: ", printable(text).c_str());
}

}  // namespace wharf::cli
