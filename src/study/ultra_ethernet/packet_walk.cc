// SPDX-License-Identifier: Apache-2.0
// The packets of a public description of Ultra Ethernet: a job writes 16 KiB to another of its processes. Two
// engines exchange them, and each header is compared byte by byte. Printed with its misprints corrected: all
// four fragments are message 1, and offsets are 0, 4096, 8192 and 12288.
#include <fmt/format.h>

#include <array>
#include <deque>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "engine/driver/engine_driver.h"
#include "engine/uet/packet_size.h"
#include "engine/uet/uet_engine.h"
#include "study/ultra_ethernet/ultra_ethernet.h"
#include "wire/frame.h"
#include "wire/pcapng_writer.h"

namespace wharf::study::ultra_ethernet {
namespace {

constexpr std::uint64_t kBase = 0xba5eadd1;
constexpr std::uint32_t kMessageBytes = 16'384;
constexpr std::uint64_t kKey = 0xacce5;
constexpr std::uint32_t kJob = 101;
/// Ethernet, IPv4 and UDP.
constexpr std::size_t kBefore = 14 + 20 + 8;
/// From one packet to the next, for the times of the capture.
constexpr TimePs kStep = microseconds(1);

/// What is printed: which packet it is here, who sends it and its PDS and SES headers.
struct Printed {
  const char* what;
  std::size_t index;
  std::uint32_t from;
  std::string_view headers;
};
constexpr std::array<Printed, 5> kPrinted{
    {{"fragment 1, header data 11", 0, 0,
      "118CFFFF0001200040010000"
      "010D000101000065"
      "0002000A00000000000000000000000000000000000ACCE5000000000000000B00004000"},
     {"fragment 2", 1, 0,
      "118CFFFE0001200140010001"
      "0108000101000065"
      "0002000A00000000000000000000000000000000000ACCE5000010000000100000004000"},
     {"fragment 4", 3, 0,
      "118CFFFC0001200340010003"
      "010A000101000065"
      "0002000A00000000000000000000000000000000000ACCE5000010000000300000004000"},
     {"acknowledgement of fragment 1", 4, 1, "3A0000000001200080014001000100010100006500004000"},
     {"acknowledgement of all four", 7, 1, "3A0000000001200380014001000100010100006500004000"}}};

/// Both processes are PIDonFEP 2, RI 0x00a, generation 1; packets number from 0x12000.
uet::UetConfig config_of(std::uint32_t host) {
  uet::UetConfig config;
  config.host = {host};
  config.payload_mtu = 4096;
  config.virtual_addresses = false;
  config.congestion = uet::CongestionControl::kNone;
  config.ack_per_packet = true;
  config.use_ri_generation = true;
  config.start_psn = 0x12000;
  config.endpoint = {kJob, 2, 0x00a, true};
  config.initiator_id = 0;
  return config;
}

/// One frame as the wire has it.
struct Frame {
  std::uint32_t from = 0;
  std::vector<std::byte> bytes;
  std::uint32_t header_bytes = 0;  ///< PDS and SES.
  std::uint32_t window_bytes = 0;

  /// PDS and SES headers, `group` bytes at a time.
  std::string headers(std::uint32_t group) const {
    std::string text;
    for (std::uint32_t i = 0; i < header_bytes; ++i)
      text += fmt::format("{}{:02X}", i != 0 && i % group == 0 ? " " : "",
                          static_cast<unsigned>(bytes[kBefore + i]));
    return text;
  }
  bool is(const Printed& printed) const {
    return from == printed.from && headers(header_bytes) == printed.headers;
  }
};

/// Two engines, the memory of each and the wire between them, which keeps every frame.
class Walk {
 public:
  Result<std::vector<Frame>> run() {
    for (std::uint32_t host = 0; host < 2; ++host) {
      auto made = uet::UetEngine::create(config_of(host), pool_, arenas_.emplace_back());
      if (!made) return made.error();
      engines_.push_back(*std::move(made));
      memory_[host].resize(kMessageBytes);
      for (std::uint32_t i = 0; i < kMessageBytes; ++i)
        memory_[host][i] = static_cast<std::byte>(host == 0 ? i % 251 : 0);
    }
    std::array<engine::QueueId, 2> queues{};
    for (std::uint32_t host = 0; host < 2; ++host) {
      const auto queue = engines_[host].create_queue({}, {});
      if (!queue) return queue.error();
      queues[host] = *queue;
    }
    const auto token =
        engines_[1].register_region({}, {.base = kBase, .length = kMessageBytes}, kJob, kKey, false);
    if (!token) return token.error();
    const auto blob = engines_[1].export_queue(queues[1]);
    if (!blob) return blob.error();
    const auto peer = engines_[0].connect({}, queues[0], *blob);
    if (!peer) return peer.error();
    verbs::WorkRequest request;
    request.verb = verbs::Verb::kWriteImm;
    request.peer = *peer;
    request.length = kMessageBytes;
    request.local_count = 1;
    request.local[0] = {kBase, kMessageBytes};
    request.remote = {0, *token};
    request.immediate = 11;
    WHARF_CHECK(engines_[0].post({}, queues[0], request, engine::Submission::kInHand) ==
                engine::PostStatus::kOk);
    TimePs now;
    settle(now, 0);
    // One packet at a time arrives.
    while (!flying_.empty()) {
      const auto [to, packet] = flying_.front();
      flying_.pop_front();
      engines_[to].receive(now += kStep, 0, packet);
      settle(now, to);
    }
    return frames_;
  }

