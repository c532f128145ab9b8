// SPDX-License-Identifier: Apache-2.0
#include "live/udp/ordered_capture.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace wharf::live {
namespace {

/// The first name of the row that nothing has; empty when all are taken.
std::filesystem::path free_name(const std::filesystem::path& file) {
  for (int number = 0; number <= OrderedCapture::kFilesMax; ++number) {
    std::filesystem::path name = file;
    if (number != 0) name += fmt::format(".{}", number);
    std::error_code none;
    if (std::filesystem::symlink_status(name, none).type() == std::filesystem::file_type::not_found)
      return name;
  }
  return {};
}

}  // namespace

std::string OrderedCapture::begin(TimePs now) {
  if (current_ != nullptr) return fmt::format("capturing to {} already", current_file_.string());
  const std::filesystem::path name = free_name(file_);
  if (name.empty())
    return fmt::format("no capture: {} and {} more files are there, expected one name that is free",
                       file_.string(), kFilesMax);
  auto made = LiveCapture::create(name, now);
  if (!made) return "no capture: " + made.error().message;
  current_ = *std::move(made);
  current_file_ = name;
  next_flush_ = now + kFlushInterval;
  return fmt::format("capturing to {}", name.string());
}

std::string OrderedCapture::end() {
  if (current_ == nullptr) return "no capture is running";
  const std::unique_ptr<LiveCapture> over = std::move(current_);
  const std::uint64_t frames = over->frames();
  const auto closed = over->close();
  if (!closed) return closed.error().message;
  return fmt::format("captured to {}: {} frames", current_file_.string(), frames);
}

std::string OrderedCapture::obey(TimePs now) {
  return orders_->exchange(CaptureOrder::kNone) == CaptureOrder::kBegin ? begin(now) : end();
}

void OrderedCapture::keep(TimePs now) {
  if (current_ == nullptr || now < next_flush_) return;
  next_flush_ = now + kFlushInterval;
  current_->flush();
}

Result<void> OrderedCapture::close() {
  if (current_ == nullptr) return {};
  return std::exchange(current_, nullptr)->close();
}

Result<void> check_capture_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return Error{ErrorKind::kEnvironment,
               fmt::format("{}: cannot create the capture: {}", file.string(), std::strerror(errno))};
}

}  // namespace wharf::live
