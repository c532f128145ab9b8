// SPDX-License-Identifier: Apache-2.0
#include "engine/ordering/names.h"

#include <array>
#include <cstddef>

namespace wharf::ordering {
namespace {

constexpr std::array<std::string_view, kKindCount> kKinds{"read", "write", "atomic"};
constexpr std::array<std::string_view, kLabelCount> kLabels{
    "strong", "relaxed_ordering", "id_based", "relaxed", "acquire", "release", "ascending", "read_release",
};
constexpr std::array<std::string_view, kRlsqDesignCount> kDesigns{
    "baseline", "release_acquire", "thread_specific", "speculative", "strict_blocking", "strict_speculative",
};

template <typename Value, std::size_t count>
std::optional<Value> parse(const std::array<std::string_view, count>& names, std::string_view text) {
  for (std::size_t index = 0; index < count; ++index) {
    if (names[index] == text) return static_cast<Value>(index);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::string_view name(Label label) { return kLabels[static_cast<std::size_t>(label)]; }
std::optional<Label> parse_label(std::string_view text) { return parse<Label>(kLabels, text); }
std::span<const std::string_view> label_names() { return kLabels; }

std::string_view name(RlsqDesign design) { return kDesigns[static_cast<std::size_t>(design)]; }
std::optional<RlsqDesign> parse_rlsq_design(std::string_view text) {
  return parse<RlsqDesign>(kDesigns, text);
}
std::span<const std::string_view> rlsq_design_names() { return kDesigns; }

}  // namespace wharf::ordering
