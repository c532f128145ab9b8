// SPDX-License-Identifier: Apache-2.0
// Sorts a table that lies in the memory of another process, with std::sort, and searches it from a third one,
// with std::lower_bound. Neither knows that the memory is not its own.
//
//   wharf serve --listen shm:table
//   sorted_afar shm:table                 sorts, and prints a key
//   sorted_afar shm:table KEY 1000000     searches the same memory, while the first still runs
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#if __has_include(<wharf/aperture.h>)
#include <wharf/aperture.h>
#else
#include "live/aperture/aperture.h"
#endif

namespace live = wharf::live;

namespace {

constexpr std::uint64_t kNumbers = 20'000;
constexpr live::ApertureSegment kTable{.offset = 0, .bytes = kNumbers * sizeof(std::uint64_t)};

int fail(const live::ApertureOutcome& outcome) {
  std::fprintf(stderr, "sorted_afar: %s\n", outcome.message.c_str());
  return static_cast<int>(outcome.status);
}

std::span<std::uint64_t> numbers(const live::Aperture& aperture) {
  return {reinterpret_cast<std::uint64_t*>(aperture.data()), kNumbers};
}

// guide: begin
int sort(live::ApertureSession& session) {
  live::ApertureOutcome outcome;
  // A quarter of the table fits: the rest goes and comes as it is needed. Nobody else writes to it, so whole
  // lines may be written where a byte has changed.
  const auto aperture = live::Aperture::map(session, kTable, {.pages_max = 10, .grain = 64}, outcome);
  if (!aperture) return fail(outcome);
  // Without faults, the program would fetch() what it needs, release() it, and keep to pages_max.
  if (aperture->mode() == live::ApertureMode::kExplicit) {
    std::puts("the kernel delivers no faults here: `wharf doctor` says what to do");
    return 0;
  }
  std::uint64_t value = 1;
  for (std::uint64_t& each : numbers(*aperture)) each = (value = value * 48271 % 2147483647);
  std::ranges::sort(numbers(*aperture));
  // Only now others are sure to find it.
  if (outcome = aperture->publish(); !outcome) return fail(outcome);
  const live::ApertureCounters counters = aperture->counters();
  std::printf("sorted: key %llu\n", static_cast<unsigned long long>(session.slice_key()));
  std::printf("%llu pages were fetched, at most %llu were here\n",
              static_cast<unsigned long long>(counters.pages_fetched),
              static_cast<unsigned long long>(counters.most_pages_held));
  std::fflush(stdout);
  // The memory is zeroed when its session ends.
  std::getchar();
  return 0;
}
// guide: end

int search(live::ApertureSession& session, std::uint64_t wanted) {
  live::ApertureOutcome outcome;
  const auto aperture = live::Aperture::map(session, kTable, {.writable = false}, outcome);
  if (!aperture) return fail(outcome);
  if (aperture->mode() == live::ApertureMode::kExplicit) {
    if (outcome = aperture->fetch(0, aperture->size(), live::ApertureAccess::kLoad); !outcome)
      return fail(outcome);
  }
  const auto table = numbers(*aperture);
  const auto found = std::ranges::lower_bound(table, wanted);
  if (found == table.end()) {
    std::printf("nothing from %llu on\n", static_cast<unsigned long long>(wanted));
  } else {
    std::printf("number %llu is %llu", static_cast<unsigned long long>(found - table.begin()),
                static_cast<unsigned long long>(*found));
    std::printf("; %llu of 40 pages were fetched\n",
                static_cast<unsigned long long>(aperture->counters().pages_fetched));
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2 && count != 4) {
    std::fprintf(stderr, "usage: sorted_afar SERVER [KEY NUMBER]\n");
    return 2;
  }
  live::ApertureOutcome outcome;
  live::ApertureSessionSettings settings{.server = words[1]};
  if (count == 4) {
    settings.slice_key = std::strtoull(words[2], nullptr, 10);
    settings.writable = false;
  }
  const auto session = live::ApertureSession::open(settings, outcome);
  if (!session) return fail(outcome);
  return count == 4 ? search(*session, std::strtoull(words[3], nullptr, 10)) : sort(*session);
}
