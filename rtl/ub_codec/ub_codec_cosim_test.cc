// SPDX-License-Identifier: Apache-2.0
// The codec of Unified Bus headers beside decode_ub() and encode_ub_headers().
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "Vwharf_ub_codec.h"
#include "Vwharf_ub_codec_planted.h"
#include "rtl/cosim/cosimulation.h"
#include "rtl/cosim/stall.h"
#include "rtl/cosim/stream.h"
#include "rtl/ub_codec/ub_frames.h"

namespace wharf::rtl {
namespace {

using wire::DropReason;
using Headers = std::array<std::uint32_t, Packed<kHeaderBits>::kWords>;
using Window = std::array<std::uint32_t, 20>;

/// wharf_pkg::Drop*, in its order; what the element leaves to others comes last.
constexpr std::array kDrops{DropReason::kNone,
                            DropReason::kTruncated,
                            DropReason::kBadTransportVersion,
                            DropReason::kUnknownTransport,
                            DropReason::kUnknownNextHeader,
                            DropReason::kBadSackSize,
                            DropReason::kBadRequesterType,
                            DropReason::kUnsupportedHeader,
                            DropReason::kBadPadding,
                            DropReason::kBadPayloadLength};
constexpr std::uint32_t kNotHere = kDrops.size();

template <typename Words, typename Port>
Words words_of(const Port& port) {
  Words words;
  std::memcpy(words.data(), port.data(), sizeof words);
  return words;
}

struct Read {
  std::uint32_t drop = 0;
  std::uint32_t start = 0;
  std::uint32_t payload = 0;
  std::uint32_t pad = 0;
  Headers headers{};
  bool operator==(const Read&) const = default;
};
struct Made {
  Window bytes{};
  std::uint32_t start = 0;
  std::uint32_t pad = 0;
  bool operator==(const Made&) const = default;
};

template <typename Model>
class Harness {
 public:
  Harness(Clocked<Model>& dut, RandomStream random, Findings& found)
      : dut_(dut), random_(random), found_(found), frames_(random.substream(4)) {
    for (std::uint64_t port = 0; port < 4; ++port) stalls_.emplace_back(random.substream(port));
    Coverage& coverage = found.coverage;
    coverage.require_stalls({"wire", "read", "send", "made"});
    for (const char* name :
         {"Send", "Write", "Write_imm", "Read", "Atomic_compare_swap", "Atomic_fetch_add", "TAACK",
          "Read_response", "Atomic_response", "acknowledgement", "acknowledgement with a response",
          "unreliable", "congestion notice", "unknown opcode", "headers of more than 64 bytes",
          "left to others", "pad that is not zero", "data", "all of 80 bytes"})
      coverage.require(name);
    for (std::size_t i = 0; i < kDrops.size(); ++i) coverage.require(drop_name(i));
  }

  void run(std::uint64_t cycles) {
    dut_->wire_valid_i = dut_->send_valid_i = 0;
    dut_.reset();
    while (dut_.cycles() < cycles && found_.agrees()) {
      if (random_.below(2000) == 0) {
        dut_.reset();
        wire_.reset();
        send_.reset();
        inside_.clear();
        made_.reset();
        waited_ = 0;
        read_rule_.reset();
        made_rule_.reset();
      }
      cycle();
    }
  }

 private:
  static std::string drop_name(std::size_t drop) { return "drop " + std::to_string(drop); }
  void differ(const std::string& what) { found_.differ(dut_.cycles(), what); }

  void cycle() {
    std::uint32_t open = 0;
    for (std::uint32_t port = 0; port < 4; ++port) open |= stalls_[port].open() ? 1U << port : 0;
    found_.coverage.hit_stalls(open);
    if (!wire_ && open % 2 == 1) offer_wire();
    if (!send_ && (open >> 2U) % 2 == 1) offer_send();
    dut_->wire_valid_i = wire_.has_value();
    dut_->read_ready_i = (open >> 1U) % 2;
    dut_->send_valid_i = send_.has_value();
    dut_->made_ready_i = open >> 3U;
    dut_.settle();
    check_read();
    check_made();
    if (wire_ && dut_->wire_ready_o) {
      inside_.push_back(*wire_);
      wire_.reset();
    }
    if (send_ && dut_->send_ready_o) {
      made_ = *send_;
      send_.reset();
    }
    dut_.tick();
  }

  void offer_wire() {
    wire_ = frames_.next();
    Packed<640> bits;
    for (std::uint32_t i = 0; i < kWindow; ++i)
      bits.put(i < wire_->bytes.size() ? std::to_integer<std::uint64_t>(wire_->bytes[i]) : random_.below(256),
               8);
    std::memcpy(dut_->wire_bytes_i.data(), bits.words().data(), sizeof bits.words());
    dut_->wire_length_i = static_cast<std::uint16_t>(wire_->bytes.size());
  }

  void offer_send() {
    const UbFrame frame = frames_.valid();
    wire::Rtph numbers = frame.ub.rtph;
    // An unreliable packet is sent without them, whatever they are.
    if (frame.ub.transport == wire::UbTransport::kUtp) numbers.psn = numbers.source_tpn = 0x5a5a5a;
    const Packed<kHeaderBits> headers = packed_headers(frame.ub, numbers);
    if (!headers.is_full()) differ("a packed packet of another size");
    std::memcpy(dut_->send_headers_i.data(), headers.words().data(), sizeof headers.words());
    dut_->send_payload_i = static_cast<std::uint16_t>(frame.payload.length);
    std::array<std::byte, kWindow> bytes{};
    const std::byte* const end = wire::encode_ub_headers(frame.ub, frame.payload, {}, bytes.data());
    Packed<640> bits;
    bits.put(bytes.data(), kWindow, kWindow);
    send_ = Made{bits.words(), static_cast<std::uint32_t>(end - bytes.data()),
                 wire::ub_pad(frame.ub, frame.payload.length)};
    found_.coverage.hit_if(send_->start == kWindow, "all of 80 bytes");
  }

