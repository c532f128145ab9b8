// SPDX-License-Identifier: Apache-2.0
// A client of the RDMO worker, or of the thread: its workers post through one initiator (engine/rdmo) and
// wait for what became of their records.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/rdmo/initiator.h"
#include "workload/crew.h"
#include "workload/peers.h"
#include "workload/rdmo_brain.h"
#include "workload/rdmo_link.h"

namespace wharf::workload {

template <typename R, typename C>
class RdmoClient final : public RdmoLinkUser {
 public:
  RdmoClient(const RdmoConfig& config, Party party, std::uint64_t seed, R& remote, C& core,
             const Peers<R>& peers, RdmoResult& result)
      : crew_(config, party, seed, remote, core, result),
        memory_(peers.memory != nullptr ? *peers.memory : remote),
        writer_(client_number(config, party.index)),
        writers_(writers_of(config, party)),
        own_(peers.own),
        slots_(config.loop.concurrency + 1),
        link_(0, remote, core,
              {2 * rdmo_window(config), rdmo_window(config), 6 * rdmo_window(config),
               kRdmoFrameBytes + wire::kRdmoHeaderBytesMax,
               kRdmoFrameBytes + wire::kRdmoHeaderBytesMax + std::max(config.eager_most, 64U)},
              *this) {
    if (config.use == RdmoUse::kScatter && !is_reader()) result.versions.assign(config.rows, 0);
  }

  bool is_reader() const { return writer_ >= writers_; }

  verbs::Task<void> run() {
    const RdmoConfig& config = crew_.config;
    link_.open(crew_.join);
    co_await granted_.wait();
    if (engine_) {
      if (is_reader()) {
        if (config.use == RdmoUse::kQueue) {
          co_await consume();
        } else {
          co_await follow();
        }
      } else {
        workers_.spawn(crew_.core, config.loop.concurrency,
                       [this](std::uint32_t worker) { return post(worker); });
        co_await workers_.all();
        co_await flush(config.loop.concurrency);  // So that memory shows everything in the end.
      }
    }
    link_.say_bye(2 * rdmo_window(config));
    co_await crew_.join.all();
  }

 private:
  /// What one worker waits for; the last one is the program's own.
  struct Slot {
    verbs::Gate ended;
    std::uint32_t waiting = 0;  ///< Outcomes.
    wire::RdmoStatus status = wire::RdmoStatus::kDone;
    std::uint64_t place = 0;  ///< Of the first record.
  };

  // --- The link ---
  void arrived(std::uint32_t, std::uint32_t entry) override {
    const RdmoFrame frame = link_.frame(entry);
    if (frame.kind == RdmoFrameKind::kGrant && frame.header.size() == 16) {
      key_ = load_le64(frame.header.data());
      cell_ = load_le64(frame.header.data() + 8);
      rdmo::InitiatorConfig config;
      config.form =
          crew_.config.messages == RdmoMessages::kPublished ? rdmo::Form::kPublished : rdmo::Form::kExtended;
      config.client = RdmoBrain::kTarget;
      config.in_flight_max = rdmo_window(crew_.config);
      config.batch_records_max = crew_.config.use == RdmoUse::kScatter ? 1 : crew_.config.batch;
      config.batch_bytes_max = std::max(crew_.config.batch * crew_.config.payload, 64U);
      config.time_max = kNever;
      auto made = rdmo::Initiator::create(config);
      WHARF_CHECK(made.ok());
      engine_.emplace(*std::move(made));
      link_.give_back(entry);
      granted_.open();
      return;
    }
    if (frame.kind == RdmoFrameKind::kMessage && engine_)
      engine_->receive(crew_.core.now(), frame.message_id, frame.header);
    if (frame.kind == RdmoFrameKind::kTaken && engine_) engine_->sent(crew_.core.now(), frame.tag);
    link_.give_back(entry);
    pump();
  }
  void sent(std::uint32_t, RdmoFrameKind kind, std::uint32_t tag) override {
    if (kind != RdmoFrameKind::kMessage) return;  // The data of an offer is still needed.
    engine_->sent(crew_.core.now(), tag);
    pump();
  }
  void failed(std::uint32_t, verbs::CompletionStatus status) override {
    failure_ = status;
    if (engine_) {
      engine_->lost(crew_.core.now());
      engine_->all_sent(crew_.core.now());  // Nothing leaves any more.
      pump();
    } else {
      if (crew_.result.loop.errors++ == 0) crew_.result.loop.first_error = status;
      granted_.open();
    }
  }

