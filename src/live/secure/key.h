// SPDX-License-Identifier: Apache-2.0
// 32 secret bytes: what both ends share beforehand, in a file, and what sessions make of it.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>

#include "base/result.h"

namespace wharf::live {

/// Wiped when it ends.
class Key {
 public:
  static constexpr std::size_t kBytes = 32;

  Key() = default;
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key();

  /// From the kernel's random source; an environment error where it gives nothing.
  static Result<Key> draw();

  std::byte* data() { return bytes_.data(); }
  const std::byte* data() const { return bytes_.data(); }
  /// Takes the same time wherever they differ.
  bool operator==(const Key& other) const;

 private:
  std::array<std::byte, kBytes> bytes_{};
};

/// Reads a key that make_key_file() has written. Refused when somebody other than its user may read or write
/// the file.
Result<Key> read_key_file(const std::filesystem::path& path);

/// Draws a key and writes it to a new file that its user alone may read. A file that is there stays as it is.
Result<void> make_key_file(const std::filesystem::path& path);

}  // namespace wharf::live
