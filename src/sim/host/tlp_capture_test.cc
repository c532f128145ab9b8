// SPDX-License-Identifier: Apache-2.0
// The packets on a device's link: a capture of the coherent host, read back and dissected, and links on which
// packets take the room of their real headers.
#include "sim/host/pcie/tlp_capture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "base/golden_test_support.h"
#include "sim/host/coherent_rig_test_support.h"
#include "sim/host/pcie/mmio_path.h"
#include "wire/capture_reader.h"
#include "wire/dissect.h"
#include "wire/tlp_codec.h"

namespace wharf::sim {
namespace {

using ordering::Label;
using ordering::RlsqDesign;

constexpr std::uint32_t kNic = 0x0100;  ///< 01:00.0

std::filesystem::path scratch(const std::string& name) {
  return std::filesystem::path(testing::TempDir()) / name;
}

/// What `wharf dissect FILE` says of the frames, with every field of those in `whole`.
std::string dissected(const std::filesystem::path& file, const std::set<std::uint64_t>& whole = {}) {
  auto reader = wire::CaptureReader::open(file.string());
  WHARF_CHECK(reader.ok());
  std::string text;
  wire::CapturedFrame frame;
  while (*reader->next(frame)) {
    const wire::Dissection dissection =
        wire::dissect(frame.bytes, static_cast<wire::LinkType>(frame.link_type));
    EXPECT_TRUE(dissection.reencodes) << frame.number;
    text += fmt::format("{:>6} {:>4}.{:012} {} -> {} {}\n", frame.number, frame.seconds, frame.picoseconds,
                        dissection.source, dissection.destination, dissection.summary);
    if (whole.contains(frame.number)) text += wire::dissection_text(dissection);
  }
  return text;
}

void start(CoherentRig& rig, std::uint32_t stream, ordering::Kind kind, Label label, std::uint64_t offset,
           std::uint32_t length, std::byte* bytes) {
  DmaAccess access;
  access.kind = kind;
  access.label = access.first_label = access.last_label = label;
  access.address = rig.base + offset;
  access.length = length;
  access.bytes = bytes;
  access.operand = {3, 0};
  rig.engine->start(rig.simulation.now(), stream, access);
}

// A flag is acquired, an item of three lines read behind it, another written, its flag released and a counter
// incremented. The completions of the item come in the order of its addresses, each with what is left of its
// own request; the write has none.
TEST(TlpCapture, WhatCrossesTheLinkIsDissected) {
  CoherentRig rig(config_of(RlsqDesign::kThreadSpecific));
  const std::filesystem::path file = scratch("tlp_capture.pcapng");
  auto capture = TlpCapture::create(file, "nic0", tlp_form_of(RlsqDesign::kThreadSpecific));
  ASSERT_TRUE(capture.ok());
  rig.host->root_complex().observe_link_with(capture->get());
  rig.write_line_in_cache(0, 0, 1);
  const std::uint32_t stream = rig.engine->add_stream({kNic, 5}, SourceOrdering::kNone);
  std::array<std::byte, 192> item{};
  std::array<std::byte, 12> written;
  for (std::size_t i = 0; i < written.size(); ++i) written[i] = std::byte(0xa0 + i);
  start(rig, stream, ordering::Kind::kRead, Label::kAcquire, 0, 8, nullptr);
  start(rig, stream, ordering::Kind::kRead, Label::kRelaxed, 70, 140, item.data());
  start(rig, stream, ordering::Kind::kWrite, Label::kRelaxed, 300, 12, written.data());
  start(rig, stream, ordering::Kind::kWrite, Label::kRelease, 512, 8, written.data());
  start(rig, stream, ordering::Kind::kAtomic, Label::kStrong, 576, 8, nullptr);
  rig.run();
  ASSERT_TRUE((*capture)->close().ok());
  expect_golden("host/tlp_capture.txt", dissected(file, {1, 8}));
}

// The same reads on a link of today: no bit and no prefix says anything of the order.
TEST(TlpCapture, TodaysLinksSayNothingOfTheProposal) {
  CoherentRig rig(config_of(RlsqDesign::kBaseline));
  const std::filesystem::path file = scratch("tlp_capture_today.pcapng");
  auto capture = TlpCapture::create(file, "nic0", tlp_form_of(RlsqDesign::kBaseline));
  ASSERT_TRUE(capture.ok());
  rig.host->root_complex().observe_link_with(capture->get());
  const std::uint32_t stream = rig.engine->add_stream({kNic, 5}, SourceOrdering::kNone);
  start(rig, stream, ordering::Kind::kRead, Label::kAcquire, 0, 8, nullptr);
  rig.run();
  ASSERT_TRUE((*capture)->close().ok());
  const std::string text = dissected(file, {1});
  EXPECT_EQ(text.find("prefix"), std::string::npos) << text;
  EXPECT_NE(text.find("PCIe MRd, 8 bytes"), std::string::npos) << text;
}

// Many reads: times never decrease, every request has one completion with its tag, and a tag is used again
// only when the device has the completion.
TEST(TlpCapture, EveryRequestHasItsCompletion) {
  CoherentRig rig(config_of(RlsqDesign::kSpeculative));
  const std::filesystem::path file = scratch("tlp_capture_many.pcapng");
  auto capture = TlpCapture::create(file, "nic0", tlp_form_of(RlsqDesign::kSpeculative));
  ASSERT_TRUE(capture.ok());
  rig.host->root_complex().observe_link_with(capture->get());
  const std::uint32_t stream = rig.engine->add_stream({kNic, 5}, SourceOrdering::kNone);
  for (std::uint64_t i = 0; i < 100; ++i)
    start(rig, stream, ordering::Kind::kRead, Label::kRelaxed, i * 512, 512, nullptr);
  rig.run();
  ASSERT_TRUE((*capture)->close().ok());
  auto reader = wire::CaptureReader::open(file.string());
  ASSERT_TRUE(reader.ok());
  wire::CapturedFrame frame;
  std::map<std::uint16_t, std::uint64_t> waiting;  // By tag: earliest next use, in nanoseconds.
  std::set<std::uint16_t> open;
  std::uint64_t last = 0;
  std::uint64_t completions = 0;
  while (*reader->next(frame)) {
    const std::uint64_t at =
        static_cast<std::uint64_t>(frame.seconds) * 1'000'000'000 + frame.picoseconds / 1000;
    EXPECT_GE(at, last);
    last = at;
    wire::Tlp tlp;
    ASSERT_EQ(wire::decode_tlp(frame.bytes, tlp), wire::TlpDropReason::kNone);
    if (tlp.type == wire::TlpType::kMemoryRead) {
      EXPECT_TRUE(open.insert(tlp.tag).second);
      EXPECT_GE(at + 1, waiting[tlp.tag]);
    } else {
      ASSERT_EQ(tlp.type, wire::TlpType::kCompletionData);
      EXPECT_EQ(open.erase(tlp.tag), 1U);
      waiting[tlp.tag] = at + 201;  // 600 cycles of the link and four of data, rounded down.
      ++completions;
    }
  }
  EXPECT_EQ(completions, 800U);
  EXPECT_TRUE(open.empty());
}

// To the picosecond: who asks when the completion is there takes its tag, who asks just before takes another.
TEST(TlpCapture, ATagIsFreeWhenItsCompletionIsThere) {
  for (const bool early : {false, true}) {
    const std::filesystem::path file = scratch("tlp_capture_tags.pcapng");
    auto capture = TlpCapture::create(file, "nic0", wire::TlpOrderingForm::kToday);
    ASSERT_TRUE(capture.ok());
    ordering::Request request;
    request.line = 1;
    (*capture)->requested(kTimeZero, kTimeZero, request);
    ordering::Response response;
    response.line = 1;
    response.mask = request.mask;
    (*capture)->answered(nanoseconds(1), nanoseconds(1), nanoseconds(5), response);
    request.line = 2;
    const TimePs at = nanoseconds(5) - (early ? picoseconds(1) : kTimeZero);
    (*capture)->requested(nanoseconds(2), at, request);
    ASSERT_TRUE((*capture)->close().ok());
    auto reader = wire::CaptureReader::open(file.string());
    ASSERT_TRUE(reader.ok());
    std::vector<std::uint16_t> tags;
    for (wire::CapturedFrame frame; *reader->next(frame);) {
      wire::Tlp tlp;
      ASSERT_EQ(wire::decode_tlp(frame.bytes, tlp), wire::TlpDropReason::kNone);
      if (tlp.type == wire::TlpType::kMemoryRead) tags.push_back(tlp.tag);
    }
    EXPECT_EQ(tags, (std::vector<std::uint16_t>{0, static_cast<std::uint16_t>(early ? 1 : 0)}));
  }
}

// An atomic that PCIe has no packet for is not left out in silence.
TEST(TlpCapture, AnAtomicThatPcieHasNotIsAnError) {
  CoherentRig rig(config_of(RlsqDesign::kBaseline));
  auto capture =
      TlpCapture::create(scratch("tlp_capture_or.pcapng"), "nic0", tlp_form_of(RlsqDesign::kBaseline));
  ASSERT_TRUE(capture.ok());
  rig.host->root_complex().observe_link_with(capture->get());
  DmaAccess access;
  access.kind = ordering::Kind::kAtomic;
  access.atomic = verbs::Verb::kFetchOr;
  access.address = rig.base;
  access.length = 8;
  rig.engine->start(rig.simulation.now(), rig.engine->add_stream({}, SourceOrdering::kNone), access);
  rig.run();
  const Result<void> closed = (*capture)->close();
  ASSERT_FALSE(closed.ok());
  EXPECT_NE(closed.error().message.find("1 atomics"), std::string::npos) << closed.error().message;
}

// With real sizes and 16 B a cycle, above 4 GiB: a read request of 16 + 8 bytes takes 2 cycles instead of 1,
// a completion of 64 + 12 + 8 bytes 6 instead of 5. One line comes two cycles later (a beat more each way);
// of ten, each further one six cycles after the one before.
TEST(TlpSizes, ReadsTakeTheRoomOfTheirHeaders) {
  const auto elapsed = [](bool real, std::uint32_t lines) {
    CoherentConfig config = config_of(RlsqDesign::kBaseline);
    config.io_link.tlp_sizes = real;
    CoherentRig rig(config);
    for (std::uint64_t line = 0; line < lines; ++line) rig.write_line_in_cache(0, line * 64, line);
    const TimePs begin = rig.simulation.now();
    EXPECT_GE(rig.base, std::uint64_t{1} << 32U);
    rig.read(rig.engine->add_stream({}, SourceOrdering::kNone), 1, 0, lines * 64);
    rig.run();
    return (rig.done.at(0).at - begin).ps;
  };
  EXPECT_EQ(elapsed(false, 1), 1333 * 333);
  EXPECT_EQ(elapsed(true, 1), (1333 + 2) * 333);
  EXPECT_EQ(elapsed(false, 10), (1333 + 9 * 5) * 333);
  EXPECT_EQ(elapsed(true, 10), (1333 + 2 + 9 * 6) * 333);
}

// Bytes on the link: with a thread each request has a prefix of 4; a store of 64 bytes to a device has 24
// around it, and 8 more when its order and number go with it.
TEST(TlpSizes, PrefixesCount) {
  ordering::Request read;
  read.label = Label::kAcquire;
  read.line = 16;
  EXPECT_EQ(tlp_link_bytes_of(read, wire::TlpOrderingForm::kToday), 20U);
  EXPECT_EQ(tlp_link_bytes_of(read, wire::TlpOrderingForm::kProposed), 20U);
  read.domain.thread = 5;
  EXPECT_EQ(tlp_link_bytes_of(read, wire::TlpOrderingForm::kProposed), 24U);
  read.line = std::uint64_t{1} << 26U;
  EXPECT_EQ(tlp_link_bytes_of(read, wire::TlpOrderingForm::kProposed), 28U);
  const std::array<std::byte, 64> data{};
  const ordering::MmioOperation store = ordering::mmio_store(ordering::MmioKind::kStore, 0, data);
  EXPECT_EQ(tlp_link_bytes_of(store, false), 88U);
  EXPECT_EQ(tlp_link_bytes_of(store, true), 96U);
}

}  // namespace
}  // namespace wharf::sim
