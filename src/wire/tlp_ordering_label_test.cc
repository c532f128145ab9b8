// SPDX-License-Identifier: Apache-2.0
// The proposed order of requests in the bits of packets: worked out by hand, there and back for every label,
// and what devices of today mean by the same bits.
#include "wire/tlp_ordering_label.h"

#include <gtest/gtest.h>

#include "wire/hex_bytes_test_support.h"
#include "wire/tlp_codec.h"

namespace wharf::wire {
namespace {

constexpr TlpOrderingForm kToday = TlpOrderingForm::kToday;
constexpr TlpOrderingForm kProposed = TlpOrderingForm::kProposed;

Tlp request(TlpType type) {
  static const std::vector<std::byte> data(8);
  if (type == TlpType::kMemoryRead) return memory_read_tlp(0x1000, 64, 0x0100, 1);
  if (type == TlpType::kMemoryWrite) return memory_write_tlp(0x1000, bytes_payload(data), 0x0100);
  return atomic_tlp(type, 0x1000, bytes_payload(data), 0x0100, 1);
}

std::string encoded(const Tlp& tlp) {
  std::vector<std::byte> bytes(tlp_bytes(tlp));
  encode_tlp(tlp, bytes);
  return hex_text(bytes);
}

/// The request with this label, its prefixes and first double word.
std::string labelled(TlpType type, const TlpOrderingLabel& label) {
  Tlp tlp = request(type);
  set_ordering_label(label, kProposed, tlp);
  return encoded(tlp).substr(0, 8 * (tlp.prefixes.size() + 1));
}

std::optional<TlpOrderingLabel> label_of(std::string_view hex, TlpOrderingForm form) {
  Tlp tlp;
  EXPECT_EQ(decode_tlp(hex_bytes(hex), tlp), TlpDropReason::kNone) << hex;
  return ordering_label(tlp, form);
}
std::optional<TlpOrder> order_of(std::string_view hex, TlpOrderingForm form) {
  const auto label = label_of(hex, form);
  return label ? std::optional(label->order) : std::nullopt;
}

TEST(TlpOrderingLabel, StandsInTheChosenBits) {
  EXPECT_EQ(labelled(TlpType::kMemoryRead, {TlpOrder::kStrong}), "00000010");
  EXPECT_EQ(labelled(TlpType::kMemoryWrite, {TlpOrder::kStrong}), "40000002");
  // Byte 1 bit 1; byte 2 bit 5.
  EXPECT_EQ(labelled(TlpType::kMemoryRead, {TlpOrder::kAcquire}), "00020010");
  EXPECT_EQ(labelled(TlpType::kMemoryWrite, {TlpOrder::kRelease}), "40002002");
  EXPECT_EQ(labelled(TlpType::kFetchAdd, {TlpOrder::kAcquire}), "4c020002");
  EXPECT_EQ(labelled(TlpType::kFetchAdd, {TlpOrder::kRelease}), "4c002002");
  // The prefix says the thread, and with neither bit "relaxed".
  EXPECT_EQ(labelled(TlpType::kMemoryRead, {TlpOrder::kRelaxed}), "9e00000000000010");
  EXPECT_EQ(labelled(TlpType::kMemoryRead, {TlpOrder::kAcquire, 0xabcde}), "9e0abcde00020010");
  EXPECT_EQ(labelled(TlpType::kMemoryWrite, {TlpOrder::kRelease, 7}), "9e00000740002002");
  // What no bit says: 1 + the number of the order, in four bits before the thread.
  EXPECT_EQ(labelled(TlpType::kMemoryRead, {TlpOrder::kReadRelease, 7}), "9e80000700000010");
  EXPECT_EQ(labelled(TlpType::kMemoryRead, {TlpOrder::kAscending, 7}), "9e70000700000010");
  EXPECT_EQ(labelled(TlpType::kMemoryWrite, {TlpOrder::kStrong, 7}), "9e10000740000002");
  // A write that today's RO=1 lets pass others must not read as a release.
  EXPECT_EQ(labelled(TlpType::kMemoryWrite, {TlpOrder::kRelaxedOrdering}), "9e20000040000002");
  // An MMIO store and an MMIO release with their numbers.
  EXPECT_EQ(labelled(TlpType::kMemoryWrite, {TlpOrder::kRelaxed, 3, TlpSequence{0x0102}}),
            "9e0000039fff010240000002");
  EXPECT_EQ(labelled(TlpType::kMemoryWrite, {TlpOrder::kRelease, 0, TlpSequence{5, 0}}), "9f00000540002002");
  // A store behind a fence that three others stand behind too.
  EXPECT_EQ(labelled(TlpType::kMemoryWrite, {TlpOrder::kRelaxed, 3, TlpSequence{5, 3}}),
            "9e0000039f03000540000002");
}

TEST(TlpOrderingLabel, ComesBackForEveryRequest) {
  for (const TlpType type :
       {TlpType::kMemoryRead, TlpType::kMemoryWrite, TlpType::kFetchAdd, TlpType::kCompareSwap}) {
    for (std::uint32_t order = 0; order < kTlpOrderCount; ++order) {
      for (const std::uint32_t thread : {0U, 1U, kTlpThreadMask}) {
        for (const std::optional<TlpSequence> sequence :
             {std::optional<TlpSequence>(), std::optional(TlpSequence{9, 2})}) {
          const TlpOrderingLabel label{static_cast<TlpOrder>(order), thread, sequence};
          Tlp tlp = request(type);
          // Whatever it asked for before is replaced.
          set_ordering_label({TlpOrder::kAcquire, 77, TlpSequence{78}}, kProposed, tlp);
          set_ordering_label({TlpOrder::kRelaxedOrdering}, kToday, tlp);
          set_ordering_label(label, kProposed, tlp);
          EXPECT_EQ(label_of(encoded(tlp), kProposed), label) << encoded(tlp);
        }
      }
    }
  }
}

/// The polarity trap: the same write means opposite things on a link of today and on one that knows the
/// proposal, and what every device sends without thinking of it (RO=0) is strong on both.
TEST(TlpOrderingLabel, TodaysBitsKeepTheirMeaning) {
  const std::string_view plain_write = "40000001 0100000f 00001000 00000000";
  const std::string_view ro_write = "40002001 0100000f 00001000 00000000";
  EXPECT_EQ(order_of(plain_write, kToday), TlpOrder::kStrong);
  EXPECT_EQ(order_of(plain_write, kProposed), TlpOrder::kStrong);
  EXPECT_EQ(order_of(ro_write, kToday), TlpOrder::kRelaxedOrdering);
  EXPECT_EQ(order_of(ro_write, kProposed), TlpOrder::kRelease);
  const std::string_view plain_read = "00000010 0100abff 00001000";
  const std::string_view acquire_read = "00020010 0100abff 00001000";
  EXPECT_EQ(order_of(plain_read, kToday), TlpOrder::kStrong);
  EXPECT_EQ(order_of(plain_read, kProposed), TlpOrder::kStrong);
  EXPECT_EQ(order_of(acquire_read, kToday), TlpOrder::kStrong);
  EXPECT_EQ(order_of(acquire_read, kProposed), TlpOrder::kAcquire);
  // RO of a read is about its completions; IDO is the same in both forms.
  EXPECT_EQ(order_of("00002010 0100abff 00001000", kProposed), TlpOrder::kRelaxedOrdering);
  EXPECT_EQ(order_of("00040010 0100abff 00001000", kProposed), TlpOrder::kIdBased);
  EXPECT_EQ(order_of("40040001 0100000f 00001000 00000000", kToday), TlpOrder::kIdBased);
  // The acquire bit is no bit of a write, and vendor prefixes say nothing to a link of today.
  EXPECT_EQ(order_of("40020001 0100000f 00001000 00000000", kProposed), TlpOrder::kStrong);
  EXPECT_EQ(label_of("9e000007 9f000001 00000010 0100abff 00001000", kToday), TlpOrderingLabel{});
}

/// What is asked of a link of today and it cannot say becomes stronger for writes, never weaker.
TEST(TlpOrderingLabel, LinksOfTodaySayWhatTheyCan) {
  const auto today = [](TlpType type, TlpOrder order) {
    Tlp tlp = request(type);
    set_ordering_label({order, 7, TlpSequence{8}}, kToday, tlp);
    EXPECT_EQ(tlp.prefixes.size(), 0U);
    return ordering_label(tlp, kToday)->order;
  };
  EXPECT_EQ(today(TlpType::kMemoryWrite, TlpOrder::kRelease), TlpOrder::kStrong);
  EXPECT_EQ(today(TlpType::kMemoryWrite, TlpOrder::kRelaxed), TlpOrder::kRelaxedOrdering);
  EXPECT_EQ(today(TlpType::kMemoryWrite, TlpOrder::kStrong), TlpOrder::kStrong);
  EXPECT_EQ(today(TlpType::kMemoryWrite, TlpOrder::kAscending), TlpOrder::kStrong);
  EXPECT_EQ(today(TlpType::kMemoryRead, TlpOrder::kAcquire), TlpOrder::kStrong);
  EXPECT_EQ(today(TlpType::kMemoryRead, TlpOrder::kIdBased), TlpOrder::kIdBased);
}

TEST(TlpOrderingLabel, ContradictionsAreSeen) {
  for (const std::string_view hex : {
           "4c022001 0100ab00 00001000 00000000",           // Acquire and release bit of an atomic.
           "9e800000 00020010 0100abff 00001000",           // Acquire bit beside a code.
           "9e700000 40002001 0100000f 00001000 00000000",  // Release bit beside a code.
           "9e900000 00000010 0100abff 00001000",           // A code that is none.
       })
    EXPECT_EQ(label_of(hex, kProposed), std::nullopt) << hex;
}

}  // namespace
}  // namespace wharf::wire
