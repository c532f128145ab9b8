// SPDX-License-Identifier: Apache-2.0
#include "sim/config/binder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/nearest_name.h"
#include "base/unit_hint.h"

namespace wharf::sim {
namespace {

template <typename N>
std::optional<N> whole(std::string_view text) {
  N value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The last part of a dotted path.
std::string_view leaf_of(std::string_view path) { return path.substr(path.rfind('.') + 1); }

/// The key that a mistyped one probably is: the right name in another section, or else the nearest of all.
std::optional<std::string_view> nearest_key(std::string_view wrong,
                                            const std::vector<std::string_view>& names) {
  std::vector<std::string_view> same;
  const std::string_view first = wrong.substr(0, wrong.find('.') + 1);
  for (const std::string_view name : names) {
    if (leaf_of(name) == leaf_of(wrong) && name.starts_with(first)) same.push_back(name);
  }
  if (const auto nearest = nearest_name(wrong, same)) return nearest;
  if (same.size() == 1) return same.front();
  return nearest_name(wrong, names);
}

/// What was expected in the place of `text`. `kind`: "a time"; `hint`: of unit_hint.h.
std::string quantity(std::string_view text, std::string_view kind, std::string_view examples,
                     const std::string& hint) {
  return text.starts_with('-') ? fmt::format("{} that is not negative, such as {}", kind, examples)
                               : fmt::format("{} with a unit, such as {}{}", kind, examples, hint);
}

}  // namespace

Binder::Section::Section(Binder& binder, std::string_view name, bool active, std::string_view condition)
    : binder_(binder),
      prefix_before_(binder.prefix_),
      active_before_(binder.active_),
      condition_before_(binder.condition_) {
  if (!name.empty()) {
    binder.prefix_ += name;
    binder.prefix_ += '.';
  }
  // A key of a section that is not active had no influence because of that, whatever stands within.
  if (!condition.empty() && (binder.document_ == nullptr || binder.active_)) binder.condition_ = condition;
  binder.active_ = binder.active_ && active;
}

Binder::Section::Section(Binder& binder, Root, std::string_view name)
    : binder_(binder),
      prefix_before_(binder.prefix_),
      active_before_(binder.active_),
      condition_before_(binder.condition_) {
  binder.prefix_ = std::string(name) + ".";
  binder.active_ = true;
  binder.condition_.clear();
}

Binder::Section::~Section() {
  binder_.prefix_ = prefix_before_;
  binder_.active_ = active_before_;
  binder_.condition_ = condition_before_;
}

const ConfigValue* Binder::begin_key(std::string_view key, std::string expected, std::string default_value,
                                     std::string_view doc) {
  keys_.push_back({prefix_ + std::string(key), std::move(expected), std::move(default_value),
                   std::string(doc), condition_});
  key_active_.push_back(active_);
  if (document_ == nullptr || error_.has_value()) return nullptr;
  return document_->find(keys_.back().path);
}

void Binder::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

void Binder::refuse_last(std::string_view expected) {
  const ConfigValue* found = document_ == nullptr ? nullptr : document_->peek(keys_.back().path);
  WHARF_CHECK(found != nullptr);
  refuse(*found, expected);
}

void Binder::refuse(const ConfigValue& found, std::string_view expected) {
  fail(input_error(
      fmt::format("{}: {} is \"{}\", expected {}", found.origin, keys_.back().path, found.text, expected)));
}

void Binder::time(std::string_view key, TimePs& value, std::string_view doc) {
  if (const ConfigValue* found = begin_key(key, "time", format_time(value), doc)) {
    auto parsed = parse_time(found->text);
    if (parsed) {
      value = *parsed;
    } else {
      refuse(*found, quantity(found->text, "a time", "\"100ns\" or \"1.5us\"", time_hint(found->text)));
    }
  }
}

void Binder::optional_time(std::string_view key, std::optional<TimePs>& value, std::string_view doc) {
  if (const ConfigValue* found = begin_key(key, "time or none", value ? format_time(*value) : "none", doc)) {
    const auto parsed = parse_time(found->text);
    if (found->text == "none") {
      value.reset();
    } else if (parsed) {
      value = *parsed;
    } else {
      refuse(*found, "a time with a unit, such as \"70ns\", or \"none\"");
    }
  }
}

void Binder::bytes(std::string_view key, std::uint64_t& value, std::string_view doc, std::uint64_t least,
                   std::uint64_t most) {
  const bool bounded = most < std::numeric_limits<std::uint32_t>::max();
  const std::string range =
      fmt::format("size from {} to {}", format_bytes(Bytes{least}), format_bytes(Bytes{most}));
  if (const ConfigValue* found = begin_key(key, bounded ? range : "size", format_bytes(Bytes{value}), doc)) {
    auto parsed = parse_bytes(found->text);
    if (!parsed) {
      refuse(*found, quantity(found->text, "a size", "\"64B\" or \"4KiB\"", bytes_hint(found->text)));
    } else if (parsed->count < least || parsed->count > most) {
      refuse(*found,
             bounded ? "a " + range : fmt::format("a size of at least {}", format_bytes(Bytes{least})));
    } else {
      value = parsed->count;
    }
  }
}

void Binder::bytes(std::string_view key, std::uint32_t& value, std::string_view doc, std::uint64_t least,
                   std::uint64_t most) {
  std::uint64_t wide = value;
  bytes(key, wide, doc, least, most);
  value = static_cast<std::uint32_t>(wide);
}

void Binder::rate(std::string_view key, BitsPerSecond& value, std::string_view doc) {
  if (const ConfigValue* found = begin_key(key, "rate", format_rate(value), doc)) {
    auto parsed = parse_rate(found->text);
    if (parsed) {
      value = *parsed;
    } else {
      refuse(*found, quantity(found->text, "a rate", "\"400Gbps\"", rate_hint(found->text)));
    }
  }
}

void Binder::probability(std::string_view key, double& value, std::string_view doc) {
  if (const ConfigValue* found = begin_key(key, "probability", fmt::format("{}", value), doc)) {
    auto parsed = parse_probability(found->text);
    if (parsed) {
      value = *parsed;
    } else {
      refuse(*found, "a probability from 0 to 1, such as \"5%\" or 0.05");
    }
  }
}

void Binder::number(std::string_view key, double& value, std::string_view doc, double least, double most) {
  if (const ConfigValue* found =
          begin_key(key, fmt::format("number from {} to {}", least, most), fmt::format("{}", value), doc)) {
    const auto parsed = whole<double>(found->text);
    if (!parsed || !(*parsed >= least && *parsed <= most)) {
      refuse(*found, fmt::format("a number from {} to {}", least, most));
    } else {
      value = *parsed;
    }
  }
}

void Binder::flag(std::string_view key, bool& value, std::string_view doc) {
  if (const ConfigValue* found = begin_key(key, "true or false", value ? "true" : "false", doc)) {
    if (found->text == "true") {
      value = true;
    } else if (found->text == "false") {
      value = false;
    } else {
      refuse(*found, "true or false");
    }
  }
}

void Binder::text(std::string_view key, std::string& value, std::string_view doc) {
  if (const ConfigValue* found = begin_key(key, "text", value, doc)) value = found->text;
}

void Binder::wide_integer(std::string_view key, std::int64_t& value, std::string_view doc, std::int64_t least,
                          std::int64_t most) {
  const std::string expected = most == std::numeric_limits<std::int64_t>::max()
                                   ? fmt::format("integer of at least {}", least)
                                   : fmt::format("integer from {} to {}", least, most);
  if (const ConfigValue* found = begin_key(key, expected, std::to_string(value), doc)) {
    const auto parsed = whole<std::int64_t>(found->text);
    if (!parsed || *parsed < least || *parsed > most) {
      refuse(*found, fmt::format("an integer from {} to {}", least, most));
    } else {
      value = *parsed;
    }
  }
}

void Binder::wide_integer_or(std::string_view word, std::string_view key, std::optional<std::int64_t>& value,
                             std::string_view doc, std::int64_t least, std::int64_t most) {
  const std::string expected = fmt::format("integer from {} to {} or \"{}\"", least, most, word);
  const ConfigValue* found =
      begin_key(key, expected, value ? std::to_string(*value) : std::string(word), doc);
  if (found == nullptr) return;
  const auto parsed = whole<std::int64_t>(found->text);
  if (found->text == word) {
    value.reset();
  } else if (!parsed || *parsed < least || *parsed > most) {
    refuse(*found, "an " + expected);
  } else {
    value = *parsed;
  }
}

void Binder::dropped(std::string_view key, std::string_view value, std::string_view instead) {
  dropped_.push_back(prefix_ + std::string(key));
  const ConfigValue* found = document_ == nullptr ? nullptr : document_->find(dropped_.back());
  if (found == nullptr || same_value(found->text, value)) return;
  fail(input_error(fmt::format("{}: {} is \"{}\", but this key was dropped: {}; leave it out", found->origin,
                               dropped_.back(), found->text, instead)));
}

std::size_t Binder::choose(std::string_view key, std::size_t current, std::span<const std::string_view> names,
                           std::string_view doc) {
  const std::string expected = fmt::format("one of {}", fmt::join(names, ", "));
  const ConfigValue* found = begin_key(key, expected, std::string(names[current]), doc);
  if (found == nullptr) return current;
  const auto at = std::find(names.begin(), names.end(), found->text);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  const auto nearest = nearest_name(found->text, names);
  refuse(*found, nearest ? fmt::format("{}; did you mean \"{}\"?", expected, *nearest) : expected);
  return current;
}

Result<void> Binder::result() const {
  if (error_) return *error_;
  return {};
}

Result<void> Binder::finish(std::span<const std::string_view> known_tables) const {
  WHARF_TRY(result());
  if (document_ == nullptr) return {};
  std::set<std::string_view> known;
  std::vector<std::string_view> names;
  for (const KeyDoc& key : keys_) {
    known.insert(key.path);
    names.push_back(key.path);
  }
  known.insert(dropped_.begin(), dropped_.end());
  for (const auto& [path, value] : document_->values()) {
    if (known.contains(path)) continue;
    for (const std::string_view table : known_tables) {
      if (!path.starts_with(std::string(table) + ".")) continue;
      return input_error(fmt::format("{}: found {} in a table [{}], expected a list of tables, [[{}]]",
                                     value.origin, path, table, table));
    }
    const auto nearest = nearest_key(path, names);
    return input_error(
        nearest ? fmt::format("{}: unknown key {}; did you mean {}?", value.origin, path, *nearest)
                : fmt::format("{}: unknown key {}; `wharf list keys` shows every key", value.origin, path));
  }
  for (const std::string& table : document_->table_names()) {
    if (std::find(known_tables.begin(), known_tables.end(), table) != known_tables.end()) continue;
    return input_error(
        fmt::format("{}: unknown list of tables [[{}]], expected {}",
                    document_->tables(table).empty() ? table : document_->tables(table).front().origin, table,
                    fmt::join(known_tables, ", ")));
  }
  return {};
}

std::vector<std::string> Binder::without_influence() const {
  std::vector<std::string> lines;
  if (document_ == nullptr) return lines;
  for (std::size_t index = 0; index < keys_.size(); ++index) {
    if (key_active_[index]) continue;
    const ConfigValue* value = document_->peek(keys_[index].path);
    if (value == nullptr || value->layer < kScenarioLayer) continue;
    lines.push_back(fmt::format("{} ({}) had no influence: {}", keys_[index].path, value->origin,
                                keys_[index].condition));
  }
  return lines;
}

}  // namespace wharf::sim
