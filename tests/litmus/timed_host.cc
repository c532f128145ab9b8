// SPDX-License-Identifier: Apache-2.0
#include "tests/litmus/timed_host.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/random.h"
#include "engine/ordering/store_buffer.h"
#include "sim/coherence/coherence_observer.h"
#include "sim/host/coherent_host.h"
#include "sim/host/pcie/dma_engine.h"
#include "sim/host/pcie/mmio_path.h"
#include "sim/litmus/explorer.h"

namespace wharf::sim {
namespace {

std::uint64_t word_at(const std::byte* bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes, kLitmusWordBytes);
  return value;
}

/// Delays: mostly none or short, so that things meet; some longer than a way over the link and back.
class Delays {
 public:
  Delays(std::uint64_t seed, std::uint64_t whose)
      : random_(RandomStream(seed, "litmus.delays").substream(whose)) {}
  TimePs next() {
    constexpr std::array<std::uint64_t, 6> kMost{0, 0, 10'000, 100'000, 500'000, 1'500'000};
    return picoseconds(static_cast<std::int64_t>(random_.below(kMost[random_.below(kMost.size())] + 1)));
  }
  TimePs up_to(TimePs most) {
    return picoseconds(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most.ps) + 1)));
  }

 private:
  RandomStream random_;
};

/// What all agents of a run share.
struct Shared {
  Shared(const LitmusProgram& what, std::uint64_t run_seed, TimedFlaw run_flaw)
      : program(what), seed(run_seed), flaw(run_flaw), registers(what.registers()) {}
  const LitmusProgram& program;
  std::uint64_t seed;
  TimedFlaw flaw;
  Simulation simulation;
  CoherenceObserver observer;
  std::unique_ptr<CoherentHost> host;
  std::uint64_t base = 0;  ///< Of host memory.
  std::vector<std::uint64_t> registers;
  std::vector<std::byte> window;  ///< The device's.
  LinkOrder link;                 ///< Of the device that has the window.

  std::uint64_t address(std::uint32_t variable) const { return base + program.variables[variable].address; }
  std::uint64_t* registers_of(std::size_t agent) {
    return registers.data() + program.agents[agent].first_register;
  }
};

bool is_for_device(const LitmusOperation& operation) {
  return operation.action >= LitmusAction::kMmioStore && operation.action != LitmusAction::kStoreFence;
}

/// An in-order core with a store buffer, its caches, and its way to the device. As the core of the explorer
/// it is as weak as total store order lets it be, and no weaker.
class TimedCore : public Component, public CoreCacheClient, public MmioClient {
 public:
  TimedCore(Shared& shared, std::size_t agent, LitmusDesign design, CoreCache& cache, const MmioConfig* mmio)
      : shared_(shared),
        agent_(shared.program.agents[agent]),
        registers_(shared.registers_of(agent)),
        design_(design),
        cache_(cache),
        stores_(shared.program.settings.store_buffer),
        delays_(shared.seed, agent) {
    shared.simulation.add(*this, agent_.name);
    cache.connect(*this);
    if (mmio) {
      mmio_ =
          std::make_unique<MmioPath>(shared.simulation, *mmio, shared.seed + agent, agent_.name + ".mmio");
      mmio_->connect(*this);
      if (!shared.program.settings.on_chip_bus) mmio_->share_link(shared.link);
    }
    later(kStep);
  }

  bool is_finished() const {
    return at_ == agent_.operations.size() && !waits_for_value_ && stores_.drained() && cache_.is_idle() &&
           (!mmio_ || mmio_->is_idle());
  }

