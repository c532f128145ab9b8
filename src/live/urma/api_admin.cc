// SPDX-License-Identifier: Apache-2.0
// The C interface: what the library logs, and how long its calls take.
#include "live/urma/exported.h"
//
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "live/urma/library.h"

namespace {

std::atomic<urma_log_cb_t> log_function{nullptr};
std::atomic<urma_loc_log_cb> located_log_function{nullptr};
std::atomic<int> log_level{URMA_VLOG_LEVEL_ERR};
thread_local char thread_tag[64] = "";

}  // namespace

namespace wharf::live::urma {

void log(urma_vlog_level_t level, const char* format, ...) {
  if (static_cast<int>(level) > log_level.load()) return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  char line[640];
  std::snprintf(line, sizeof line, "liburma: %s%s%s", thread_tag, thread_tag[0] == 0 ? "" : ": ", text);
  if (const urma_loc_log_cb located = located_log_function.load()) {
    located(level, "liburma", "", 0, line);
  } else if (const urma_log_cb_t plain = log_function.load()) {
    plain(level, line);
  } else if (std::getenv("WHARF_URMA_LOG") != nullptr) {
    std::fprintf(stderr, "%s\n", line);
  }
}

}  // namespace wharf::live::urma

extern "C" {

urma_status_t urma_register_log_func(urma_log_cb_t func) {
  if (func == nullptr) return URMA_EINVAL;
  log_function = func;
  return URMA_SUCCESS;
}
urma_status_t urma_register_loc_log_func(urma_loc_log_cb func) {
  if (func == nullptr) return URMA_EINVAL;
  located_log_function = func;
  return URMA_SUCCESS;
}
urma_status_t urma_unregister_log_func(void) {
  log_function = nullptr;
  located_log_function = nullptr;
  return URMA_SUCCESS;
}
urma_vlog_level_t urma_log_get_level(void) { return static_cast<urma_vlog_level_t>(log_level.load()); }
void urma_log_set_level(urma_vlog_level_t level) {
  if (level >= URMA_VLOG_LEVEL_EMERG && level < URMA_VLOG_LEVEL_MAX) log_level = level;
}
const char* urma_log_get_thread_tag(void) { return thread_tag; }
void urma_log_set_thread_tag(const char* tag) {
  if (tag == nullptr) return;
  std::strncpy(thread_tag, tag, sizeof thread_tag - 1);
}

// `wharf perf` and the counters of an interface measure; the library itself does not time its calls.
urma_status_t urma_start_perf(void) { return URMA_FAIL; }
urma_status_t urma_stop_perf(void) { return URMA_FAIL; }
urma_status_t urma_get_perf_info(char* perf_buf, uint32_t* length) {
  if (perf_buf == nullptr || length == nullptr) return URMA_EINVAL;
  *length = 0;
  return URMA_FAIL;
}

}  // extern "C"
