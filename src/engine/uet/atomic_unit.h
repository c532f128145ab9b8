// SPDX-License-Identifier: Apache-2.0
// Executes atomics of others: one step of the memory port where it has the operation, else a read and a write
// that no other atomic of this interface comes between. [UE 1.0 3.4]
#pragma once

#include <cstdint>

#include "base/index_list.h"
#include "engine/contract.h"
#include "engine/uet/access_port.h"
#include "wire/packet.h"

namespace wharf::uet {

struct EngineParts;
struct MemoryRegion;

class AtomicUnit {
 public:
  explicit AtomicUnit(EngineParts& parts) : parts_(parts) {}

  /// kOk when `length` bytes at `address` can be the target. Choice: naturally aligned, one packet.
  static wire::UetReturnCode check(const wire::UetAtomic& atomic, std::uint32_t length,
                                   std::uint32_t operand_bytes, std::uint64_t address);
  /// Runs the operation for an accepted packet, whose answer Target::atomic_done() gives. `region`: where
  /// `address` lies; null for a receive buffer. False: no resource.
  bool start(TimePs now, std::uint32_t inbound, const wire::UetAtomic& atomic, const MemoryRegion* region,
             verbs::AddressSpaceId space, std::uint64_t address, std::uint32_t length, bool fetching,
             const wire::Payload& operand, wire::OperationTag operation);
  void access_done(TimePs now, const PendingAccess& owner, const engine::AccessResult& result);
  void release_buffers();
  /// Heap memory held, in bytes.
  std::size_t bytes_held() const { return jobs_.bytes_held(); }

 private:
  struct Job {
    std::uint32_t inbound = kNoSlot;
    std::uint32_t length = 0;
    std::uint32_t next = kNoSlot;
    bool fetching = false;
    bool by_port = false;  ///< One access of kind kAtomic.
    bool writing = false;
    bool in_region = false;  ///< Of memory_key and job_id.
    std::uint32_t job_id = 0;
    std::uint64_t memory_key = 0;
    std::uint64_t address = 0;
    verbs::AddressSpaceId space = 0;
    wire::UetAtomic atomic;
    wire::Payload operand;                    ///< The engine has a reference.
    wire::Payload old;                        ///< The value before, of the pool.
    wire::BufferId result = wire::kNoBuffer;  ///< The value after.
    wire::OperationTag operation;
  };

  bool blocked(std::uint32_t job) const;
  wire::UetReturnCode begin(std::uint32_t job);
  void end(TimePs now, std::uint32_t job, wire::UetReturnCode code);
  void finish(TimePs now, std::uint32_t job, wire::UetReturnCode code);
  static bool port_verb(const wire::UetAtomic& atomic, std::uint32_t length, verbs::Verb& verb);
  /// kOk unless the region or the receive that `job` works on has gone.
  wire::UetReturnCode still_allowed(const Job& job) const;
  /// The next access of `job`, if it is still allowed.
  wire::UetReturnCode ask(std::uint32_t job, engine::AccessKind kind);

  EngineParts& parts_;
  SlotPool<Job> jobs_;
  IndexList running_;
  std::uint32_t stepwise_ = 0;  ///< Of them those that are not one access.
  IndexList waiting_;
};

}  // namespace wharf::uet
