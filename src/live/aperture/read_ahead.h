// SPDX-License-Identifier: Apache-2.0
// Which pages to fetch before anybody asks for them: a stream of faults on one page after another doubles how
// far it is ahead. Pages that are there do not fault, so the first page of each window is held back: reaching
// it is seen, while the rest of its window is there already, and the next one begins to move.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace wharf::live {

class ReadAhead {
 public:
  /// Streams that are told apart; one more takes the place of the oldest.
  static constexpr std::size_t kStreams = 4;
  static constexpr std::uint32_t kFirstWindow = 4;

  struct Window {
    std::uint64_t first = 0;  ///< To be held back until it is touched.
    std::uint32_t count = 0;  ///< 0: nothing to fetch.
    bool operator==(const Window&) const = default;
  };

  /// `longest`: pages of a window at most; 0: never ahead.
  explicit ReadAhead(std::uint32_t longest) : longest_(longest) {}

  /// Somebody asked for `page`, which was not there or held back.
  Window asked(std::uint64_t page) {
    if (longest_ == 0) return {};
    for (Stream& stream : streams_) {
      if (!stream.used || stream.next != page) continue;
      stream.window = std::min(stream.window == 0 ? kFirstWindow : 2 * stream.window, longest_);
      const Window window{stream.end, stream.window};
      stream.next = window.first;
      stream.end = window.first + window.count;
      stream.age = ++turns_;
      return window;
    }
    Stream& oldest = *std::min_element(streams_.begin(), streams_.end(),
                                       [](const Stream& a, const Stream& b) { return a.age < b.age; });
    oldest = {.used = true, .next = page + 1, .end = page + 2, .window = 0, .age = ++turns_};
    return {};
  }

 private:
  struct Stream {
    bool used = false;
    std::uint64_t next = 0;  ///< The fault that continues it.
    std::uint64_t end = 0;   ///< The first page that it has not asked for.
    std::uint32_t window = 0;
    std::uint64_t age = 0;
  };

  std::uint32_t longest_;
  std::uint64_t turns_ = 0;
  std::array<Stream, kStreams> streams_{};
};

}  // namespace wharf::live
