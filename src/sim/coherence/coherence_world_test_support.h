// SPDX-License-Identifier: Apache-2.0
// A small coherent memory for tests: a home, private caches, I/O agents with a device each, and networks that
// deliver in any order that the protocol allows. A test chooses one step at a time; the observer is always
// on.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/coherence/coherence_observer.h"
#include "sim/coherence/home.h"
#include "sim/coherence/io_agent.h"
#include "sim/coherence/private_cache.h"

namespace wharf::sim {

struct CoherenceWorldConfig {
  std::uint32_t caches = 2;
  std::uint32_t devices = 1;
  std::uint32_t lines = 4;
  std::uint32_t directory_sets = 1;
  std::uint32_t directory_ways = 2;
  std::uint32_t write_back_places = 1;
  std::uint32_t credits = 3;
  bool caches_supply = true;
  DropNotice drops = DropNotice::kPassing;
  bool order_per_line = false;  ///< Channels keep the order of messages about one line only.
  PrivateCacheConfig cache{.lines = {.level1_sets = 1, .level1_ways = 1, .level2_sets = 1, .level2_ways = 2},
                           .misses = 2,
                           .targets = 3,
                           .evictions = 1,
                           .credits = 3};
};

/// What a core or a device does next. Stores write `value` into the 8-byte word `word`; kAdd adds 1 to
/// word 7.
struct CoherenceStep {
  enum class Kind : std::uint8_t {
    kLoad,
    kLoadUncached,
    kStore,
    kAdd,
    kFlush,
    // Devices.
    kRead,       ///< The line, once.
    kReadPair,   ///< `line` and `other`, tracked, until both are right at one instant.
    kWrite,      ///< Word `word`, as soon as the line is owned.
    kHeldWrite,  ///< The same, but at device_write(): the ownership may be stolen before.
    kWriteLine,  ///< All words.
  };
  Kind kind = Kind::kLoad;
  LineNumber line = 0;
  LineNumber other = 0;
  std::uint32_t word = 0;
  std::uint64_t value = 0;
};

class CoherenceWorld {
 public:
  explicit CoherenceWorld(const CoherenceWorldConfig& config) : config_(config), home_(home_config(config)) {
    for (std::uint32_t i = 0; i < config.caches; ++i) {
      PrivateCacheConfig cache = config.cache;
      cache.credits = config.credits;
      caches_.emplace_back(static_cast<AgentId>(i), cache);
    }
    for (std::uint32_t i = 0; i < config.devices; ++i) {
      devices_.emplace_back(IoAgent(
          static_cast<AgentId>(config.caches + i),
          IoAgentConfig{.operations = 8, .lines = 8, .credits = config.credits, .drops = config.drops}));
    }
    channels_.resize((config.caches + config.devices) * 4);
    memory_.resize(config.lines);
    bind();
  }
  CoherenceWorld(const CoherenceWorld& other)
      : config_(other.config_),
        home_(other.home_),
        caches_(other.caches_),
        devices_(other.devices_),
        channels_(other.channels_),
        accesses_(other.accesses_),
        memory_(other.memory_),
        adds_(other.adds_),
        pending_(other.pending_),
        observer_(other.observer_) {
    bind();
  }
  CoherenceWorld(CoherenceWorld&&) = delete;
  CoherenceWorld& operator=(const CoherenceWorld&) = delete;

  /// Lets core `core` do `step`; false when its cache refuses.
  bool core_step(std::uint32_t core, std::uint64_t ticket, const CoherenceStep& step) {
    PrivateCache& cache = caches_[core];
    const std::uint64_t address = step.line * kLineBytes + step.word * 8;
    std::uint64_t value = step.value;
    auto* bytes = reinterpret_cast<std::byte*>(&value);
    CacheOutcome outcome = CacheOutcome::kRefused;
    switch (step.kind) {
      case CoherenceStep::Kind::kLoad:
        outcome = cache.load(ticket, address, 8, bytes);
        break;
      case CoherenceStep::Kind::kLoadUncached:
        outcome = cache.load_uncached(ticket, address, 8, bytes);
        break;
      case CoherenceStep::Kind::kStore:
        outcome = cache.store(ticket, address, std::span(bytes, 8));
        break;
      case CoherenceStep::Kind::kAdd:
        outcome = cache.atomic(ticket, step.line * kLineBytes + 56, 8, {AtomicKind::kFetchAdd, 1, 0}, value);
        if (outcome != CacheOutcome::kRefused) ++adds_;
        break;
      case CoherenceStep::Kind::kFlush:
      case CoherenceStep::Kind::kRead:
      case CoherenceStep::Kind::kReadPair:
      case CoherenceStep::Kind::kWrite:
      case CoherenceStep::Kind::kHeldWrite:
      case CoherenceStep::Kind::kWriteLine:
        outcome = cache.flush(ticket, step.line);
        break;
    }
    if (outcome == CacheOutcome::kPending) ++pending_;
    drain_cache(core);
    return outcome != CacheOutcome::kRefused;
  }

