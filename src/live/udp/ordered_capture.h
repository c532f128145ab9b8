// SPDX-License-Identifier: Apache-2.0
// A capture that a running process is told to begin and to end, from outside.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "live/udp/capture_orders.h"
#include "live/udp/live_capture.h"

namespace wharf::live {

/// The capture of one host: from the beginning, by order, or none. Of the host's thread.
class OrderedCapture {
 public:
  /// How often what was captured goes to the file, so that others can read it meanwhile.
  static constexpr TimePs kFlushInterval = seconds(1);
  /// FILE, FILE.1 and so on to this number.
  static constexpr int kFilesMax = 999;

  /// `current`: what is captured from the beginning; may be null. `orders`: null when nobody gives any; it
  /// outlives this. Captures by order go to `file`, or to the first of FILE.1, FILE.2, ... that does not
  /// exist.
  OrderedCapture(std::unique_ptr<LiveCapture> current, std::filesystem::path file, CaptureOrders* orders)
      : current_(std::move(current)), file_(std::move(file)), orders_(orders) {}

  /// Where datagrams go now; null: nowhere.
  LiveCapture* current() const { return current_.get(); }
  /// Whether an order waits.
  bool ordered() const {
    return orders_ != nullptr && orders_->load(std::memory_order_relaxed) != CaptureOrder::kNone;
  }
  /// Does what was ordered and says so in one sentence. current() is another one afterwards.
  std::string obey(TimePs now);
  /// Called often; writes what is due.
  void keep(TimePs now);
  /// An environment error if anything could not be written.
  Result<void> close();

 private:
  std::string begin(TimePs now);
  std::string end();

  std::unique_ptr<LiveCapture> current_;
  std::filesystem::path file_;
  std::filesystem::path current_file_;
  CaptureOrders* orders_;
  TimePs next_flush_;
};

/// Refuses a file for captures by order whose folder takes no files: later there is nobody to tell.
Result<void> check_capture_folder(const std::filesystem::path& file);

}  // namespace wharf::live
