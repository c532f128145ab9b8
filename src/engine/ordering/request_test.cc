// SPDX-License-Identifier: Apache-2.0
#include "engine/ordering/request.h"

#include <gtest/gtest.h>

#include "engine/ordering/names.h"
#include "wire/tlp_ordering_label.h"

namespace wharf::ordering {
namespace {

TEST(Request, MasksOfPartsOfALine) {
  EXPECT_EQ(byte_mask(0, 64), kWholeLine);
  EXPECT_EQ(byte_mask(0, 1), 1U);
  EXPECT_EQ(byte_mask(63, 1), ByteMask{1} << 63U);
  EXPECT_EQ(byte_mask(8, 8), 0xFF00U);
  EXPECT_EQ(first_byte(byte_mask(8, 8)), 8U);
  EXPECT_EQ(byte_count(byte_mask(8, 8)), 8U);
}

TEST(Request, LongAccessIsCutAtLinesFromTheLowestUpward) {
  LineCutter cutter(0x1030, 100);
  LinePart part;
  ASSERT_TRUE(cutter.next(part));
  EXPECT_EQ(part.line, 0x40U);
  EXPECT_EQ(part.length, 16U);
  EXPECT_EQ(part.mask, byte_mask(0x30, 16));
  EXPECT_TRUE(part.is_first);
  EXPECT_FALSE(part.is_last);
  ASSERT_TRUE(cutter.next(part));
  EXPECT_EQ(part.line, 0x41U);
  EXPECT_EQ(part.offset, 16U);
  EXPECT_EQ(part.mask, kWholeLine);
  EXPECT_FALSE(part.is_first);
  ASSERT_TRUE(cutter.next(part));
  EXPECT_EQ(part.line, 0x42U);
  EXPECT_EQ(part.offset, 80U);
  EXPECT_EQ(part.length, 20U);
  EXPECT_TRUE(part.is_last);
  EXPECT_FALSE(cutter.next(part));
}

TEST(Request, AccessInOneLineIsFirstAndLast) {
  LineCutter cutter(0x1040, 64);
  LinePart part;
  ASSERT_TRUE(cutter.next(part));
  EXPECT_TRUE(part.is_first && part.is_last);
  EXPECT_FALSE(cutter.next(part));
  EXPECT_FALSE(LineCutter(0x1040, 0).next(part));
}

TEST(Request, EveryOrderOfAnEngineHasALabel) {
  EXPECT_EQ(label_of(verbs::AccessOrder::kRelaxed), Label::kRelaxed);
  EXPECT_EQ(label_of(verbs::AccessOrder::kAcquire), Label::kAcquire);
  EXPECT_EQ(label_of(verbs::AccessOrder::kRelease), Label::kRelease);
  EXPECT_EQ(label_of(verbs::AccessOrder::kAscending), Label::kAscending);
  EXPECT_EQ(label_of(verbs::AccessOrder::kReadRelease), Label::kReadRelease);
}

/// Labels in PCIe packets are the same, number for number.
TEST(Request, LabelsAreThoseOfTheWire) {
  using wire::TlpOrder;
  const auto label = [](TlpOrder order) { return static_cast<Label>(order); };
  EXPECT_EQ(wire::kTlpOrderCount, static_cast<std::uint32_t>(kLabelCount));
  EXPECT_EQ(label(TlpOrder::kStrong), Label::kStrong);
  EXPECT_EQ(label(TlpOrder::kRelaxedOrdering), Label::kRelaxedOrdering);
  EXPECT_EQ(label(TlpOrder::kIdBased), Label::kIdBased);
  EXPECT_EQ(label(TlpOrder::kRelaxed), Label::kRelaxed);
  EXPECT_EQ(label(TlpOrder::kAcquire), Label::kAcquire);
  EXPECT_EQ(label(TlpOrder::kRelease), Label::kRelease);
  EXPECT_EQ(label(TlpOrder::kAscending), Label::kAscending);
  EXPECT_EQ(label(TlpOrder::kReadRelease), Label::kReadRelease);
}

TEST(Request, NamesAreReadBack) {
  for (int label = 0; label < kLabelCount; ++label) {
    EXPECT_EQ(parse_label(name(static_cast<Label>(label))), static_cast<Label>(label));
  }
  for (int design = 0; design < kRlsqDesignCount; ++design) {
    EXPECT_EQ(parse_rlsq_design(name(static_cast<RlsqDesign>(design))), static_cast<RlsqDesign>(design));
  }
  EXPECT_FALSE(parse_label("acquires").has_value());
  EXPECT_FALSE(parse_rlsq_design("").has_value());
}

}  // namespace
}  // namespace wharf::ordering
