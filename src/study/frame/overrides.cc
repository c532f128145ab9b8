// SPDX-License-Identifier: Apache-2.0
#include "study/frame/overrides.h"

#include <algorithm>
#include <string_view>

namespace wharf::study {

std::vector<std::string> Overrides::over(std::vector<std::string> own) const {
  const auto key_of = [](std::string_view text) { return text.substr(0, text.find('=')); };
  for (const std::string& key : keys_) {
    std::erase_if(own, [&](const std::string& one) { return key_of(one) == key_of(key); });
  }
  if (!profile_.empty())
    std::erase_if(own, [&](const std::string& one) { return key_of(one) == "model.profile"; });
  own.insert(own.end(), keys_.begin(), keys_.end());
  return own;
}

void Overrides::note(const std::vector<std::string>& idle) const {
  const std::lock_guard lock(mutex_);
  if (simulations_++ == 0) {
    idle_ = idle;
    return;
  }
  std::erase_if(idle_, [&](const std::string& one) { return std::ranges::find(idle, one) == idle.end(); });
}

std::size_t Overrides::simulations() const {
  const std::lock_guard lock(mutex_);
  return simulations_;
}

std::vector<std::string> Overrides::idle() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> about;
  for (const std::string& sentence : idle_) {
    for (const std::string& key : keys_) {
      if (sentence.find(key.substr(0, key.find('='))) == std::string::npos) continue;
      about.push_back(sentence);
      break;
    }
  }
  return about;
}

}  // namespace wharf::study
