// SPDX-License-Identifier: Apache-2.0
// Memory that peers reach through UCX, with the key to it.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "live/rdmo/ucx_port.h"

namespace wharf::live {

/// Goes before its port.
class UcxMemory {
 public:
  /// Memory that UCX allocates: where its transports share memory, peers reach it without this process.
  static Result<UcxMemory> allocate(const UcxPort& port, std::uint64_t bytes);
  /// Memory that is there, and stays so as long as this lives.
  static Result<UcxMemory> map(const UcxPort& port, std::span<std::byte> bytes);

  UcxMemory() = default;
  UcxMemory(UcxMemory&& other) noexcept;
  UcxMemory& operator=(UcxMemory&& other) noexcept;
  ~UcxMemory();

  std::span<std::byte> bytes() const { return bytes_; }
  const std::vector<std::byte>& key() const { return key_; }

 private:
  static Result<UcxMemory> make(const UcxPort& port, const ucp_mem_map_params_t& params);

  ucp_context_h context_ = nullptr;
  ucp_mem_h handle_ = nullptr;
  std::span<std::byte> bytes_;
  std::vector<std::byte> key_;
};

}  // namespace wharf::live
