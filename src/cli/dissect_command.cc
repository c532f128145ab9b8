// SPDX-License-Identifier: Apache-2.0
// wharf dissect FILE: reads a capture and shows every frame, header by header.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "wire/capture_reader.h"
#include "wire/dissect.h"

namespace wharf::cli {
namespace {

/// What was counted over a file.
struct Tally {
  std::uint64_t frames = 0;
  std::uint64_t decoded = 0;
  std::uint64_t foreign = 0;
  std::uint64_t malformed = 0;
  std::uint64_t icrc_bad = 0;
  std::uint64_t not_reencoded = 0;
};

class DissectCommand : public Command {
 public:
  std::string_view name() const override { return "dissect"; }
  std::string_view summary() const override {
    static const std::string kText =
        fmt::format("Read a capture (pcap or pcapng; plain, gz or xz) of {}.", wire::kDissected);
    return kText;
  }
  std::string_view examples() const override {
    return "  wharf run lossy-writes --out out/captured --capture\n"
           "  wharf dissect out/captured/capture.pcapng\n"
           "  wharf dissect out/captured/capture.pcapng --frame 17\n"
           "  wharf dissect out/captured/capture.pcapng --json |\n"
           "      jq '.frames[] | select(.icrc == \"bad\")'\n";
  }
  void declare(Options& app) override {
    app.add_option("file", file_, "Capture file").type_name("FILE").required();
    app.add_option("--frame", frame_, "Only this frame, every header and field (counted from 1)")
        .type_name("N")
        .positive();
    app.add_flag("-v,--verbose", verbose_, "Every header and field of every frame");
  }
  Result<ExitCode> run(const Console& console) override {
    auto reader = wire::CaptureReader::open(file_);
    if (!reader) return reader.error();
    Tally tally;
    nlohmann::ordered_json frames = nlohmann::ordered_json::array();
    wire::CapturedFrame frame;
    for (;;) {
      const auto more = reader->next(frame);
      if (!more) return more.error();
      if (!*more) break;
      ++tally.frames;
      const wire::Dissection dissection =
          wire::dissect(frame.bytes, static_cast<wire::LinkType>(frame.link_type));
      count(dissection, tally);
      if (frame_ != 0 && frame.number != frame_) continue;
      if (console.json) {
        frames.push_back(as_json(frame, dissection));
      } else {
        show(console, frame, dissection);
      }
    }
    if (frame_ > tally.frames) {
      return input_error(fmt::format("{} has {} frames, expected --frame between 1 and {}", file_,
                                     tally.frames, tally.frames));
    }
    console.print(nlohmann::ordered_json{{"file", file_},
                                         {"frame_count", tally.frames},
                                         {"decoded", tally.decoded},
                                         {"foreign", tally.foreign},
                                         {"malformed", tally.malformed},
                                         {"icrc_bad", tally.icrc_bad},
                                         {"not_reencoded", tally.not_reencoded},
                                         {"frames", frames}});
    console.print(fmt::format(
        "{} frames: {} decoded, {} of other protocols, {} malformed, {} with a bad ICRC, {} that "
        "do not re-encode to the same bytes\n",
        tally.frames, tally.decoded, tally.foreign, tally.malformed, tally.icrc_bad, tally.not_reencoded));
    return ExitCode::kDone;
  }

 private:
  static void count(const wire::Dissection& dissection, Tally& tally) {
    if (dissection.reason == wire::DropReason::kForeign) {
      ++tally.foreign;
      return;
    }
    if (dissection.icrc == wire::IcrcState::kBad) ++tally.icrc_bad;
    if (dissection.reason != wire::DropReason::kNone) {
      ++tally.malformed;
      return;
    }
    ++tally.decoded;
    if (!dissection.reencodes) ++tally.not_reencoded;
  }

  void show(const Console& console, const wire::CapturedFrame& frame,
            const wire::Dissection& dissection) const {
    console.print(fmt::format("{:>6} {:>4}.{:012} {} -> {} {}\n", frame.number, frame.seconds,
                              frame.picoseconds, dissection.source, dissection.destination,
                              dissection.summary));
    if (verbose_ || frame_ != 0) console.print(wire::dissection_text(dissection));
  }

  static nlohmann::ordered_json as_json(const wire::CapturedFrame& frame,
                                        const wire::Dissection& dissection) {
    nlohmann::ordered_json fields = nlohmann::ordered_json::array();
    for (const wire::DissectLine& line : dissection.lines) {
      fields.push_back({{"depth", line.depth},
                        {"name", line.name},
                        {"value", line.value},
                        {"offset", line.offset},
                        {"length", line.length}});
    }
    return {{"number", frame.number},
            {"time_s", frame.seconds},
            {"time_ps", frame.picoseconds},
            {"bytes", frame.bytes.size()},
            {"source", dissection.source},
            {"destination", dissection.destination},
            {"summary", dissection.summary},
            {"status", std::string(wire::dissection_status(dissection))},
            {"icrc", std::string(wire::icrc_state_text(dissection.icrc))},
            {"reencodes", dissection.reencodes},
            {"fields", fields}};
  }

  std::string file_;
  std::uint64_t frame_ = 0;
  bool verbose_ = false;
};

}  // namespace

std::unique_ptr<Command> make_dissect_command() { return std::make_unique<DissectCommand>(); }

}  // namespace wharf::cli
