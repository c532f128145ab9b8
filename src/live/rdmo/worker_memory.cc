// SPDX-License-Identifier: Apache-2.0
// How the worker's process reaches the memory of targets: in place where it is mapped, by UCX elsewhere.
#include <atomic>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "live/rdmo/worker_process.h"

namespace wharf::live {

using rdmo::Access;
using rdmo::AccessKind;
using rdmo::AccessResult;
using rdmo::AccessStatus;

namespace {

std::atomic_ref<std::uint64_t> word_at(std::byte* at) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at));
}

/// What a failed operation says about whom: the endpoint's death kills the target, anything else the access.
AccessStatus status_of(ucs_status_t status) {
  if (status == UCS_OK) return AccessStatus::kDone;
  const bool dead = status == UCS_ERR_ENDPOINT_TIMEOUT || status == UCS_ERR_CONNECTION_RESET ||
                    status == UCS_ERR_CANCELED || status == UCS_ERR_NOT_CONNECTED ||
                    status == UCS_ERR_UNREACHABLE;
  return dead ? AccessStatus::kTargetLost : AccessStatus::kMemoryFailed;
}

}  // namespace

void WorkerProcess::perform(const Access& access) {
  if (access.kind == AccessKind::kFetch) {
    Operation& operation = begin(access);
    operation.bounce.resize(access.length);
    operation.result.data = operation.bounce.data();
    fetched_[access.payload] = &operation;  // Its bytes are read until the payload is released.
    return fetch(operation, operation.bounce.data());
  }
  const Memory* memory = access.kind == AccessKind::kOrder ? nullptr : &memories_[access.memory];
  if (targets_[access.target].endpoint == nullptr) {
    AccessResult lost;
    lost.status = AccessStatus::kTargetLost;
    return done(access, lost);
  }
  if (memory != nullptr && memory->mapped != nullptr) {
    perform_mapped(access, memory->mapped + (access.address - memory->address));
  } else {
    perform_remote(access, memory);
  }
}

void WorkerProcess::perform_mapped(const Access& access, std::byte* at) {
  AccessResult result;
  switch (access.kind) {
    case AccessKind::kRead:
      for (std::uint32_t i = 0; i < access.length / 8; ++i)
        result.words[i] = word_at(at + std::size_t{8} * i).load(std::memory_order_acquire);
      break;
    case AccessKind::kWrite:
      if (access.data == nullptr) {  // Straight from the initiator's memory to the target's.
        return fetch(begin(access), at);
      }
      std::memcpy(at, access.data, access.length);
      break;
    case AccessKind::kFill:
      std::memset(at, 0, access.length);
      break;
    case AccessKind::kWriteCell:
      word_at(at).store(access.value, std::memory_order_release);
      break;
    case AccessKind::kCompareSwap:
      result.words[0] = access.compare;
      word_at(at).compare_exchange_strong(result.words[0], access.value, std::memory_order_acq_rel);
      break;
    case AccessKind::kOrder:
    case AccessKind::kFetch:
      break;
  }
  done(access, result);
}

void WorkerProcess::fetch(Operation& operation, std::byte* to) {
  operation.fetching = true;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = &operation;
  param.cb.recv_am = [](void* request, ucs_status_t status, std::size_t, void* user) {
    auto* finished = static_cast<Operation*>(user);
    finished->process->finished(*finished, status);
    ucp_request_free(request);
  };
  submitted(operation, port_->fetch(operation.asked.payload, to, operation.asked.length, param));
}

