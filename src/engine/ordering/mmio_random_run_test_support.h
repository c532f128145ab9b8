// SPDX-License-Identifier: Apache-2.0
// Random lives of the machines of the MMIO path, each with a judge that knows only what was promised. Apart
// from the tests, because the machines with mistakes compiled in live through them too.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/ordering/mmio_rob.h"
#include "engine/ordering/mmio_sequencer.h"
#include "engine/ordering/reorder_unit.h"
#include "engine/ordering/store_buffer.h"
#include "engine/ordering/write_combining.h"

namespace wharf::ordering {

/// A random number below `n`.
inline std::uint32_t draw(RandomStream& random, std::size_t n) {
  return static_cast<std::uint32_t>(random.below(n));
}

/// Takes the element at `index` out of `from`.
template <typename Container>
typename Container::value_type take_at(Container& from, std::size_t index) {
  auto taken = from[index];
  from.erase(from.begin() + static_cast<std::ptrdiff_t>(index));
  return taken;
}

/// Threads issue stores, releases, loads and fences; the network reorders at will; the link below is often
/// full.
class RobRun {
 public:
  RobRun(const MmioRobConfig& config, bool fences, std::uint64_t seed)
      : config_(config),
        fences_(fences),
        random_(seed, "rob"),
        sequencer_({.numbering = config.numbering,
                    .windows = {config.entries_per_network, config.entries_per_network,
                                config.entries_per_network}}),
        rob_(config),
        threads_(config.numbering.threads) {}

  /// Empty when all of `operations` leave as promised, or what went wrong.
  std::string run(std::uint32_t operations) {
    for (std::uint32_t step = 0; left_ < operations && verdict_.empty(); ++step) {
      if (step == 200 * operations) return "deadlock";
      const std::uint32_t thread = draw(random_, threads_.size());
      if (fences_ && draw(random_, 4) == 0) fence(thread);
      if (issued_ < operations && draw(random_, 3) != 0) issue(thread);
      if (!network_.empty() && draw(random_, 2) == 0) arrive();
      if (draw(random_, 2) == 0) dispatch();
      MmioCredit credit;
      while (draw(random_, 2) == 0 && rob_.next_credit(credit)) sequencer_.acknowledge(credit);
    }
    if (verdict_.empty() && rob_.waiting() != 0) return "something stayed";
    return verdict_;
  }

 private:
  struct Issued {
    bool load = false;
    std::uint32_t after = 0;  ///< How many earlier operations of the thread come first.
    std::uint64_t line = 0;
    bool arrived = false;
    bool left = false;
  };
  struct Thread {
    std::vector<Issued> issued;
    std::uint32_t fence = 0;
  };

  void fence(std::uint32_t thread) {
    const FenceSet output{.device_output = true};
    if (sequencer_.fence(thread, output, output).waits()) verdict_ = "a fence of device output waits";
    threads_[thread].fence = static_cast<std::uint32_t>(threads_[thread].issued.size());
  }

  void issue(std::uint32_t thread) {
    constexpr std::array kinds{MmioKind::kStore, MmioKind::kStore, MmioKind::kRelease, MmioKind::kLoad};
    const MmioKind kind = kinds[draw(random_, kinds.size())];
    if (sequencer_.blocked_by(thread, 0, kind, true) != IssueBlock::kNone) return;
    auto& issued = threads_[thread].issued;
    MmioOperation operation;
    operation.kind = kind;
    operation.thread = static_cast<std::uint16_t>(thread);
    operation.tag = static_cast<std::uint32_t>(issued.size());
    // Few lines, so that operations meet earlier ones on their bytes.
    const bool is_counted = config_.numbering.scheme == NumberingScheme::kEpochCount;
    const std::uint64_t line = is_counted ? operation.tag : draw(random_, 6);
    operation.address = line * kLineBytes;
    operation.length = kLineBytes;
    std::uint32_t after = threads_[thread].fence;
    for (std::uint32_t earlier = after; earlier < issued.size(); ++earlier) {
      if (issued[earlier].line == line) after = earlier + 1;
    }
    sequencer_.stamp(operation);
    const bool strict =
        config_.rule == ReleaseRule::kStrict && config_.numbering.scheme == NumberingScheme::kPerOperation;
    const bool after_all = strict || kind == MmioKind::kRelease;
    issued.push_back({is_load(kind), after_all ? operation.tag : after, line, false, false});
    network_.push_back(operation);
    ++issued_;
  }