  bool device_is_idle(std::uint32_t device) const { return !devices_[device].busy; }
  /// The device, which is idle, begins `step`.
  void device_step(std::uint32_t device, const CoherenceStep& step) {
    Device& self = devices_[device];
    self.busy = true;
    self.step = step;
    self.half[0] = self.half[1] = Half::kReading;
    self.squashes = 0;
    self.was_owned = false;
    if (step.kind == CoherenceStep::Kind::kRead) {
      self.agent.read(0, step.line, false);
    } else if (step.kind == CoherenceStep::Kind::kReadPair) {
      self.agent.read(0, step.line, true);
      self.agent.read(1, step.other, true);
    } else {
      self.agent.own(0, step.line, step.kind == CoherenceStep::Kind::kWriteLine);
    }
    drain_device(device);
  }

  /// A held write may be done now.
  bool device_holds(std::uint32_t device) const {
    const Device& self = devices_[device];
    return self.busy && self.step.kind == CoherenceStep::Kind::kHeldWrite &&
           self.agent.is_owned(self.step.line);
  }
  void device_write(std::uint32_t device) {
    write(devices_[device]);
    drain_device(device);
  }

  /// Deliveries that are possible now: each memory access, and the first message of each channel, or its
  /// first about each line.
  std::uint32_t choices() const {
    std::uint32_t count = static_cast<std::uint32_t>(accesses_.size());
    each_next([&count](std::size_t, std::size_t) {
      ++count;
      return false;
    });
    return count;
  }
  /// The channel that a choice takes from, below 4 times the agents, or that number for a memory access.
  std::uint32_t channel_of(std::uint32_t choice) const {
    auto found = static_cast<std::uint32_t>(channels_.size());
    if (choice < accesses_.size()) return found;
    choice -= static_cast<std::uint32_t>(accesses_.size());
    each_next([&](std::size_t channel, std::size_t) {
      if (choice-- > 0) return false;
      found = static_cast<std::uint32_t>(channel);
      return true;
    });
    return found;
  }
  void deliver(std::uint32_t choice) {
    if (choice < accesses_.size()) {
      const MemoryAccess access = accesses_[choice];
      accesses_.erase(accesses_.begin() + choice);
      if (access.is_write) memory_[access.line] = access.data;
      home_.memory_done(access.line, access.is_write ? nullptr : &memory_[access.line]);
      drain_home();
      return;
    }
    choice -= static_cast<std::uint32_t>(accesses_.size());
    std::size_t at = channels_.size();
    std::size_t index = 0;
    each_next([&](std::size_t channel, std::size_t place) {
      if (choice-- > 0) return false;
      at = channel;
      index = place;
      return true;
    });
    if (at == channels_.size()) return;
    const Message message = channels_[at][index];
    channels_[at].erase(channels_[at].begin() + static_cast<std::ptrdiff_t>(index));
    const auto agent = static_cast<std::uint32_t>(at / 4);
    if (at % 4 == kRequests || at % 4 == kAnswers) {
      home_.receive(message);
      drain_home();
    } else if (agent < caches_.size()) {
      caches_[agent].receive(message);
      drain_cache(agent);
    } else {
      devices_[agent - caches_.size()].agent.receive(message);
      drain_device(agent - static_cast<std::uint32_t>(caches_.size()));
    }
  }

  /// Nothing is on its way. If an access is still pending then, the protocol is stuck.
  bool is_quiet() const { return choices() == 0; }
  bool is_finished() const {
    for (const Device& device : devices_) {
      if (device.busy) return false;
    }
    return pending_ == 0;
  }
  /// At rest: every line has the bytes of its last store, and no addition was lost.
  void check_at_rest() {
    std::uint64_t sum = 0;
    for (LineNumber line = 0; line < memory_.size(); ++line) {
      const LineBytes* modified = nullptr;
      for (const PrivateCache& cache : caches_) {
        if (cache.modified_bytes(line) != nullptr) modified = cache.modified_bytes(line);
      }
      for (const Device& device : devices_) {
        if (device.agent.modified_bytes(line) != nullptr) modified = device.agent.modified_bytes(line);
      }
      observer_.check_at_rest(line, memory_[line], modified);
      std::uint64_t word = 0;
      __builtin_memcpy(&word, (modified != nullptr ? *modified : memory_[line]).data() + 56, 8);
      sum += word;
    }
    if (counts_adds && sum != adds_) fault_ = fmt::format("{} additions left a sum of {}", adds_, sum);
    if (!home_.is_idle()) fault_ = "the home is not idle at rest";
  }
  /// The first thing that went wrong, or empty.
  std::string fault() const { return observer_.is_violated() ? observer_.violation() : fault_; }