  void pump() {
    if (pumping_) return;
    pumping_ = true;
    for (bool more = true; more;) {
      more = false;
      for (rdmo::Outgoing out; engine_->next_message(out); more = true) {
        RdmoFrame frame;
        frame.message_id = static_cast<std::uint8_t>(out.message_id);
        frame.header = std::span<const std::byte>(out.header).first(out.header_length);
        frame.tag = out.id;
        frame.length = static_cast<std::uint32_t>(out.payload.size());
        frame.data = out.payload;
        if (frame.length > crew_.config.eager_most) {
          frame.kind = RdmoFrameKind::kOffer;
          frame.offer = static_cast<std::uint64_t>(out.payload.data() - own_bytes().data());
          frame.data = {};
        }
        link_.post(frame);
      }
      for (rdmo::Outcome outcome; engine_->poll(outcome); more = true) {
        Slot& slot = slots_[outcome.cookie % slots_.size()];
        if (outcome.status != wire::RdmoStatus::kDone) slot.status = outcome.status;
        if (outcome.operation == wire::RdmoExtendedOperation::kAppend)
          slot.place = std::min(slot.place, outcome.place);
        if (slot.waiting > 0 && --slot.waiting == 0) slot.ended.open();
      }
    }
    pumping_ = false;
  }
  std::span<std::byte> own_bytes() { return crew_.core.bytes(own_, Bytes{own_memory_needed(crew_.config)}); }
  std::span<std::byte> slot_bytes(std::uint32_t worker) {
    const std::uint64_t size = std::uint64_t{crew_.config.batch} * (crew_.config.payload + 24);
    return own_bytes().subspan(worker * size, size);
  }

  // --- Operations ---
  void start_append(std::uint32_t worker, std::span<const std::byte> data) {
    Slot& slot = slots_[worker];
    slot.status = wire::RdmoStatus::kDone;
    slot.place = ~std::uint64_t{0};
    for (std::uint32_t i = 0; i < crew_.config.batch; ++i) {
      rdmo::AppendRequest request;
      request.cookie = worker;
      request.cell = cell_;
      request.cell_key = request.data_key = key_;
      request.data = data.subspan(std::size_t{i} * crew_.config.payload, crew_.config.payload);
      request.queue = crew_.config.use == RdmoUse::kQueue;
      if (engine_->append(crew_.core.now(), request) != rdmo::Posted::kOk) return;
      ++slot.waiting;
    }
    engine_->push(crew_.core.now());
  }
  verbs::Task<void> flush(std::uint32_t worker) {
    Slot& slot = slots_[worker];
    slot.status = wire::RdmoStatus::kDone;
    if (engine_->flush(crew_.core.now(), worker) == rdmo::Posted::kOk) {
      ++slot.waiting;
      pump();
      co_await slot.ended.wait();
      if (slot.status == wire::RdmoStatus::kDone) ++crew_.result.flushes;
    } else {
      slot.status = wire::RdmoStatus::kConnectionLost;
    }
  }
  /// New versions of `batch` of the rows that this worker owns.
  std::uint32_t start_scatter(std::uint32_t worker, std::uint64_t operation, std::span<std::byte> data) {
    const RdmoConfig& config = crew_.config;
    const std::uint32_t owners = config.loop.concurrency * writers_;
    const std::uint32_t owner = writer_ * config.loop.concurrency + worker;
    const std::uint32_t owned = (config.rows - owner + owners - 1) / owners;
    const auto version = static_cast<std::uint32_t>(operation + 1);
    for (std::uint32_t i = 0; i < config.batch; ++i) {
      const std::uint64_t row = owner + std::uint64_t{owners} * ((operation * config.batch + i) % owned);
      const auto entry = data.subspan(std::size_t{i} * (config.payload + 24), config.payload + 24);
      wire::encode(wire::RdmoEntry{kRdmoBase + kRdmoData + row * config.payload, key_,
                                   static_cast<std::uint16_t>(config.payload)},
                   entry.data());
      write_rdmo_row(entry.subspan(24), crew_.seed, row, version);
    }
    slots_[worker].status = wire::RdmoStatus::kDone;
    if (engine_->scatter(crew_.core.now(), worker, data, config.batch) != rdmo::Posted::kOk) return 0;
    ++slots_[worker].waiting;
    return version;
  }
  void note_rows(std::uint32_t worker, std::uint64_t operation, std::uint32_t version) {
    const RdmoConfig& config = crew_.config;
    const std::uint32_t owners = config.loop.concurrency * writers_;
    const std::uint32_t owner = writer_ * config.loop.concurrency + worker;
    const std::uint32_t owned = (config.rows - owner + owners - 1) / owners;
    for (std::uint32_t i = 0; i < config.batch; ++i)
      crew_.result.versions[owner + std::uint64_t{owners} * ((operation * config.batch + i) % owned)] =
          version;
  }

