// SPDX-License-Identifier: Apache-2.0
// The fat-tree files of htsim.
#include "sim/fabric/topology_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text_lines.h"

namespace wharf::sim {
namespace {

/// Numbers in these files; larger ones are mistakes.
constexpr std::uint64_t kValueMax = 1U << 30U;

enum Key : std::uint8_t {
  kSpeed,
  kRadixDown,
  kRadixUp,
  kQueueDown,
  kQueueUp,
  kOversubscribed,
  kBundle,
  kSwitchLatency,
  kLinkLatency,
  kKeys
};
constexpr std::array<std::string_view, kKeys> kKeyNames{
    "Downlink_speed_Gbps", "Radix_Down", "Radix_Up",          "Queue_Down",         "Queue_Up",
    "Oversubscribed",      "Bundle",     "Switch_Latency_ns", "Downlink_Latency_ns"};

struct Value {
  std::uint64_t value = 0;
  std::uint32_t line = 0;  ///< 0: absent.
};

struct Tier {
  std::array<Value, kKeys> values{};
  std::uint32_t line = 0;  ///< Of its heading; 0: absent.

  std::uint64_t get(Key key, std::uint64_t otherwise) const {
    return values[key].line != 0 ? values[key].value : otherwise;
  }
};

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

class FatTreeReader {
 public:
  FatTreeReader(std::string_view text, const std::string& name) : lines_(text, name) {}

  Result<TopologyFile> read() {
    while (lines_.next()) {
      if (lines_.blank() || lines_.line().starts_with('#')) continue;
      WHARF_TRY(line());
    }
    WHARF_TRY(complete());
    TopologyFile file;
    WHARF_TRY(derive());
    Result<Topology> topology = fat_tree_of(shape_);
    if (!topology) return at(nodes_.line, topology.error().message);
    file.topology = *std::move(topology);
    file.fat_tree = shape_;
    remark_on(file.remarks);
    file.queue_line = queue_line();
    return file;
  }

 private:
  Result<void> line() {
    if (same_word(lines_[0].text, "Tier")) return heading();
    if (tier_ != nullptr) return key_of_tier();
    for (const auto& [word, target, low, high] :
         {Header{"Nodes", &nodes_, 1, kTopologyHostsMax}, Header{"Tiers", &tiers_, 2, 3},
          Header{"Podsize", &pod_size_, 1, kTopologyHostsMax}}) {
      if (same_word(lines_[0].text, word)) return number(word, *target, low, high);
    }
    if (ignored_line_ == 0) {
      ignored_line_ = lines_.number();
      ignored_word_ = lines_[0].text;
    }
    ++ignored_lines_;
    return {};
  }

  Result<void> heading() {
    Value which;
    WHARF_TRY(number("Tier", which, 0, 2));
    tier_ = &tier_of_[which.value];
    if (tier_->line != 0) {
      return lines_.refuse(lines_[0], fmt::format("found Tier {} again, expected one section per tier (the "
                                                  "first is in line {})",
                                                  which.value, tier_->line));
    }
    tier_->line = lines_.number();
    return {};
  }

  Result<void> key_of_tier() {
    for (std::size_t key = 0; key < kKeys; ++key) {
      if (!same_word(lines_[0].text, kKeyNames[key])) continue;
      const bool may_be_zero = key == kSwitchLatency || key == kQueueDown || key == kQueueUp;
      return number(kKeyNames[key], tier_->values[key], may_be_zero ? 0 : 1, kValueMax);
    }
    return lines_.refuse_token(lines_[0], "a key of a tier",
                               {kKeyNames[0], kKeyNames[1], kKeyNames[2], kKeyNames[3], kKeyNames[4],
                                kKeyNames[5], kKeyNames[6], kKeyNames[7], kKeyNames[8], "Tier"});
  }

  /// The only value of the line.
  Result<void> number(std::string_view word, Value& target, std::uint64_t low, std::uint64_t high) {
    if (target.line != 0) {
      return lines_.refuse(
          lines_[0],
          fmt::format("found {} again, expected it once (the first is in line {})", word, target.line));
    }
    if (lines_.size() < 2) return lines_.refuse_end(fmt::format("found no value, expected {} N", word));
    const auto value = lines_.integer(lines_[1], fmt::format("a value of {}", word), low, high);
    if (!value) return value.error();
    if (lines_.size() > 2) return lines_.refuse_token(lines_[2], "the end of the line after one value");
    target = {*value, lines_.number()};
    return {};
  }

  Error at(std::uint32_t line, std::string_view message) const {
    return input_error(fmt::format("{}:{}:1: {}", lines_.name(), line, message));
  }

