// SPDX-License-Identifier: Apache-2.0
// Gets of items over a whole protocol stack between two hosts with coherent memory: how many, how fast, and
// whether what they return is a snapshot. Apart from get_correctness.h, whose device asks the root complex
// without a protocol in between.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/ordering/rlsq_design.h"
#include "sim/host/config/coherent_setup.h"
#include "study/get_correctness.h"
#include "study/study.h"
#include "verbs/access_order.h"
#include "workload/item_gets.h"

namespace wharf::study {

/// One run. Host 0 reads items of host 1, over `queues` queues; all of them, and the writer, share one
/// program.
struct StackGets {
  std::string stack;              ///< "roce_bf", "ub_urma"
  std::vector<std::string> keys;  ///< Further keys of the model, "model.bus.crossing=30ns".
  wharf::ordering::RlsqDesign design = wharf::ordering::RlsqDesign::kBaseline;
  sim::OrderPlace place = sim::OrderPlace::kDestination;
  /// Its operations are those of one queue; its read_order is what the segment asks the root complex for.
  workload::ItemGetsConfig program;
  std::uint32_t queues = 1;
  std::uint32_t third_parties = 0;  ///< Queues that keep one line busy: half fetch and add zero, half read.
  std::uint32_t busy_line = 0;      ///< Of the first item.
};

struct StackOutcome {
  GetOutcome gets;
  TimePs elapsed;  ///< From the begin to the last get.

  double million_gets_per_second() const;
};

/// Refuses what the scenario refuses. A run that does not end says so in `gets.blocked`.
Result<StackOutcome> run_stack_gets(const StudyContext& context, const StackGets& asked, std::uint64_t seed);

/// One cell of the table of whole stacks.
struct StackGetCase {
  std::string_view stack;
  workload::GetProtocol protocol;
  wharf::ordering::RlsqDesign design;
  sim::OrderPlace place;
  verbs::AccessOrder read_order;
  workload::GetPosting posting;
  bool is_safe;
};
/// Every protocol over RoCE and UB with everything that a stack offers to keep its reads in order.
std::vector<StackGetCase> all_stack_get_cases();
/// "ub_urma: validation, together, ascending, speculative".
std::string describe(const StackGetCase& made);
/// Runs `gets` gets of one item beside a core that writes it, in equal parts for each line that a third party
/// makes late. A case that is not safe goes on, with other seeds, until a get is torn, for up to eight times
/// as many.
Result<GetOutcome> run_stack_get_case(const StudyContext& context, const StackGetCase& made,
                                      std::uint64_t gets, std::uint64_t seed);

}  // namespace wharf::study