  void handle(const Event& event) override {
    if (event.kind == kStep) {
      step_comes_ = false;
      step(event.time);
    } else {
      drain_comes_ = false;
      drain(event.time);
    }
  }
  void cache_done(TimePs now, const CacheAnswer& answer) override {
    if (answer.ticket == kStoreTicket) {
      stores_.performed();
      if (!stores_.drained()) later(kDrain);
      poke(now);
      return;
    }
    WHARF_CHECK(waits_for_value_);
    finish(word_at(answer.bytes.data()));
  }
  void mmio_ready(TimePs now) override {
    if (fence_ == Fence::kAsked) fence_ = Fence::kDone;
    poke(now);
  }
  void mmio_arrived(TimePs now, const ordering::MmioOperation& write) override {
    std::memcpy(shared_.window.data() + write.address, write.data.data(), write.length);
    mmio_->write_taken(now);
  }
  void mmio_read(TimePs, ordering::MmioOperation& load) override {
    std::memcpy(load.data.data(), shared_.window.data() + load.address, load.length);
  }
  void mmio_loaded(TimePs now, const ordering::MmioOperation& load) override {
    const std::uint64_t value = word_at(load.data.data());
    registers_[agent_.operations[load.tag].registers[0]] = value;
    if (waits_for_value_ && load.tag == at_) {
      finish(value);
    } else {
      poke(now);
    }
  }

 private:
  enum EventKind : std::uint16_t { kStep, kDrain };
  enum class Fence : std::uint8_t { kNone, kAsked, kDone };
  static constexpr Ticket kLoadTicket = 1;
  static constexpr Ticket kStoreTicket = 2;

  void later(EventKind kind) { at(shared_.simulation.now() + delays_.next(), kind); }
  void at(TimePs when, EventKind kind) {
    bool& comes = kind == kStep ? step_comes_ : drain_comes_;
    if (comes) return;
    comes = true;
    shared_.simulation.schedule(when, id(), id(), kind, 0);
  }
  /// Something that the core may wait for has happened.
  void poke(TimePs now) {
    if (!waits_for_value_) at(now, kStep);
  }
  void done() {
    ++at_;
    fence_ = Fence::kNone;
    later(kStep);
  }
  void finish(std::uint64_t value) {
    waits_for_value_ = false;
    registers_[agent_.operations[at_].registers[0]] = value;
    done();
  }

  void drain(TimePs now) {
    if (stores_.drained()) return;
    if (mmio_ && mmio_->holds_stores() &&
        shared_.flaw != TimedFlaw::kMemoryPassesUncached) {  // Nobody says when it does not.
      at(now + nanoseconds(5), kDrain);
      return;
    }
    ordering::HostStore store;
    if (stores_.next_store(store)) cache_.store(now, kStoreTicket, store.address, store.bytes());
  }

  void step(TimePs now) {
    if (waits_for_value_) return;
    if (at_ == agent_.operations.size()) {
      // Combined lines leave in the end.
      if (mmio_ && !std::exchange(is_flushed_, true)) mmio_->fence(now);
      return;
    }
    const LitmusOperation& next = agent_.operations[at_];
    if (is_for_device(next)) {
      access_device(now, next);
      return;
    }
    switch (next.action) {
      case LitmusAction::kRead:
        read(now, next);
        break;
      case LitmusAction::kWrite:
        if (stores_.full()) break;
        stores_.store(shared_.address(next.variables[0]), std::as_bytes(std::span(next.values)));
        later(kDrain);
        done();
        break;
      case LitmusAction::kAtomic: {
        if (!is_fenced(now, MmioFence::kAll)) break;
        AtomicOperation atomic{next.atomic, next.values[0], 0};
        if (next.values.size() > 1) atomic.compare = next.values[1];
        waits_for_value_ = true;
        cache_.atomic(now, kLoadTicket, shared_.address(next.variables[0]), kLitmusWordBytes, atomic);
        break;
      }
      case LitmusAction::kFence:
        if (is_fenced(now, MmioFence::kAll)) done();
        break;
      case LitmusAction::kStoreFence:
        if (is_fenced(now, MmioFence::kStores)) done();
        break;
      case LitmusAction::kWait:
      case LitmusAction::kLocalRead:
      case LitmusAction::kLocalWrite:
      case LitmusAction::kMmioStore:
      case LitmusAction::kMmioLoad:
      case LitmusAction::kCombining:
      case LitmusAction::kUncached:
        WHARF_UNREACHABLE();  // Of devices, or sent above.
    }
  }

