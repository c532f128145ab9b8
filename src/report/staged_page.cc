// SPDX-License-Identifier: Apache-2.0
#include "report/staged_page.h"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "report/plot.h"

namespace wharf::report {
namespace {

namespace fs = std::filesystem;

Error refused(std::string_view option, const fs::path& file, const std::error_code& why) {
  return Error{ErrorKind::kEnvironment,
               fmt::format("{} {}: cannot be written: {}", option, file.string(), why.message())};
}

}  // namespace

Result<StagedPage> StagedPage::create(std::string_view option, const fs::path& file) {
  std::error_code status;
  if (file.filename().empty() || fs::is_directory(file, status)) {
    return input_error(
        fmt::format("{} {}: that is a directory, expected the file name of the page", option, file.string()));
  }
  StagedPage page(file);
  WHARF_TRY(page.prepare(option));
  return page;
}

Result<void> StagedPage::prepare(std::string_view option) {
  std::error_code status;
  const fs::path beside = place_.through ? fs::temp_directory_path(status) : place_.file.parent_path();
  const fs::path folder = beside.empty() ? fs::path(".") : beside;
  status.clear();
  fs::path at;
  for (const fs::path& step : folder) {
    at /= step;
    if (at.empty() || fs::is_directory(at, status)) continue;
    fs::create_directory(at, status);
    if (status == std::errc::file_exists) status = std::make_error_code(std::errc::not_a_directory);
    if (status) return refused(option, file_, status);
    made_.push_back(at);
  }
  staging_ = folder / fmt::format(".page-{}", ::getpid());
  fs::remove_all(staging_, status);
  status.clear();
  fs::create_directory(staging_, status);
  if (!status) return {};
  staging_.clear();
  return refused(option, file_, status);
}

StagedPage::StagedPage(StagedPage&& other) noexcept
    : file_(std::move(other.file_)),
      place_(std::move(other.place_)),
      staging_(std::exchange(other.staging_, {})),
      made_(std::exchange(other.made_, {})) {}

StagedPage::~StagedPage() { clean(); }

void StagedPage::clean() noexcept {
  std::error_code status;
  if (!staging_.empty()) fs::remove_all(staging_, status);
  staging_.clear();
  // A folder that holds something by now stays.
  for (; !made_.empty(); made_.pop_back()) fs::remove(made_.back(), status);
}

Result<void> StagedPage::commit(std::string_view text) {
  const fs::path whole = staging_ / "page";
  if (!write_text_file(whole, text)) {
    return Error{ErrorKind::kEnvironment,
                 fmt::format("{}: cannot be written: no room for {} bytes", file_.string(), text.size())};
  }
  WHARF_TRY(put_in_place(whole, place_));
  made_.clear();
  clean();
  return {};
}

}  // namespace wharf::report
