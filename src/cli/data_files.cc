// SPDX-License-Identifier: Apache-2.0
#include "cli/data_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "base/fingerprint.h"

namespace wharf::cli {
namespace {

namespace fs = std::filesystem;

bool is_data_root(const fs::path& root) {
  constexpr std::array<std::string_view, 3> kFolders{"profiles", "scenarios", "studies"};
  std::error_code status;
  return std::all_of(kFolders.begin(), kFolders.end(),
                     [&](std::string_view folder) { return fs::is_directory(root / folder, status); });
}

/// Words of eight bytes; only the last block may end within one.
class BytesHash {
 public:
  void add(std::string_view block) {
    for (std::size_t at = 0; at < block.size(); at += 8) {
      std::uint64_t word = 0;
      for (std::size_t i = 0; i < 8 && at + i < block.size(); ++i)
        word |= std::uint64_t{static_cast<unsigned char>(block[at + i])} << (8 * i);
      hash_.add(word);
    }
    total_ += block.size();
  }
  std::string text() {
    hash_.add(total_);
    return fmt::format("{:#018x}", hash_.value());
  }

 private:
  Fingerprint hash_;
  std::uint64_t total_ = 0;
};

}  // namespace

Result<fs::path> data_directory(std::string_view name) {
  std::error_code status;
  if (const char* root = std::getenv("WHARF_DATA"); root != nullptr && *root != '\0') {
    const fs::path path = fs::path(root) / name;
    if (fs::is_directory(path, status)) return path;
    return Error{
        ErrorKind::kEnvironment,
        fmt::format("WHARF_DATA is {}, which has no folder {}, expected the folder that holds profiles, "
                    "scenarios and studies",
                    root, name)};
  }
  for (const fs::path& root : {fs::path("."), fs::path(WHARF_SOURCE_DIRECTORY)}) {
    const fs::path path = root / name;
    if (is_data_root(root) && fs::is_directory(path, status)) return path;
  }
  return Error{
      ErrorKind::kEnvironment,
      fmt::format("the folder {} of the shipped data is not found, expected this program to run in the "
                  "project's folder or WHARF_DATA to name it",
                  name)};
}

std::string file_hash(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return "";
  BytesHash hash;
  std::vector<char> block(1U << 16U);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0)
    hash.add({block.data(), static_cast<std::size_t>(in.gcount())});
  return hash.text();
}

std::string text_hash(std::string_view bytes) {
  BytesHash hash;
  hash.add(bytes);
  return hash.text();
}

}  // namespace wharf::cli