  void read(TimePs now, const LitmusOperation& next) {
    std::array<std::byte, kLitmusWordBytes> bytes{};
    const std::uint64_t address = shared_.address(next.variables[0]);
    const bool looks = shared_.flaw != TimedFlaw::kLoadsPassOwnStores;
    switch (looks ? stores_.load(address, bytes) : ordering::ForwardedLoad::kFromMemory) {
      case ordering::ForwardedLoad::kWait:
        return;
      case ordering::ForwardedLoad::kForwarded:
        registers_[next.registers[0]] = word_at(bytes.data());
        done();
        return;
      case ordering::ForwardedLoad::kFromMemory:
        waits_for_value_ = true;
        cache_.load(now, kLoadTicket, address, kLitmusWordBytes);
    }
  }

  bool is_fenced(TimePs now, MmioFence kind) {
    if (!stores_.drained()) return false;
    if (!mmio_ || shared_.flaw == TimedFlaw::kFenceForgetsDevice) return true;
    if (fence_ == Fence::kNone) {
      fence_ = Fence::kAsked;
      mmio_->fence(now, kind);
    }
    return fence_ == Fence::kDone;
  }

  ordering::MmioKind kind_of(const LitmusOperation& operation) const {
    using ordering::MmioKind;
    if (operation.action == LitmusAction::kUncached) return MmioKind::kUncachedStore;
    if (operation.action == LitmusAction::kMmioLoad) {
      if (!has_rob(design_)) return MmioKind::kUncachedLoad;
      return operation.label == ordering::Label::kAcquire ? MmioKind::kAcquire : MmioKind::kLoad;
    }
    if (operation.action == LitmusAction::kCombining || !has_rob(design_))
      return MmioKind::kWriteCombiningStore;
    return operation.label == ordering::Label::kRelease ? MmioKind::kRelease : MmioKind::kStore;
  }

  void access_device(TimePs now, const LitmusOperation& next) {
    const ordering::MmioKind kind = kind_of(next);
    const bool waits_for_memory =
        kind == ordering::MmioKind::kUncachedStore || kind == ordering::MmioKind::kRelease;
    if (waits_for_memory && !stores_.drained() && shared_.flaw != TimedFlaw::kReleaseForgetsMemory) return;
    std::array<std::byte, kLitmusWordBytes> bytes{};
    if (!ordering::is_load(kind)) std::memcpy(bytes.data(), next.values.data(), kLitmusWordBytes);
    ordering::MmioOperation made =
        ordering::mmio_store(kind, shared_.program.variables[next.variables[0]].address, bytes);
    made.tag = at_;
    if (!ordering::is_load(kind)) {
      if (mmio_->store(now, made)) done();
      return;
    }
    if (!mmio_->load(now, made)) return;
    if (kind == ordering::MmioKind::kLoad) {
      done();
    } else {
      waits_for_value_ = true;
    }
  }

  Shared& shared_;
  const LitmusAgent& agent_;
  std::uint64_t* registers_;
  LitmusDesign design_;
  CoreCache& cache_;
  std::unique_ptr<MmioPath> mmio_;
  ordering::StoreBuffer stores_;
  Delays delays_;
  std::uint32_t at_ = 0;
  bool waits_for_value_ = false;
  bool step_comes_ = false;
  bool drain_comes_ = false;
  bool is_flushed_ = false;
  Fence fence_ = Fence::kNone;
};

