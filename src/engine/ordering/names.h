// SPDX-License-Identifier: Apache-2.0
// The names of kinds, labels and designs in scenarios, litmus files and messages.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "engine/ordering/request.h"
#include "engine/ordering/rlsq_design.h"

namespace wharf::ordering {

/// "read", "write", "atomic".
std::string_view name(Kind kind);

/// "strong", "relaxed_ordering", "id_based", "relaxed", "acquire", "release", "ascending", "read_release".
std::string_view name(Label label);
std::optional<Label> parse_label(std::string_view text);
/// Every name, in enumerator order, for messages that offer the nearest one.
std::span<const std::string_view> label_names();

/// "baseline", "release_acquire", "thread_specific", "speculative", "strict_blocking", "strict_speculative".
std::string_view name(RlsqDesign design);
std::optional<RlsqDesign> parse_rlsq_design(std::string_view text);
std::span<const std::string_view> rlsq_design_names();

}  // namespace wharf::ordering
