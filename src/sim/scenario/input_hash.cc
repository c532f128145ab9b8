// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/input_hash.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <vector>

#include "base/fingerprint.h"

namespace wharf::sim {
namespace {

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

std::string file_hash(const std::filesystem::path& path) {
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

}  // namespace wharf::sim
