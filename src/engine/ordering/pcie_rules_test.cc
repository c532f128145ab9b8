// SPDX-License-Identifier: Apache-2.0
#include "engine/ordering/pcie_rules.h"

#include <gtest/gtest.h>

#include "engine/ordering/names.h"

namespace wharf::ordering {
namespace {

using enum PacketClass;
using enum Passing;

constexpr PacketClass kClasses[] = {kPosted, kRead, kNonPostedData, kCompletion};

PacketOrder packet(PacketClass packet_class, Label label = Label::kStrong, std::uint32_t requester = 1,
                   std::uint32_t thread = 0, std::uint64_t transaction = 0) {
  return PacketOrder{packet_class, label, Domain{requester, thread}, transaction};
}

Passing legacy(const PacketOrder& second, const PacketOrder& first) {
  return passing(FabricOrder::kLegacy, {}, second, first);
}
Passing domains(const PacketOrder& second, const PacketOrder& first) {
  return passing(FabricOrder::kDomains, {}, second, first);
}

// PCI Express Base Specification, ordering rules table: rows are the later packet, columns the earlier one.
TEST(PcieRules, EveryCellOfTheTableWithoutAttributes) {
  constexpr Passing kTable[4][4] = {
      // posted, read, non-posted with data, completion
      {kNo, kMust, kMust, kMust},  // A: posted.
      {kNo, kMay, kMay, kMay},     // B: read.
      {kNo, kMay, kMay, kMay},     // C: non-posted with data.
      {kNo, kMust, kMust, kMay},   // D: completion (of another transaction).
  };
  for (int second = 0; second < 4; ++second) {
    for (int first = 0; first < 4; ++first) {
      const PacketOrder later = packet(kClasses[second], Label::kStrong, 1, 0, 2);
      const PacketOrder earlier = packet(kClasses[first], Label::kStrong, 1, 0, 1);
      EXPECT_EQ(legacy(later, earlier), kTable[second][first]) << second << " after " << first;
      EXPECT_EQ(may_pass(FabricOrder::kLegacy, {}, later, earlier), kTable[second][first] != kNo);
      EXPECT_EQ(must_be_able_to_pass(FabricOrder::kLegacy, {}, later, earlier),
                kTable[second][first] == kMust);
    }
  }
}

TEST(PcieRules, RelaxedOrderingLetsAllButReadsPassPosted) {
  constexpr Passing kColumn[] = {kMay, kNo, kMay, kMay};
  for (int second = 0; second < 4; ++second) {
    EXPECT_EQ(legacy(packet(kClasses[second], Label::kRelaxedOrdering), packet(kPosted)), kColumn[second])
        << second;
  }
  // The attribute of the first one does not matter.
  EXPECT_EQ(legacy(packet(kPosted), packet(kPosted, Label::kRelaxedOrdering)), kNo);
}

TEST(PcieRules, IdBasedOrderingLetsOtherRequestersPassPosted) {
  for (const PacketClass second : kClasses) {
    EXPECT_EQ(legacy(packet(second, Label::kIdBased, 2), packet(kPosted, Label::kStrong, 1)), kMay);
    EXPECT_EQ(legacy(packet(second, Label::kIdBased, 1), packet(kPosted, Label::kStrong, 1)), kNo);
    EXPECT_EQ(legacy(packet(second, Label::kStrong, 2), packet(kPosted, Label::kStrong, 1)), kNo)
        << "without the attribute, all requesters are ordered";
  }
}

TEST(PcieRules, CompletionsOfOneTransactionStayInAddressOrder) {
  EXPECT_EQ(
      legacy(packet(kCompletion, Label::kStrong, 1, 0, 5), packet(kCompletion, Label::kStrong, 1, 0, 5)),
      kNo);
  EXPECT_EQ(legacy(packet(kCompletion, Label::kRelaxedOrdering, 1, 0, 5),
                   packet(kCompletion, Label::kStrong, 1, 0, 5)),
            kNo)
      << "relaxed ordering does not free them";
  EXPECT_EQ(
      legacy(packet(kCompletion, Label::kStrong, 1, 0, 6), packet(kCompletion, Label::kStrong, 1, 0, 5)),
      kMay);
  EXPECT_EQ(
      legacy(packet(kCompletion, Label::kStrong, 2, 0, 5), packet(kCompletion, Label::kStrong, 1, 0, 5)),
      kMay);
}

// "Efficient Remote Memory Ordering for Non-Coherent Interconnects", table 1.
TEST(PcieRules, GuaranteesOfTableOne) {
  EXPECT_EQ(legacy(packet(kPosted), packet(kPosted)), kNo) << "W->W";
  EXPECT_EQ(legacy(packet(kRead), packet(kPosted)), kNo) << "W->R";
  EXPECT_NE(legacy(packet(kRead), packet(kRead)), kNo) << "R->R";
  EXPECT_NE(legacy(packet(kPosted), packet(kRead)), kNo) << "R->W";
}

TEST(PcieRules, LegacyFabricKnowsNoAcquireAndNoRelease) {
  EXPECT_EQ(legacy(packet(kRead, Label::kRelaxed), packet(kRead, Label::kAcquire)), kMay);
  EXPECT_EQ(legacy(packet(kPosted, Label::kRelease), packet(kRead, Label::kRelaxed)), kMust);
  EXPECT_EQ(legacy(packet(kPosted, Label::kRelease), packet(kPosted, Label::kRelaxed)), kNo)
      << "sent with RO=0";
  EXPECT_EQ(legacy(packet(kPosted, Label::kRelaxed), packet(kPosted, Label::kRelaxed)), kMay)
      << "sent with RO=1";
}

TEST(PcieRules, FabricWithDomainsKeepsAcquireAndReleaseInTheirDomainOnly) {
  for (const PacketClass second : {kPosted, kRead, kNonPostedData}) {
    const PacketOrder later = packet(second, Label::kRelaxed, 1, 1, 2);
    EXPECT_EQ(domains(later, packet(kRead, Label::kAcquire, 1, 1, 1)), kNo);
    EXPECT_NE(domains(later, packet(kRead, Label::kAcquire, 1, 2, 1)), kNo) << "another thread";
  }
  for (const PacketClass first : {kPosted, kRead, kNonPostedData}) {
    const PacketOrder earlier = packet(first, Label::kRelaxed, 1, 1, 1);
    EXPECT_EQ(domains(packet(kPosted, Label::kRelease, 1, 1, 2), earlier), kNo);
    EXPECT_NE(domains(packet(kPosted, Label::kRelease, 1, 2, 2), earlier), kNo) << "another thread";
  }
  EXPECT_EQ(domains(packet(kRead, Label::kReadRelease, 1, 1, 2), packet(kRead, Label::kRelaxed, 1, 1, 1)),
            kNo);
  EXPECT_EQ(domains(packet(kRead, Label::kAscending, 1, 1, 1), packet(kRead, Label::kAscending, 1, 1, 1)),
            kNo);
  EXPECT_EQ(domains(packet(kRead, Label::kAscending, 1, 1, 2), packet(kRead, Label::kAscending, 1, 1, 1)),
            kMay);
}

TEST(PcieRules, DomainsLeaveTheDeadlockRowsToEveryoneElse) {
  // A write passes blocked reads of other domains, and relaxed ones of its own.
  EXPECT_EQ(domains(packet(kPosted, Label::kRelaxed, 1, 1), packet(kRead, Label::kAcquire, 1, 2)), kMust);
  EXPECT_EQ(domains(packet(kPosted, Label::kRelaxed, 1, 1, 2), packet(kRead, Label::kRelaxed, 1, 1, 1)),
            kMust);
  EXPECT_EQ(domains(packet(kPosted), packet(kRead)), kMust);
  // Completions pass whatever is labelled.
  EXPECT_EQ(domains(packet(kCompletion), packet(kRead, Label::kAcquire)), kMust);
  EXPECT_EQ(domains(packet(kPosted, Label::kRelease), packet(kCompletion)), kMust);
}

/// Calls check(first, second) for every pair of requests of one or two domains, of one or two transactions.
template <typename Check>
void for_each_pair(Check check) {
  for (int code = 0; code < 3 * 3 * kLabelCount * kLabelCount * 4; ++code) {
    int rest = code;
    const auto take = [&rest](int n) {
      const int digit = rest % n;
      rest /= n;
      return digit;
    };
    const PacketOrder first = packet(kClasses[take(3)], static_cast<Label>(take(kLabelCount)), 1, 1, 1);
    const int other = take(4);
    const PacketOrder second = packet(kClasses[take(3)], static_cast<Label>(take(kLabelCount)),
                                      other == 3 ? 2 : 1, other >= 2 ? 2 : 1, other == 1 ? 1 : 2);
    check(first, second);
  }
}
Request request_of(const PacketOrder& packet) {
  Request request;
  request.kind = passing_rules::kind_of(packet.packet_class);
  request.label = packet.label;
  request.domain = packet.domain;
  request.number = packet.transaction;
  return request;
}

// What a fabric lets pass, no queue behind it can put right: each fabric is at least as strict as its queue.
TEST(PcieRules, FabricNeverSwapsWhatTheQueueKeepsInOrder) {
  for (const bool strict_reads : {false, true}) {
    for (const bool rcsc : {false, true}) {
      const OrderOptions options{strict_reads, rcsc};
      for_each_pair([&](const PacketOrder& first, const PacketOrder& second) {
        const Request earlier = request_of(first);
        const Request later = request_of(second);
        for (const RlsqDesign design : {RlsqDesign::kThreadSpecific, RlsqDesign::kSpeculative}) {
          if (!keeps_order(design, options, earlier, later)) continue;
          EXPECT_EQ(passing(FabricOrder::kDomains, options, second, first), kNo)
              << name(later.label) << " " << name(later.kind) << " after " << name(earlier.label) << " "
              << name(earlier.kind);
        }
        // Non-posted requests with data and RO=1 may pass writes on the way, whatever today's queue does with
        // them.
        if (second.packet_class == kNonPostedData && second.label == Label::kRelaxedOrdering) return;
        if (keeps_order(RlsqDesign::kBaseline, options, earlier, later)) {
          EXPECT_EQ(passing(FabricOrder::kLegacy, options, second, first), kNo);
        }
      });
    }
  }
}

// Where labels are unknown a read goes out with RO=0 whatever its label, and so does its completion.
TEST(PcieRules, CompletionsHaveTheAttributesOfTheirRequest) {
  EXPECT_EQ(legacy(packet(kCompletion, Label::kRelaxedOrdering), packet(kPosted)), kMay);
  EXPECT_EQ(legacy(packet(kCompletion, Label::kRelaxed), packet(kPosted)), kNo);
  EXPECT_EQ(domains(packet(kCompletion, Label::kRelaxed), packet(kPosted)), kMay);
  EXPECT_EQ(domains(packet(kCompletion, Label::kAcquire), packet(kPosted)), kNo);
}

}  // namespace
}  // namespace wharf::ordering
