// SPDX-License-Identifier: Apache-2.0
#include "study/frame/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace wharf::study {

Result<void> for_each_in_parallel(const StudyContext& context, std::size_t count,
                                  const std::function<Result<void>(std::size_t)>& work) {
  std::vector<Result<void>> results(count);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex progress_lock;
  std::size_t done = 0;
  const auto run = [&] {
    for (std::size_t i = next++; i < count && !failed; i = next++) {
      if (context.interrupt != nullptr && context.interrupt->load()) {
        results[i] = Error{ErrorKind::kStalled, "interrupted"};
        failed = true;
        return;
      }
      results[i] = work(i);
      if (!results[i]) failed = true;
      const std::lock_guard lock(progress_lock);
      ++done;
      if (context.progress) context.progress(static_cast<double>(done) / static_cast<double>(count));
    }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min<std::size_t>(context.threads, count); ++i) others.emplace_back(run);
  run();
  for (std::thread& thread : others) thread.join();
  for (const Result<void>& result : results) WHARF_TRY(result);
  return {};
}

}  // namespace wharf::study
