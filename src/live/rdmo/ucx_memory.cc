// SPDX-License-Identifier: Apache-2.0
#include "live/rdmo/ucx_memory.h"

#include <utility>

namespace wharf::live {

Result<UcxMemory> UcxMemory::allocate(const UcxPort& port, std::uint64_t bytes) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  params.length = bytes;
  params.flags = UCP_MEM_MAP_ALLOCATE;
  return make(port, params);
}

Result<UcxMemory> UcxMemory::map(const UcxPort& port, std::span<std::byte> bytes) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_ADDRESS;
  params.length = bytes.size();
  params.address = bytes.data();
  return make(port, params);
}

Result<UcxMemory> UcxMemory::make(const UcxPort& port, const ucp_mem_map_params_t& params) {
  UcxMemory made;
  ucs_status_t status = ucp_mem_map(port.context(), &params, &made.handle_);
  if (status != UCS_OK) return ucx_error("allocating memory", status);
  made.context_ = port.context();
  ucp_mem_attr_t attributes{};
  attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
  status = ucp_mem_query(made.handle_, &attributes);
  if (status != UCS_OK) return ucx_error("asking where memory is", status);
  made.bytes_ = {static_cast<std::byte*>(attributes.address), params.length};
  void* packed = nullptr;
  std::size_t length = 0;
  status = ucp_rkey_pack(port.context(), made.handle_, &packed, &length);
  if (status != UCS_OK) return ucx_error("packing a key", status);
  const auto* first = static_cast<const std::byte*>(packed);
  made.key_.assign(first, first + length);
  ucp_rkey_buffer_release(packed);
  return made;
}

UcxMemory::UcxMemory(UcxMemory&& other) noexcept
    : context_(other.context_),
      handle_(std::exchange(other.handle_, nullptr)),
      bytes_(std::exchange(other.bytes_, {})),
      key_(std::move(other.key_)) {}
UcxMemory& UcxMemory::operator=(UcxMemory&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(handle_, other.handle_);
  std::swap(bytes_, other.bytes_);
  std::swap(key_, other.key_);
  return *this;
}
UcxMemory::~UcxMemory() {
  if (handle_ != nullptr) ucp_mem_unmap(context_, handle_);
}

}  // namespace wharf::live
