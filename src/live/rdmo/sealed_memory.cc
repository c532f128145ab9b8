// SPDX-License-Identifier: Apache-2.0
#include "live/rdmo/sealed_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace wharf::live {
namespace {

Error memory_error(const char* what) {
  return {ErrorKind::kEnvironment, fmt::format("{}: {}", what, std::strerror(errno))};
}

Result<std::span<std::byte>> map_all(int file, std::uint64_t bytes) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) return memory_error("mapping shared memory");
  return std::span<std::byte>(static_cast<std::byte*>(at), bytes);
}

}  // namespace

Result<SealedMemory> SealedMemory::create(std::uint64_t bytes) {
  SealedMemory made;
  made.file_ = Descriptor(::memfd_create("wharf-rdmo", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int file = made.file_.number();
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return memory_error("making shared memory");
  auto mapped = map_all(file, bytes);
  if (!mapped) return mapped.error();
  made.bytes_ = *mapped;
  return made;
}

// Huge pages are refused: one that cannot be had is a signal to who touches it, sealed or not.
Result<SealedMemory> SealedMemory::map(const Descriptor& file) {
  const int seals = ::fcntl(file.number(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return input_error("memory: it is not sealed against shrinking");
  struct statfs system {};
  struct stat about {};
  if (::fstatfs(file.number(), &system) != 0 || ::fstat(file.number(), &about) != 0)
    return memory_error("looking at shared memory");
  if (system.f_type != TMPFS_MAGIC) return input_error("memory: it is not made of ordinary pages");
  if (about.st_size <= 0) return input_error("memory: it has no bytes");
  auto mapped = map_all(file.number(), static_cast<std::uint64_t>(about.st_size));
  if (!mapped) return mapped.error();
  SealedMemory made;
  made.bytes_ = *mapped;
  return made;
}

SealedMemory::SealedMemory(SealedMemory&& other) noexcept
    : file_(std::move(other.file_)), bytes_(std::exchange(other.bytes_, {})) {}
SealedMemory& SealedMemory::operator=(SealedMemory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
SealedMemory::~SealedMemory() {
  if (bytes_.data() != nullptr) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace wharf::live
