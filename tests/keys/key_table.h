// SPDX-License-Identifier: Apache-2.0
// tests/keys/keys.txt: small runs, and what each key of scenarios does in one of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace wharf::sim {

/// Keys of a scenario with their values.
using KeyValues = std::map<std::string, std::string>;

enum class KeyEffect : std::uint8_t {
  kChanges,  ///< "KEY | RUN | VALUE": the run has another result with this value.
  kNamed,    ///< "KEY | RUN | VALUE | named": the key cannot act there.
  kRefused,  ///< "KEY | RUN | VALUE | refused": the run is refused with this value, and not as it is.
};

struct KeyRow {
  int line = 0;
  std::string key;
  std::string run;
  std::string value;
  KeyEffect effect = KeyEffect::kChanges;
};

struct KeyTable {
  std::map<std::string, KeyValues> runs;
  std::vector<KeyRow> rows;
  std::map<std::string, std::string> exempt;  ///< Keys that no result depends on, and why.
  std::vector<std::string> mistakes;          ///< Of the table itself, with their lines.
};

KeyTable read_key_table(const std::string& file);

/// What a run comes to, apart from the echo of its scenario.
struct KeyOutcome {
  std::string refusal;                 ///< Empty: it ran.
  std::string result;                  ///< Everything in its summary and its records.
  std::vector<std::string> no_effect;  ///< Keys that `check` and `run` say to have no influence.

  bool names(const std::string& key) const;
};

KeyOutcome outcome_of(const KeyValues& keys);

}  // namespace wharf::sim
