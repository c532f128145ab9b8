// SPDX-License-Identifier: Apache-2.0
// The range of an aperture as the kernel sees it: which of its pages are there, which may be stored to, and
// who waits for one. Used by the session's thread alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "live/aperture/kernel_calls.h"
#include "live/aperture/userfaultfd.h"

namespace wharf::live {

class Mapping {
 public:
  /// An access that waits.
  struct Fault {
    std::uint64_t page = 0;
    bool store = false;
    bool protect = false;  ///< The page was there, protected against stores.
  };

  /// `pages` absent pages. A mode that the kernel does not give becomes the next one. `kernel` outlives it.
  static Result<std::unique_ptr<Mapping>> create(std::uint64_t pages, bool writable, ApertureMode mode,
                                                 bool write_protect,
                                                 KernelCalls& kernel = KernelCalls::system());
  /// The kernel can take a page away with all that threads store to it meanwhile. [Linux 5.7]
  static bool can_move_away(KernelCalls& kernel = KernelCalls::system());
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  /// Threads that wait inside get SIGSEGV.
  ~Mapping();

  static std::uint64_t system_page_bytes();
  std::byte* base() const { return base_; }
  std::byte* at(std::uint64_t page) const { return base_ + page * page_bytes_; }
  std::uint64_t page_bytes() const { return page_bytes_; }
  ApertureMode mode() const { return mode_; }
  bool faults() const { return mode_ != ApertureMode::kExplicit; }
  /// Clean pages are protected, and the first store to one is told.
  bool protects() const { return protects_; }
  /// Readable when somebody waits; -1 without faults.
  int descriptor() const { return faults_.get(); }

  /// Takes the next access that waits.
  bool next_fault(Fault& out);
  // What the kernel refuses is an environment error, or false, and has changed nothing.
  /// `count` absent pages from `page` on are there, with these bytes; whoever waits goes on.
  Result<void> install(std::uint64_t page, std::uint64_t count, const std::byte* bytes, bool protect);
  /// Stores to the page wait from now on.
  bool protect(std::uint64_t page);
  /// Stores to the page are let through.
  bool allow(std::uint64_t page);
  /// Copies a page that is there, while others may store to it, in words.
  void snapshot(std::uint64_t page, std::byte* into) const;
  /// The page is absent.
  Result<void> drop(std::uint64_t page);
  /// The same, and copies what it held. No store falls between: it is in the copy, or finds the page absent.
  Result<void> take(std::uint64_t page, std::byte* into);
  /// From now on every access to these pages is SIGBUS. Of one page it can be done without room for another
  /// piece of the range. [Linux 6.6: UFFDIO_POISON]
  bool lose(std::uint64_t page, std::uint64_t count);
  /// Whoever waits for the page tries again.
  void wake(std::uint64_t page, std::uint64_t count = 1);

 private:
  explicit Mapping(KernelCalls& kernel) : kernel_(kernel) {}
  bool discard(std::byte* at, std::uint64_t bytes);
  bool write_protect(std::uint64_t page, std::uint64_t mode);
  bool take_whole(std::uint64_t page, std::byte* into);

  KernelCalls& kernel_;
  std::byte* base_ = nullptr;
  std::uint64_t pages_ = 0;
  std::uint64_t page_bytes_ = 0;
  int access_ = 0;  ///< PROT_*
  ApertureMode mode_ = ApertureMode::kExplicit;
  bool protects_ = false;
  FaultDescriptor faults_;
};

}  // namespace wharf::live