  Result<void> complete() const {
    for (const auto& [word, value] :
         {std::pair{"Nodes", &nodes_}, std::pair{"Tiers", &tiers_}, std::pair{"Podsize", &pod_size_}}) {
      if (value->line == 0)
        return at(std::max(lines_.number(), 1U),
                  fmt::format("the file ends without {}, expected {} N", word, word));
    }
    for (std::uint32_t t = 0; t < 3; ++t) {
      const Tier& tier = tier_of_[t];
      const bool wanted = t < tiers_.value;
      if (wanted && tier.line == 0)
        return at(lines_.number(),
                  fmt::format("the file ends without a section Tier {}, expected one for each "
                              "of {} tiers",
                              t, tiers_.value));
      if (!wanted && tier.line != 0)
        return at(tier.line, fmt::format("found Tier {}, expected tiers 0 to {} as Tiers {} says", t,
                                         tiers_.value - 1, tiers_.value));
    }
    for (std::uint32_t t = 0; t < tiers_.value; ++t) {
      const Tier& tier = tier_of_[t];
      const bool top = t + 1 == tiers_.value;
      for (const Key key : {kSpeed, kRadixDown, kLinkLatency}) {
        if (tier.values[key].line == 0)
          return at(tier.line, fmt::format("Tier {} has no {}, expected one", t, kKeyNames[key]));
      }
      if (!top && tier.values[kRadixUp].line == 0)
        return at(tier.line, fmt::format("Tier {} has no Radix_Up, expected one below the top tier", t));
      if (t == 2 && tier.values[kRadixUp].line != 0)
        return at(tier.values[kRadixUp].line, "found Radix_Up in Tier 2, expected none in the third tier");
    }
    return {};
  }

  /// `whole` divided by `part`, which must leave no rest.
  Result<std::uint32_t> divide(std::uint32_t line, std::string_view what, std::uint64_t whole,
                               std::string_view by, std::uint64_t part) const {
    if (part == 0 || whole % part != 0 || whole / part == 0) {
      return at(line, fmt::format("found {} as {}, expected a multiple of {} ({})", whole, what, part, by));
    }
    return static_cast<std::uint32_t>(whole / part);
  }

  Result<void> expect_radix(const Tier& tier, std::uint32_t number, std::uint64_t derived,
                            std::string_view rule) const {
    const Value& radix = tier.values[kRadixUp];
    if (radix.value == derived) return {};
    return at(radix.line, fmt::format("found Radix_Up {} in Tier {}, expected {}: {}", radix.value, number,
                                      derived, rule));
  }

  Result<void> derive() {
    const bool three = tiers_.value == 3;
    const Tier& leaf = tier_of_[0];
    const Tier& middle = tier_of_[1];
    const Tier& top = tier_of_[2];
    if (!three && pod_size_.value != nodes_.value) {
      return at(pod_size_.line, fmt::format("found Podsize {}, expected {} (Nodes) in two tiers",
                                            pod_size_.value, nodes_.value));
    }
    const auto pods = divide(pod_size_.line, "Nodes", nodes_.value, "Podsize", pod_size_.value);
    if (!pods) return pods.error();
    const std::uint64_t hosts_per_leaf = leaf.values[kRadixDown].value;
    const auto leaves = divide(leaf.values[kRadixDown].line, "Podsize", pod_size_.value,
                               "Radix_Down of Tier 0", hosts_per_leaf);
    if (!leaves) return leaves.error();
    if (leaf.get(kBundle, 1) != 1) {
      return at(leaf.values[kBundle].line,
                fmt::format("found Bundle {} in Tier 0, expected 1 (a host has one "
                            "link)",
                            leaf.values[kBundle].value));
    }
    WHARF_TRY(check_oversubscription(leaf, middle));

    // Links above the leaves, in all pods together, and switches from them.
    const std::uint64_t bundle1 = middle.get(kBundle, 1);
    const auto leaf_up = divide(middle.line, "Nodes * speed of Tier 0", nodes_.value * leaf.get(kSpeed, 0),
                                "speed of Tier 1 * Oversubscribed of Tier 0",
                                middle.get(kSpeed, 0) * leaf.get(kOversubscribed, 1));
    if (!leaf_up) return leaf_up.error();
    const auto middles = divide(middle.values[kRadixDown].line, "the number of links above Tier 0", *leaf_up,
                                "pods * Radix_Down of Tier 1", *pods * middle.get(kRadixDown, 0));
    if (!middles) return middles.error();
    WHARF_TRY(divides(bundle1, middle, 1));
    WHARF_TRY(
        expect_radix(leaf, 0, *middles * bundle1,
                     fmt::format("a pod has {} switches in Tier 1, and Bundle is {}", *middles, bundle1)));
    if (three) {
      const std::uint64_t bundle2 = top.get(kBundle, 1);
      const auto middle_up = divide(
          top.line, "the number of links above Tier 0 * speed of Tier 1", *leaf_up * middle.get(kSpeed, 0),
          "speed of Tier 2 * Oversubscribed of Tier 1", top.get(kSpeed, 0) * middle.get(kOversubscribed, 1));
      if (!middle_up) return middle_up.error();
      const auto tops = divide(top.values[kRadixDown].line, "the number of links above Tier 1", *middle_up,
                               "Radix_Down of Tier 2", top.get(kRadixDown, 0));
      if (!tops) return tops.error();
      const auto per_middle = divide(top.values[kRadixDown].line, "the number of switches in Tier 2", *tops,
                                     "switches of Tier 1 in a pod", *middles);
      if (!per_middle) return per_middle.error();
      WHARF_TRY(divides(bundle2, top, 2));
      WHARF_TRY(
          expect_radix(middle, 1, *per_middle * bundle2,
                       fmt::format("{} switches of Tier 2 serve each position of a pod, and Bundle is {}",
                                   *per_middle, bundle2)));
      shape_.tops_per_middle = *per_middle;
      shape_.middle_bundle = static_cast<std::uint32_t>(bundle2);
    }
    shape_.pods = *pods;
    shape_.leaves_per_pod = *leaves;
    shape_.hosts_per_leaf = static_cast<std::uint32_t>(hosts_per_leaf);
    shape_.middles_per_pod = *middles;
    shape_.leaf_bundle = static_cast<std::uint32_t>(bundle1);
    for (std::uint32_t t = 0; t < tiers_.value; ++t) {
      const Tier& tier = tier_of_[t];
      shape_.link[t] = {gigabits_per_second(tier.get(kSpeed, 0)),
                        nanoseconds(static_cast<std::int64_t>(tier.get(kLinkLatency, 0)))};
      shape_.switch_latency[t] = nanoseconds(static_cast<std::int64_t>(tier.get(kSwitchLatency, 0)));
    }
    return {};
  }

