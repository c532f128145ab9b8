// SPDX-License-Identifier: Apache-2.0
// The C interface: arguments are checked and turned into those of src/live/rdmo; no protocol is here.
#define WHARF_RDMO_BUILDS 1
#include "live/rdmo_library/include/rdmo.h"

#include <fmt/format.h>

#include <atomic>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/rdmo/initiator.h"
#include "live/rdmo/client.h"
#include "live/rdmo/worker_process.h"
#include "wire/rdmo_extended.h"

using wharf::Error;
using wharf::ErrorKind;
using wharf::Result;
using wharf::TimePs;
namespace live = wharf::live;
namespace rdmo = wharf::rdmo;
namespace wire = wharf::wire;

static_assert(WHARF_RDMO_CONNECTION_LOST == wire::kRdmoStatusLast);
static_assert(WHARF_RDMO_EARLIER_FAILED == static_cast<int>(wire::RdmoStatus::kEarlierFailed));
static_assert(WHARF_RDMO_TAIL_MOVED == static_cast<int>(wire::RdmoStatus::kTailMoved));

namespace {

thread_local std::string last_error;  // NOLINT: the sentence of wharf_rdmo_error().

int failure(int result, std::string sentence) {
  last_error = std::move(sentence);
  return result;
}
int failure(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kUsage:
    case ErrorKind::kInput:
      return failure(WHARF_RDMO_BAD_ARGUMENT, error.message);
    case ErrorKind::kStalled:
      return failure(WHARF_RDMO_STALLED, error.message);
    case ErrorKind::kEnvironment:
      break;
  }
  return failure(WHARF_RDMO_ENVIRONMENT, error.message);
}

Result<live::StreamAddress> address_of(const char* name, const char* text, std::uint16_t port) {
  auto address = live::parse_stream_address(text == nullptr ? "127.0.0.1" : text, port);
  if (!address) return wharf::input_error(fmt::format("{}: {}", name, address.error().message));
  return address;
}

/// What `call` returns; nothing that it throws leaves the library.
template <typename Call>
int guarded(const Call& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";  // So short that it needs none.
  } catch (...) {
    last_error = "a bug of ours";
  }
  return WHARF_RDMO_ENVIRONMENT;
}

/// A caller built against another version of a config, or one that forgot to begin with the macro.
template <typename Config>
int check_config(const char* what, const Config* config, const void* out) {
  if (config == nullptr || out == nullptr)
    return failure(WHARF_RDMO_BAD_ARGUMENT,
                   fmt::format("{}: found NULL, expected a config and a place", what));
  if (config->size != sizeof(Config))
    return failure(WHARF_RDMO_BAD_ARGUMENT,
                   fmt::format("{} config: found size {}, expected {}", what, config->size, sizeof(Config)));
  return WHARF_RDMO_OK;
}

Result<TimePs> patience(std::uint32_t milliseconds) {
  if (milliseconds == 0) return wharf::input_error("patience_ms: found 0, expected at least 1");
  return wharf::milliseconds(milliseconds);
}

}  // namespace

struct wharf_rdmo_worker {
  std::unique_ptr<live::WorkerProcess> process;
  std::atomic<bool> stop{false};
};

struct wharf_rdmo_target {
  std::unique_ptr<live::RdmoTarget> target;
  live::StreamListener listener;
};

struct wharf_rdmo_initiator {
  /// An operation that has no outcome yet.
  struct Operation {
    std::uint64_t cookie = 0;
    std::vector<std::byte> pieces;
  };
  std::deque<Operation> operations;
  std::vector<std::uint64_t> free;
  std::uint64_t under_way = 0;
  std::unique_ptr<live::RdmoInitiator> initiator;  ///< Goes first: it sends what the operations hold.

