// SPDX-License-Identifier: Apache-2.0
// Get protocols in the timed coherent host: torn where, and only where, nothing keeps their reads in order.
// WHARF_GETS is how many gets all cells do together: 10^6 in the entry labelled "long", 10^8 in the full run.
#include "study/get_correctness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace wharf::study {
namespace {

/// A run's gets of one cell; more are done in further runs with other seeds.
constexpr std::uint64_t kGetsPerRun = 20'000;

/// Cells of the quick run, with both answers among them; what tears seldom is left to the long one.
bool is_quick(const GetCase& made) {
  using wharf::ordering::RlsqDesign;
  const std::string_view order = made.order.name;
  if (!made.is_safe && made.protocol == workload::GetProtocol::kPessimistic) return false;
  return (order == "none" && made.order.design == RlsqDesign::kBaseline) ||
         (order == "acquire first" && made.order.design == RlsqDesign::kReleaseAcquire) ||
         (order == "total order" && made.order.design == RlsqDesign::kStrictSpeculative) ||
         (order == "read-release" && made.order.design == RlsqDesign::kSpeculative);
}

TEST(GetCorrectness, TornExactlyWhereNothingKeepsTheReadsInOrder) {
  const char* const asked = std::getenv("WHARF_GETS");
  std::vector<GetCase> cases = all_get_cases();
  if (asked == nullptr) std::erase_if(cases, [](const GetCase& made) { return !is_quick(made); });
  const std::uint64_t all_gets = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 1'000 * cases.size();
  const std::uint64_t gets = all_gets / cases.size() + 1;
  GetOutcome all;
  for (const GetCase& made : cases) {
    SCOPED_TRACE(describe(made));
    GetOutcome outcome;
    for (std::uint64_t done = 0, seed = 1; done < gets; done += kGetsPerRun, ++seed) {
      const auto part = run_get_case("profiles", made, std::min(kGetsPerRun, gets - done), seed);
      ASSERT_TRUE(part) << part.error().message;
      outcome += *part;
    }
    if (asked != nullptr) {
      fmt::print("{:50} {:9} gets, {:9} beside a put, {:9} retries, {:7} squashes, {:7} torn, {:7} stale\n",
                 describe(made), outcome.gets, outcome.overlaps, outcome.retries, outcome.squashes,
                 outcome.torn, outcome.stale);
    }
    for (const std::string& line : outcome.blocked) ADD_FAILURE() << line;
    EXPECT_EQ(outcome.torn > 0, !made.is_safe) << outcome.torn;
    if (made.is_safe) {
      EXPECT_EQ(outcome.stale, 0U);
    }
    EXPECT_GE(outcome.overlaps * 10, outcome.gets);
    EXPECT_EQ(outcome.given_up, 0U);
    all += outcome;
  }
  fmt::print("{} gets, {} of them beside a put, {} torn\n", all.gets, all.overlaps, all.torn);
}

}  // namespace
}  // namespace wharf::study