/// All threads of all devices: one DMA engine, whose streams they are.
class TimedDevices : public Component, public DmaClient {
 public:
  TimedDevices(Shared& shared, LitmusDesign design)
      : shared_(shared), engine_(shared.simulation, shared.host->root_complex(), DmaConfig{}, "dma") {
    shared.simulation.add(*this, "devices");
    engine_.connect(*this);
    const SourceOrdering source = design == LitmusDesign::kSourceLine      ? SourceOrdering::kLine
                                  : design == LitmusDesign::kSourceMessage ? SourceOrdering::kMessage
                                                                           : SourceOrdering::kNone;
    relabels_ = is_source_side(design);
    for (std::size_t agent = 0; agent < shared.program.agents.size(); ++agent) {
      const LitmusAgent& each = shared.program.agents[agent];
      if (!each.is_device) continue;
      RequestSink* const sink = each.root == 0 ? nullptr : &shared.host->root_complex(each.root);
      const std::uint32_t stream = engine_.add_stream({each.requester, each.thread}, source, sink);
      WHARF_CHECK(stream == threads_.size());
      threads_.push_back({agent, Delays(shared.seed, agent), 0, 0, {}});
    }
    for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) later(thread);
  }

  bool is_finished() const {
    return std::all_of(threads_.begin(), threads_.end(), [this](const Thread& thread) {
      return thread.awaited == 0 && thread.at == shared_.program.agents[thread.agent].operations.size();
    });
  }

  void handle(const Event& event) override { step(event.time, event.argument); }
  void dma_done(TimePs, std::uint32_t stream, std::uint64_t ticket,
                const std::array<std::uint64_t, 2>& old_value) override {
    Thread& thread = threads_[stream];
    const LitmusOperation& what = operation(thread, ticket);
    if (what.action == LitmusAction::kWrite) return;
    --thread.awaited;
    const std::uint64_t first = shared_.address(what.variables[0]);
    for (std::size_t word = 0; word < what.variables.size(); ++word) {
      const bool is_read = what.action == LitmusAction::kRead;
      shared_.registers_of(thread.agent)[what.registers[word]] =
          is_read ? word_at(thread.buffers[ticket].data() + (shared_.address(what.variables[word]) - first))
                  : old_value[0];
    }
    const auto& operations = shared_.program.agents[thread.agent].operations;
    if (thread.awaited == 0 && thread.at < operations.size() &&
        operations[thread.at].action == LitmusAction::kWait)
      later(stream);
  }

 private:
  struct Thread {
    std::size_t agent;
    Delays delays;
    std::uint32_t at;
    std::uint32_t awaited;                        ///< Reads and atomics.
    std::vector<std::vector<std::byte>> buffers;  ///< By operation.
  };

  const LitmusOperation& operation(const Thread& thread, std::uint64_t at) const {
    return shared_.program.agents[thread.agent].operations[at];
  }
  void later(std::uint32_t thread) {
    shared_.simulation.schedule(shared_.simulation.now() + threads_[thread].delays.next(), id(), id(), 0,
                                thread);
  }

  void step(TimePs now, std::uint32_t at) {
    Thread& thread = threads_[at];
    const auto& operations = shared_.program.agents[thread.agent].operations;
    thread.buffers.resize(operations.size());
    if (thread.at == operations.size()) return;
    const LitmusOperation& next = operations[thread.at];
    if (next.action == LitmusAction::kWait && thread.awaited > 0) return;  // The last answer goes on.
    if (next.action == LitmusAction::kLocalRead || next.action == LitmusAction::kLocalWrite) {
      std::byte* own = shared_.window.data() + shared_.program.variables[next.variables[0]].address;
      if (next.action == LitmusAction::kLocalRead) {
        shared_.registers_of(thread.agent)[next.registers[0]] = word_at(own);
      } else {
        std::memcpy(own, next.values.data(), kLitmusWordBytes);
      }
    } else if (next.action != LitmusAction::kWait) {
      send(now, at, next);
    }
    ++thread.at;
    later(at);
  }

  void send(TimePs now, std::uint32_t stream, const LitmusOperation& next) {
    Thread& thread = threads_[stream];
    DmaAccess access;
    access.kind = next.action == LitmusAction::kRead    ? ordering::Kind::kRead
                  : next.action == LitmusAction::kWrite ? ordering::Kind::kWrite
                                                        : ordering::Kind::kAtomic;
    const ordering::Label label = relabels_ ? ordering::Label::kStrong : next.label;
    access.label = access.first_label = access.last_label = label;
    access.ticket = thread.at;
    access.address = shared_.address(next.variables.front());
    access.length = static_cast<std::uint32_t>(shared_.address(next.variables.back()) - access.address +
                                               kLitmusWordBytes);
    std::vector<std::byte>& buffer = thread.buffers[thread.at];
    buffer.resize(access.length);
    if (access.kind == ordering::Kind::kAtomic) {
      access.atomic = next.atomic == AtomicKind::kFetchAdd ? verbs::Verb::kFetchAdd
                      : next.atomic == AtomicKind::kSwap   ? verbs::Verb::kSwap
                                                           : verbs::Verb::kCompareSwap;
      access.operand[0] = next.values[0];
      if (next.values.size() > 1) access.compare[0] = next.values[1];
    } else {
      for (std::size_t word = 0; word < next.values.size(); ++word) {
        std::memcpy(buffer.data() + (shared_.address(next.variables[word]) - access.address),
                    &next.values[word], kLitmusWordBytes);
      }
      access.bytes = buffer.data();
    }
    if (access.kind != ordering::Kind::kWrite) ++thread.awaited;
    engine_.start(now, stream, access);
  }

  Shared& shared_;
  DmaEngine engine_;
  bool relabels_ = false;
  std::vector<Thread> threads_;
};

