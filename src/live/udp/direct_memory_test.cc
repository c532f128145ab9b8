// SPDX-License-Identifier: Apache-2.0
// Accesses to the process's own memory: data is copied upward, atomics are the processor's, neighbours stay
// as they are.
#include "live/udp/direct_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace wharf::live {
namespace {

using engine::AccessKind;
using engine::AccessStatus;
using verbs::Verb;

std::uint64_t address_of(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

engine::AccessResult write(std::byte* to, const wire::Payload& data) {
  engine::Access access;
  access.kind = AccessKind::kWrite;
  access.address = address_of(to);
  access.length = data.length;
  access.data = data;
  return perform(access);
}

struct alignas(16) Room {
  std::array<std::byte, 256> bytes;
};

Room numbered() {
  Room room;
  for (std::size_t at = 0; at < room.bytes.size(); ++at) room.bytes[at] = static_cast<std::byte>(at);
  return room;
}

// Whatever its alignment and length, a write changes what it names and nothing else.
TEST(DirectMemory, AWriteChangesWhatItNames) {
  for (std::size_t offset = 8; offset < 24; ++offset) {
    for (std::uint32_t length = 0; length < 40; ++length) {
      for (const bool pattern : {false, true}) {
        Room room{};
        const Room source = numbered();
        const wire::Payload data = pattern ? wire::pattern_payload(3, 5, length)
                                           : wire::bytes_payload(source.bytes.data() + 1, length);
        ASSERT_EQ(write(room.bytes.data() + offset, data).status, AccessStatus::kDone);
        for (std::size_t at = 0; at < room.bytes.size(); ++at) {
          const bool inside = at >= offset && at < offset + length;
          std::byte expected{0};
          if (inside) {
            expected = pattern ? wire::pattern_byte(3, 5 + at - offset) : source.bytes[1 + at - offset];
          }
          ASSERT_EQ(room.bytes[at], expected) << offset << " " << length << " " << at;
        }
      }
    }
  }
}

// Long ones go by another way, whose seam lies wherever the target does.
TEST(DirectMemory, ALongWriteChangesWhatItNames) {
  std::vector<std::byte> source(2048);
  for (std::size_t at = 0; at < source.size(); ++at) source[at] = static_cast<std::byte>(1 + at % 251);
  for (std::size_t offset = 0; offset < 16; ++offset) {
    for (const std::uint32_t length : {511U, 512U, 513U, 575U, 1000U, 2031U}) {
      std::vector<std::byte> room(2100);
      write(room.data() + offset, wire::bytes_payload(source.data() + offset % 3, length));
      std::vector<std::byte> expected(room.size());
      std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(offset % 3), length,
                  expected.begin() + static_cast<std::ptrdiff_t>(offset));
      ASSERT_EQ(room, expected) << offset << " " << length;
    }
  }
}

// A reader who sees the last byte sees them all: the lowest address is written first. Where source and target
// overlap, only a copy that goes upward moves the bytes as they were.
TEST(DirectMemory, DataIsCopiedFromTheLowestAddressUp) {
  for (std::size_t offset = 0; offset < 16; ++offset) {
    for (const std::uint32_t length : {9U, 16U, 24U, 64U, 100U}) {
      Room room = numbered();
      const Room before = room;
      std::byte* const target = room.bytes.data() + offset;
      write(target, wire::bytes_payload(target + 8, length));
      EXPECT_TRUE(std::equal(target, target + length, before.bytes.data() + offset + 8))
          << offset << " " << length;
    }
  }
}

TEST(DirectMemory, AReadShowsTheBytesThemselves) {
  Room room = numbered();
  engine::Access access;
  access.kind = AccessKind::kRead;
  access.address = address_of(room.bytes.data() + 7);
  access.length = 33;
  const engine::AccessResult result = perform(access);
  EXPECT_EQ(result.status, AccessStatus::kDone);
  EXPECT_EQ(result.data.bytes, room.bytes.data() + 7);
  EXPECT_EQ(result.data.length, 33U);
}

// The processor's atomics want aligned words; what lies across is a fault, and changes nothing.
TEST(DirectMemory, AnAtomicAtAnOddAddressIsAFault) {
  for (const std::uint8_t width : std::array<std::uint8_t, 3>{4, 8, 16}) {
    for (std::size_t offset = 0; offset < 32; ++offset) {
      Room room = numbered();
      const Room before = room;
      engine::Access access;
      access.kind = AccessKind::kAtomic;
      access.atomic = width == 16 ? Verb::kCompareSwap : Verb::kFetchAdd;
      access.width = width;
      access.address = address_of(room.bytes.data() + offset);
      access.operand = {1, 0};
      std::memcpy(access.compare.data(), room.bytes.data() + offset, width);
      const bool aligned = offset % width == 0;
      EXPECT_EQ(perform(access).status, aligned ? AccessStatus::kDone : AccessStatus::kFault) << offset;
      EXPECT_EQ(room.bytes == before.bytes, !aligned) << int{width} << " " << offset;
    }
  }
}

TEST(DirectMemory, AtomicsGiveWhatWasThereAndStayInTheirWord) {
  for (const std::uint8_t width : std::array<std::uint8_t, 2>{4, 8}) {
    Room room = numbered();
    std::uint64_t old = 0;
    std::memcpy(&old, room.bytes.data() + 16, width);
    engine::Access access;
    access.kind = AccessKind::kAtomic;
    access.width = width;
    access.address = address_of(room.bytes.data() + 16);
    access.atomic = Verb::kSwap;
    access.operand = {~std::uint64_t{0}, 0};
    EXPECT_EQ(perform(access).old_value[0], old);
    for (std::size_t at = 0; at < room.bytes.size(); ++at) {
      const bool inside = at >= 16 && at < 16U + width;
      ASSERT_EQ(room.bytes[at], inside ? std::byte{0xff} : static_cast<std::byte>(at)) << at;
    }
    access.atomic = Verb::kCompareSwap;
    access.compare = {5, 0};
    access.operand = {7, 0};
    const std::uint64_t ones = width == 4 ? 0xffff'ffffU : ~std::uint64_t{0};
    EXPECT_EQ(perform(access).old_value[0], ones);  // Another value: nothing happens.
    EXPECT_EQ(room.bytes[16], std::byte{0xff});
    access.compare = {ones, 0};
    EXPECT_EQ(perform(access).old_value[0], ones);
    EXPECT_EQ(room.bytes[16], std::byte{7});
  }
}

TEST(DirectMemory, SixteenBytesAreComparedAsOne) {
  Room room{};
  const std::array<std::uint64_t, 2> value{3, 4};
  std::memcpy(room.bytes.data(), value.data(), 16);
  engine::Access access;
  access.kind = AccessKind::kAtomic;
  access.atomic = Verb::kCompareSwap;
  access.width = 16;
  access.address = address_of(room.bytes.data());
  access.operand = {8, 9};
  for (const std::array<std::uint64_t, 2> wrong : {std::array<std::uint64_t, 2>{3, 5}, {2, 4}, {4, 3}}) {
    access.compare = wrong;
    EXPECT_EQ(perform(access).old_value, value);
    EXPECT_EQ(std::memcmp(room.bytes.data(), value.data(), 16), 0);
  }
  access.compare = value;
  EXPECT_EQ(perform(access).old_value, value);
  EXPECT_EQ(std::memcmp(room.bytes.data(), access.operand.data(), 16), 0);
}

}  // namespace
}  // namespace wharf::live
