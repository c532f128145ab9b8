// SPDX-License-Identifier: Apache-2.0
// The two programs that use an RDMO worker over UCX: a target, which grants memory, and initiators, which
// append, flush and scatter there. Neither is thread-safe: one thread each.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/rdmo/initiator.h"
#include "live/rdmo/attentive_clock.h"
#include "live/rdmo/meetings.h"
#include "live/rdmo/sealed_memory.h"
#include "live/rdmo/stream_channel.h"
#include "live/rdmo/ucx_memory.h"
#include "live/rdmo/ucx_port.h"
#include "live/reactor/live_clock.h"

namespace wharf::live {

/// Where the worker takes control channels.
inline constexpr std::uint16_t kRdmoWorkerPort = 18516;
/// Where targets meet initiators.
inline constexpr std::uint16_t kRdmoTargetPort = 18515;

/// Where a worker lets initiators connect that need no target for it.
inline constexpr std::uint16_t kRdmoConnectPort = 18517;

/// What an initiator needs to know of a target.
struct RdmoGrant {
  std::uint64_t client = 0;
  std::uint64_t key = 0;
  std::uint64_t cell = 0;
  std::vector<std::byte> worker_address;
};

/// "KEY:CELL:ID": what an initiator needs that connects to the worker by itself. To have it is to have the
/// right.
std::string format_grant(const RdmoGrant& grant);
Result<RdmoGrant> parse_grant(std::string_view text);
/// The same from a file that holds one and perhaps spaces or lines around it; "-" is standard input. What is
/// wrong is said without what the file holds: that may be a key.
Result<RdmoGrant> read_grant(const std::string& file);

struct RdmoTargetConfig {
  StreamAddress worker;
  std::string transports = "tcp,self";
  std::uint64_t client = 0;  ///< Its id; each target of a worker has its own.
  bool shared = true;        ///< The memory is handed to a worker of this machine, if there is one.
  std::uint64_t bytes = 1U << 20U;
  TimePs time_max = seconds(10);  ///< For each answer of the worker.
};

/// Owns memory and grants it through the worker. A worker on the same machine, of the same user, writes it
/// without this process; otherwise UCX carries it, and progress() has to be called often.
class RdmoTarget : private MessageTaker, private MeetingHost {
 public:
  static Result<std::unique_ptr<RdmoTarget>> create(const RdmoTargetConfig& config);
  ~RdmoTarget() override;

  /// All of its memory. The first 8 bytes are the cell of the log in the rest.
  std::span<std::byte> memory() const { return memory_; }
  /// The tail that the log shows, as an offset into memory(). Bytes before it are there.
  std::uint64_t tail() const;
  /// Begins the log anew. Only when no worker holds its tail: after a flush, before the next append.
  void reset();
  RdmoGrant grant() const {
    return {config_.client, key_, reinterpret_cast<std::uint64_t>(memory_.data()), worker_};
  }
  /// Whether the worker writes the memory in place.
  bool shared() const { return shared_; }
  /// Lets an initiator in, by its UCX address; gives the number of its queue. Waits for the worker.
  Result<std::uint64_t> admit(std::span<const std::byte> initiator);
  Result<void> dismiss(std::uint64_t queue);
  /// Withdraws the memory: what was appended is written back first.
  Result<void> withdraw();
  /// Meets initiators over TCP: takes those that have come to `listener`, and goes on with all that are not
  /// let in yet, without waiting for any. To be called again and again. A failure is that of one of them.
  Result<void> meet(StreamListener& listener);
  void progress() { port_->progress(); }
  /// For those that reach the memory without the worker.
  const std::vector<std::byte>& ucx_address() const { return port_->address(); }
  const std::vector<std::byte>& packed_key() const { return reached_.key(); }
  const UcxPort& port() const { return *port_; }
  /// False when the worker has gone.
  bool connected();

