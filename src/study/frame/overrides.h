// SPDX-License-Identifier: Apache-2.0
// What a user puts in the place of a study's own values: a profile and keys, for all of its simulations.
#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace wharf::study {

/// Studies run several simulations at a time: note() may be called from any thread.
class Overrides {
 public:
  Overrides() = default;
  Overrides(std::string profile, std::vector<std::string> keys)
      : profile_(std::move(profile)), keys_(std::move(keys)) {}

  bool any() const { return !profile_.empty() || !keys_.empty(); }
  const std::string& profile() const { return profile_; }  ///< Empty: each simulation's own.
  const std::vector<std::string>& keys() const { return keys_; }
  /// `own` with what stands in its place behind it: of two values of a key the last one counts.
  std::vector<std::string> over(std::vector<std::string> own) const;
  /// A simulation has taken these overrides; `idle`: its sentences about keys that do nothing there.
  void note(const std::vector<std::string>& idle) const;
  /// Simulations so far.
  std::size_t simulations() const;
  /// Sentences about the overrides that every simulation has said.
  std::vector<std::string> idle() const;

 private:
  std::string profile_;
  std::vector<std::string> keys_;
  mutable std::mutex mutex_;
  mutable std::size_t simulations_ = 0;
  mutable std::vector<std::string> idle_;
};

}  // namespace wharf::study