  verbs::Task<void> post(std::uint32_t worker) {
    const RdmoConfig& config = crew_.config;
    const std::uint32_t bytes = config.batch * config.payload;
    const bool published = config.messages == RdmoMessages::kPublished;
    Slot& slot = slots_[worker];
    Loop::Ticket ticket;
    std::uint64_t mine = 0;
    while (!engine_->is_lost() && crew_.loop.take(crew_.core.now(), ticket)) {
      if (ticket.wait > kTimeZero) co_await crew_.core.sleep(ticket.wait);
      crew_.loop.start(crew_.core.now(), ticket);
      const std::span<std::byte> data = slot_bytes(worker);
      std::uint32_t version = 0;
      const std::uint64_t number = next_number_;
      if (config.use == RdmoUse::kScatter) {
        version = start_scatter(worker, mine, data.first(config.batch * (std::size_t{config.payload} + 24)));
      } else {
        next_number_ += config.batch;
        for (std::uint32_t i = 0; i < config.batch; ++i)
          write_rdmo_record(data.subspan(std::size_t{i} * config.payload, config.payload), crew_.seed,
                            writer_, number + i);
      }
      for (;;) {
        if (config.use != RdmoUse::kScatter) start_append(worker, data.first(bytes));
        pump();
        if (slot.waiting > 0) co_await slot.ended.wait();
        if (slot.status != wire::RdmoStatus::kNoRoom || config.use != RdmoUse::kQueue) break;
        ++crew_.result.retries;
        co_await crew_.core.sleep(config.retry_wait);
      }
      const std::uint64_t place = slot.place;
      bool done = slot.status == wire::RdmoStatus::kDone && !engine_->is_lost();
      const bool asks = config.use == RdmoUse::kWriteAhead ||
                        (config.flush_every != 0 && ++since_flush_ >= config.flush_every);
      if (done && asks) {
        since_flush_ = 0;
        co_await flush(worker);
        done = slot.status == wire::RdmoStatus::kDone;
      }
      const verbs::CompletionStatus status = done ? verbs::CompletionStatus::kSuccess
                                             : failure_ != verbs::CompletionStatus::kSuccess
                                                 ? failure_
                                                 : verbs::CompletionStatus::kRemoteOperation;
      crew_.loop.finish(crew_.core, config.use == RdmoUse::kScatter ? "scatter" : "append", worker, ticket,
                        bytes, status);
      if (done) {
        crew_.result.records += config.batch;
        if (config.use == RdmoUse::kScatter) note_rows(worker, mine, version);
        if (config.use == RdmoUse::kWriteAhead) co_await see(data.first(bytes), published ? 0 : place);
      }
      ++mine;
    }
    workers_.leave();
  }

  // --- Reading ---
  verbs::RemoteAddress at(std::uint64_t offset) const {
    return memory_.segment().at(crew_.config.region_offset + offset);
  }
  std::uint64_t scratch(std::uint32_t bytes) { return crew_.core.allocate(Bytes{bytes}); }
  void note_read(const verbs::Completion& read) {
    if (read.ok()) return;
    if (crew_.result.loop.errors++ == 0) crew_.result.loop.first_error = read.status;
  }

  /// What was answered is in memory, whoever reads it.
  verbs::Task<void> see(std::span<const std::byte> written, std::uint64_t place) {
    const auto length = static_cast<std::uint32_t>(written.size());
    if (see_room_ == 0) see_room_ = scratch(8 + length);
    co_await seeing_.wait();
    const verbs::Completion cell = co_await memory_.read(see_room_, at(kRdmoCell), 8);
    const std::uint64_t tail = load_le64(crew_.core.bytes(see_room_, Bytes{8}).data());
    if (cell.ok() && place != 0) {
      crew_.loop.verdict().expect(tail >= place + length,
                                  {"answered record behind the tail", place, place, tail});
      const verbs::Completion read = co_await memory_.read(see_room_ + 8, at(place - kRdmoBase), length);
      const auto found = crew_.core.bytes(see_room_ + 8, Bytes{length});
      if (read.ok())
        crew_.loop.verdict().expect(std::equal(found.begin(), found.end(), written.begin()),
                                    {"answered record not there", place, 0, 0});
    }
    seeing_.open();
  }