  void arrive() {
    const MmioOperation operation = take_at(network_, draw(random_, network_.size()));
    if (rob_.accept(operation) != MmioArrival::kAccepted)
      verdict_ = "an operation within the window is refused";
    threads_[operation.thread].issued[operation.tag].arrived = true;
  }

  void dispatch() {
    const MmioLinkRoom room{draw(random_, 4) != 0, draw(random_, 4) != 0};
    MmioOperation out;
    const std::uint32_t choices = rob_.dispatch_choices(room);
    if (choices != 0 && draw(random_, 2) == 0) {
      judge(rob_.take_dispatch(draw(random_, choices), room), room);
    } else if (rob_.next_dispatch(out, room)) {
      judge(out, room);
    } else if (choices != 0) {
      verdict_ = "choices, but nothing leaves";
    }
  }

  void judge(const MmioOperation& out, MmioLinkRoom room) {
    auto& issued = threads_[out.thread].issued;
    if (is_load(out.kind) ? !room.non_posted : !room.posted) verdict_ = "something leaves into a full link";
    if (issued[out.tag].left) verdict_ = "an operation leaves twice";
    for (std::uint32_t earlier = 0; earlier < issued[out.tag].after; ++earlier) {
      // A posted write may pass a load that is only waiting for the link.
      const bool passable = !is_load(out.kind) && issued[earlier].load && issued[earlier].arrived;
      if (!issued[earlier].left && !passable) verdict_ = "an operation leaves before one that comes first";
    }
    issued[out.tag].left = true;
    ++left_;
  }

  MmioRobConfig config_;
  bool fences_;
  RandomStream random_;
  MmioSequencer sequencer_;
  MmioRob rob_;
  std::vector<Thread> threads_;
  std::vector<MmioOperation> network_;
  std::uint32_t issued_ = 0;
  std::uint32_t left_ = 0;
  std::string verdict_;
};

/// Packets of numbered stores through write-combining buffers, a path that reorders, and the reorder buffer.
inline std::string numbered_path_run(ReleaseRule rule, std::uint64_t seed) {
  RandomStream random(seed, "path");
  MmioRobConfig config;
  config.rule = rule;
  config.numbering.bits = 6;
  MmioSequencer sequencer({.numbering = config.numbering});
  MmioRob rob(config);
  WriteCombining buffers{WriteCombiningConfig{}};
  constexpr std::uint32_t kOperations = 200;
  const std::uint32_t packet_lines = 1 + draw(random, 5);
  const std::vector<std::byte> line(kLineBytes, std::byte{1});
  std::vector<MmioOperation> path;
  std::vector<bool> seen(kOperations);
  std::uint32_t issued = 0;
  std::uint32_t done = 0;
  for (std::uint32_t step = 0; done < kOperations; ++step) {
    if (step == 100 * kOperations) return "deadlock";
    const bool last = issued % packet_lines == packet_lines - 1;
    MmioOperation operation =
        mmio_store(last ? MmioKind::kRelease : MmioKind::kStore, std::uint64_t{issued} * kLineBytes, line);
    operation.tag = issued;
    if (issued < kOperations && sequencer.blocked_by(0, 0, operation.kind, true) == IssueBlock::kNone) {
      MmioSequencer attempt = sequencer;
      attempt.stamp(operation);
      if (buffers.store(operation)) {
        sequencer = attempt;
        ++issued;
      }
    }
    if (draw(random, 3) == 0 && buffers.leaving_choices() > 0) {
      path.push_back(buffers.take_leaving(draw(random, buffers.leaving_choices())));
    }
    if (draw(random, 3) == 0 && !path.empty()) {
      if (rob.accept(take_at(path, draw(random, path.size()))) != MmioArrival::kAccepted) return "refused";
      buffers.arrived();
    }
    MmioOperation out;
    while (rob.next_dispatch(out)) {
      if (seen[out.tag]) return "a line leaves twice";
      if (rule == ReleaseRule::kStrict && out.tag != done) return "a line leaves out of order";
      if (out.kind == MmioKind::kRelease && std::count(seen.begin(), seen.begin() + out.tag, false) != 0) {
        return "a release leaves before a line of its packet";
      }
      seen[out.tag] = true;
      ++done;
    }
    MmioCredit credit;
    while (rob.next_credit(credit)) sequencer.acknowledge(credit);
  }
  return buffers.drained() ? "" : "something stayed";
}

/// Stores of any size to a few lines, leaving in any order: every byte arrives, the last value last.
inline std::string combining_run(const WriteCombiningConfig& config, std::uint64_t seed) {
  RandomStream random(seed, "combining");
  WriteCombining buffers(config);
  std::map<std::uint64_t, std::byte> expected;
  std::map<std::uint64_t, std::byte> device;
  std::string verdict;
  const auto leave = [&] {
    const std::uint32_t choices = buffers.leaving_choices();
    if (choices == 0) return;
    const MmioOperation out = buffers.take_leaving(draw(random, choices));
    if (out.address % out.length != 0) verdict = "a write is not aligned";
    for (std::size_t i = 0; i < out.length; ++i) device[out.address + i] = out.data[i];
    buffers.arrived();
  };
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t address = draw(random, 12 * 64);
    const std::vector<std::byte> bytes(1 + draw(random, 64 - address % 64), std::byte(draw(random, 256)));
    while (!buffers.store(mmio_store(MmioKind::kWriteCombiningStore, address, bytes), &random)) leave();
    for (std::size_t byte = 0; byte < bytes.size(); ++byte) expected[address + byte] = bytes[byte];
    if (draw(random, 4) == 0) leave();
    if (draw(random, 16) == 0 && buffers.open_lines() > 0) buffers.close(draw(random, buffers.open_lines()));
  }
  buffers.fence();
  while (!buffers.drained()) leave();
  if (device != expected) verdict = "a byte is lost or old when the fence is done";
  return verdict;
}

