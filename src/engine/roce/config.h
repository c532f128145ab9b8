// SPDX-License-Identifier: Apache-2.0
// What can be chosen about a RoCE interface, with defaults that suit a data centre, and the check that a
// choice makes sense.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "engine/congestion/any_controller.h"
#include "engine/queues.h"
#include "trace/tracer.h"
#include "verbs/segment.h"
#include "verbs/verb.h"
#include "wire/host_address.h"
#include "wire/packet.h"

namespace wharf::roce {

/// How a queue pair of reliable service repairs loss. [decision 0110]
enum class LossRecovery : std::uint8_t {
  kGoBackN,    ///< Everything from the first lost packet on is sent again. [IBTA vol 1 9.7.5]
  kSelective,  ///< What is lost alone. Choice: the specification has none.
};

/// Choice: the largest path MTU is 4096 [IBTA vol 1 4.4]; powers of two beyond it, up to this, are for
/// profiles that account for a message as one packet, and no device negotiates them.
inline constexpr std::uint32_t kAccountingMtu = 32'768;

struct RoceConfig {
  wire::HostAddress host;  ///< Which host this is.
  std::uint64_t seed = 1;  ///< Draws initial PSNs, together with the host number.
  /// First PSN of every connection instead of a drawn one, at most 2^24 - 1.
  std::optional<wire::Psn> starting_psn;
  wire::IpVersion ip_version = wire::IpVersion::kV4;

  // Path.
  std::uint32_t path_mtu = 4096;  ///< Payload bytes: 256, 512, 1024, 2048 or 4096 (see kAccountingMtu). The
                                  ///< lower of both ends wins.
  std::uint32_t window_packets =
      128;  ///< Requests stop this many PSNs after the oldest unacknowledged one; 1..2^20.

  // Retransmission. [IBTA vol 1 9.7.6, 9.9.2]
  LossRecovery recovery = LossRecovery::kGoBackN;  ///< Both ends of a connection have the same.
  std::uint8_t ack_timeout = 14;  ///< Local ACK timeout 4.096 us * 2^n, 0..31; 0 switches the timer off.
  std::uint8_t retry_count = 7;   ///< Tries after a timeout or sequence NAK without progress; 0..7, finite.
  bool unlimited_retries =
      false;                   ///< Never give up. Choice: apart from retry_count, which stays finite at 7.
  std::uint8_t rnr_retry = 7;  ///< Tries after receiver-not-ready, 0..7; 7 is infinite.
  /// Doublings of the timeout while the same request keeps timing out; 0: none. Choice: the specification has
  /// none.
  std::uint8_t backoff_limit = 0;
  /// Zero: the timeout is that of ack_timeout. Else the first one follows the round trips, never below this
  /// nor above what the doublings come to. Choice: the specification has none; as TCP. [RFC 6298]
  TimePs timeout_floor{};

  // Congestion control. Data is ECN-capable, whether or not there is any.
  /// Who says when a queue pair may send: DCQCN, Swift or a constant window, one controller for each queue
  /// pair. None: only window_packets does.
  std::optional<congestion::ControllerConfig> congestion{};
  /// Notification point: a queue pair that receives marked packets sends one congestion notification packet
  /// (CNP) in this time at most; 0..1 s, zero sends none. [SIGCOMM 2015: 50 us]
  TimePs min_time_between_cnps{};

  // Responder.
  std::uint8_t min_rnr_timer =
      12;  ///< RNR timer code that this side sends, 0..31, see receiver_not_ready_delay(); 12 is 0.64 ms.
  std::uint8_t max_read_atomic =
      16;  ///< READs and atomics outstanding as requester, and saved as responder; 1..128.
  verbs::AccessRights queue_rights = verbs::kFullAccess;  ///< What the queue pairs let their peers do.
  bool acknowledge_every_request =
      false;  ///< One ACK per packet with AckReq, as rdma_rxe; otherwise waiting ACKs merge.
  bool advertise_credits = false;  ///< Send end-to-end credits instead of code 31 (unlimited).

