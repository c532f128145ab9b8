// SPDX-License-Identifier: Apache-2.0
#include "live/rdmo/rdmo_workload.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/histogram.h"
#include "live/rdmo/child_process.h"
#include "live/rdmo/client.h"
#include "live/rdmo/worker_process.h"

namespace wharf::live {
namespace {

using workload::RdmoConfig;
using workload::RdmoUse;

void run_worker(const RdmoWorkloadConfig& config, int report) {
  WorkerProcessConfig worker;
  worker.transports = config.transports;
  worker.worker.window = std::max(workload::rdmo_window(config.program), 64U);
  const bool watched = config.program.use == RdmoUse::kLog || config.program.use == RdmoUse::kQueue;
  if (watched) worker.worker.publish_delay = config.program.publish_delay;
  auto process = WorkerProcess::create(worker);
  if (!process) ::_exit(4);
  const std::uint16_t port = (*process)->port();
  Child::report(report, &port, sizeof port);
  const std::atomic<bool> never{false};
  (*process)->run(never);
}

/// Memory of the target as the program lays it out; addresses in it are the process's own.
class Memory {
 public:
  Memory(std::span<std::byte> bytes, std::uint64_t needed) : bytes_(bytes.first(needed)) {}

  std::uint64_t base() const { return reinterpret_cast<std::uint64_t>(bytes_.data()); }
  std::span<std::byte> bytes() const { return bytes_; }
  std::uint64_t load(std::uint64_t offset) const { return word(offset).load(std::memory_order_acquire); }
  void store(std::uint64_t offset, std::uint64_t value) const {
    word(offset).store(value, std::memory_order_release);
  }
  /// From the program's addresses to the process's, or back.
  void move(const RdmoConfig& program, bool to_process) const {
    if (program.use == RdmoUse::kScatter) return;
    const std::uint64_t at = program.use == RdmoUse::kQueue ? workload::kRdmoCell + 16 : workload::kRdmoCell;
    const std::uint64_t value = load(at);
    store(at, to_process ? value - workload::kRdmoBase + base() : value - base() + workload::kRdmoBase);
  }

 private:
  std::atomic_ref<std::uint64_t> word(std::uint64_t offset) const {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(bytes_.data() + offset));
  }
  std::span<std::byte> bytes_;
};

/// A writer and its workers, which take turns in one loop instead of being coroutines.
class Writer {
 public:
  Writer(const RdmoWorkloadConfig& config, std::uint32_t number, std::unique_ptr<RdmoInitiator> client,
         const Memory& memory)
      : config_(config.program),
        seed_(config.seed),
        number_(number),
        writers_(config.clients),
        client_(std::move(client)),
        memory_(memory),
        slots_(config.program.loop.concurrency) {
    for (Slot& slot : slots_) slot.data.resize(std::size_t{config_.batch} * (config_.payload + 24));
    if (config_.use == RdmoUse::kScatter) result.versions.assign(config_.rows, 0);
  }