CoherentConfig memory_config(const LitmusProgram& program, LitmusDesign design, Delays& delays) {
  CoherentConfig config;
  config.ddr.refi = kTimeZero;
  RootComplexConfig& root = config.root_complex;
  root.queue.design = rlsq_design(design, program.settings);
  root.queue.order = program.settings.order;
  root.queue.entries = program.settings.entries;
  root.queue.trackers = program.settings.trackers;
  root.queue.posted_reserve = program.settings.posted_reserve;
  root.on_bus = program.settings.on_chip_bus;
  root.passing = LegalPassing::kOn;
  root.passing_share = 0.5;
  root.passing_delay = delays.up_to(nanoseconds(800));
  config.io_link.up = delays.up_to(nanoseconds(400));
  config.io_link.down = delays.up_to(nanoseconds(400));
  return config;
}

MmioConfig mmio_config(const LitmusProgram& program, LitmusDesign design, const CoherentConfig& memory,
                       Delays& delays) {
  const LitmusSettings& settings = program.settings;
  MmioConfig config;
  config.link = memory.io_link;
  config.spread = delays.up_to(nanoseconds(1500));
  config.root_complex = delays.up_to(nanoseconds(800));
  config.device = delays.up_to(nanoseconds(200));
  const bool keeps_order = design == LitmusDesign::kMmioToday || design == LitmusDesign::kRobRootComplex;
  if (!keeps_order) config.link_spread = delays.up_to(nanoseconds(1500)) + picoseconds(1);
  config.place = design == LitmusDesign::kRobDevice ? MmioOrderPlace::kDevice : MmioOrderPlace::kRootComplex;
  config.combining.buffers = settings.combining_buffers;
  config.sequencer.numbering.bits = settings.number_bits;
  config.sequencer.windows.fill(settings.rob_window);
  config.reorder.numbering = config.sequencer.numbering;
  config.reorder.rule = settings.rob_rule;
  config.reorder.overflow = settings.rob_overflow;
  config.reorder.entries_per_network = settings.rob_entries;
  config.reorder.shared_network = settings.rob_shared_network;
  return config;
}

}  // namespace

std::string why_not_timed(const LitmusProgram& program) {
  std::size_t to_device = 0;
  for (const LitmusVariable& variable : program.variables) {
    if (variable.is_peer) return "no peer device";
  }
  const LitmusSettings standard;
  const LitmusSettings& settings = program.settings;
  if (program.mmio_devices() > 1) return "one device with registers";
  if (settings.numbers != standard.numbers || settings.counters != standard.counters)
    return "a number for each operation of a thread";
  // The timed way has one queue for all networks before a reorder buffer.
  if (settings.rob_overflow != standard.rob_overflow || settings.rob_shared_network ||
      settings.rob_window > settings.rob_entries)
    return "a reorder buffer that cannot overflow";
  for (const LitmusAgent& agent : program.agents) {
    to_device += std::any_of(agent.operations.begin(), agent.operations.end(), is_for_device) ? 1 : 0;
    for (const LitmusOperation& operation : agent.operations) {
      constexpr ordering::FenceSet kFull{true, true, true, true};
      if (!(operation.predecessors == kFull && operation.successors == kFull)) return "full fences";
      if (operation.root != agent.root) return "one root complex per thread";
      for (std::size_t word = 1; word < operation.variables.size(); ++word) {
        const std::uint64_t gap = program.variables[operation.variables[word]].address -
                                  program.variables[operation.variables[word - 1]].address;
        if (gap != kLitmusWordBytes && operation.action == LitmusAction::kWrite)
          return "writes of neighbouring words";
      }
    }
  }
  return to_device > 1 ? "one host thread that has a device" : "";
}