  // How work reaches the interface.
  std::uint8_t fetch_batch = 4;        ///< Work-queue entries per fetch, 1..64.
  std::uint8_t fetches_in_flight = 2;  ///< Fetches of one queue under way at a time, 1..16.
  /// Receive entries fetched before a message needs them; 0 fetches when the message arrives. Entries of
  /// queues whose `receive_ring` is zero need no fetch.
  std::uint8_t receive_prefetch = 0;
  std::uint32_t work_entry_bytes = 64;  ///< Size of a work-queue entry. [mlx5: one basic block]
  std::uint32_t receive_entry_bytes = 16;
  std::uint32_t completion_bytes = 64;

  // What the interface holds.
  std::uint32_t transmit_ahead =
      32;  ///< Packets of one queue whose payload is fetched ahead of transmission; a power of two.
  std::uint32_t responses_ahead = 64;     ///< Answers of one queue under preparation; a power of two.
  std::uint32_t access_slots = 512;       ///< Memory accesses under way; 32 more per queue, 8 its own.
  std::uint32_t queue_cache_entries = 0;  ///< Queue-pair context records on the interface; 0: all of them.
  std::uint32_t key_cache_entries = 0;    ///< Memory-key records on the interface; 0: all of them.
  std::uint64_t context_base = std::uint64_t{1} << 56U;  ///< Of kContextRegionBytes for evicted records.
  std::uint32_t deferred_packets = 1024;  ///< Packets that wait for context records; more are dropped.

  trace::Tracer* tracer = nullptr;  ///< May be null. Outlives the engine.
};

/// Who a queue pair serves, and how. [IBTA vol 1 9.7, 9.8] The numbers are those of the opcodes' transport.
enum class Service : std::uint8_t {
  kReliable = 0,    ///< RC, ServiceMode::kDefault.
  kUnreliable = 1,  ///< UC, ServiceMode::kUnreliable.
  kDatagram = 3,    ///< UD, ServiceMode::kUnordered.
};

/// "rc", "uc", "ud".
const char* name(Service service);
/// "Go-Back-N", "selective repeat".
const char* name(LossRecovery recovery);
/// Nothing for modes that the engine has not.
std::optional<Service> service_of(engine::ServiceMode mode);
/// Whether requests of the service may be of that kind. [IBTA vol 1 table 38]
bool supports(Service service, verbs::Verb verb);

/// What the driver has chosen for one queue pair; RoceConfig says what it begins with.
struct QueueAttributes {
  verbs::AccessRights rights;
  std::uint8_t min_rnr_timer = 0;
  std::uint8_t ack_timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;
  std::uint32_t queue_key = 0;        ///< Datagrams.
  std::uint16_t max_read_atomic = 0;  ///< As requester, since the connection was made.
};

/// Changes of a queue pair's attributes; what is absent stays. Ranges are those of RoceConfig.
/// [IBTA vol 1 10.3.1, 11.2.4.2]
struct QueueChanges {
  // In INIT, RTS, SQD and SQE.
  std::optional<verbs::AccessRights> rights{};  ///< Not of datagrams.
  std::optional<std::uint8_t> min_rnr_timer{};  ///< Of reliable service alone, as all below.
  std::optional<std::uint32_t> queue_key{};     ///< Of datagrams alone.
  // In SQD, once it is drained.
  std::optional<std::uint8_t> ack_timeout{};
  std::optional<std::uint8_t> retry_count{};
  std::optional<std::uint8_t> rnr_retry{};
  std::optional<std::uint8_t> max_read_atomic{};  ///< No more than the connection has.
};

/// Bytes from `context_base` on that evicted records may take: the first half has room for a record of each
/// queue pair that an engine can have, the second for one of each memory key.
inline constexpr std::uint64_t kContextRegionBytes = std::uint64_t{1} << 30U;

/// Refuses values outside the ranges above, naming the key.
Result<void> check(const RoceConfig& config);
Result<void> check(const QueueChanges& changes);

/// Local ACK timeout of code `n`, 1..31: 4.096 us * 2^n. [IBTA vol 1 9.7.6.1.3]
constexpr TimePs ack_timeout_duration(std::uint8_t code) {
  return picoseconds(std::int64_t{4'096'000} << code);
}

/// Receive entries that credit code 0..30 stands for. [IBTA vol 1 9.7.7.2]
std::uint32_t credits_of_code(std::uint8_t code);
/// The largest credit code that stands for no more than `entries`.
std::uint8_t credit_code_for(std::uint32_t entries);

}  // namespace wharf::roce
