// SPDX-License-Identifier: Apache-2.0
// What the studies of OpenURMA (arXiv 2605.28717) share: its stacks, its two profiles, and requests for plain
// runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/frame/reference_table.h"
#include "study/frame/runs.h"
#include "study/frame/study.h"

namespace wharf::study::openurma {

/// The paper's way of adding delays one after another, its costs from section 5.2.
inline constexpr std::string_view kAccounting = "openurma-serial";
/// The same for the artifact's later result files, which serialise every RoCE operation; the published
/// headline does not.
inline constexpr std::string_view kLaterAccounting = "openurma-serial-later";
/// The accounting of the later result files for `stack`: they have the new term on RoCE alone.
constexpr std::string_view later_accounting(std::string_view stack) {
  return stack.starts_with("roce") ? kLaterAccounting : kAccounting;
}
/// The same costs, overlapping as machines overlap them.
inline constexpr std::string_view kMechanism = "connectx7-class";

/// A way to reach remote memory under its two names.
struct StackName {
  std::string_view key;       ///< model.stack
  std::string_view artifact;  ///< Series of the reference files.
};
inline constexpr std::array<StackName, 4> kStacks{{
    {"ub_ldst", "ub_loadstore"},
    {"ub_urma", "ub_urma"},
    {"roce_bf", "roce_bf"},
    {"roce_dma", "roce_dma"},
}};
inline constexpr std::string_view kUbLoadStore = "ub_ldst";
inline constexpr std::string_view kUbUrma = "ub_urma";
inline constexpr std::string_view kRoceBlueFlame = "roce_bf";
inline constexpr std::string_view kRoceDma = "roce_dma";

constexpr bool is_roce(std::string_view stack) { return stack.starts_with("roce"); }
/// The verb that fetches 64 bytes on `stack`: a load where there are loads.
constexpr std::string_view fetch_verb(std::string_view stack) {
  return stack == kUbLoadStore ? "load" : "read";
}

/// A loop of one verb, closed, one operation at a time, over lines that no cache holds yet.
struct VerbRun {
  std::string_view profile = kAccounting;
  std::string_view stack;
  std::string_view verb;       ///< As in run.verb.
  std::uint64_t payload = 64;  ///< Bytes; loads and stores move 8 of a line and ignore it, atomics too.
  std::uint64_t operations = 200;
  std::uint32_t concurrency = 1;
  std::vector<std::string> keys{};  ///< Further ones.
};
RunRequest request(const VerbRun& run);

/// Mean latency of the program's operations.
double mean_ns(const sim::RunReport& report);
/// Operations per second, in millions.
double rate_mops(const sim::RunReport& report);

/// Reads `file` of studies/openurma.
Result<ReferenceTable> reference(const StudyContext& context, std::string_view file);

/// Adds what every study with runs ends with: the rules of the accounting, which are the keys that differ
/// between the runs that `batch` compared, and the check that every run ended well.
Result<void> conclude(const RunBatch& batch, StudyResult& result);

/// Null for a number that was not published.
Json json_or_null(const std::optional<double>& value);

// The studies, by file.
Result<StudyResult> table4(const StudyContext& context);  // state.cc
Result<StudyResult> table5(const StudyContext& context);
Result<StudyResult> figure13(const StudyContext& context);
Result<StudyResult> table6(const StudyContext& context);  // headline.cc
Result<StudyResult> figure19(const StudyContext& context);
Result<StudyResult> figure23(const StudyContext& context);
Result<StudyResult> figure29(const StudyContext& context);
Result<StudyResult> table7(const StudyContext& context);  // breakdown.cc
Result<StudyResult> figure22(const StudyContext& context);
Result<StudyResult> figure12(const StudyContext& context);  // link.cc
Result<StudyResult> figure21(const StudyContext& context);
Result<StudyResult> figure14(const StudyContext& context);  // context_cache.cc
Result<StudyResult> figure20(const StudyContext& context);  // load.cc
Result<StudyResult> figure30(const StudyContext& context);
Result<StudyResult> figure24(const StudyContext& context);  // locality.cc
Result<StudyResult> figure25(const StudyContext& context);  // far_memory.cc
Result<StudyResult> figure26(const StudyContext& context);  // payload.cc
Result<StudyResult> figure17(const StudyContext& context);  // cluster.cc
Result<StudyResult> figure44(const StudyContext& context);  // loss.cc
Result<StudyResult> figure45(const StudyContext& context);  // congestion.cc

}  // namespace wharf::study::openurma
