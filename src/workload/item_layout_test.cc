// SPDX-License-Identifier: Apache-2.0
// Layouts of items, the order of a put's steps, and what a reader accepts at each instant of a put.
#include "workload/item_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace wharf::workload {
namespace {

void take(const ItemLayout& layout, std::span<std::byte> item, std::uint64_t version) {
  store_le64(item.data(), layout.protocol() == GetProtocol::kPessimistic ? kExclusiveLock : version + 1);
}

TEST(ItemLayout, SizesAndPlaces) {
  EXPECT_EQ(ItemLayout(GetProtocol::kPessimistic, 64).bytes(), 72U);
  EXPECT_EQ(ItemLayout(GetProtocol::kValidation, 56).lines(), 1U);
  EXPECT_EQ(ItemLayout(GetProtocol::kValidation, 64).lines(), 2U);
  EXPECT_EQ(ItemLayout(GetProtocol::kSingleRead, 48).bytes(), 64U);
  EXPECT_EQ(ItemLayout(GetProtocol::kSingleRead, 48).footer(), 56U);
  // FaRM: 56 bytes of payload in a line.
  EXPECT_EQ(ItemLayout(GetProtocol::kFarm, 56).bytes(), 64U);
  EXPECT_EQ(ItemLayout(GetProtocol::kFarm, 64).bytes(), 128U);
  EXPECT_EQ(ItemLayout(GetProtocol::kFarm, 512).lines(), 10U);
  EXPECT_EQ(ItemLayout(GetProtocol::kFarm, 512).offset_of(7), 72U);
}

TEST(ItemLayout, AWordTellsItsVersion) {
  EXPECT_EQ(ItemLayout::version_of(ItemLayout::payload_word(123'456, 7)), 123'456U);
  EXPECT_NE(ItemLayout::payload_word(4, 1), ItemLayout::payload_word(4, 2));
}

// Between puts every protocol accepts its item, whole.
TEST(ItemLayout, AnItemAtRestIsAccepted) {
  for (const auto& protocol : kGetProtocolChoices) {
    for (const std::uint32_t payload : {8U, 48U, 64U, 200U, 512U}) {
      const ItemLayout layout(protocol.value, payload);
      std::vector<std::byte> item(layout.bytes());
      layout.fill(item, 4);
      const auto judgement = layout.judge(item, 4);
      EXPECT_TRUE(judgement.accepted);
      EXPECT_EQ(judgement.version, 4U);
      EXPECT_FALSE(judgement.torn);
    }
  }
}

// A put leaves what fill() makes, by steps and by parts. A reader who sees the item in one instant of it
// accepts nothing, but for the lock's protocol, whose readers do not look then.
TEST(ItemLayout, EveryInstantOfAPut) {
  for (const auto& protocol : kGetProtocolChoices) {
    for (const std::uint32_t payload : {8U, 48U, 56U, 64U, 200U}) {
      SCOPED_TRACE(testing::Message() << protocol.name << " " << payload);
      const ItemLayout layout(protocol.value, payload);
      std::vector<std::byte> expected(layout.bytes());
      layout.fill(expected, 6);
      std::vector<std::byte> item(layout.bytes());
      layout.fill(item, 4);
      take(layout, item, 4);
      for (std::uint32_t number = 0; number < layout.put_steps(); ++number) {
        if (protocol.value != GetProtocol::kPessimistic) {
          EXPECT_FALSE(layout.judge(item, load_le64(item.data())).accepted) << number;
        }
        const ItemLayout::Step step = layout.put_step(number, 6);
        store_le64(item.data() + step.offset, step.value);
      }
      if (protocol.value == GetProtocol::kPessimistic) store_le64(item.data(), 0);
      EXPECT_EQ(std::memcmp(item.data(), expected.data(), item.size()), 0);

      layout.fill(item, 4);
      take(layout, item, 4);
      for (std::uint32_t number = 0; number < layout.put_parts(); ++number) {
        if (protocol.value != GetProtocol::kPessimistic) {
          EXPECT_FALSE(layout.judge(item, load_le64(item.data())).accepted) << number;
        }
        const ItemLayout::Part part = layout.put_part(number);
        std::memcpy(item.data() + part.offset, expected.data() + part.offset, part.length);
      }
      if (protocol.value == GetProtocol::kPessimistic) store_le64(item.data(), 0);
      EXPECT_EQ(std::memcmp(item.data(), expected.data(), item.size()), 0);
    }
  }
}

/// An item after each step of two puts that follow each other.
std::vector<std::vector<std::byte>> instants_of_two_puts(const ItemLayout& layout) {
  std::vector<std::vector<std::byte>> instants;
  std::vector<std::byte> item(layout.bytes());
  layout.fill(item, 4);
  instants.push_back(item);
  for (const std::uint64_t version : {6U, 8U}) {
    take(layout, item, version - 2);
    instants.push_back(item);
    for (std::uint32_t number = 0; number < layout.put_steps(); ++number) {
      const ItemLayout::Step step = layout.put_step(number, version);
      store_le64(item.data() + step.offset, step.value);
      instants.push_back(item);
    }
  }
  return instants;
}

// Every line of FaRM, taken at any two instants of two puts in any order: nothing torn is accepted.
TEST(ItemLayout, FarmNeedsNoOrderAmongLines) {
  const ItemLayout layout(GetProtocol::kFarm, 112);
  const std::vector<std::vector<std::byte>> instants = instants_of_two_puts(layout);
  std::vector<std::byte> item(layout.bytes());
  for (const auto& first : instants) {
    for (const auto& second : instants) {
      item = first;
      std::copy(second.begin() + 64, second.end(), item.begin() + 64);
      EXPECT_FALSE(layout.judge(item, 0).torn);
    }
  }
}

// Single Read, one line and then the other, at any two instants of two puts: nothing torn is accepted when
// the first line is taken first, and something is when it is taken last.
TEST(ItemLayout, SingleReadNeedsTheFrontFirst) {
  const ItemLayout layout(GetProtocol::kSingleRead, 176);
  const std::vector<std::vector<std::byte>> instants = instants_of_two_puts(layout);
  std::vector<std::byte> item(layout.bytes());
  std::uint32_t torn_middle_first = 0;
  for (std::size_t a = 0; a < instants.size(); ++a) {
    for (std::size_t b = a; b < instants.size(); ++b) {
      for (std::size_t c = b; c < instants.size(); ++c) {
        std::copy_n(instants[a].begin(), 64, item.begin());
        std::copy_n(instants[b].begin() + 64, 64, item.begin() + 64);
        std::copy_n(instants[c].begin() + 128, layout.bytes() - 128, item.begin() + 128);
        EXPECT_FALSE(layout.judge(item, 0).torn);
        std::copy_n(instants[b].begin(), 64, item.begin());
        std::copy_n(instants[a].begin() + 64, 64, item.begin() + 64);
        torn_middle_first += layout.judge(item, 0).torn ? 1 : 0;
      }
    }
  }
  EXPECT_GT(torn_middle_first, 0U);
}

}  // namespace
}  // namespace wharf::workload
