// SPDX-License-Identifier: Apache-2.0
// Get protocols in the timed coherent host: torn where, and only where, nothing keeps their reads in order.
// WHARF_GETS is how many gets all cells do together: 10^6 in the entry labelled "long", 10^8 in the full run.
#include "study/ordering/get_correctness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "study/frame/parallel.h"
#include "study/ordering/get_stack.h"

namespace wharf::study {
namespace {

using sim::GetOutcome;

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

bool is_quick(const StackGetCase& made) {
  using wharf::ordering::RlsqDesign;
  if (made.place == sim::OrderPlace::kSource) return false;
  const bool ascends = made.read_order == verbs::AccessOrder::kAscending;
  switch (made.protocol) {
    case workload::GetProtocol::kPessimistic:
      return false;
    case workload::GetProtocol::kValidation:
      return made.posting == workload::GetPosting::kTogether && !ascends &&
             (made.design == RlsqDesign::kBaseline || made.design == RlsqDesign::kStrictSpeculative);
    case workload::GetProtocol::kFarm:
      return !ascends && made.design == RlsqDesign::kBaseline;
    case workload::GetProtocol::kSingleRead:
      return made.design == RlsqDesign::kBaseline || (ascends && made.design == RlsqDesign::kSpeculative);
  }
  return false;
}

template <typename Case>
using RunCase = Result<GetOutcome> (*)(const StudyContext&, const Case&, std::uint64_t gets,
                                       std::uint64_t seed);

/// All runs of all cases, a case's outcomes in the order of its seeds whichever run ends first; a case is
/// told about as soon as it and those before it are complete.
template <typename Case>
class Runs {
 public:
  Runs(const std::vector<Case>& cases, std::uint64_t gets, RunCase<Case> run_case)
      : cases_(cases),
        gets_(gets),
        per_case_((gets + kGetsPerRun - 1) / kGetsPerRun),
        run_case_(run_case),
        parts_(count()) {}

  std::size_t count() const { return cases_.size() * per_case_; }
  Result<void> run(const StudyContext& context, std::size_t number, bool prints) {
    const std::uint64_t done = number % per_case_ * kGetsPerRun;
    auto part = run_case_(context, cases_[number / per_case_], std::min(kGetsPerRun, gets_ - done),
                          number % per_case_ + 1);
    if (!part) return part.error();
    const std::lock_guard lock(lock_);
    parts_[number] = *std::move(part);
    for (; next_ < count() && parts_[next_]; ++next_) {
      if (prints && next_ % per_case_ + 1 == per_case_) print(next_ / per_case_);
    }
    return {};
  }
  GetOutcome outcome(std::size_t at) const {
    GetOutcome sum;
    for (std::size_t i = at * per_case_; i < (at + 1) * per_case_; ++i) sum += *parts_[i];
    return sum;
  }

 private:
  void print(std::size_t at) const {
    const GetOutcome sum = outcome(at);
    fmt::print("{:60} {:9} gets, {:9} beside a put, {:9} retries, {:7} squashes, {:7} torn, {:7} stale\n",
               describe(cases_[at]), sum.gets, sum.overlaps, sum.retries, sum.squashes, sum.torn, sum.stale);
    std::fflush(stdout);
  }

  const std::vector<Case>& cases_;
  std::uint64_t gets_;
  std::size_t per_case_;
  RunCase<Case> run_case_;
  std::mutex lock_;
  std::vector<std::optional<GetOutcome>> parts_;
  std::size_t next_ = 0;  ///< Runs before it are complete.
};

/// `gets` of each case, on all cores if `is_long`, judged.
template <typename Case>
void expect_torn_where_unsafe(const std::vector<Case>& cases, std::uint64_t gets, bool is_long,
                              RunCase<Case> run_case) {
  Runs<Case> runs(cases, gets, run_case);
  StudyContext context;
  context.profiles = "profiles";
  if (is_long) context.threads = std::max(1U, std::thread::hardware_concurrency());
  const auto done = for_each_in_parallel(
      context, runs.count(), [&](std::size_t number) { return runs.run(context, number, is_long); });
  ASSERT_TRUE(done) << done.error().message;
  GetOutcome all;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(describe(cases[i]));
    const GetOutcome outcome = runs.outcome(i);
    for (const std::string& line : outcome.blocked) ADD_FAILURE() << line;
    EXPECT_EQ(outcome.torn > 0, !cases[i].is_safe) << outcome.torn;
    if (cases[i].is_safe) {
      EXPECT_EQ(outcome.stale, 0U);
    }
    EXPECT_GE(outcome.overlaps * 10, outcome.gets);
    EXPECT_EQ(outcome.given_up, 0U);
    all += outcome;
  }
  fmt::print("{} gets, {} of them beside a put, {} torn\n", all.gets, all.overlaps, all.torn);
}

TEST(GetCorrectness, TornExactlyWhereNothingKeepsTheReadsInOrder) {
  const char* const asked = std::getenv("WHARF_GETS");
  std::vector<GetCase> cases = all_get_cases();
  if (asked == nullptr) std::erase_if(cases, [](const GetCase& made) { return !is_quick(made); });
  const std::uint64_t gets = asked != nullptr ? std::strtoull(asked, nullptr, 10) / cases.size() + 1 : 1'000;
  expect_torn_where_unsafe<GetCase>(
      cases, gets, asked != nullptr,
      [](const StudyContext& context, const GetCase& made, std::uint64_t count, std::uint64_t seed) {
        return run_get_case(context.profiles, made, count, seed);
      });
}

// Two hosts and all that lies between them: a thousandth of WHARF_GETS in each cell.
TEST(GetCorrectness, TheSameOverWholeStacks) {
  const char* const asked = std::getenv("WHARF_GETS");
  std::vector<StackGetCase> cases = all_stack_get_cases();
  if (asked == nullptr) std::erase_if(cases, [](const StackGetCase& made) { return !is_quick(made); });
  const std::uint64_t gets =
      asked != nullptr ? std::max<std::uint64_t>(1'000, std::strtoull(asked, nullptr, 10) / 1'000) : 400;
  expect_torn_where_unsafe<StackGetCase>(cases, gets, asked != nullptr, &run_stack_get_case);
}

}  // namespace
}  // namespace wharf::study
