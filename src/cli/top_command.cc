// SPDX-License-Identifier: Apache-2.0
// wharf top: what running servers count, from the files of `wharf serve --metrics`.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "cli/top_view.h"
#include "live/udp/metrics_reading.h"
#include "report/wrapped_text.h"

namespace wharf::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr TimePs kIntervalMin = milliseconds(100);
constexpr TimePs kIntervalMax = seconds(3600);
/// How often an interrupt is looked for, and a file that was not written yet.
constexpr auto kPatience = std::chrono::milliseconds(50);

struct Watched {
  std::string file;
  live::MetricsChange change;
  std::optional<Error> error;  ///< Of the last reading.

  void read() {
    auto reading = live::read_metrics(file);
    error = reading ? std::nullopt : std::optional(reading.error());
    if (reading) change.add(*std::move(reading));
  }
  /// There is nothing to wait for before its rates are shown.
  bool settled() const { return error || change.seconds() > 0; }
};

/// A terminal whose kind is known takes what moves the cursor.
bool draws_on(std::FILE* stream) { return is_terminal(stream) && std::getenv("TERM") != nullptr; }

/// Waits; false when somebody has pressed Ctrl-C.
bool wait_until(Clock::time_point moment) {
  while (!interrupt_requested()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(moment - Clock::now());
    if (left.count() <= 0) return true;
    ::poll(nullptr, 0, static_cast<int>(std::min(left, kPatience).count()));
  }
  return false;
}

class TopCommand : public Command {
 public:
  std::string_view name() const override { return "top"; }
  std::string_view summary() const override { return "Watch running servers: rates, drops and peers."; }
  std::string_view examples() const override {
    return "  wharf top serve.prom\n"
           "  wharf top serve.prom --interval 5s\n"
           "  wharf top serve.prom --once\n"
           "  wharf top *.prom --json\n";
  }
  void declare(Options& app) override {
    app.add_option("file", files_, "Files that `wharf serve --metrics FILE` keeps")
        .type_name("FILE")
        .required();
    app.add_option("--interval", interval_, "Time between two tables, 1s by default").type_name("TIME");
    app.add_flag(
        "--once", once_,
        "One table of the rates over one interval, and end; so it is also where standard output is no "
        "terminal");
  }
  Result<ExitCode> run(const Console& console) override {
    const auto interval = parse_time(interval_);
    if (!interval) return input_error("--interval: " + interval.error().message);
    if (*interval < kIntervalMin || *interval > kIntervalMax)
      return input_error(fmt::format("--interval: found {}, expected {} to {}", interval_,
                                     format_time(kIntervalMin), format_time(kIntervalMax)));
    pause_ = std::chrono::nanoseconds(interval->ps / 1000);
    for (const std::string& file : files_) watched_.push_back({file, {}, {}});
    for (Watched& each : watched_) each.read();
    if (std::all_of(watched_.begin(), watched_.end(), [](const Watched& each) { return each.error; }))
      return refuse_all(console);
    return once_ || console.json || !draws_on(console.out) ? show_once(console) : keep_showing(console);
  }

 private:
  /// Tells of each but the first, whose sentence ends the command.
  Result<ExitCode> refuse_all(const Console& console) const {
    for (auto each = watched_.begin() + 1; each != watched_.end(); ++each)
      console.error(each->error->message);
    return *watched_.front().error;
  }

  Result<ExitCode> show_once(const Console& console) {
    const Clock::time_point begin = Clock::now();
    // Whoever is started anew all the time has no rates.
    const auto limit =
        begin + pause_ + std::chrono::seconds(2 * static_cast<int>(live::kMetricsStaleSeconds));
    Clock::time_point next = begin + pause_;
    do {
      if (!wait_until(next)) return ExitCode::kInterrupted;
      for (Watched& each : watched_) {
        if (!each.settled()) each.read();
      }
      next = Clock::now() + kPatience;
    } while (next < limit && !std::all_of(watched_.begin(), watched_.end(),
                                          [](const Watched& each) { return each.settled(); }));
    nlohmann::ordered_json processes = nlohmann::ordered_json::array();
    nlohmann::ordered_json refused = nlohmann::ordered_json::array();
    std::string text;
    ExitCode code = ExitCode::kDone;
    for (const Watched& each : watched_) {
      if (each.error) {
        if (code == ExitCode::kDone) code = exit_code_of(each.error->kind);
        console.error(each.error->message);
        refused.push_back({{"file", each.file}, {"error", each.error->message}});
        continue;
      }
      if (!text.empty()) text += "\n";
      text += process_text(each.file, each.change, report::kTerminalColumns);
      processes.push_back(process_document(each.file, each.change));
    }
    console.print(text);
    console.print(nlohmann::ordered_json{{"processes", processes}, {"refused", refused}});
    return code;
  }

  Result<ExitCode> keep_showing(const Console& console) {
    console.write(control::kClearAll);
    for (Clock::time_point next = Clock::now();; next += pause_) {
      draw(console);
      if (!wait_until(next + pause_)) break;
      if (next + 2 * pause_ < Clock::now()) next = Clock::now() - pause_;  // It was stopped meanwhile.
      for (Watched& each : watched_) each.read();
    }
    console.write("\r\n");
    return ExitCode::kInterrupted;
  }

  void draw(const Console& console) const {
    const TerminalSize screen = terminal_size(console.out);
    // What is no row of a peer; the rows share the rest.
    constexpr std::size_t kLinesAround = 9;
    constexpr std::size_t kLinesOfError = 3;
    const auto good = static_cast<std::size_t>(
        std::count_if(watched_.begin(), watched_.end(), [](const Watched& each) { return !each.error; }));
    const std::size_t around = good * kLinesAround + (watched_.size() - good) * kLinesOfError + 1;
    const std::size_t peers = good != 0 && screen.lines > around ? (screen.lines - around) / good : 0;
    std::string text;
    for (const Watched& each : watched_) {
      if (each.error) {
        for (const std::string& line : report::wrap(each.error->message, screen.columns)) text += line + "\n";
      } else {
        text += process_text(each.file, each.change, screen.columns, std::max<std::size_t>(peers, 1));
      }
      text += "\n";
    }
    text += fmt::format("every {}; Ctrl-C ends", interval_);
    // Home, each line to its end, then what is left of the last drawing.
    std::string drawn(control::kHome);
    std::size_t lines = 0;
    for (std::size_t at = 0; at <= text.size() && lines < screen.lines; ++lines) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (lines != 0) drawn += "\r\n";
      drawn += text.substr(at, std::min(end - at, screen.columns));
      drawn += control::kClearToEndOfLine;
      at = end + 1;
    }
    drawn += control::kClearBelow;
    console.write(drawn);
    std::fflush(console.out);
  }

  std::vector<std::string> files_;
  std::string interval_ = "1s";
  bool once_ = false;
  Clock::duration pause_{};
  std::vector<Watched> watched_;
};

}  // namespace

std::unique_ptr<Command> make_top_command() { return std::make_unique<TopCommand>(); }

}  // namespace wharf::cli
