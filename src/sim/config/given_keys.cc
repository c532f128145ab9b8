// SPDX-License-Identifier: Apache-2.0
#include "sim/config/given_keys.h"

#include <fmt/format.h>

#include "base/fingerprint.h"

namespace wharf::sim {
namespace {

std::string quoted(const ConfigValue& value) {
  if (!value.quoted) return value.text;
  std::string out = "\"";
  for (const char c : value.text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string effective_text(const ConfigDocument& document, std::string_view profile) {
  std::string out = fmt::format("model.profile = \"{}\"\n", profile);
  for (const auto& [key, value] : document.values()) {
    // Threads decide no result, and a result does not tell how many there were.
    if (key == "run.threads" || key == "hosts.threads") continue;
    if (value.layer >= kScenarioLayer && key != "model.profile")
      out += fmt::format("{} = {}\n", key, quoted(value));
  }
  for (const ConfigTable& table : document.tables("expect")) {
    out += "\n[[expect]]\n";
    for (const auto& [key, value] : table.values) out += fmt::format("{} = {}\n", key, quoted(value));
  }
  return out;
}

std::uint64_t identity_of(const ConfigDocument& document) {
  Fingerprint hash;
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash.add(static_cast<unsigned char>(c));
    hash.add(~std::uint64_t{0});  // No byte: the ends of texts count.
  };
  for (const auto& [key, value] : document.values()) {
    add(key);
    add(value.text);
  }
  for (const ConfigTable& table : document.tables("expect")) {
    add("[[expect]]");
    for (const auto& [key, value] : table.values) {
      add(key);
      add(value.text);
    }
  }
  return hash.value();
}

}  // namespace wharf::sim
