// SPDX-License-Identifier: Apache-2.0
// Gets of items over whole protocol stacks: what keeps which of them whole. Apart from get_correctness.h,
// whose device asks the root complex without a protocol in between.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/ordering/rlsq_design.h"
#include "sim/host/config/coherent_setup.h"
#include "sim/stimulus/host_gets.h"
#include "study/frame/study.h"
#include "verbs/access_order.h"
#include "workload/item_gets.h"

namespace wharf::study {

/// One run, and the machine that it takes.
struct StackGets {
  std::string stack;              ///< "roce_bf", "ub_urma"
  std::vector<std::string> keys;  ///< Further keys of the model, "model.bus.crossing=30ns".
  wharf::ordering::RlsqDesign design = wharf::ordering::RlsqDesign::kBaseline;
  sim::OrderPlace place = sim::OrderPlace::kDestination;
  sim::HostGets gets;  ///< Name and limit come from the rest.
};

/// Refuses what the scenario refuses. A run that does not end says so in `gets.blocked`.
Result<sim::HostGetOutcome> run_stack_gets(const StudyContext& context, const StackGets& asked,
                                           std::uint64_t seed);

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
/// Runs `gets` gets of one item beside a core that writes it. A case that is not safe goes on, with other
/// seeds, until a get is torn, for up to eight times as many.
Result<sim::GetOutcome> run_stack_get_case(const StudyContext& context, const StackGetCase& made,
                                           std::uint64_t gets, std::uint64_t seed);

}  // namespace wharf::study
