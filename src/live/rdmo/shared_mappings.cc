// SPDX-License-Identifier: Apache-2.0
#include "live/rdmo/shared_mappings.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>

namespace wharf::live {

std::optional<SharedMappings> SharedMappings::read() {
  const int descriptor = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::string text;
  char buffer[4096];
  ssize_t done = 0;
  while ((done = ::read(descriptor, buffer, sizeof buffer)) > 0 || (done < 0 && errno == EINTR)) {
    if (done > 0) text.append(buffer, static_cast<std::size_t>(done));
  }
  ::close(descriptor);
  if (done < 0) return std::nullopt;
  return parse(text);
}

// "7f0c5a000000-7f0c5a100000 rw-s 00000000 00:01 12  /dev/shm/one" [proc_pid_maps(5)]
SharedMappings SharedMappings::parse(std::string_view text) {
  SharedMappings found;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const char* const last = line.data() + line.size();
    Mapping mapping;
    const auto [dash, bad_first] = std::from_chars(line.data(), last, mapping.first, 16);
    if (bad_first != std::errc{} || dash == last || *dash != '-') continue;
    const auto [space, bad_end] = std::from_chars(dash + 1, last, mapping.end, 16);
    if (bad_end != std::errc{}) continue;
    const std::string_view rights(space, static_cast<std::size_t>(last - space));
    if (rights.starts_with(" rw") && rights.size() > 4 && rights[4] == 's')
      found.mappings_.push_back(mapping);
  }
  return found;
}

bool SharedMappings::hold_new(const SharedMappings& before, std::uint64_t address,
                              std::uint64_t length) const {
  const auto holds = [&](const Mapping& each) {
    return each.first <= address && address < each.end && length <= each.end - address;
  };
  const auto found = std::find_if(mappings_.begin(), mappings_.end(), holds);
  if (found == mappings_.end()) return false;
  return std::none_of(before.mappings_.begin(), before.mappings_.end(), [&](const Mapping& each) {
    return each.first < found->end && found->first < each.end;
  });
}

}  // namespace wharf::live
