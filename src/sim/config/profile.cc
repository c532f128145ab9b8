// SPDX-License-Identifier: Apache-2.0
#include "sim/config/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/nearest_name.h"

namespace wharf::sim {

namespace fs = std::filesystem;

Result<void> add_profile(ConfigDocument& document, std::vector<fs::path>& files, const fs::path& directory,
                         const std::string& name, const std::string& origin, const std::string& prefix,
                         int depth) {
  constexpr int kDeepest = 8;
  const fs::path path = directory / (name + ".toml");
  std::error_code status;
  const bool is_name = name.find('/') == std::string::npos && !name.ends_with(".toml");
  if (!is_name || !fs::exists(path, status)) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory, status)) {
      if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
    }
    std::sort(names.begin(), names.end());
    const std::vector<std::string_view> views(names.begin(), names.end());
    const auto nearest = nearest_name(is_name ? name : fs::path(name).stem().string(), views);
    return input_error(fmt::format("{}: {} \"{}\", expected one of {}{}", origin,
                                   is_name ? "unknown profile" : "a profile is given by its name, found",
                                   name, fmt::join(names, ", "),
                                   nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : ""));
  }
  if (depth == kDeepest) {
    return input_error(fmt::format(
        "{}: profile \"{}\" extends itself, expected an end after at most {} steps", origin, name, kDeepest));
  }
  files.push_back(path);
  ConfigDocument own;
  WHARF_TRY(own.add_file(path, prefix, kProfileLayer));
  if (const ConfigValue* extends = own.find(prefix + "extends")) {
    WHARF_TRY(add_profile(document, files, directory, extends->text, extends->origin, prefix, depth + 1));
  }
  for (const auto& [key, value] : own.values()) {
    if (key != prefix + "extends") document.merge(key, value);
  }
  return {};
}

}  // namespace wharf::sim
