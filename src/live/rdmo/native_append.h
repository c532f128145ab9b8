// SPDX-License-Identifier: Apache-2.0
// Appending without a worker, to measure against: fetch-and-add on the cell, wait, put at the place.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "live/rdmo/measured_turn.h"
#include "live/rdmo/ucx_port.h"

namespace wharf::live {

/// Places are taken modulo the log, so that it never ends: what is measured is the steps. The target has to
/// call progress() all the while, unless its memory is mapped here.
class NativeAppends : private MessageTaker {
 public:
  static Result<std::unique_ptr<NativeAppends>> open(const std::string& transports,
                                                     std::span<const std::byte> target,
                                                     std::span<const std::byte> key, std::uint64_t memory,
                                                     std::uint64_t memory_bytes, std::uint32_t record_bytes);
  ~NativeAppends() override;

  /// Each append to its end, flushed, before the next. All three give the appends done by `end`.
  std::uint64_t blocking(const MeasuredTurn& turn);
  /// So many chains of step after step; one flush at the end.
  std::uint64_t chains(const MeasuredTurn& turn, std::uint32_t count);
  /// One fetch-and-add for `records` places, then their puts.
  std::uint64_t reserved(const MeasuredTurn& turn, std::uint32_t records);

 private:
  struct Chain {
    bool busy = false;
    bool adding = false;
    std::uint64_t place = 0;
  };
  NativeAppends() = default;
  rdmo::Taken take(ucp_ep_h, std::uint32_t, std::span<const std::byte>, const rdmo::Payload&) override {
    return rdmo::Taken::kDone;
  }
  void add(Chain& chain, std::uint64_t bytes);
  void put(Chain& chain, std::uint64_t place);
  void wait(Chain& chain);
  void flush();
  ucp_request_param_t param(Chain& chain) const;
  static void started(Chain& chain, ucs_status_ptr_t request) { chain.busy = UCS_PTR_IS_PTR(request); }

  std::unique_ptr<UcxPort> port_;
  ucp_ep_h endpoint_ = nullptr;
  ucp_rkey_h key_ = nullptr;
  std::uint64_t memory_ = 0;
  std::uint64_t log_bytes_ = 0;
  std::vector<std::byte> record_;
  std::uint64_t step_ = 0;
};

}  // namespace wharf::live
