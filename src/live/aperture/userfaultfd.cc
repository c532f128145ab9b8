// SPDX-License-Identifier: Apache-2.0
#include "live/aperture/userfaultfd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace wharf::live {
namespace {

constexpr int kUserModeOnly = 1;                            // UFFD_USER_MODE_ONLY
constexpr unsigned long kNewFromDevice = _IO(0xAA, 0x00);   // USERFAULTFD_IOC_NEW
constexpr std::uint64_t kProtectsPages = std::uint64_t{1};  // UFFD_FEATURE_PAGEFAULT_FLAG_WP
constexpr int kFlags = O_CLOEXEC | O_NONBLOCK;

int by_system_call(int flags) { return static_cast<int>(::syscall(SYS_userfaultfd, kFlags | flags)); }

int by_device() {
  const int device = ::open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
  if (device < 0) return -1;
  const int descriptor = ::ioctl(device, kNewFromDevice, kFlags);
  ::close(device);
  return descriptor;
}

int by(FaultWay way) {
  switch (way) {
    case FaultWay::kSystemCall:
      return by_system_call(0);
    case FaultWay::kDevice:
      return by_device();
    case FaultWay::kUserMode:
      return by_system_call(kUserModeOnly);
    case FaultWay::kNone:
      break;
  }
  return -1;
}

/// Features that the kernel has; one descriptor can be asked once.
bool ask(int descriptor, std::uint64_t wanted, std::uint64_t& has) {
  uffdio_api question{};
  question.api = UFFD_API;
  question.features = wanted;
  if (::ioctl(descriptor, UFFDIO_API, &question) != 0) return false;
  has = question.features;
  return true;
}

}  // namespace

FaultDescriptor FaultDescriptor::open(bool kernel_faults) {
  FaultDescriptor out;
  for (const FaultWay way : {FaultWay::kSystemCall, FaultWay::kDevice, FaultWay::kUserMode}) {
    if (way != FaultWay::kUserMode && !kernel_faults) continue;
    const int first = by(way);
    if (first < 0) {
      // What the system call says tells more than that there is no such device.
      if (way != FaultWay::kDevice || out.error_ == 0) out.error_ = errno;
      continue;
    }
    std::uint64_t has = 0;
    const bool asked = ask(first, 0, has);
    if (!asked) out.error_ = errno;
    ::close(first);
    if (!asked) continue;
    out.descriptor_ = by(way);
    std::uint64_t given = 0;
    if (out.descriptor_ >= 0 && ask(out.descriptor_, has & kProtectsPages, given)) {
      out.way_ = way;
      out.write_protect_ = (has & kProtectsPages) != 0;
      return out;
    }
    out.error_ = errno;
    out.close();
  }
  return out;
}

FaultDescriptor& FaultDescriptor::operator=(FaultDescriptor&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
    way_ = other.way_;
    write_protect_ = other.write_protect_;
    error_ = other.error_;
  }
  return *this;
}

void FaultDescriptor::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

ApertureSupport describe_support(FaultWay way, bool write_protect, int error, bool moves) {
  ApertureSupport out;
  if (way != FaultWay::kNone && !moves) {
    out.sentence =
        "apertures for reading fetch pages on demand; those for writing need fetch() before an access: a "
        "kernel from Linux 5.7 on lets changed pages go";
    return out;
  }
  out.write_protect = write_protect && way != FaultWay::kNone;
  const char* const pages =
      out.write_protect ? "" : "; pages are compared, for this kernel does not protect single ones";
  switch (way) {
    case FaultWay::kSystemCall:
    case FaultWay::kDevice:
      out.mode = ApertureMode::kAllFaults;
      out.sentence = fmt::format("apertures fetch pages on demand, in system calls too{}", pages);
      break;
    case FaultWay::kUserMode:
      out.mode = ApertureMode::kUserFaults;
      out.sentence = fmt::format(
          "apertures fetch pages on demand{}; a system call on a page that is not there gives EFAULT: "
          "sysctl vm.unprivileged_userfaultfd=1, or the right to open /dev/userfaultfd, for these too",
          pages);
      break;
    case FaultWay::kNone:
      out.mode = ApertureMode::kExplicit;
      out.sentence = fmt::format(
          "no faults ({}): apertures need fetch() before an access; {}", std::strerror(error),
          error == ENOSYS ? "a kernel with CONFIG_USERFAULTFD has them"
                          : "in a container, let its seccomp profile allow userfaultfd(2); else sysctl "
                            "vm.unprivileged_userfaultfd=1");
      break;
  }
  return out;
}

}  // namespace wharf::live