  /// What comes into a leaf is so many times what leaves it upwards, by speed as well as by number.
  Result<void> check_oversubscription(const Tier& leaf, const Tier& middle) const {
    const std::uint64_t ratio = leaf.get(kOversubscribed, 1);
    const std::uint64_t down = leaf.values[kRadixDown].value * leaf.get(kSpeed, 0);
    const std::uint64_t up = leaf.values[kRadixUp].value * middle.get(kSpeed, 0);
    if (down == ratio * up) return {};
    const Value& said = leaf.values[kOversubscribed];
    return at(said.line != 0 ? said.line : leaf.values[kRadixUp].line,
              fmt::format("found Oversubscribed {}{} in Tier 0, expected Radix_Down * speed below / "
                          "(Radix_Up * speed above) = {} / {}, a whole number",
                          ratio, said.line != 0 ? "" : " (the default)", down, up));
  }

  Result<void> divides(std::uint64_t bundle, const Tier& tier, std::uint32_t number) const {
    const Value& down = tier.values[kRadixDown];
    const Value& below = tier_of_[number - 1].values[kRadixUp];
    if (down.value % bundle == 0 && below.value % bundle == 0) return {};
    return at(
        tier.values[kBundle].line,
        fmt::format("found Bundle {} in Tier {}, expected a divisor of its Radix_Down {} and of Radix_Up {} "
                    "below",
                    bundle, number, down.value, below.value));
  }

  std::uint32_t queue_line() const {
    for (const Tier& tier : tier_of_) {
      const std::uint32_t line = std::max(tier.values[kQueueDown].line, tier.values[kQueueUp].line);
      if (line != 0) return line;
    }
    return 0;
  }

  void remark_on(std::vector<std::string>& remarks) const {
    if (ignored_lines_ != 0) {
      std::string more =
          ignored_lines_ > 1 ? fmt::format(" and {} more header lines", ignored_lines_ - 1) : "";
      remarks.push_back(fmt::format("{}:{}: the format ignores the header line {}{}", lines_.name(),
                                    ignored_line_, quoted_token(ignored_word_), more));
    }
    if (const std::uint32_t line = queue_line(); line != 0) {
      remarks.push_back(
          fmt::format("{}:{}: queue sizes of topology files have no influence; the profile's queue "
                      "keys set them",
                      lines_.name(), line));
    }
  }

  struct Header {
    std::string_view word;
    Value* target;
    std::uint64_t low;
    std::uint64_t high;
  };

  TextLines lines_;
  Value nodes_;
  Value tiers_;
  Value pod_size_;
  std::array<Tier, 3> tier_of_{};
  Tier* tier_ = nullptr;
  std::uint32_t ignored_line_ = 0;
  std::uint32_t ignored_lines_ = 0;
  std::string ignored_word_;
  FatTreeShape shape_;
};

}  // namespace

Result<TopologyFile> read_fat_tree_file(std::string_view text, const std::string& name) {
  return FatTreeReader(text, name).read();
}

Result<TopologyFile> read_topology(std::string_view text, const std::string& name) {
  TextLines lines(text, name);
  while (lines.next()) {
    if (lines.blank() || lines.line().starts_with('#')) continue;
    if (lines[0].text == "graph") return read_graph_file(text, name);
    break;
  }
  return read_fat_tree_file(text, name);
}

}  // namespace wharf::sim
