// SPDX-License-Identifier: Apache-2.0
// Ties configuration structs to dotted keys. One function per struct lists its keys once; the same list reads
// a configuration, writes the effective one and documents every key.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "sim/config/config_document.h"

namespace wharf::sim {

/// A name for an enumerator, in scenarios and messages.
template <typename E>
struct Choice {
  std::string_view name;
  E value;
};

/// What the key reference says about one key.
struct KeyDoc {
  std::string path;
  std::string expected;       ///< "time", "size", "one of a, b", "integer from 1 to 64"
  std::string default_value;  ///< Text that reads back to the default.
  std::string doc;
  std::string condition;  ///< When it matters; empty: always.
};

/// Visits every key of a configuration. Reading stops at the first error, which result() returns.
class Binder {
 public:
  /// Reads from `document`; keys that it does not hold keep the value they have.
  explicit Binder(const ConfigDocument& document) : document_(&document) {}
  /// Reads nothing, only lists keys.
  Binder() = default;

  /// Tag for a section whose name counts from the root, whatever sections are open.
  struct Root {};
  static constexpr Root kRoot{};

  /// Keys bound inside the lifetime of the guard start with `name` + "." and matter only if `active`;
  /// `condition` says so in words.
  class Section {
   public:
    Section(Binder& binder, std::string_view name, bool active = true, std::string_view condition = "");
    Section(Binder& binder, Root, std::string_view name);
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;
    ~Section();

   private:
    Binder& binder_;
    std::string prefix_before_;
    bool active_before_;
    std::string condition_before_;
  };

  void time(std::string_view key, TimePs& value, std::string_view doc);
  /// "none" stands for no value.
  void optional_time(std::string_view key, std::optional<TimePs>& value, std::string_view doc);
  void bytes(std::string_view key, std::uint64_t& value, std::string_view doc, std::uint64_t least = 0,
             std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
  void bytes(std::string_view key, std::uint32_t& value, std::string_view doc, std::uint64_t least = 0,
             std::uint64_t most = std::numeric_limits<std::uint32_t>::max());
  void rate(std::string_view key, BitsPerSecond& value, std::string_view doc);
  void probability(std::string_view key, double& value, std::string_view doc);
  void number(std::string_view key, double& value, std::string_view doc, double least, double most);
  void flag(std::string_view key, bool& value, std::string_view doc);
  void text(std::string_view key, std::string& value, std::string_view doc);

  /// A key that had one value and exists no more. Files that give that value are read as before, others are
  /// refused: `instead` says what a run does. It is in no list of keys.
  void dropped(std::string_view key, std::string_view value, std::string_view instead);

  template <std::integral I>
  void integer(std::string_view key, I& value, std::string_view doc, std::int64_t least = 0,
               std::int64_t most = static_cast<std::int64_t>(std::min<std::uint64_t>(
                   static_cast<std::uint64_t>(std::numeric_limits<I>::max()),
                   static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())))) {
    std::int64_t wide = static_cast<std::int64_t>(value);
    wide_integer(key, wide, doc, least, most);
    value = static_cast<I>(wide);
  }

  /// An integer, or the word `word`, which stands for `meaning`.
  template <std::integral I>
  void integer_or(std::string_view word, I meaning, std::string_view key, I& value, std::string_view doc,
                  std::int64_t least, std::int64_t most) {
    std::optional<std::int64_t> wide;
    if (value != meaning) wide = static_cast<std::int64_t>(value);
    wide_integer_or(word, key, wide, doc, least, most);
    value = wide ? static_cast<I>(*wide) : meaning;
  }

  template <typename E>
  void choice(std::string_view key, E& value, std::span<const Choice<E>> choices, std::string_view doc) {
    std::vector<std::string_view> names;
    std::size_t current = 0;
    for (std::size_t index = 0; index < choices.size(); ++index) {
      names.push_back(choices[index].name);
      if (choices[index].value == value) current = index;
    }
    value = choices[choose(key, current, names, doc)].value;
  }

  /// The same for rows of another type with the members `name` and `value`, as lower layers have them.
  template <typename E, typename Row>
  requires(!std::same_as<Row, Choice<E>>) void choice(std::string_view key, E& value,
                                                      std::span<const Row> choices, std::string_view doc) {
    std::vector<Choice<E>> rows;
    for (const Row& row : choices) rows.push_back({row.name, row.value});
    choice(key, value, std::span<const Choice<E>>(rows), doc);
  }

  /// Refuses every key and table array that nobody bound, naming the nearest that exists.
  Result<void> finish(std::span<const std::string_view> known_tables) const;
  Result<void> result() const;
  void fail(Error error);
  /// Refuses the value of the key bound last.
  void refuse_last(std::string_view expected);

  /// Keys in binding order.
  const std::vector<KeyDoc>& keys() const { return keys_; }
  /// Keys that the user's file or command line set but that do not matter in this run, as "key (origin):
  /// why".
  std::vector<std::string> without_influence() const;

 private:
  const ConfigValue* begin_key(std::string_view key, std::string expected, std::string default_value,
                               std::string_view doc);
  void refuse(const ConfigValue& found, std::string_view expected);
  void wide_integer(std::string_view key, std::int64_t& value, std::string_view doc, std::int64_t least,
                    std::int64_t most);
  void wide_integer_or(std::string_view word, std::string_view key, std::optional<std::int64_t>& value,
                       std::string_view doc, std::int64_t least, std::int64_t most);
  std::size_t choose(std::string_view key, std::size_t current, std::span<const std::string_view> names,
                     std::string_view doc);

  const ConfigDocument* document_ = nullptr;
  std::string prefix_;
  bool active_ = true;
  std::string condition_;
  std::vector<KeyDoc> keys_;
  std::vector<bool> key_active_;
  std::vector<std::string> dropped_;
  std::optional<Error> error_;
};

}  // namespace wharf::sim