 private:
  explicit RdmoTarget(const RdmoTargetConfig& config) : config_(config), meetings_(*this, config.time_max) {}
  Result<void> open();
  Result<void> map_memory();
  std::uint64_t write(wire::RdmoCommand& command);
  Result<wire::RdmoNotification> command(wire::RdmoCommand command);
  /// The next notification, if one has come. An error: it makes no sense.
  Result<bool> hear(wire::RdmoNotification& notification);
  void answered(const wire::RdmoNotification& notification);
  std::span<const std::byte> worker_address() const override { return worker_; }
  std::vector<std::byte> packed_grant() const override;
  Ticket ask_admit(std::span<const std::byte> initiator) override;
  Admission admission(Ticket ticket) override;
  void give_up(Ticket ticket) override;
  void forget(std::uint64_t queue) override;
  rdmo::Taken take(ucp_ep_h, std::uint32_t, std::span<const std::byte>, const rdmo::Payload&) override {
    return rdmo::Taken::kDone;  // Nobody sends messages to a target.
  }

  RdmoTargetConfig config_;
  SealedMemory sealed_;  ///< Empty: UCX allocates. Outlives UCX, which peers may have write it until it ends.
  std::unique_ptr<UcxPort> port_;
  StreamChannel channel_;
  UcxMemory reached_;
  std::span<std::byte> memory_;
  std::vector<std::byte> offer_;  ///< What the worker knows the memory by.
  bool shared_ = false;
  std::vector<std::byte> worker_;
  std::vector<std::byte> answer_;
  std::uint64_t key_ = 0;
  std::uint64_t context_ = 0;          ///< Of the last command. Notifications of earlier ones come late.
  std::map<Ticket, Admission> asked_;  ///< By the context of the command.
  Meetings meetings_;
};

struct RdmoInitiatorConfig {
  std::string transports = "tcp,self";
  rdmo::InitiatorConfig initiator;
};

/// One UCX endpoint to one worker, for one target.
class RdmoInitiator : private MessageTaker {
 public:
  /// Opens UCX, to have an address that a target can admit.
  static Result<std::unique_ptr<RdmoInitiator>> create(const RdmoInitiatorConfig& config);
  /// Meets a target over TCP and connects to its worker.
  static Result<std::unique_ptr<RdmoInitiator>> meet(const StreamAddress& target, RdmoInitiatorConfig config);
  /// Connects to a worker by its network address, with a grant. A failure names the worker.
  static Result<std::unique_ptr<RdmoInitiator>> join(const StreamAddress& worker, const RdmoGrant& grant,
                                                     const RdmoInitiatorConfig& config);

  ~RdmoInitiator() override;

  const std::vector<std::byte>& address() const { return port_->address(); }
  /// Once the target has admitted it.
  Result<void> connect(const RdmoGrant& grant);
  /// By the network address where the worker lets initiators connect; no target has to admit it. The grant's
  /// worker address is not needed.
  Result<void> connect(const StreamAddress& worker, const RdmoGrant& grant);
  const RdmoGrant& grant() const { return grant_; }

  /// Posts through this; then progress(), which sends what was posted and hears what came.
  rdmo::Initiator& engine() { return *engine_; }
  /// The time of its patience.
  TimePs now() { return clock_.now(); }
  /// Whether anything happened.
  bool progress();
  /// Runs until the next outcome. False: nothing is under way that could bring one, or `stop` is set.
  bool wait(rdmo::Outcome& outcome, const std::atomic<bool>* stop = nullptr);

 private:
  explicit RdmoInitiator(const RdmoInitiatorConfig& config) : config_(config) {}
  rdmo::Taken take(ucp_ep_h reply, std::uint32_t id, std::span<const std::byte> header,
                   const rdmo::Payload& payload) override;
  Result<void> begin(const RdmoGrant& grant);
  Result<void> say_hello();

  std::optional<wire::RdmoStatus> joined_;  ///< What the worker says, when it has connected by itself.
  std::uint32_t joined_limit_ = 0;          ///< With it: how many messages it takes.
  RdmoInitiatorConfig config_;
  AttentiveClock clock_;
  TimePs looked_ = kTimeZero;  ///< When progress() last looked at what has come.
  std::unique_ptr<UcxPort> port_;
  ucp_ep_h endpoint_ = nullptr;
  RdmoGrant grant_;
  std::optional<rdmo::Initiator> engine_;
};

}  // namespace wharf::live
