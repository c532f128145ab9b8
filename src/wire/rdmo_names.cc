// SPDX-License-Identifier: Apache-2.0
// What statuses and errors of RDMO are called in messages.
#include "wire/rdmo_control.h"
#include "wire/rdmo_extended.h"

namespace wharf::wire {

std::string_view name(RdmoStatus status) {
  switch (status) {
    case RdmoStatus::kDone:
      return "done";
    case RdmoStatus::kMalformed:
      return "malformed";
    case RdmoStatus::kUnknownClient:
      return "unknown target";
    case RdmoStatus::kBadKey:
      return "bad key";
    case RdmoStatus::kBadAddress:
      return "bad address";
    case RdmoStatus::kNoRoom:
      return "no room";
    case RdmoStatus::kTailMoved:
      return "tail moved";
    case RdmoStatus::kMemoryFailed:
      return "memory failed";
    case RdmoStatus::kTargetLost:
      return "target lost";
    case RdmoStatus::kSenderLost:
      return "sender lost";
    case RdmoStatus::kTooLong:
      return "too long";
    case RdmoStatus::kNoCredit:
      return "no credit";
    case RdmoStatus::kBadSequence:
      return "bad sequence";
    case RdmoStatus::kDamaged:
      return "queue damaged";
    case RdmoStatus::kEarlierFailed:
      return "an earlier request failed";
    case RdmoStatus::kStopped:
      return "worker stopped";
    case RdmoStatus::kTimedOut:
      return "timed out";
    case RdmoStatus::kConnectionLost:
      return "connection lost";
  }
  return "unknown status";
}

std::string_view name(DocaError error) {
  switch (error) {
    case DocaError::kSuccess:
      return "success";
    case DocaError::kNotPermitted:
      return "not permitted";
    case DocaError::kInUse:
      return "in use";
    case DocaError::kNotSupported:
      return "not supported";
    case DocaError::kInvalidValue:
      return "invalid value";
    case DocaError::kNoMemory:
      return "no memory";
    case DocaError::kTimeOut:
      return "time out";
    case DocaError::kShutdown:
      return "shutdown";
    case DocaError::kNotFound:
      return "not found";
    case DocaError::kInputOutputFailed:
      return "input or output failed";
    case DocaError::kBadState:
      return "bad state";
    case DocaError::kUnsupportedVersion:
      return "unsupported version";
    case DocaError::kAlreadyExist:
      return "already exists";
    case DocaError::kFull:
      return "full";
    case DocaError::kEmpty:
      return "empty";
    case DocaError::kInProgress:
      return "in progress";
    case DocaError::kTooBig:
      return "too big";
  }
  return "unknown error";
}

}  // namespace wharf::wire
