// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/input_file.h"

#include <fmt/format.h>

#include <system_error>

#include "wire/compressed_file.h"

namespace wharf::sim {

namespace fs = std::filesystem;

std::string shown(const std::string& file) { return file == kStandardInput ? "standard input" : file; }

bool file_exists(const std::string& file) {
  std::error_code status;
  return fs::exists(file, status);
}

Result<void> refuse_device(const fs::path& path) {
  std::error_code status;
  if (path == "/dev/stdin" || !fs::is_character_file(path, status)) return {};
  return input_error(fmt::format("{} is a device, expected a file or a pipe", path.string()));
}

Result<std::string> read_text(const std::string& file) {
  const std::string path = file == kStandardInput ? "/dev/stdin" : file;
  std::error_code status;
  if (fs::is_directory(path, status))
    return input_error(fmt::format("{} is a directory, expected a file", file));
  if (!file_exists(path)) return input_error(fmt::format("{} does not exist, expected a file", file));
  WHARF_TRY(refuse_device(path));
  auto bytes = wire::read_file(path);
  if (!bytes) return bytes.error();
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

void find_beside(const ConfigDocument& document, std::string_view key, const fs::path& scenario,
                 std::string& file) {
  const ConfigValue* given = document.peek(key);
  if (given == nullptr || given->layer != kScenarioLayer || file.empty()) return;
  const fs::path beside = scenario.parent_path() / file;
  std::error_code status;
  if (fs::exists(beside, status)) file = beside.string();
}

}  // namespace wharf::sim
