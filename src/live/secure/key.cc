// SPDX-License-Identifier: Apache-2.0
#include "live/secure/key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/kernel_random.h"
#include "live/secure/octets.h"

namespace wharf::live {
namespace {

/// What a key file holds: this, 64 hexadecimal digits, and the end of the line.
constexpr std::string_view kHead = "wharf-psk-1 ";
constexpr std::size_t kDigits = 2 * Key::kBytes;
constexpr std::size_t kFileBytes = kHead.size() + kDigits + 1;

Error refused(const std::filesystem::path& path, std::string_view why) {
  return input_error(fmt::format("--psk {}: {}", path.string(), why));
}
Error unusable(std::string_view option, const std::filesystem::path& path, std::string_view what) {
  return Error{ErrorKind::kEnvironment,
               fmt::format("{} {}: {}: {}", option, path.string(), what, std::strerror(errno))};
}

/// libsodium chooses how it computes once, before its first use; more often does no harm.
Result<void> begin() {
  if (::sodium_init() >= 0) return {};
  return Error{ErrorKind::kEnvironment, "libsodium cannot begin its work here"};
}

/// Text that is a secret.
struct SecretText {
  SecretText() = default;
  SecretText(const SecretText&) = delete;
  SecretText& operator=(const SecretText&) = delete;
  ~SecretText() { sodium_memzero(bytes.data(), bytes.size()); }
  std::array<char, kFileBytes + 1> bytes{};
};

}  // namespace

Key::~Key() { sodium_memzero(bytes_.data(), bytes_.size()); }

bool Key::operator==(const Key& other) const {
  return sodium_memcmp(bytes_.data(), other.bytes_.data(), kBytes) == 0;
}

Result<Key> Key::draw() {
  WHARF_TRY(begin());
  Key key;
  for (std::size_t at = 0; at < kBytes; at += sizeof(std::uint64_t)) {
    auto drawn = kernel_random();
    if (!drawn) return drawn.error();
    std::memcpy(key.data() + at, &*drawn, sizeof *drawn);
    sodium_memzero(&*drawn, sizeof *drawn);
  }
  return key;
}

Result<Key> read_key_file(const std::filesystem::path& path) {
  WHARF_TRY(begin());
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.open()) return refused(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  struct stat found {};
  if (::fstat(file.number(), &found) != 0) return unusable("--psk", path, "cannot be read");
  if (!S_ISREG(found.st_mode)) return refused(path, "is no regular file, expected a key file");
  if (found.st_uid != ::geteuid() && found.st_uid != 0) {
    return refused(path, fmt::format("belongs to user {}, expected one of this process's user {} or root",
                                     found.st_uid, ::geteuid()));
  }
  SecretText text;
  std::size_t length = 0;
  while (length < text.bytes.size()) {
    const ssize_t count = ::read(file.number(), text.bytes.data() + length, text.bytes.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unusable("--psk", path, "cannot be read");
    if (count == 0) break;
    length += static_cast<std::size_t>(count);
  }
  Key key;
  std::size_t decoded = 0;
  const char* end = nullptr;
  const char* const digits = text.bytes.data() + kHead.size();
  const bool whole = (length == kFileBytes && text.bytes[length - 1] == '\n') || length + 1 == kFileBytes;
  if (!whole || std::string_view(text.bytes.data(), kHead.size()) != kHead ||
      sodium_hex2bin(octets(key.data()), Key::kBytes, digits, kDigits, nullptr, &decoded, &end) != 0 ||
      decoded != Key::kBytes || end != digits + kDigits) {
    return refused(path,
                   "holds no key, expected a line \"wharf-psk-1\" and 64 hexadecimal digits, as "
                   "`wharf serve --make-psk FILE` writes it");
  }
  // Last: nobody is told to hide a file that is no key.
  if ((found.st_mode & 077U) != 0) {
    return refused(path, fmt::format("others may use it, its mode is {:04o}, expected 0600: chmod 600 {}",
                                     found.st_mode & 07777U, path.string()));
  }
  return key;
}

Result<void> make_key_file(const std::filesystem::path& path) {
  const auto key = Key::draw();
  if (!key) return key.error();
  SecretText text;
  std::memcpy(text.bytes.data(), kHead.data(), kHead.size());
  sodium_bin2hex(text.bytes.data() + kHead.size(), kDigits + 1, octets(key->data()), Key::kBytes);
  text.bytes[kFileBytes - 1] = '\n';
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.open()) return unusable("--make-psk", path, "cannot be made");
  const auto failed = [&](std::string_view what) -> Result<void> {
    const Error error = unusable("--make-psk", path, what);
    ::unlink(path.c_str());
    return error;
  };
  if (::fchmod(file.number(), 0600) != 0) return failed("cannot be kept from others");
  std::size_t written = 0;
  while (written < kFileBytes) {
    const ssize_t count = ::write(file.number(), text.bytes.data() + written, kFileBytes - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return failed("cannot be written");
    written += static_cast<std::size_t>(count);
  }
  if (::fsync(file.number()) != 0 && errno != EINVAL) return failed("cannot be written");
  return {};
}

}  // namespace wharf::live