/// Stores and loads of one thread against a plain array: a load sees the thread's own newest store.
inline std::string store_buffer_run(std::uint64_t seed) {
  RandomStream random(seed, "stores");
  StoreBuffer buffer(1 + draw(random, 6));
  std::array<std::byte, kLineBytes> memory{};
  std::array<std::byte, kLineBytes> expected{};
  HostStore out;
  const auto perform = [&] {
    if (!buffer.next_store(out)) return;
    std::copy_n(out.data.begin(), out.length, memory.begin() + static_cast<std::ptrdiff_t>(out.address));
    buffer.performed();
  };
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t bytes = 1U << draw(random, 4);
    const std::uint32_t address = draw(random, kLineBytes / bytes) * bytes;
    if (draw(random, 2) == 0) {
      if (buffer.full()) perform();
      const std::vector<std::byte> value(bytes, std::byte(draw(random, 256)));
      buffer.store(address, value);
      std::copy(value.begin(), value.end(), expected.begin() + address);
    } else {
      std::vector<std::byte> value(bytes);
      while (buffer.load(address, value) == ForwardedLoad::kWait) perform();
      if (buffer.load(address, value) == ForwardedLoad::kFromMemory) {
        std::copy_n(memory.begin() + address, bytes, value.begin());
      }
      if (!std::equal(value.begin(), value.end(), expected.begin() + address))
        return "a load misses its own store";
    }
    if (draw(random, 3) == 0) perform();
  }
  return "";
}

/// A message of `length` bytes: `fill` everywhere but in the length field.
inline std::vector<std::byte> length_message(std::uint32_t length, std::uint8_t fill,
                                             std::uint32_t field_offset = 0, std::uint32_t field_bytes = 1) {
  std::vector<std::byte> bytes(length, std::byte{fill});
  for (std::uint32_t i = 0; i < field_bytes; ++i)
    bytes[field_offset + i] = std::byte((length >> (8 * i)) & 0xFF);
  return bytes;
}

/// A path on which a write is overtaken by at most `distance` later ones.
class ReorderingPath {
 public:
  ReorderingPath(RandomStream& random, std::size_t distance) : random_(random), distance_(distance) {}

  void enter(const MmioOperation& operation) { waiting_.push_back(operation); }
  std::size_t size() const { return waiting_.size(); }
  MmioOperation take() {
    std::size_t index = draw(random_, std::min(waiting_.size(), distance_));
    if (overtaken_ == distance_) index = 0;
    overtaken_ = index == 0 ? 0 : overtaken_ + 1;
    return take_at(waiting_, index);
  }

 private:
  RandomStream& random_;
  std::size_t distance_;
  std::deque<MmioOperation> waiting_;
  std::size_t overtaken_ = 0;  ///< Times that the first one was passed over.
};

