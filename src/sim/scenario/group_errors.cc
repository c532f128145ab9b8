// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/group_errors.h"

#include <fmt/format.h>

#include <string>

namespace wharf::sim {

Error named_in_group(const Error& error, std::string_view group) {
  constexpr std::string_view kKey = " model.";  // No file name: those stand first.
  const std::string named = fmt::format(" group.{}.model.", group);
  std::string text = error.message;
  for (std::size_t at = text.find(kKey); at != std::string::npos; at = text.find(kKey, at + named.size()))
    text.replace(at, kKey.size(), named);
  return Error{error.kind, text};
}

}  // namespace wharf::sim
