// SPDX-License-Identifier: Apache-2.0
// userfaultfd(2): whether the kernel gives it to this process, and one descriptor of it. What newer kernels
// have is named here, for the headers of the system are older.
#pragma once

#include <cstdint>
#include <utility>

#include "live/aperture/aperture.h"

namespace wharf::live {

/// How a descriptor can be had.
enum class FaultWay : std::uint8_t {
  kNone,
  kUserMode,  ///< With UFFD_USER_MODE_ONLY (Linux 5.11): faults inside the kernel are not delivered.
  kDevice,    ///< By /dev/userfaultfd (Linux 6.1), whoever may open it.
  kSystemCall,
};

class FaultDescriptor {
 public:
  /// The best way, if `kernel_faults` are wanted, else kUserMode. None: valid() is false, and error() says
  /// why the kernel refuses.
  static FaultDescriptor open(bool kernel_faults);
  FaultDescriptor() = default;
  FaultDescriptor(FaultDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        way_(other.way_),
        write_protect_(other.write_protect_),
        error_(other.error_) {}
  FaultDescriptor& operator=(FaultDescriptor&& other) noexcept;
  ~FaultDescriptor() { close(); }

  bool valid() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  FaultWay way() const { return way_; }
  /// The kernel can protect single pages of ordinary memory (Linux 5.7; not on every processor).
  bool write_protect() const { return write_protect_; }
  int error() const { return error_; }
  /// Whoever waits for a page of its ranges goes on, and meets what is mapped there then.
  void close();

 private:
  int descriptor_ = -1;
  FaultWay way_ = FaultWay::kNone;
  bool write_protect_ = false;
  int error_ = 0;
};

/// The sentence of `wharf doctor` for what was found. `moves`: Mapping::can_move_away().
ApertureSupport describe_support(FaultWay way, bool write_protect, int error, bool moves = true);

}  // namespace wharf::live
