// SPDX-License-Identifier: Apache-2.0
// A host's memory for tests: bytes that an engine's memory port reads, writes and changes at once, in
// ascending 8-byte words, and the NIC's own area (rings and evicted context records) apart from them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "base/check.h"
#include "engine/contract.h"
#include "verbs/verb.h"
#include "wire/payload.h"
#include "wire/payload_pool.h"

namespace wharf::test {

/// How many accesses of each kind were performed; index with static_cast<std::size_t>(AccessKind).
using AccessCounts = std::array<std::uint64_t, 8>;

class InstantMemory {
 public:
  /// Application memory of `size` zero bytes at address `base`.
  InstantMemory(std::uint64_t base, std::uint64_t size) : base_(base), bytes_(size) {}

  std::uint64_t base() const { return base_; }
  std::uint64_t size() const { return bytes_.size(); }

  /// The bytes at [address, address + length), which lie inside the memory.
  std::span<std::byte> at(std::uint64_t address, std::uint64_t length) {
    WHARF_CHECK(covers(address, length));
    return {bytes_.data() + (address - base_), length};
  }
  std::uint64_t load64(std::uint64_t address) {
    std::uint64_t value;
    std::memcpy(&value, at(address, 8).data(), 8);
    return value;
  }
  void store64(std::uint64_t address, std::uint64_t value) { std::memcpy(at(address, 8).data(), &value, 8); }

  /// Performs `access` now. A data buffer in the result holds one reference of `pool` that the caller
  /// releases. With `copy_reads` false, reads answer with the memory's own bytes.
  engine::AccessResult perform(const engine::Access& access, wire::PayloadPool& pool,
                               bool copy_reads = true) {
    ++counts_[static_cast<std::size_t>(access.kind)];
    std::uint32_t& faults = faults_[static_cast<std::size_t>(access.kind)];
    if (faults > 0) {
      --faults;
      return fault();
    }
    engine::AccessResult result;
    switch (access.kind) {
      case engine::AccessKind::kRead:
        if (!covers(access.address, access.length)) return fault();
        result.data = read(access.address, access.length, pool, copy_reads);
        return result;
      case engine::AccessKind::kWrite:
        if (!covers(access.address, access.length)) return fault();
        write(access);
        return result;
      case engine::AccessKind::kAtomic:
        if (!covers(access.address, access.width)) return fault();
        result.old_value = atomic(access);
        return result;
      case engine::AccessKind::kFetchContext:
        return fetch_context(access, pool);
      case engine::AccessKind::kWriteContext: {
        std::vector<std::byte>& record = contexts_[access.address];
        record.resize(access.length);
        wire::fill(access.data, record);
        return result;
      }
      case engine::AccessKind::kFetchWorkRequest:
      case engine::AccessKind::kFetchReceiveEntry:
      case engine::AccessKind::kWriteCompletion:
        return result;
    }
    WHARF_UNREACHABLE();
  }

  /// The next `count` accesses of that kind meet a missing page.
  void fail_next(engine::AccessKind kind, std::uint32_t count) {
    faults_[static_cast<std::size_t>(kind)] = count;
  }

  const AccessCounts& counts() const { return counts_; }
  std::uint64_t count(engine::AccessKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

 private:
  bool covers(std::uint64_t address, std::uint64_t length) const {
    return address >= base_ && length <= bytes_.size() && address - base_ <= bytes_.size() - length;
  }
  static engine::AccessResult fault() {
    engine::AccessResult result;
    result.status = engine::AccessStatus::kFault;
    return result;
  }

  wire::Payload read(std::uint64_t address, std::uint32_t length, wire::PayloadPool& pool, bool copy) {
    if (length == 0) return {};
    const std::byte* source = bytes_.data() + (address - base_);
    if (!copy) return wire::bytes_payload(source, length);
    const wire::BufferId buffer = pool.acquire(length);
    copy_ascending(source, pool.data(buffer), length);
    return wire::bytes_payload(pool.data(buffer), length, buffer);
  }

  void write(const engine::Access& access) {
    WHARF_CHECK(access.data.length == access.length);
    std::byte* target = bytes_.data() + (access.address - base_);
    if (access.data.kind == wire::PayloadKind::kBytes) {
      copy_ascending(access.data.bytes, target, access.length);
    } else {
      wire::fill(access.data, {target, access.length});
    }
  }

  static void copy_ascending(const std::byte* source, std::byte* target, std::uint32_t length) {
    std::uint32_t done = 0;
    for (; length - done >= 8; done += 8) std::memcpy(target + done, source + done, 8);
    if (done < length) std::memcpy(target + done, source + done, length - done);
  }

  using Wide = unsigned __int128;
  static Wide wide(const std::array<std::uint64_t, 2>& words) { return (Wide{words[1]} << 64U) | words[0]; }

  std::array<std::uint64_t, 2> atomic(const engine::Access& access) {
    WHARF_CHECK(access.width == 4 || access.width == 8 || access.width == 16);
    std::byte* target = bytes_.data() + (access.address - base_);
    Wide old = 0;
    std::memcpy(&old, target, access.width);
    const Wide mask = access.width == 16 ? ~Wide{0} : (Wide{1} << (8U * access.width)) - 1;
    const Wide next =
        apply(access.atomic, old, wide(access.operand) & mask, wide(access.compare) & mask) & mask;
    std::memcpy(target, &next, access.width);
    return {static_cast<std::uint64_t>(old), static_cast<std::uint64_t>(old >> 64U)};
  }

  /// Says what verbs/atomic_value.h says, in other words and on purpose: a model that shared the code of what
  /// it checks would share its mistakes.
  static Wide apply(verbs::Verb verb, Wide old, Wide operand, Wide compare) {
    switch (verb) {
      case verbs::Verb::kCompareSwap:
        return old == compare ? operand : old;
      case verbs::Verb::kSwap:
      case verbs::Verb::kAtomicStore:
        return operand;
      case verbs::Verb::kAtomicLoad:
        return old;
      case verbs::Verb::kFetchAdd:
        return old + operand;
      case verbs::Verb::kFetchSub:
        return old - operand;
      case verbs::Verb::kFetchAnd:
        return old & operand;
      case verbs::Verb::kFetchOr:
        return old | operand;
      case verbs::Verb::kFetchXor:
        return old ^ operand;
      case verbs::Verb::kLoad:
      case verbs::Verb::kStore:
      case verbs::Verb::kRead:
      case verbs::Verb::kWrite:
      case verbs::Verb::kWriteImm:
      case verbs::Verb::kWriteNotify:
      case verbs::Verb::kSend:
      case verbs::Verb::kSendImm:
      case verbs::Verb::kSendInvalidate:
        break;
    }
    WHARF_UNREACHABLE();
  }

  engine::AccessResult fetch_context(const engine::Access& access, wire::PayloadPool& pool) {
    const auto found = contexts_.find(access.address);
    WHARF_CHECK(found != contexts_.end() && found->second.size() == access.length);
    engine::AccessResult result;
    const wire::BufferId buffer = pool.acquire(access.length);
    std::memcpy(pool.data(buffer), found->second.data(), access.length);
    result.data = wire::bytes_payload(pool.data(buffer), access.length, buffer);
    return result;
  }

  std::uint64_t base_;
  std::vector<std::byte> bytes_;
  std::map<std::uint64_t, std::vector<std::byte>> contexts_;
  AccessCounts counts_{};
  std::array<std::uint32_t, 8> faults_{};  ///< By kind: accesses that are still to fail.
};

}  // namespace wharf::test