  void append_state(std::vector<std::byte>& state) const {
    home_.append_state(state);
    for (const PrivateCache& cache : caches_) cache.append_state(state);
    for (const Device& device : devices_) {
      device.agent.append_state(state);
      append_bytes(state, static_cast<std::uint8_t>(device.busy ? 1 : 0));
      if (!device.busy) continue;
      append_bytes(state, device.step.kind);
      append_bytes(state, device.step.line);
      append_bytes(state, device.step.other);
      append_bytes(state, device.squashes);
      append_bytes(state, static_cast<std::uint8_t>(device.was_owned ? 1 : 0));
      for (std::uint32_t half = 0; half < 2; ++half) {
        append_bytes(state, device.half[half]);
        if (device.half[half] == Half::kBound) append_bytes(state, device.bytes[half]);
      }
    }
    for (const std::vector<Message>& channel : channels_) {
      for (const Message& message : channel) sim::append_state(state, message);
      append_bytes(state, std::uint8_t{0xFF});
    }
    // Accesses of different lines have no order.
    std::vector<MemoryAccess> accesses = accesses_;
    std::ranges::sort(accesses, {}, &MemoryAccess::line);
    for (const MemoryAccess& access : accesses) {
      append_bytes(state, access.line);
      append_bytes(state, static_cast<std::uint8_t>(access.is_write ? 1 : 0));
    }
    append_bytes(state, std::uint8_t{0xFF});
    for (const LineBytes& bytes : memory_) append_bytes(state, bytes);
    observer_.append_state(state);
  }

  const Home& home() const { return home_; }
  const PrivateCache& cache(std::uint32_t index) const { return caches_[index]; }
  const IoAgent& io_agent(std::uint32_t index) const { return devices_[index].agent; }
  const CoherenceObserver& observer() const { return observer_; }
  std::uint32_t pending() const { return pending_; }

  bool counts_adds = true;  ///< Word 7 is written by additions alone.

 private:
  enum : std::uint32_t { kRequests, kAnswers, kSnoops, kGrants };  // Channels of one agent.

  enum class Half : std::uint8_t { kReading, kBound, kGivenUp };
  static constexpr std::uint32_t kSquashesMost = 3;

  /// Calls `visit(channel, place)` for each message that may be delivered next, until it returns true.
  template <typename Visit>
  void each_next(Visit visit) const {
    for (std::size_t channel = 0; channel < channels_.size(); ++channel) {
      const std::vector<Message>& messages = channels_[channel];
      for (std::size_t place = 0; place < messages.size(); ++place) {
        if (place > 0 && !config_.order_per_line) break;
        const auto here = messages.begin() + static_cast<std::ptrdiff_t>(place);
        const auto is_same = [here](const Message& earlier) { return earlier.line == here->line; };
        if (std::none_of(messages.begin(), here, is_same) && visit(channel, place)) return;
      }
    }
  }

  struct Device {
    explicit Device(IoAgent io_agent) : agent(std::move(io_agent)) {}

    IoAgent agent;
    CoherenceStep step;
    bool busy = false;
    Half half[2] = {Half::kReading, Half::kReading};
    std::uint32_t squashes = 0;
    bool was_owned = false;
    LineBytes bytes[2] = {};
  };

  static HomeConfig home_config(const CoherenceWorldConfig& config) {
    HomeConfig home;
    home.directory_sets = config.directory_sets;
    home.directory_ways = config.directory_ways;
    home.write_back_places = config.write_back_places;
    home.credits.assign(config.caches + config.devices, config.credits);
    home.suppliers = config.caches_supply ? (std::uint64_t{1} << config.caches) - 1 : 0;
    return home;
  }

  void bind() {
    for (PrivateCache& cache : caches_) cache.observe_with(&observer_);
    for (Device& device : devices_) device.agent.observe_with(&observer_);
  }
  std::vector<Message>& channel(std::uint32_t agent, std::uint32_t kind) {
    return channels_[agent * 4 + kind];
  }