/// Any program of messages of up to `longest` bytes through write-combining buffers and a path that reorders:
/// the same messages as in program order, each once, and never before its last byte has arrived.
class ReorderUnitRun {
 public:
  ReorderUnitRun(const ReorderUnitConfig& config, std::uint32_t longest, std::uint64_t seed)
      : config_(config),
        longest_(longest),
        random_(seed, "messages"),
        unit_(config),
        buffers_({.buffers = 4}),
        path_(random_, kDistance),
        into_(config.buffer_bytes) {}

  std::string run(int messages) {
    for (int i = 0; i < messages && verdict_.empty(); ++i) send();
    buffers_.fence();
    while (!buffers_.drained() && verdict_.empty()) {
      leave();
      if (path_.size() > 0) deliver();
    }
    while (path_.size() > 0 && verdict_.empty()) deliver();
    if (!verdict_.empty()) return verdict_;
    if (!expected_.empty()) return "a message is lost";
    return unit_.active_buffers_used() == 0 ? "" : "a valid bit stays";
  }

 private:
  static constexpr std::size_t kDistance = 8;
  static constexpr std::uint32_t kSecondCopy = 1;

  void send() {
    const std::uint32_t shortest = config_.length_offset + config_.length_bytes;
    const std::uint32_t length = shortest + draw(random_, longest_ - shortest + 1);
    const auto bytes = length_message(length, static_cast<std::uint8_t>(draw(random_, 256)),
                                      config_.length_offset, config_.length_bytes);
    expected_.emplace_back(program_, bytes);
    arrived_.resize(program_ + length);
    for (std::uint64_t done = 0; done < length && verdict_.empty();) {
      const std::uint64_t at = program_ + done;
      const std::size_t count =
          std::min<std::size_t>({kLineBytes - at % kLineBytes, length - done, 1 + draw(random_, 64)});
      const auto store =
          mmio_store(MmioKind::kWriteCombiningStore, at, std::span(bytes).subspan(done, count));
      while (!buffers_.store(store) && verdict_.empty()) {
        leave();
        while (path_.size() > kDistance && verdict_.empty()) deliver();
      }
      done += count;
    }
    program_ += length;
  }

  void leave() {
    const std::uint32_t choices = buffers_.leaving_choices();
    if (choices == 0) return;
    MmioOperation out = buffers_.take_leaving(draw(random_, 2) == 0 ? draw(random_, choices) : 0);
    path_.enter(out);
    out.tag = kSecondCopy;
    if (draw(random_, 8) == 0) path_.enter(out);
  }

  void deliver() {
    const MmioOperation out = path_.take();
    const auto offset = static_cast<std::uint32_t>(out.address % config_.window_bytes);
    const ReorderedWrite result = unit_.write(0, offset, out.bytes());
    if (result != ReorderedWrite::kTaken && result != ReorderedWrite::kStale) verdict_ = "a write is refused";
    std::fill_n(arrived_.begin() + static_cast<std::ptrdiff_t>(out.address), out.length, true);
    if (out.tag != kSecondCopy) buffers_.arrived();
    ReorderedMessage message;
    while (verdict_.empty() && unit_.next_message(message, into_)) judge(message);
  }

  void judge(const ReorderedMessage& message) {
    if (expected_.empty()) {
      verdict_ = "a message too many";
      return;
    }
    const auto& [start, bytes] = expected_.front();
    const bool same = message.offset == start % config_.window_bytes && message.length == bytes.size() &&
                      std::equal(bytes.begin(), bytes.end(), into_.begin());
    if (!same) verdict_ = "another message than the program's";
    const auto first = arrived_.begin() + static_cast<std::ptrdiff_t>(start);
    if (std::count(first, first + static_cast<std::ptrdiff_t>(bytes.size()), false) != 0)
      verdict_ = "too early";
    expected_.pop_front();
    unit_.transmitted(message.length);
  }

  ReorderUnitConfig config_;
  std::uint32_t longest_;
  RandomStream random_;
  ReorderUnit unit_;
  WriteCombining buffers_;
  ReorderingPath path_;
  std::vector<std::byte> into_;
  std::uint64_t program_ = 0;  ///< Bytes of the program so far, without wrapping.
  std::vector<bool> arrived_;  ///< By byte of the program.
  std::deque<std::pair<std::uint64_t, std::vector<std::byte>>> expected_;
  std::string verdict_;
};

}  // namespace wharf::ordering