  void check_read() {
    Read shown{dut_->read_drop_o, dut_->read_start_o, dut_->read_payload_o, dut_->read_pad_o,
               words_of<Headers>(dut_->read_headers_o)};
    if (!read_rule_.holds(dut_->read_valid_o, dut_->read_ready_i, shown)) differ("an offered packet changed");
    // Two cycles, and no more when nothing holds it up.
    waited_ = inside_.empty() || dut_->read_valid_o ? 0 : waited_ + 1;
    if (waited_ > 1) differ("a packet is lost");
    if (!dut_->read_valid_o) return;
    if (inside_.empty()) return differ("a packet too many");
    if (!dut_->read_ready_i) return;
    judge(inside_.front(), shown);
    inside_.pop_front();
  }

  void judge(const UbFrame& frame, const Read& shown) {
    cover(frame, shown);
    if (shown.drop > kNotHere) return differ("a reason that does not exist");
    if (frame.ub.transport == wire::UbTransport::kCtp) {  // The element has no compact transport.
      if (shown.drop == 0) differ("a packet of CTP is taken");
      return;
    }
    if (shown.drop == kNotHere) {
      const bool may_be = frame.bytes.size() >= 16 && frame.has_more_headers();
      // A bitmap that is cut off, too: nobody needs to say which of the two.
      const bool is_cut = frame.reason == DropReason::kTruncated;
      if (!may_be && !is_cut) differ("left a packet to others");
      return;
    }
    if (frame.reason == DropReason::kBadPadding && !frame.has_zero_pad() &&
        kDrops[shown.drop] != frame.reason) {
      // The bytes of the pad lie beyond what the element sees, so it looks at the mask of a Write_with_be
      // next.
      found_.coverage.hit("pad that is not zero");
      if (shown.drop != 0 && kDrops[shown.drop] != DropReason::kBadPayloadLength) differ("why it is dropped");
      return;
    }
    if (kDrops[shown.drop] != frame.reason) {
      return differ("dropped with " + std::to_string(shown.drop) + " instead of DropReason " +
                    std::to_string(static_cast<int>(frame.reason)));
    }
    if (shown.drop != 0) return;
    const auto length = static_cast<std::uint32_t>(frame.bytes.size());
    const Read want{0, length - frame.payload.length - frame.pad(), frame.payload.length, frame.pad(),
                    packed_headers(frame.ub, numbers_of(frame.ub)).words()};
    if (shown.headers != want.headers) differ("what the headers say");
    if (!(shown == want)) differ("where the data lies");
  }

  void cover(const UbFrame& frame, const Read& shown) {
    Coverage& coverage = found_.coverage;
    if (shown.drop == kNotHere) coverage.hit("left to others");
    if (shown.drop < kNotHere) coverage.hit(drop_name(shown.drop));
    if (!frame.is_valid()) return;
    const wire::UbPacket& ub = frame.ub;
    coverage.hit_if(shown.start > 64, "headers of more than 64 bytes");
    coverage.hit_if(shown.payload > 0, "data");
    coverage.hit_if(ub.transport == wire::UbTransport::kUtp, "unreliable");
    if (ub.transaction == wire::UbTransaction::kRequest) {
      coverage.hit(wire::ta_opcode_name(ub.request.opcode));
      coverage.hit_if(wire::ta_layout(ub.request.opcode) == 0, "unknown opcode");
    } else if (ub.transaction == wire::UbTransaction::kResponse) {
      coverage.hit(wire::ta_opcode_name(ub.response.opcode));
      coverage.hit_if(ub.rtph.opcode != wire::TpOpcode::kReliable, "acknowledgement with a response");
    } else {
      coverage.hit(ub.rtph.opcode == wire::TpOpcode::kCnp ? "congestion notice" : "acknowledgement");
    }
  }

  void check_made() {
    const Made shown{words_of<Window>(dut_->made_bytes_o), dut_->made_start_o, dut_->made_pad_o};
    if (!made_rule_.holds(dut_->made_valid_o, dut_->made_ready_i, shown)) differ("offered headers changed");
    if (dut_->made_valid_o != (made_ ? 1 : 0)) differ("headers lost, or too many");
    if (!made_ || !dut_->made_ready_i) return;
    if (shown.bytes != made_->bytes) differ("the bytes of the headers");
    if (!(shown == *made_)) differ("the length of the headers, or the pad");
    made_.reset();
  }

  Clocked<Model>& dut_;
  RandomStream random_;
  Findings& found_;
  UbFrames frames_;
  std::vector<Stall> stalls_;
  std::optional<UbFrame> wire_;  ///< Offered,
  std::deque<UbFrame> inside_;   ///< and taken.
  std::optional<Made> send_;     ///< What is offered must become this,
  std::optional<Made> made_;     ///< and is taken.
  std::uint32_t waited_ = 0;
  StreamRule<Read> read_rule_;
  StreamRule<Made> made_rule_;
};

const auto kRun = [](auto& dut, RandomStream random, std::uint64_t cycles, Findings& found) {
  Harness(dut, random, found).run(cycles);
};

TEST(UbCodec, AgreesWithTheClass) { expect_agreement<Vwharf_ub_codec>(kRun, 60000); }

TEST(UbCodec, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_ub_codec_planted>(kRun, "rtl/ub_codec/faults.txt", 30000);
}

}  // namespace
}  // namespace wharf::rtl