  std::uint64_t begin(std::uint64_t cookie) {
    if (free.empty()) {
      operations.emplace_back();
      free.reserve(operations.size());  // Giving one back takes no memory.
      free.push_back(operations.size() - 1);
    }
    const std::uint64_t index = free.back();
    free.pop_back();
    operations[index].cookie = cookie;
    ++under_way;
    return index;
  }
  void end(std::uint64_t index) {
    operations[index].pieces.clear();
    free.push_back(index);
    --under_way;
  }
  /// What became of posting operation `index`.
  int posted(rdmo::Posted posted, std::uint64_t index) {
    if (posted != rdmo::Posted::kOk) end(index);
    switch (posted) {
      case rdmo::Posted::kOk:
        return WHARF_RDMO_OK;
      case rdmo::Posted::kFull:
        return failure(WHARF_RDMO_FULL, "as much is under way as in_flight allows; wait for an outcome");
      case rdmo::Posted::kLost:
        return failure(WHARF_RDMO_LOST, "the connection to the worker has ended");
      case rdmo::Posted::kUnsupported:
        break;
    }
    return failure(WHARF_RDMO_BAD_ARGUMENT,
                   "the published form has neither flags but WHARF_RDMO_FENCE nor more than 4 GiB");
  }
  /// There was no memory to go on with. The connection ends, so everything has an outcome all the same.
  void lose() { initiator->engine().lost(initiator->now()); }
  void fill(const rdmo::Outcome& from, wharf_rdmo_outcome& to) {
    const std::uint64_t base = initiator->grant().cell;
    to.cookie = operations[from.cookie].cookie;
    to.status = static_cast<int>(from.status);
    // A count is told as it is; addresses as offsets.
    to.place = from.place >= base && from.status != wire::RdmoStatus::kEarlierFailed ? from.place - base
                                                                                     : from.place;
    end(from.cookie);
  }
};

