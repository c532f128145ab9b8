// SPDX-License-Identifier: Apache-2.0
// How a request ended.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "verbs/verb.h"
#include "verbs/work_request.h"

namespace wharf::verbs {

/// Neutral completion status; the comment gives the names of URMA (urma_cr_status) and of verbs (work
/// completion).
enum class CompletionStatus : std::uint8_t {
  kSuccess,
  kUnsupportedOpcode,         ///< UNSUPPORTED_OPCODE_ERR: this engine cannot encode the request.
  kLocalLength,               ///< LOC_LEN_ERR
  kLocalOperation,            ///< LOC_OPERATION_ERR, LOC_QP_OP
  kLocalAccess,               ///< LOC_ACCESS_ERR, LOC_PROT
  kResponseLength,            ///< REM_RESP_LEN_ERR, BAD_RESP
  kRemoteUnsupportedRequest,  ///< REM_UNSUPPORTED_REQ_ERR, REM_INV_REQ
  kRemoteOperation,           ///< REM_OPERATION_ERR, REM_OP
  kRemoteAccess,              ///< REM_ACCESS_ABORT_ERR, REM_ACCESS: wrong token, range or permission
  kRetryExhausted,            ///< ACK_TIMEOUT_ERR, RETRY_EXC
  kReceiverNotReady,          ///< RNR_RETRY_CNT_EXC_ERR, RNR_RETRY_EXC
  kFlushed,                   ///< WR_FLUSH_ERR, WR_FLUSH
  kLocalPoison,               ///< LOC_DATA_POISON
  kRemotePoison,              ///< REM_DATA_POISON
  kCancelled,                 ///< A receive that cancel_receive() took back (FI_ECANCELED).
  kUnhandled,                 ///< WR_UNHANDLED: given back by a queue that stands still, never begun.
  kSuspendDone,               ///< WR_SUSPEND_DONE: no request's; a suspended queue stands still.
  kFlushDone,                 ///< WR_FLUSH_ERR_DONE: no request's; a failed queue stands still.
};

/// "success", "remote_access", ...
std::string_view name(CompletionStatus status);

/// What a completion says of its queue, beside its request. [URMA suspend_done, flush_err_done]
enum class DrainMark : std::uint8_t {
  kNone,
  kSuspendDone,  ///< The last one before a suspended queue stands still.
  kFlushDone,    ///< The same of one in error.
};

enum class CompletionKind : std::uint8_t { kSend, kReceive };

/// One completion record.
struct Completion {
  std::uint64_t id = 0;  ///< Of the work request or receive request.
  CompletionStatus status = CompletionStatus::kSuccess;
  CompletionKind kind = CompletionKind::kSend;
  Verb verb = Verb::kRead;
  bool has_immediate = false;      ///< Of a Send with invalidate, where it is told: the token that has ended.
  std::uint32_t length = 0;        ///< Bytes moved.
  QueueId queue = 0;               ///< The local queue.
  std::uint32_t remote_host = 0;   ///< Receives: host number of the sender.
  std::uint32_t remote_queue = 0;  ///< Receives: the sender's queue on the wire.
  DrainMark drain = DrainMark::kNone;
  bool solicited = false;  ///< Receives: the sender asked for an event.
  std::uint64_t immediate = 0;
  std::uint64_t tag = 0;                         ///< Receives of tagged messages: the sender's.
  std::array<std::uint64_t, 2> atomic_result{};  ///< Atomics: the value before the operation.
  wire::OperationTag operation;

  bool ok() const { return status == CompletionStatus::kSuccess; }
};

/// How a load or store ended. The holder releases `data.buffer` when it has taken the bytes.
struct LoadStoreResult {
  std::uint32_t tag = 0;
  CompletionStatus status = CompletionStatus::kSuccess;
  wire::Payload data;
  wire::OperationTag operation;
};

}  // namespace wharf::verbs
