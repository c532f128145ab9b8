// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <cstdint>
#include <cstring>

#include "base/random.h"

namespace wharf {
namespace {

TEST(Arena, PiecesAreAlignedZeroedAndApart) {
  Arena arena(256);
  RandomStream random(31, "arena");
  std::vector<std::pair<unsigned char*, std::size_t>> pieces;
  for (int i = 0; i < 500; ++i) {
    const std::size_t bytes = random.below(i % 10 == 0 ? 1'000 : 40);
    const std::size_t align = std::size_t{1} << random.below(8);
    auto* piece = static_cast<unsigned char*>(arena.allocate(bytes, align));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(piece) % align, 0U);
    for (std::size_t k = 0; k < bytes; ++k) ASSERT_EQ(piece[k], 0);
    std::memset(piece, i % 255 + 1, bytes);
    pieces.emplace_back(piece, bytes);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::size_t k = 0; k < pieces[i].second; ++k) ASSERT_EQ(pieces[i].first[k], i % 255 + 1);
  }
  EXPECT_LE(arena.bytes_used(), arena.bytes_held());
}

TEST(Arena, CountsWhatItHandsOut) {
  Arena arena;
  EXPECT_EQ(arena.bytes_used(), 0U);
  const std::span<std::uint64_t> words = arena.make_span<std::uint64_t>(100);
  EXPECT_EQ(words.size(), 100U);
  EXPECT_EQ(words[99], 0U);
  EXPECT_EQ(arena.bytes_used(), 800U);
}

}  // namespace
}  // namespace wharf