  /// Follows the log to its last record.
  verbs::Task<void> follow() {
    constexpr std::uint32_t kBlock = 16384;
    const RdmoConfig& config = crew_.config;
    const std::uint32_t most = std::max(config.payload, kBlock / config.payload * config.payload);
    const std::uint64_t local = scratch(most);
    RdmoRecordChecker checker(crew_.seed, writers_, true);
    const std::uint64_t all = writers_ * records_of_writer(config);
    std::uint64_t read = 0;
    while (read < all * config.payload && !link_.has_failed()) {
      const verbs::Completion cell = co_await memory_.read(local, at(kRdmoCell), 8);
      note_read(cell);
      if (!cell.ok()) break;
      const std::uint64_t tail = load_le64(crew_.core.bytes(local, Bytes{8}).data()) - kRdmoBase - kRdmoData;
      if (tail == read) {
        ++crew_.result.retries;
        co_await crew_.core.sleep(config.retry_wait);
        continue;
      }
      crew_.loop.verdict().expect(tail > read && tail <= all * config.payload,
                                  {"tail moved back", read, read, tail});
      if (tail < read || tail > all * config.payload) break;
      while (read < tail) {
        const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, tail - read));
        const verbs::Completion block = co_await memory_.read(local, at(kRdmoData + read), length);
        note_read(block);
        if (!block.ok()) break;
        for (std::uint32_t i = 0; i < length; i += config.payload)
          checker.take(crew_.core.bytes(local + i, Bytes{config.payload}), read + i, crew_.loop.verdict());
        read += length;
      }
      if (crew_.result.loop.errors != 0) break;
    }
    crew_.result.read_records = checker.records();
  }

  /// The consumer of the queue.
  verbs::Task<void> consume() {
    const RdmoConfig& config = crew_.config;
    const std::uint64_t local =
        scratch(static_cast<std::uint32_t>(std::max<std::uint64_t>(config.payload, 16)));
    // A record that found no room may be passed by a later one.
    RdmoRecordChecker checker(crew_.seed, writers_, config.loop.concurrency == 1);
    const std::uint64_t all = writers_ * records_of_writer(config) * config.payload;
    std::uint64_t head = 0;
    while (head < all && !link_.has_failed() && crew_.result.loop.errors == 0) {
      const verbs::Completion words = co_await memory_.read(local, at(kRdmoCell), 16);
      note_read(words);
      if (!words.ok()) break;
      const std::uint64_t tail = load_le64(crew_.core.bytes(local, Bytes{8}).data());
      crew_.loop.verdict().expect(tail >= head && tail - head <= config.queue_bytes,
                                  {"tail of the queue", head, head, tail});
      if (tail < head || tail - head > config.queue_bytes) break;
      if (tail == head) {
        ++crew_.result.retries;
        co_await crew_.core.sleep(config.retry_wait);
        continue;
      }
      for (; head < tail; head += config.payload) {
        const verbs::Completion record =
            co_await memory_.read(local, at(kRdmoData + head % config.queue_bytes), config.payload);
        note_read(record);
        if (!record.ok()) break;
        checker.take(crew_.core.bytes(local, Bytes{config.payload}), head, crew_.loop.verdict());
      }
      store_le64(crew_.core.bytes(local, Bytes{8}).data(), head);
      note_read(co_await memory_.write(local, at(kRdmoCell + 8), 8));
    }
    crew_.result.read_records = checker.records();
  }

  Crew<RdmoConfig, RdmoResult, R, C> crew_;
  R& memory_;
  const std::uint32_t writer_;
  const std::uint32_t writers_;
  const std::uint64_t own_;
  std::vector<Slot> slots_;
  RdmoLink<R, C> link_;
  std::optional<rdmo::Initiator> engine_;
  verbs::Gate granted_;
  verbs::Gate seeing_{1};
  Join workers_;
  std::uint64_t see_room_ = 0;
  std::uint64_t key_ = 0;
  std::uint64_t cell_ = 0;
  std::uint64_t next_number_ = 0;
  std::uint32_t since_flush_ = 0;
  verbs::CompletionStatus failure_ = verbs::CompletionStatus::kSuccess;
  bool pumping_ = false;
};

}  // namespace wharf::workload