  void drain_home() {
    Message message;
    while (home_.next_snoop(message)) channel(message.agent, kSnoops).push_back(message);
    while (home_.next_response(message)) channel(message.agent, kGrants).push_back(message);
    MemoryAccess access;
    while (home_.next_memory_access(access)) accesses_.push_back(access);
  }
  void drain_cache(std::uint32_t core) {
    Message message;
    while (caches_[core].next_request(message)) channel(core, kRequests).push_back(message);
    while (caches_[core].next_response(message)) channel(core, kAnswers).push_back(message);
    CacheAnswer answer;
    while (caches_[core].next_answer(answer)) --pending_;
  }
  void drain_device(std::uint32_t index) {
    Device& device = devices_[index];
    IoEvent event;
    while (device.agent.next_event(event)) react(device, event);
    const auto agent = static_cast<std::uint32_t>(caches_.size()) + index;
    Message message;
    while (device.agent.next_request(message)) channel(agent, kRequests).push_back(message);
    while (device.agent.next_response(message)) channel(agent, kAnswers).push_back(message);
  }

  void react(Device& device, const IoEvent& event) {
    if (!device.busy) return;
    const CoherenceStep& step = device.step;
    switch (event.kind) {
      case IoEvent::Kind::kRead:
        if (step.kind == CoherenceStep::Kind::kRead) {
          device.busy = false;
        } else if (!event.is_tracked) {
          repeat(device, event.tag, event.line);
        } else {
          device.half[event.tag] = Half::kBound;
          device.bytes[event.tag] = event.bytes;
        }
        if (step.kind == CoherenceStep::Kind::kReadPair) end_pair(device);
        break;
      case IoEvent::Kind::kOwned:
        device.was_owned = true;
        if (step.kind != CoherenceStep::Kind::kHeldWrite) write(device);
        break;
      case IoEvent::Kind::kInvalidated:
        if (step.kind == CoherenceStep::Kind::kHeldWrite) own_again(device, event.line);
        if (step.kind != CoherenceStep::Kind::kReadPair) break;
        for (std::uint32_t half = 0; half < 2; ++half) {
          if (event.line != (half == 0 ? step.line : step.other)) continue;
          if (device.half[half] == Half::kBound) repeat(device, half, event.line);
        }
        end_pair(device);
        break;
      case IoEvent::Kind::kDowngraded:
        own_again(device, event.line);
        break;
    }
  }
  /// A held write whose line was stolen. A line that is asked for is still owed an answer.
  void own_again(Device& device, LineNumber line) {
    if (line != device.step.line || !device.was_owned) return;
    device.was_owned = false;
    device.agent.own(0, line, false);
  }
  /// A half is read again, unless that was done often: a directory with fewer places than that may never hold
  /// both.
  void repeat(Device& device, std::uint32_t half, LineNumber line) {
    device.half[half] = Half::kGivenUp;
    if (device.squashes == kSquashesMost) return;
    ++device.squashes;
    device.half[half] = Half::kReading;
    device.agent.read(half, line, true);
  }
  /// Both halves are bound and nobody has objected: they must be right at this instant.
  void end_pair(Device& device) {
    const CoherenceStep& step = device.step;
    if (device.half[0] == Half::kReading || device.half[1] == Half::kReading) return;
    if (device.half[0] == Half::kBound && device.half[1] == Half::kBound) {
      observer_.check_current(device.agent.agent(), step.line, device.bytes[0]);
      observer_.check_current(device.agent.agent(), step.other, device.bytes[1]);
    }
    device.busy = false;
    device.agent.drop_tracking(step.line);
    device.agent.drop_tracking(step.other);
  }
  void write(Device& device) {
    const CoherenceStep& step = device.step;
    LineBytes bytes{};
    ByteMask mask = 0;
    if (step.kind == CoherenceStep::Kind::kAdd) {
      std::uint64_t word = 0;
      __builtin_memcpy(&word, device.agent.owned_bytes(step.line)->data() + 56, 8);
      ++word;
      ++adds_;
      __builtin_memcpy(bytes.data() + 56, &word, 8);
      mask = std::uint64_t{0xFF} << 56U;
    } else if (step.kind != CoherenceStep::Kind::kWriteLine) {
      __builtin_memcpy(bytes.data() + step.word * 8, &step.value, 8);
      mask = std::uint64_t{0xFF} << (step.word * 8);
    } else {
      for (std::uint32_t word = 0; word < 7; ++word)
        __builtin_memcpy(bytes.data() + word * 8, &step.value, 8);
      mask = ~std::uint64_t{0};
    }
    device.agent.perform_write(step.line, bytes, mask, false);
    device.busy = false;
  }

  CoherenceWorldConfig config_;
  Home home_;
  std::vector<PrivateCache> caches_;
  std::vector<Device> devices_;
  std::vector<std::vector<Message>> channels_;
  std::vector<MemoryAccess> accesses_;
  std::vector<LineBytes> memory_;
  std::uint64_t adds_ = 0;
  std::uint32_t pending_ = 0;
  std::string fault_;
  CoherenceObserver observer_;
};

}  // namespace wharf::sim