void WorkerProcess::perform_remote(const Access& access, const Memory* memory) {
  Operation& operation = begin(access);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = &operation;
  param.cb.send = [](void* request, ucs_status_t status, void* user) {
    auto* finished = static_cast<Operation*>(user);
    finished->process->finished(*finished, status);
    ucp_request_free(request);
  };
  ucp_ep_h endpoint = targets_[access.target].endpoint;
  switch (access.kind) {
    case AccessKind::kRead:
      return submitted(operation, ucp_get_nbx(endpoint, operation.result.words.data(), access.length,
                                              access.address, memory->key, &param));
    case AccessKind::kWrite:
      if (access.data == nullptr) {
        operation.bounce.resize(access.length);
        return fetch(operation, operation.bounce.data());
      }
      return submitted(
          operation, ucp_put_nbx(endpoint, access.data, access.length, access.address, memory->key, &param));
    case AccessKind::kFill:
      operation.bounce.assign(access.length, std::byte{0});
      return submitted(operation, ucp_put_nbx(endpoint, operation.bounce.data(), access.length,
                                              access.address, memory->key, &param));
    case AccessKind::kWriteCell:
      operation.bounce.resize(8);
      store_le64(operation.bounce.data(), access.value);
      return submitted(
          operation, ucp_put_nbx(endpoint, operation.bounce.data(), 8, access.address, memory->key, &param));
    case AccessKind::kCompareSwap:
      // The operand is what is compared with; the reply buffer holds the new value, and then the old one.
      operation.result.words[0] = access.value;
      operation.asked.compare = access.compare;
      param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
      param.datatype = ucp_dt_make_contig(8);
      param.reply_buffer = operation.result.words.data();
      return submitted(operation, ucp_atomic_op_nbx(endpoint, UCP_ATOMIC_OP_CSWAP, &operation.asked.compare,
                                                    1, access.address, memory->key, &param));
    case AccessKind::kOrder:
      // A put that has ended here may be on its way; the flush ends when it is there.
      return submitted(operation, ucp_ep_flush_nbx(endpoint, &param));
    case AccessKind::kFetch:
      return;
  }
}

WorkerProcess::Operation& WorkerProcess::begin(const Access& access) {
  Operation* operation = nullptr;
  if (free_operations_.empty()) {
    operation = &operations_.emplace_back();
    // Its end is noted in a callback of UCX, which is C: nothing may be thrown there.
    free_operations_.reserve(operations_.size());
    done_.reserve(2 * operations_.size());
  } else {
    operation = free_operations_.back();
    free_operations_.pop_back();
  }
  operation->process = this;
  operation->access = access.id;
  operation->asked = access;
  operation->result = {};
  operation->fetching = false;
  if (access.kind != AccessKind::kFetch) ++targets_[access.target].users;
  return *operation;
}

void WorkerProcess::submitted(Operation& operation, ucs_status_ptr_t request) {
  if (UCS_PTR_IS_PTR(request)) return;
  finished(operation, UCS_PTR_STATUS(request));  // Nothing: done at once.
}

void WorkerProcess::finished(Operation& operation, ucs_status_t status) {
  const Access& access = operation.asked;
  if (operation.fetching) {
    operation.fetching = false;
    operation.result.status = status == UCS_OK ? AccessStatus::kDone : AccessStatus::kSenderLost;
    const bool goes_on = status == UCS_OK && access.kind == AccessKind::kWrite && !operation.bounce.empty() &&
                         memories_[access.memory].mapped == nullptr;
    if (goes_on && targets_[access.target].endpoint == nullptr) {
      operation.result.status = AccessStatus::kTargetLost;  // The data is here, and cannot be put there.
    } else if (goes_on) {
      ucp_request_param_t param{};
      param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
      param.user_data = &operation;
      param.cb.send = [](void* request, ucs_status_t put, void* user) {
        auto* finished = static_cast<Operation*>(user);
        finished->process->finished(*finished, put);
        ucp_request_free(request);
      };
      return submitted(operation,
                       ucp_put_nbx(targets_[access.target].endpoint, operation.bounce.data(), access.length,
                                   access.address, memories_[access.memory].key, &param));
    }
    done(access, operation.result);
    if (access.kind == AccessKind::kFetch) return;  // Until its payload is released.
  } else {
    operation.result.status = status_of(status);
    done(access, operation.result);
  }
  end(operation);
}

void WorkerProcess::end(Operation& operation) {
  if (operation.asked.kind != AccessKind::kFetch) let_go(operation.asked.target);
  operation.bounce.clear();
  free_operations_.push_back(&operation);
}

void WorkerProcess::release(std::uint64_t handle) {
  const auto fetched = fetched_.find(handle);
  if (fetched != fetched_.end()) {
    end(*fetched->second);
    fetched_.erase(fetched);
  }
  port_->release(handle);
}

}  // namespace wharf::live