  /// Whether anything happened.
  bool step() {
    bool worked = client_->progress();
    rdmo::Outcome outcome;
    while (client_->engine().poll(outcome)) {
      ended(outcome);
      worked = true;
    }
    const std::uint64_t all = config_.loop.operations + config_.loop.warmup_operations;
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].state == State::kAgain) {
        post(i);
      } else if (slots_[i].state == State::kIdle && started_ < all) {
        begin(i);
        worked = true;
      }
    }
    if (!last_flush_ && started_ == all && done_ + result.loop.errors == all)
      last_flush_ = client_->engine().flush(client_->now(), kLastFlush) == rdmo::Posted::kOk;
    return worked;
  }
  bool over() const { return flushed_ || client_->engine().is_lost(); }
  bool lost() const { return client_->engine().is_lost(); }

  workload::RdmoResult result;
  Histogram latency;

 private:
  static constexpr std::uint64_t kLastFlush = ~std::uint64_t{0};
  enum class State : std::uint8_t { kIdle, kPosted, kFlushing, kAgain };
  struct Slot {
    State state = State::kIdle;
    std::uint32_t waiting = 0;
    wire::RdmoStatus status = wire::RdmoStatus::kDone;
    std::uint64_t place = 0;
    std::uint64_t operation = 0;  ///< Of this worker.
    TimePs began;
    std::vector<std::byte> data;
  };

  void begin(std::uint32_t worker) {
    Slot& slot = slots_[worker];
    ++started_;
    slot.began = client_->now();
    const std::span<std::byte> data(slot.data);
    for (std::uint32_t i = 0; i < config_.batch; ++i) {
      if (config_.use == RdmoUse::kScatter) {
        const std::uint64_t row = row_of(worker, slot.operation, i);
        const auto entry = data.subspan(std::size_t{i} * (config_.payload + 24), config_.payload + 24);
        wire::encode(wire::RdmoEntry{memory_.base() + workload::kRdmoData + row * config_.payload,
                                     client_->grant().key, static_cast<std::uint16_t>(config_.payload)},
                     entry.data());
        workload::write_rdmo_row(entry.subspan(24), seed_, row,
                                 static_cast<std::uint32_t>(slot.operation + 1));
      } else {
        workload::write_rdmo_record(data.subspan(std::size_t{i} * config_.payload, config_.payload), seed_,
                                    number_, next_number_++);
      }
    }
    post(worker);
  }
  void post(std::uint32_t worker) {
    Slot& slot = slots_[worker];
    slot.state = State::kPosted;
    slot.status = wire::RdmoStatus::kDone;
    slot.place = ~std::uint64_t{0};
    const std::span<const std::byte> data(slot.data);
    const TimePs now = client_->now();
    if (config_.use == RdmoUse::kScatter) {
      if (client_->engine().scatter(now, worker, data, config_.batch) == rdmo::Posted::kOk) ++slot.waiting;
    } else {
      for (std::uint32_t i = 0; i < config_.batch; ++i) {
        rdmo::AppendRequest request;
        request.cookie = worker;
        request.cell = client_->grant().cell + workload::kRdmoCell;
        request.cell_key = request.data_key = client_->grant().key;
        request.data = data.subspan(std::size_t{i} * config_.payload, config_.payload);
        request.queue = config_.use == RdmoUse::kQueue;
        if (client_->engine().append(now, request) == rdmo::Posted::kOk) ++slot.waiting;
      }
      client_->engine().push(now);
    }
    if (slot.waiting == 0) fail(slot);
  }
  void ended(const rdmo::Outcome& outcome) {
    if (outcome.cookie == kLastFlush) {
      flushed_ = true;
      if (outcome.status != wire::RdmoStatus::kDone) ++result.loop.errors;
      return;
    }
    const auto worker = static_cast<std::uint32_t>(outcome.cookie);
    Slot& slot = slots_[worker];
    if (outcome.status != wire::RdmoStatus::kDone) slot.status = outcome.status;
    if (slot.state == State::kPosted) slot.place = std::min(slot.place, outcome.place);
    if (--slot.waiting > 0) return;
    if (slot.status == wire::RdmoStatus::kNoRoom && config_.use == RdmoUse::kQueue) {
      ++result.retries;
      slot.state = State::kAgain;
      return;
    }
    if (slot.status != wire::RdmoStatus::kDone) {
      fail(slot);
      return;
    }
    const bool asks = config_.use == RdmoUse::kWriteAhead ||
                      (config_.flush_every != 0 && ++since_flush_ >= config_.flush_every);
    if (slot.state == State::kPosted && asks) {
      since_flush_ = 0;
      slot.state = State::kFlushing;
      if (client_->engine().flush(client_->now(), worker) == rdmo::Posted::kOk) {
        ++slot.waiting;
      } else {
        fail(slot);
      }
      return;
    }
    if (slot.state == State::kFlushing) {
      ++result.flushes;
      if (config_.use == RdmoUse::kWriteAhead) see(slot);
    }
    finish(worker);
  }
  void finish(std::uint32_t worker) {
    Slot& slot = slots_[worker];
    latency.record((client_->now() - slot.began).ps);
    ++result.loop.operations;
    ++done_;
    result.records += config_.batch;
    if (config_.use == RdmoUse::kScatter) {
      for (std::uint32_t i = 0; i < config_.batch; ++i)
        result.versions[row_of(worker, slot.operation, i)] = static_cast<std::uint32_t>(slot.operation + 1);
    }
    ++slot.operation;
    slot.state = State::kIdle;
  }
  void fail(Slot& slot) {
    ++result.loop.errors;
    slot.state = State::kIdle;
  }
  /// What was answered is in the target's memory.
  void see(const Slot& slot) {
    if (config_.messages == workload::RdmoMessages::kPublished) return;  // It does not say where.
    const std::uint64_t length = std::uint64_t{config_.batch} * config_.payload;
    workload::Verdict& verdict = result.loop.verdict;
    const std::uint64_t tail = memory_.load(workload::kRdmoCell);
    verdict.expect(tail >= slot.place + length,
                   {"answered record behind the tail", slot.place, slot.place, tail});
    verdict.expect(std::memcmp(reinterpret_cast<const void*>(slot.place), slot.data.data(), length) == 0,
                   {"answered record not there", slot.place, 0, 0});
  }
  std::uint64_t row_of(std::uint32_t worker, std::uint64_t operation, std::uint32_t i) const {
    const std::uint32_t owners = config_.loop.concurrency * writers_;
    const std::uint32_t owner = number_ * config_.loop.concurrency + worker;
    const std::uint32_t owned = (config_.rows - owner + owners - 1) / owners;
    return owner + std::uint64_t{owners} * ((operation * config_.batch + i) % owned);
  }

  const RdmoConfig& config_;
  const std::uint64_t seed_;
  const std::uint32_t number_;
  const std::uint32_t writers_;
  std::unique_ptr<RdmoInitiator> client_;
  const Memory& memory_;
  std::vector<Slot> slots_;
  std::uint64_t next_number_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t done_ = 0;
  std::uint32_t since_flush_ = 0;
  bool last_flush_ = false;
  bool flushed_ = false;
};

