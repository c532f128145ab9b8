// SPDX-License-Identifier: Apache-2.0
#include "live/rdmo/native_append.h"

#include <sched.h>

namespace wharf::live {
namespace {

/// Where the two-step keeps its tail: behind the worker's cell and log, in the last line of the memory.
constexpr std::uint64_t kTailBytes = 64;

}  // namespace

Result<std::unique_ptr<NativeAppends>> NativeAppends::open(const std::string& transports,
                                                           std::span<const std::byte> target,
                                                           std::span<const std::byte> key,
                                                           std::uint64_t memory, std::uint64_t memory_bytes,
                                                           std::uint32_t record_bytes) {
  auto made = std::unique_ptr<NativeAppends>(new NativeAppends);
  auto port = UcxPort::create(transports, *made);
  if (!port) return port.error();
  made->port_ = *std::move(port);
  auto endpoint = made->port_->connect(target);
  if (!endpoint) return endpoint.error();
  made->endpoint_ = *endpoint;
  const ucs_status_t status = ucp_ep_rkey_unpack(made->endpoint_, key.data(), &made->key_);
  if (status != UCS_OK) return ucx_error("unpacking the target's key", status);
  made->memory_ = memory;
  made->log_bytes_ = memory_bytes - kTailBytes - 64;
  made->record_.resize(record_bytes);
  Chain chain;
  made->add(chain, 0);
  made->wait(chain);
  made->flush();
  return made;
}

NativeAppends::~NativeAppends() {
  if (key_ != nullptr) ucp_rkey_destroy(key_);
}

ucp_request_param_t NativeAppends::param(Chain& chain) const {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = &chain;
  param.cb.send = [](void* request, ucs_status_t, void* user) {
    static_cast<Chain*>(user)->busy = false;
    ucp_request_free(request);
  };
  return param;
}

void NativeAppends::add(Chain& chain, std::uint64_t bytes) {
  ucp_request_param_t asked = param(chain);
  step_ = bytes;
  asked.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
  asked.datatype = ucp_dt_make_contig(8);
  asked.reply_buffer = &chain.place;
  chain.adding = true;
  started(chain, ucp_atomic_op_nbx(endpoint_, UCP_ATOMIC_OP_ADD, &step_, 1, memory_ + log_bytes_ + 64, key_,
                                   &asked));
}

void NativeAppends::put(Chain& chain, std::uint64_t place) {
  const ucp_request_param_t asked = param(chain);
  const std::uint64_t room = log_bytes_ - record_.size() - 8;
  chain.adding = false;
  started(chain,
          ucp_put_nbx(endpoint_, record_.data(), record_.size(), memory_ + 8 + place % room, key_, &asked));
}

void NativeAppends::wait(Chain& chain) {
  std::uint32_t empty = 0;
  while (chain.busy) {
    if (port_->progress()) {
      empty = 0;
    } else if (++empty > 100) {
      ::sched_yield();  // The target may need this processor.
    }
  }
}

void NativeAppends::flush() {
  Chain chain;
  const ucp_request_param_t asked = param(chain);
  started(chain, ucp_ep_flush_nbx(endpoint_, &asked));
  wait(chain);
}

std::uint64_t NativeAppends::blocking(const MeasuredTurn& turn) {
  std::uint64_t appends = 0;
  Chain chain;
  for (; turn.goes_on(); ++appends) {
    add(chain, record_.size());
    wait(chain);
    put(chain, chain.place);
    wait(chain);
    flush();
  }
  return appends;
}

std::uint64_t NativeAppends::chains(const MeasuredTurn& turn, std::uint32_t count) {
  std::vector<Chain> all(count);
  std::uint64_t appends = 0;
  std::uint32_t empty = 0;
  for (Chain& chain : all) add(chain, record_.size());
  while (turn.goes_on()) {
    bool worked = port_->progress();
    for (Chain& chain : all) {
      if (chain.busy) continue;
      worked = true;
      if (chain.adding) {
        put(chain, chain.place);
      } else {
        ++appends;
        add(chain, record_.size());
      }
    }
    if (worked) {
      empty = 0;
    } else if (++empty > 100) {
      ::sched_yield();
    }
  }
  for (Chain& chain : all) wait(chain);
  flush();
  return appends;
}

std::uint64_t NativeAppends::reserved(const MeasuredTurn& turn, std::uint32_t records) {
  std::vector<Chain> puts(records);
  std::uint64_t appends = 0;
  Chain chain;
  for (; turn.goes_on(); appends += records) {
    add(chain, records * record_.size());
    wait(chain);
    for (std::uint32_t i = 0; i < records; ++i) put(puts[i], chain.place + i * record_.size());
    for (Chain& each : puts) wait(each);
  }
  flush();
  return appends;
}

}  // namespace wharf::live
