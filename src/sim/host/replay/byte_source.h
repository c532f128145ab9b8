// SPDX-License-Identifier: Apache-2.0
// The bytes of an input file, decompressed on the way if it is gzip, xz or zstd (told by its first bytes,
// never by its name). Streams: memory does not grow with the file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wharf::sim {

/// A stream of bytes from a file or from memory. Movable, one reader.
class ByteSource {
 public:
  /// Opens a regular file or pipe. Refuses what cannot be opened (kInput).
  static Result<ByteSource> open(const std::string& path);
  /// Reads `bytes`, which must outlive the source; `name` stands for the path in messages.
  static ByteSource from_memory(std::span<const char> bytes, std::string name);

  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  /// Fills `out` (not empty) from its start; gives the number of bytes, 0 at the end only. A file that cannot
  /// be read is kEnvironment; a compressed stream that is damaged or cut short is kInput.
  Result<std::size_t> read(std::span<char> out);

  /// The first bytes of those that read() gives next (at most kPeekBytes, fewer only at the end), without
  /// taking them. The view is valid until the next call.
  static constexpr std::size_t kPeekBytes = 8;
  Result<std::string_view> peek();

  /// The path, for messages.
  const std::string& name() const;

 private:
  class State;
  explicit ByteSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace wharf::sim
