// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal.h"

namespace wharf::cli {
namespace {

constexpr auto kQuietTime = std::chrono::seconds(1);
constexpr auto kBarInterval = std::chrono::milliseconds(100);
constexpr auto kHeartbeat = std::chrono::seconds(10);
constexpr int kBarCells = 24;

std::string duration(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  return whole < 60 ? fmt::format("{}s", whole) : fmt::format("{}m{:02}s", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(const Console& console, std::string what)
    : console_(console),
      what_(std::move(what)),
      bar_(is_terminal(console.err)),
      start_(Clock::now()),
      next_(start_ + (bar_ ? Clock::duration(kQuietTime) : Clock::duration(kHeartbeat))) {}

Progress::~Progress() {
  if (drawn_) std::fputs(std::string(control::kLineAgain).c_str(), console_.err);
}

void Progress::update(double fraction, std::string_view detail) {
  show(std::clamp(fraction, 0.0, 1.0), detail);
}

void Progress::update(std::string_view detail) { show(std::nullopt, detail); }

void Progress::show(std::optional<double> fraction, std::string_view detail) {
  if (console_.quiet) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::string left = fraction && *fraction > 0.005
                               ? fmt::format("{} left, ", duration(elapsed / *fraction * (1 - *fraction)))
                               : std::string();
  if (!bar_) {
    next_ = now + kHeartbeat;
    const std::string share = fraction ? fmt::format("{:.0f} %, ", 100 * *fraction) : std::string();
    console_.remark(fmt::format("{}: {}{}{}", what_, share, left, detail));
    return;
  }
  next_ = now + kBarInterval;
  std::string line;
  if (fraction) {
    const int full = static_cast<int>(*fraction * kBarCells);
    line = fmt::format("{} [{}{}] {:3.0f} %, {}{}", what_, std::string(static_cast<std::size_t>(full), '#'),
                       std::string(static_cast<std::size_t>(kBarCells - full), '.'), 100 * *fraction, left,
                       detail);  // What a narrow terminal cuts off is the least of it.
  } else {
    line = fmt::format("{}: {}, {} so far", what_, detail, duration(elapsed));
  }
  line.resize(std::min(line.size(), std::max<std::size_t>(terminal_size(console_.err).columns, 21) - 1));
  line.insert(0, control::kLineAgain);
  std::fputs(line.c_str(), console_.err);
  std::fflush(console_.err);
  drawn_ = true;
}

}  // namespace wharf::cli