/// The target's process reads the log, or empties the queue, as the tail shows it.
class Reader {
 public:
  Reader(const RdmoWorkloadConfig& config, const Memory& memory)
      : config_(config.program),
        memory_(memory),
        checker_(config.seed, config.clients,
                 config.program.use == RdmoUse::kLog || config.program.loop.concurrency == 1),
        all_(config.clients * workload::records_of_writer(config.program)) {}

  bool step() {
    const bool queue = config_.use == RdmoUse::kQueue;
    if (!queue && config_.use != RdmoUse::kLog) return false;
    const std::uint64_t first = queue ? 0 : memory_.base() + workload::kRdmoData;
    const std::uint64_t tail = memory_.load(workload::kRdmoCell) - first;
    const std::uint64_t most = queue ? config_.queue_bytes : memory_.bytes().size();
    verdict.expect(tail >= read_ && tail - read_ <= most, {"tail moved back", read_, read_, tail});
    if (tail <= read_ || tail - read_ > most) return false;
    for (; read_ < tail; read_ += config_.payload) {
      const std::uint64_t at = queue ? read_ % config_.queue_bytes : read_;
      checker_.take(memory_.bytes().subspan(workload::kRdmoData + at, config_.payload), read_, verdict);
    }
    if (queue) memory_.store(workload::kRdmoCell + 8, read_);
    return true;
  }
  bool over() const {
    return (config_.use != RdmoUse::kQueue && config_.use != RdmoUse::kLog) || checker_.records() >= all_;
  }
  std::uint64_t records() const { return checker_.records(); }
  workload::Verdict verdict;

 private:
  const RdmoConfig& config_;
  const Memory& memory_;
  workload::RdmoRecordChecker checker_;
  std::uint64_t all_;
  std::uint64_t read_ = 0;
};

}  // namespace

