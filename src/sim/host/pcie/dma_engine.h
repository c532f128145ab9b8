// SPDX-License-Identifier: Apache-2.0
// The DMA engine of a device: streams of reads and writes of host memory, cut into lines, with or without an
// order that the device itself waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ring.h"
#include "base/slot_pool.h"
#include "engine/ordering/request.h"
#include "sim/host/config/dma_config.h"
#include "sim/host/pcie/request_sink.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

/// One access. `label` is that of its lines, but for the first and the last where those are given.
struct DmaAccess {
  ordering::Kind kind = ordering::Kind::kRead;
  ordering::Label label = ordering::Label::kStrong;
  ordering::Label first_label = ordering::Label::kStrong;
  ordering::Label last_label = ordering::Label::kStrong;
  /// Belongs to the access before it: a stream that its device keeps in order sends it as soon as that one is
  /// complete, any other in the issue slot of the access behind it.
  bool with_previous = false;
  /// The next part of the request before it in its stream: what is ordered inside a request is ordered
  /// between the two.
  bool continues_previous = false;
  std::uint64_t ticket = 0;  ///< The client's own.
  std::uint64_t address = 0;
  std::uint32_t length = 0;  ///< At least 1.
  /// Reads: where the bytes go; writes: where they are taken from, when each line is sent. Null: reads are
  /// not kept, writes write zeros. Must stay until the access is done.
  std::byte* bytes = nullptr;
  // Atomics, on 4, 8 or 16 aligned bytes.
  verbs::Verb atomic = verbs::Verb::kFetchAdd;
  std::array<std::uint64_t, 2> operand{};
  std::array<std::uint64_t, 2> compare{};
};

class DmaClient {
 public:
  virtual ~DmaClient() = default;
  /// An access is complete: all its data have arrived, or (writes) all of it is performed. `old_value`:
  /// atomics. More accesses may be asked for from here.
  virtual void dma_done(TimePs now, std::uint32_t stream, std::uint64_t ticket,
                        const std::array<std::uint64_t, 2>& old_value) = 0;
  /// The last line of a write has left: a real device knows no more of it. May not ask for more accesses.
  virtual void dma_sent(TimePs /*now*/, std::uint32_t /*stream*/, std::uint64_t /*ticket*/) {}
};

/// The engine. Packets of different streams take turns on the link, one line at a time.
class DmaEngine final : public Component, public IoDevice {
 public:
  /// Streams go to `sink` unless they are given another one.
  DmaEngine(Simulation& simulation, RequestSink& sink, const DmaConfig& config, std::string name);

  void connect(DmaClient& client) { client_ = &client; }
  /// A stream of its own ordering domain, to `sink` or, with null, to that of the engine.
  std::uint32_t add_stream(ordering::Domain domain, SourceOrdering ordering, RequestSink* sink = nullptr);

  /// Puts an access behind those of its stream.
  void start(TimePs now, std::uint32_t stream, const DmaAccess& access);

  void answered(TimePs now, const ordering::Response& response) override;
  void credits_back(TimePs now) override;
  void handle(const Event& event) override;

  void describe_waiting(std::vector<std::string>& lines) const override;

 private:
  struct Operation {
    DmaAccess access;
    std::uint64_t number = 0;
    std::uint32_t stream = 0;
    std::uint32_t sent = 0;     ///< Bytes asked for.
    std::uint32_t pending = 0;  ///< Lines without an answer.
    std::array<std::uint64_t, 2> old_value{};
  };
  struct Stream {
    ordering::Domain domain;
    SourceOrdering ordering = SourceOrdering::kNone;
    RequestSink* sink = nullptr;
    Ring<std::uint32_t> waiting;  ///< Operations with lines to send, in order.
    std::uint32_t under_way = 0;  ///< Lines without an answer.
    TimePs issue_from;            ///< The earliest issue of the next operation.
    std::uint64_t next_number = 0;
  };

  /// When the next line of a stream may be sent; kNever when it waits for an answer or has none.
  TimePs ready_at(const Stream& stream) const;
  void send_some(TimePs now);
  void send_line(TimePs now, Stream& stream);
  void wake_at(TimePs at);

  Simulation& simulation_;
  RequestSink& sink_;
  DmaConfig config_;
  DmaClient* client_ = nullptr;
  std::vector<Stream> streams_;
  SlotPool<Operation> operations_;
  std::uint32_t next_stream_ = 0;  ///< Whose turn it is.
  TimePs shared_issue_from_;
  TimePs wake_ = kNever;  ///< The earliest pending wake-up.
  bool is_sending_ = false;
};

}  // namespace wharf::sim
