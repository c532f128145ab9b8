// SPDX-License-Identifier: Apache-2.0
// wharf dissect FILE: reads a capture and shows every frame, header by header.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/nearest_name.h"
#include "cli/command.h"
#include "live/udp/live_protocol.h"
#include "report/wrapped_text.h"
#include "wire/capture_reader.h"
#include "wire/dissect.h"

namespace wharf::cli {
namespace {

/// So many kinds of frames of other protocols are named; in JSON all are.
constexpr std::size_t kKindsShown = 8;

/// What was counted over a file.
struct Tally {
  std::uint64_t frames = 0;
  std::uint64_t decoded = 0;
  std::uint64_t foreign = 0;
  std::uint64_t malformed = 0;
  std::uint64_t icrc_bad = 0;
  std::uint64_t not_reencoded = 0;
  std::map<std::string, std::uint64_t> foreign_kinds;
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
    app.add_option("--port", ports_,
                   fmt::format("UDP packets of this port are of this protocol, such as {0}=9000 or {0}=4791, "
                               "whatever a specification says: for live hosts that listen where they were "
                               "told to; may be repeated",
                               live::protocol_names().front()))
        .type_name("PROTOCOL=N")
        .one_value_each();
    app.add_flag("-v,--verbose", verbose_, "Every header and field of every frame");
  }
  Result<ExitCode> run(const Console& console) override {
    const auto ports = read_ports();
    if (!ports) return ports.error();
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
          wire::dissect(frame.bytes, static_cast<wire::LinkType>(frame.link_type), *ports);
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
                                         {"foreign_kinds", tally.foreign_kinds},
                                         {"malformed", tally.malformed},
                                         {"icrc_bad", tally.icrc_bad},
                                         {"not_reencoded", tally.not_reencoded},
                                         {"frames", frames}});
    console.print(
        report::in_lines(fmt::format(
            "{} frames: {} decoded, {} of other protocols, {} malformed, {} with a bad ICRC, {} that do not "
            "re-encode to the same bytes",
            tally.frames, tally.decoded, tally.foreign, tally.malformed, tally.icrc_bad,
            tally.not_reencoded)) +
        foreign_text(tally));
    return ExitCode::kDone;
  }

 private:
  /// What the frames of other protocols are, the most frequent first.
  static std::string foreign_text(const Tally& tally) {
    std::vector<std::pair<std::uint64_t, std::string>> kinds;
    for (const auto& [kind, count] : tally.foreign_kinds) kinds.emplace_back(count, kind);
    std::ranges::stable_sort(kinds, std::greater(), [](const auto& kind) { return kind.first; });
    std::string text;
    std::uint64_t shown = 0;
    for (std::size_t i = 0; i < std::min(kinds.size(), kKindsShown); ++i) {
      text += fmt::format("other protocols: {} of {}\n", kinds[i].first, kinds[i].second);
      shown += kinds[i].first;
    }
    if (kinds.size() > kKindsShown)
      text += fmt::format("other protocols: {} of {} more kinds\n", tally.foreign - shown,
                          kinds.size() - kKindsShown);
    return text;
  }

  Result<std::vector<wire::ProtocolPort>> read_ports() const {
    std::vector<wire::ProtocolPort> ports;
    for (const std::string& text : ports_) {
      const std::size_t equals = text.find('=');
      const std::string name = text.substr(0, equals);
      const auto protocol = live::parse_protocol(name);
      std::uint16_t port = 0;
      const char* const end = text.data() + text.size();
      const char* const digits = equals == std::string::npos ? end : text.data() + equals + 1;
      const auto [stop, status] = std::from_chars(digits, end, port);
      if (protocol && status == std::errc{} && stop == end && port != 0) {
        const auto other = std::ranges::find_if(ports, [&](const wire::ProtocolPort& each) {
          return each.port == port && each.protocol != *protocol;
        });
        if (other != ports.end())
          return input_error(
              fmt::format("--port: found {}, expected one protocol of port {}, which is named "
                          "before",
                          text, port));
        ports.push_back({port, *protocol});
        continue;
      }
      const auto nearest = protocol ? std::nullopt : nearest_name(name, live::protocol_names());
      return input_error(
          fmt::format("--port: found {}, expected PROTOCOL=N with PROTOCOL one of {} and N from 1 to 65535{}",
                      text, fmt::join(live::protocol_names(), ", "),
                      nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
    }
    return ports;
  }

  static void count(const wire::Dissection& dissection, Tally& tally) {
    if (dissection.reason == wire::DropReason::kForeign) {
      ++tally.foreign;
      ++tally.foreign_kinds[dissection.foreign];
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
    console.print(console.folded(fmt::format("{:>6} {:>4}.{:012} {} -> {} {}\n", frame.number, frame.seconds,
                                             frame.picoseconds, dissection.source, dissection.destination,
                                             dissection.summary)));
    if (verbose_ || frame_ != 0) console.print(console.folded(wire::dissection_text(dissection)));
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
  std::vector<std::string> ports_;
  std::uint64_t frame_ = 0;
  bool verbose_ = false;
};

}  // namespace

std::unique_ptr<Command> make_dissect_command() { return std::make_unique<DissectCommand>(); }

}  // namespace wharf::cli