extern "C" {

const char* wharf_rdmo_error(void) { return last_error.c_str(); }

const char* wharf_rdmo_status_name(int status) {
  if (status < 0 || status > wire::kRdmoStatusLast) return "unknown status";
  return wire::name(static_cast<wire::RdmoStatus>(status)).data();
}

// --- Worker ---

int wharf_rdmo_worker_open(const wharf_rdmo_worker_config* config, wharf_rdmo_worker** worker) {
  return guarded([&]() -> int {
    if (const int bad = check_config("worker", config, static_cast<const void*>(worker))) return bad;
    live::WorkerProcessConfig made;
    const auto listen = address_of("listen", config->listen, live::kRdmoWorkerPort);
    if (!listen) return failure(listen.error());
    made.listen = *listen;
    if (config->transports != nullptr) made.transports = config->transports;
    made.once = config->once != 0;
    auto process = live::WorkerProcess::create(made);
    if (!process) return failure(process.error());
    auto opened = std::make_unique<wharf_rdmo_worker>();
    opened->process = *std::move(process);
    *worker = opened.release();
    return WHARF_RDMO_OK;
  });
}
uint16_t wharf_rdmo_worker_port(const wharf_rdmo_worker* worker) { return worker->process->port(); }
int wharf_rdmo_worker_run(wharf_rdmo_worker* worker) {
  return guarded([&]() -> int {
    worker->process->run(worker->stop);
    return WHARF_RDMO_OK;
  });
}
void wharf_rdmo_worker_stop(wharf_rdmo_worker* worker) { worker->stop.store(true); }
void wharf_rdmo_worker_close(wharf_rdmo_worker* worker) { delete worker; }

// --- Target ---

int wharf_rdmo_target_open(const wharf_rdmo_target_config* config, wharf_rdmo_target** target) {
  return guarded([&]() -> int {
    if (const int bad = check_config("target", config, static_cast<const void*>(target))) return bad;
    live::RdmoTargetConfig made;
    const auto worker = address_of("worker", config->worker, live::kRdmoWorkerPort);
    if (!worker) return failure(worker.error());
    const auto listen = address_of("listen", config->listen, live::kRdmoTargetPort);
    if (!listen) return failure(listen.error());
    const auto time = patience(config->patience_ms);
    if (!time) return failure(time.error());
    made.worker = *worker;
    if (config->transports != nullptr) made.transports = config->transports;
    made.client = config->id;
    made.bytes = config->bytes;
    made.time_max = *time;
    auto opened = std::make_unique<wharf_rdmo_target>();
    auto listener = live::StreamListener::listen(*listen);
    if (!listener) return failure(listener.error());
    opened->listener = *std::move(listener);
    auto owner = live::RdmoTarget::create(made);
    if (!owner) return failure(owner.error());
    opened->target = *std::move(owner);
    *target = opened.release();
    return WHARF_RDMO_OK;
  });
}
uint16_t wharf_rdmo_target_port(const wharf_rdmo_target* target) { return target->listener.port(); }
void* wharf_rdmo_target_memory(wharf_rdmo_target* target, size_t* bytes) {
  if (bytes != nullptr) *bytes = target->target->memory().size();
  return target->target->memory().data();
}
uint64_t wharf_rdmo_target_tail(const wharf_rdmo_target* target) { return target->target->tail(); }
void wharf_rdmo_target_reset(wharf_rdmo_target* target) { target->target->reset(); }
int wharf_rdmo_target_progress(wharf_rdmo_target* target) {
  return guarded([&]() -> int {
    target->target->progress();
    if (!target->target->connected()) return failure(WHARF_RDMO_LOST, "the worker is gone");
    const auto met = target->target->meet(target->listener);
    return met ? WHARF_RDMO_OK : failure(met.error());
  });
}
int wharf_rdmo_target_withdraw(wharf_rdmo_target* target) {
  return guarded([&]() -> int {
    const auto done = target->target->withdraw();
    if (done) return WHARF_RDMO_OK;
    if (!target->target->connected()) return failure(WHARF_RDMO_LOST, "the worker is gone");
    return failure(done.error());
  });
}
void wharf_rdmo_target_close(wharf_rdmo_target* target) { delete target; }

// --- Initiator ---

int wharf_rdmo_initiator_open(const wharf_rdmo_initiator_config* config, wharf_rdmo_initiator** initiator) {
  return guarded([&]() -> int {
    if (const int bad = check_config("initiator", config, static_cast<const void*>(initiator))) return bad;
    live::RdmoInitiatorConfig made;
    const auto target = address_of("target", config->target, live::kRdmoTargetPort);
    if (!target) return failure(target.error());
    const auto time = patience(config->patience_ms);
    if (!time) return failure(time.error());
    if (config->transports != nullptr) made.transports = config->transports;
    made.initiator.form = config->published != 0 ? rdmo::Form::kPublished : rdmo::Form::kExtended;
    made.initiator.in_flight_max = config->in_flight;
    made.initiator.batch_records_max = config->batch_records;
    made.initiator.batch_bytes_max = config->batch_bytes;
    made.initiator.time_max = *time;
    // What is wrong with the numbers is said before anybody is met.
    if (const auto trial = rdmo::Initiator::create(made.initiator); !trial) return failure(trial.error());
    auto met = live::RdmoInitiator::meet(*target, made);
    if (!met) return failure(met.error());
    auto opened = std::make_unique<wharf_rdmo_initiator>();
    opened->initiator = *std::move(met);
    *initiator = opened.release();
    return WHARF_RDMO_OK;
  });
}

int wharf_rdmo_append(wharf_rdmo_initiator* initiator, const void* data, size_t bytes, unsigned flags,
                      uint64_t expected, uint64_t cookie) {
  return guarded([&]() -> int {
    if ((flags & ~unsigned{WHARF_RDMO_FENCE | WHARF_RDMO_QUIET | WHARF_RDMO_EXPECT}) != 0)
      return failure(WHARF_RDMO_BAD_ARGUMENT,
                     fmt::format("flags: found {}, expected a sum of 1, 2 and 4", flags));
    if (data == nullptr && bytes != 0)
      return failure(WHARF_RDMO_BAD_ARGUMENT, fmt::format("data: found NULL, expected {} bytes", bytes));
    live::RdmoInitiator& live = *initiator->initiator;
    rdmo::AppendRequest request;
    request.cell = live.grant().cell;
    request.cell_key = request.data_key = live.grant().key;
    request.data = {static_cast<const std::byte*>(data), bytes};
    request.fence = (flags & WHARF_RDMO_FENCE) != 0;
    request.quiet = (flags & WHARF_RDMO_QUIET) != 0;
    request.compare = (flags & WHARF_RDMO_EXPECT) != 0;
    request.expected = live.grant().cell + expected;
    request.cookie = initiator->begin(cookie);
    return initiator->posted(live.engine().append(live.now(), request), request.cookie);
  });
}

int wharf_rdmo_scatter(wharf_rdmo_initiator* initiator, const wharf_rdmo_piece* pieces, size_t count,
                       unsigned flags, uint64_t cookie) {
  return guarded([&]() -> int {
    if ((flags & ~unsigned{WHARF_RDMO_FENCE}) != 0)
      return failure(WHARF_RDMO_BAD_ARGUMENT,
                     fmt::format("flags: found {}, expected 0 or WHARF_RDMO_FENCE", flags));
    if (pieces == nullptr && count != 0)
      return failure(WHARF_RDMO_BAD_ARGUMENT, fmt::format("pieces: found NULL, expected {}", count));
    live::RdmoInitiator& live = *initiator->initiator;
    std::vector<std::byte> payload;
    for (std::size_t i = 0; i < count; ++i) {
      const wharf_rdmo_piece& piece = pieces[i];
      if (piece.bytes > wire::kRdmoEntryDataMax || (piece.data == nullptr && piece.bytes != 0)) {
        return failure(WHARF_RDMO_BAD_ARGUMENT,
                       fmt::format("piece {}: found {} bytes at {}, expected data of at most {} bytes", i,
                                   piece.bytes, piece.data, wire::kRdmoEntryDataMax));
      }
      const std::size_t at = payload.size();
      payload.resize(at + wire::kRdmoEntryBytes + piece.bytes);
      wire::encode(wire::RdmoEntry{live.grant().cell + piece.place, live.grant().key,
                                   static_cast<std::uint16_t>(piece.bytes)},
                   payload.data() + at);
      const auto* first = static_cast<const std::byte*>(piece.data);
      std::copy(first, first + piece.bytes,
                payload.begin() + static_cast<std::ptrdiff_t>(at + wire::kRdmoEntryBytes));
    }
    const bool fence = (flags & WHARF_RDMO_FENCE) != 0;
    const std::uint64_t index = initiator->begin(cookie);
    std::vector<std::byte>& kept = initiator->operations[index].pieces;
    kept = std::move(payload);
    return initiator->posted(live.engine().scatter(live.now(), index, kept, count, fence), index);
  });
}

int wharf_rdmo_flush(wharf_rdmo_initiator* initiator, uint64_t cookie) {
  return guarded([&]() -> int {
    live::RdmoInitiator& live = *initiator->initiator;
    const std::uint64_t index = initiator->begin(cookie);
    return initiator->posted(live.engine().flush(live.now(), index), index);
  });
}

void wharf_rdmo_push(wharf_rdmo_initiator* initiator) {
  initiator->initiator->engine().push(initiator->initiator->now());
}

int wharf_rdmo_poll(wharf_rdmo_initiator* initiator, wharf_rdmo_outcome* outcome) {
  try {
    initiator->initiator->progress();
  } catch (...) {
    initiator->lose();
  }
  rdmo::Outcome found;
  if (!initiator->initiator->engine().poll(found)) return 0;
  initiator->fill(found, *outcome);
  return 1;
}

int wharf_rdmo_wait(wharf_rdmo_initiator* initiator, wharf_rdmo_outcome* outcome) {
  if (initiator->under_way == 0) return 0;
  wharf_rdmo_push(initiator);
  for (;;) {
    try {
      rdmo::Outcome found;
      if (!initiator->initiator->wait(found)) return 0;
      initiator->fill(found, *outcome);
      return 1;
    } catch (...) {
      initiator->lose();
    }
  }
}

void wharf_rdmo_initiator_close(wharf_rdmo_initiator* initiator) { delete initiator; }

}  // extern "C"
