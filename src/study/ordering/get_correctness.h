// SPDX-License-Identifier: Apache-2.0
// Whether what a get returns is a snapshot: every get protocol against every way to bind its reads in order,
// or not, in the timed coherent host, beside writers, with requests that pass each other as they may.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/ordering/rlsq_design.h"
#include "sim/host/pcie/dma_engine.h"
#include "sim/stimulus/device_gets.h"
#include "workload/item_gets.h"

namespace wharf::study {

/// What keeps the reads of a get in order: root complex, labels, device, posting.
struct GetOrder {
  std::string_view name;  ///< Of the kind of order: "none", "acquire first", "total order", ...
  wharf::ordering::RlsqDesign design;
  sim::GetAnnotation annotation;
  sim::SourceOrdering source;
  workload::GetPosting posting;
};

/// One cell of the table.
struct GetCase {
  workload::GetProtocol protocol;
  GetOrder order;
  bool is_safe;  ///< ASPLOS '26, 6.4, and the argument in the study's text.
};
/// Every protocol with every order that applies to it.
std::vector<GetCase> all_get_cases();
/// "validation, acquire first, speculative".
std::string describe(const GetCase& made);

/// Runs `gets` gets of one item, one half beside a core that writes it, the other beside the readers' hosts
/// that do.
Result<sim::GetOutcome> run_get_case(const std::filesystem::path& profiles, const GetCase& made,
                                     std::uint64_t gets, std::uint64_t seed);

}  // namespace wharf::study