  bool arrived() const { return completed_ == 2 && memory_[0] == memory_[1]; }

 private:
  struct Around {
    Walk& walk;
    std::uint32_t host;

    bool begin(TimePs, const engine::Access& access, engine::AccessResult& result) {
      std::byte* const at = walk.memory_[host].data() + (access.address - kBase);
      if (access.kind == engine::AccessKind::kRead) {
        result.data = wire::bytes_payload(at, access.length);
      } else {
        wire::fill(access.data, std::span(at, access.length));
      }
      return true;
    }
    wire::TrafficClassMask open(TimePs) const { return wire::kAllTrafficClasses; }
    void send(TimePs, const wire::Packet& packet) {
      Frame frame{host, std::vector<std::byte>(wire::encoded_bytes(packet)),
                  wire::uet_header_bytes(packet.uet), uet::window_bytes(config_of(host), packet)};
      wire::encode(packet, frame.bytes);
      walk.frames_.push_back(std::move(frame));
      walk.flying_.emplace_back(1 - host, packet);
    }
    void completed(TimePs, const verbs::Completion& completion) {
      walk.completed_ += completion.ok() ? 1U : 0U;
    }
  };

  void settle(TimePs now, std::uint32_t host) {
    Around around{*this, host};
    engine::EngineDriver(engines_[host], around, around, around).settle(now);
  }

  wire::PayloadPool pool_;
  std::deque<Arena> arenas_;
  std::deque<uet::UetEngine> engines_;
  std::array<std::vector<std::byte>, 2> memory_;
  std::deque<std::pair<std::uint32_t, wire::Packet>> flying_;  ///< And to whom.
  std::vector<Frame> frames_;
  std::uint32_t completed_ = 0;
};

Result<void> capture(const std::filesystem::path& file, const std::vector<Frame>& frames) {
  auto writer = wire::PcapngWriter::create(file);
  if (!writer) return writer.error();
  const std::array<wire::CaptureInterface, 2> ports{
      writer->add_interface("initiator", wire::LinkType::kEthernet),
      writer->add_interface("target", wire::LinkType::kEthernet)};
  TimePs at;
  for (const Frame& frame : frames) {
    writer->write(ports[frame.from], at, frame.bytes);
    at += kStep;
  }
  return writer->close();
}

}  // namespace

Result<StudyResult> packet_walk(const StudyContext& context) {
  Walk walk;
  const auto frames = walk.run();
  if (!frames) return frames.error();
  if (!context.captures.empty()) WHARF_TRY(capture(context.captures / "uet-packet-walk.pcapng", *frames));
  StudyResult result;
  result.columns = {{"frame", "frame", 0},
                    {"from", "from", 0},
                    {"what", "what", 0},
                    {"headers", "PDS and SES headers", 0},
                    {"printed", "printed", 0}};
  std::size_t alike = 0;
  for (std::size_t at = 0; at < frames->size(); ++at) {
    const Frame& frame = (*frames)[at];
    Json row{{"frame", at + 1},
             {"from", frame.from == 0 ? "initiator" : "target"},
             {"what", frame.from == 0 ? "fragment" : "acknowledgement"},
             {"headers", frame.headers(4)}};
    for (const Printed& printed : kPrinted) {
      if (printed.index != at) continue;
      row["what"] = printed.what;
      row["printed"] = frame.is(printed) ? "the same" : "differs";
    }
    result.rows.push_back(std::move(row));
  }
  for (const Printed& printed : kPrinted) {
    const bool same = printed.index < frames->size() && (*frames)[printed.index].is(printed);
    alike += same ? 1 : 0;
    result.checks.push_back({CheckKind::kAccounting, fmt::format("{}: headers as printed", printed.what),
                             same ? 1.0 : 0.0, 1, 1});
  }
  const Frame& first = frames->front();
  result.checks.push_back({CheckKind::kAccounting, "fragment 1: bytes behind the IP header",
                           static_cast<double>(first.bytes.size() - 34), 4164, 4164});
  result.checks.push_back({CheckKind::kAccounting, "fragment 1: bytes that count toward the window",
                           static_cast<double>(first.window_bytes), 4204, 4204});
  result.checks.push_back(equal("both ends completed, with the same bytes", walk.arrived() ? 1 : 0, 1));
  result.sentences = {fmt::format(
      "{} of {} printed headers are what the engine sends, byte by byte. The article prints the fragments "
      "once as messages 1 to 4 and once as message 101; they are one message, 1. `--captures` writes "
      "the frames for Wireshark and `wharf dissect`.",
      alike, kPrinted.size())};
  return result;
}

}  // namespace wharf::study::ultra_ethernet