Result<RdmoWorkloadResult> run_rdmo_workload(const RdmoWorkloadConfig& config,
                                             const std::atomic<bool>& stop) {
  const RdmoConfig& program = config.program;
  const workload::Party party{0, config.clients + 1 + workload::readers_of(program)};
  WHARF_TRY(workload::check(program, party));
  if (program.protocol != workload::RdmoProtocol::kWorker || program.loop.operations == 0)
    return input_error("a live workload has protocol worker and a number of operations");
  // The worker first: a process that has opened UCX cannot be forked.
  auto worker = Child::start([&](int report) { run_worker(config, report); });
  if (!worker) return worker.error();
  std::uint16_t port = 0;
  if (!worker->read(&port, sizeof port)) return Error{ErrorKind::kEnvironment, "the worker did not start"};

  RdmoTargetConfig target_config;
  target_config.worker.port = port;
  target_config.transports = config.transports;
  target_config.client = 1;
  const std::uint64_t needed = workload::memory_needed(program, party);
  target_config.bytes = std::max<std::uint64_t>(needed, 4096);
  auto target = RdmoTarget::create(target_config);
  if (!target) return target.error();
  const Memory memory((*target)->memory(), needed);
  workload::prepare(program, party, memory.bytes(), config.seed);
  memory.move(program, true);

  std::vector<std::unique_ptr<Writer>> writers;
  for (std::uint32_t number = 0; number < config.clients; ++number) {
    RdmoInitiatorConfig initiator;
    initiator.transports = config.transports;
    initiator.initiator.form = program.messages == workload::RdmoMessages::kPublished ? rdmo::Form::kPublished
                                                                                      : rdmo::Form::kExtended;
    initiator.initiator.in_flight_max = workload::rdmo_window(program);
    initiator.initiator.batch_records_max = program.use == RdmoUse::kScatter ? 1 : program.batch;
    initiator.initiator.batch_bytes_max = std::max(program.batch * program.payload, 64U);
    auto client = RdmoInitiator::create(initiator);
    if (!client) return client.error();
    auto queue = (*target)->admit((*client)->address());
    if (!queue) return queue.error();
    WHARF_TRY((*client)->connect((*target)->grant()));
    writers.push_back(std::make_unique<Writer>(config, number, *std::move(client), memory));
  }

  Reader reader(config, memory);
  const LiveClock clock;
  const TimePs begin = clock.now();
  TimePs last = begin;
  const auto all_over = [&] {
    return reader.over() &&
           std::all_of(writers.begin(), writers.end(), [](const auto& w) { return w->over(); });
  };
  while (!all_over()) {
    bool worked = reader.step();
    for (const auto& writer : writers) {
      worked = writer->step() || worked;
      if (writer->lost()) return Error{ErrorKind::kEnvironment, "the worker is gone"};
    }
    if (stop.load(std::memory_order_relaxed)) return Error{ErrorKind::kEnvironment, "interrupted"};
    if (worked) {
      last = clock.now();
    } else {
      if (clock.now() - last > config.time_max) return Error{ErrorKind::kStalled, "nothing happens any more"};
      ::sched_yield();  // The worker may need this processor.
    }
  }
  RdmoWorkloadResult result;
  result.seconds = static_cast<double>((clock.now() - begin).ps) / 1e12;
  memory.move(program, false);
  std::vector<workload::RdmoResult> results;
  Histogram latency;
  for (const auto& writer : writers) {
    results.push_back(writer->result);
    latency.merge(writer->latency);
    result.operations += writer->result.loop.operations;
    result.records += writer->result.records;
    result.flushes += writer->result.flushes;
    result.retries += writer->result.retries;
    result.verdict += writer->result.loop.verdict;
  }
  results.emplace_back();
  results.back().read_records = result.read_records = reader.records();
  result.verdict += reader.verdict;
  result.verdict += workload::verify(program, party, memory.bytes(), config.seed, results);
  if (latency.count() > 0) {
    result.latency_ns_p50 = static_cast<double>(latency.value_at_percentile(50)) / 1e3;
    result.latency_ns_p99 = static_cast<double>(latency.value_at_percentile(99)) / 1e3;
  }
  result.memory.assign(memory.bytes().begin(), memory.bytes().end());
  return result;
}

}  // namespace wharf::live