TimedOutcome run_timed(const LitmusProgram& program, LitmusDesign design, std::uint64_t seed,
                       TimedFlaw flaw) {
  Shared shared(program, seed, flaw);
  Delays delays(seed, program.agents.size());
  const CoherentConfig memory = memory_config(program, design, delays);
  const auto hosts =
      static_cast<std::uint32_t>(std::count_if(program.agents.begin(), program.agents.end(),
                                               [](const LitmusAgent& agent) { return !agent.is_device; }));
  auto host = CoherentHost::create(shared.simulation, memory, hosts, program.root_complexes(), seed);
  WHARF_CHECK(host.ok());
  shared.host = std::move(host.value());
  std::uint64_t bytes = kLineBytes;
  for (const LitmusVariable& variable : program.variables)
    bytes = std::max(bytes, variable.address + kLineBytes);
  shared.base = shared.host->contents().allocate(Bytes{bytes});
  shared.window.resize(bytes);
  const auto word_of = [&](const LitmusVariable& variable) {
    return variable.is_mmio ? shared.window.data() + variable.address
                            : shared.host->contents()
                                  .bytes(shared.base + variable.address, Bytes{kLitmusWordBytes})
                                  .data();
  };
  for (const LitmusVariable& variable : program.variables)
    std::memcpy(word_of(variable), &variable.initial, kLitmusWordBytes);
  for (std::uint64_t line = 0; line < bytes / kLineBytes; ++line) {
    LineBytes initial{};
    std::memcpy(initial.data(), shared.host->contents().line(shared.base + line * kLineBytes), kLineBytes);
    shared.observer.set_initial(shared.base / kLineBytes + line, initial);
  }
  shared.host->observe_with(&shared.observer);

  std::optional<MmioConfig> mmio;
  if (program.uses_mmio()) mmio = mmio_config(program, design, memory, delays);
  const bool is_shared = !program.settings.on_chip_bus && flaw != TimedFlaw::kLinkNotShared;
  if (mmio && is_shared) shared.host->root_complex().share_link(shared.link);
  TimedDevices devices(shared, design);
  std::vector<std::unique_ptr<TimedCore>> cores;
  for (std::size_t agent = 0; agent < program.agents.size(); ++agent) {
    if (program.agents[agent].is_device) continue;
    CoreCache& cache = shared.host->core_cache(static_cast<std::uint32_t>(cores.size()));
    const auto& operations = program.agents[agent].operations;
    const bool has_device = std::any_of(operations.begin(), operations.end(), is_for_device);
    cores.push_back(
        std::make_unique<TimedCore>(shared, agent, design, cache, mmio && has_device ? &*mmio : nullptr));
  }
  shared.simulation.run_until(kNever - picoseconds(1));

  TimedOutcome outcome;
  outcome.violation = shared.observer.violation();
  const bool is_finished =
      devices.is_finished() &&
      std::all_of(cores.begin(), cores.end(), [](const auto& core) { return core->is_finished(); });
  if (!is_finished) {
    outcome.waiting = shared.simulation.stall_report().waiting;
    outcome.waiting.emplace_back("a column has not ended");
  }
  std::vector<std::uint64_t> words;
  for (const LitmusVariable& variable : program.variables) words.push_back(word_at(word_of(variable)));
  outcome.final = final_text(program, shared.registers, words);
  return outcome;
}

}  // namespace wharf::sim
