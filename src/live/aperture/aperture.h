// SPDX-License-Identifier: Apache-2.0
// An aperture: a range of this process's memory behind which lies memory of a live server. Loads and stores
// fault, pages are fetched and written back. Public: installed as wharf/aperture.h (docs/aperture.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace wharf::live {

/// How a call ended. The numbers are the exit codes of the program `wharf`.
enum class ApertureStatus : int {
  kDone = 0,
  kInput = 3,  ///< An argument cannot be: outside the segment, no right to store.
  kEnvironment =
      4,         ///< Nobody listens there; the kernel does not give what was asked for. No change is lost.
  kStalled = 5,  ///< The server is gone, or refused an access: what was not published may be lost.
};

struct ApertureOutcome {
  ApertureStatus status = ApertureStatus::kDone;
  std::string message{};  ///< One sentence; empty when done.
  explicit operator bool() const { return status == ApertureStatus::kDone; }
};

struct ApertureSessionSettings {
  std::string server;      ///< "127.0.0.1:4792", "shm:bench": a `wharf serve`.
  std::string protocol{};  ///< The server's, as `wharf serve --protocol`; empty: the default.
  bool writable = true;    ///< Ask for the right to write, too.
  std::uint64_t slice_key =
      0;                   ///< slice_key() of another session, to share its memory; 0: memory of its own.
  bool busy_poll = false;  ///< Spin instead of sleeping: lowest latency, one core.
  std::uint32_t patience_ms = 2'000;  ///< For each step of connecting.
};

/// A session with a live server, and the one thread that serves the faults of its apertures. Calls may come
/// from any thread. It may be destroyed before its apertures: the connection ends with the last of them.
class ApertureSession {
 public:
  /// Null when it cannot be opened; `outcome` says why.
  static std::unique_ptr<ApertureSession> open(const ApertureSessionSettings& settings,
                                               ApertureOutcome& outcome);
  ApertureSession(const ApertureSession&) = delete;
  ApertureSession& operator=(const ApertureSession&) = delete;
  ~ApertureSession();

  /// Bytes of the server's memory that this session may use, from offset 0.
  std::uint64_t bytes() const;
  bool writable() const;
  /// Lets another session share the memory.
  std::uint64_t slice_key() const;
  /// The server is gone. Nothing brings it back.
  bool lost() const;

 private:
  friend class Aperture;
  class Core;
  explicit ApertureSession(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

/// Which part of a session's memory. `offset` is a multiple of 8, so that aligned words stay whole.
struct ApertureSegment {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// What happens to pages of an aperture that nobody has touched yet.
enum class ApertureMode : std::uint8_t {
  kAllFaults,   ///< They are fetched when the program touches them, also in a system call.
  kUserFaults,  ///< When the program touches them itself; a system call on them gives EFAULT.
  kExplicit,    ///< They are not there (SIGSEGV) before fetch().
};

/// When changes are written back beside publish() and refresh().
enum class ApertureWriteBack : std::uint8_t {
  kOnPublish,   ///< Never: changed pages stay, beyond the limit if need be, and unmapping forgets them.
  kOnEviction,  ///< When the page has to go, and when the aperture is unmapped.
  kPeriodic,    ///< The same, and every `write_back_interval_ms`.
};

struct ApertureOptions {
  /// False: a store is SIGSEGV, as in any mapping for reading.
  bool writable = true;
  /// The most that is wanted: what the kernel does not give becomes the next one; mode() tells.
  ApertureMode mode = ApertureMode::kAllFaults;
  /// False: do not ask the kernel to protect clean pages, compare every page with a copy instead.
  bool write_protect = true;
  /// Pages held at once, at least 8.
  std::uint64_t pages_max = 16'384;
  /// The longest read-ahead, in pages, 1,024 at most; 0: none.
  std::uint32_t read_ahead_pages = 16;
  ApertureWriteBack write_back = ApertureWriteBack::kOnEviction;
  std::uint32_t write_back_interval_ms = 100;  ///< A day at most.
  /// Bytes that are written together when one of them has changed: a power of two up to 4096. With 1, two
  /// apertures that change different bytes never undo each other, and a page with changes all over costs many
  /// WRITEs. With more, units of so many bytes belong to one writer at a time; from 8 on, an aligned word is
  /// never seen half-written.
  std::uint32_t grain = 1;
};

/// What an access needs.
enum class ApertureAccess : std::uint8_t { kLoad, kStore };

/// What an aperture has done so far.
struct ApertureCounters {
  std::uint64_t faults = 0;         ///< Accesses that waited for a page.
  std::uint64_t store_faults = 0;   ///< First stores to a page that was there.
  std::uint64_t reads = 0;          ///< READs sent.
  std::uint64_t pages_fetched = 0;  ///< By them.
  std::uint64_t pages_ahead = 0;    ///< Of these, before anybody asked.
  std::uint64_t writes = 0;         ///< WRITEs sent.
  std::uint64_t bytes_written = 0;  ///< By them.
  std::uint64_t evictions = 0;      ///< Pages that went to make room.
  std::uint64_t pages_held = 0;     ///< Now.
  std::uint64_t most_pages_held = 0;
};

/// The mapped range. Loads and stores may come from any thread, calls too. While a thread is inside the
/// range nobody may unmap it: such a thread gets SIGSEGV. In the child of a fork the range is not there, and
/// every call is refused.
///
/// When the server is lost, pages that are there stay; a thread that waits for another one, and whoever
/// touches one later, gets SIGBUS, as behind the end of a mapped file.
class Aperture {
 public:
  /// Null when it cannot be mapped; `outcome` says why.
  static std::unique_ptr<Aperture> map(ApertureSession& session, const ApertureSegment& segment,
                                       const ApertureOptions& options, ApertureOutcome& outcome);
  Aperture(const Aperture&) = delete;
  Aperture& operator=(const Aperture&) = delete;
  /// As unmap(), whose outcome nobody sees.
  ~Aperture();

  /// Where it begins: at a page. The last page may go beyond size(): what is stored there goes nowhere.
  std::byte* data() const;
  std::uint64_t size() const;
  std::span<std::byte> bytes() const { return {data(), size()}; }
  std::uint64_t page_bytes() const;
  ApertureMode mode() const;

  /// Returns when every change of these bytes that was stored before has been written, and the server has
  /// acknowledged it: a release. Writes the bytes that differ from what was fetched, no others, in any order.
  ApertureOutcome publish(std::uint64_t offset, std::uint64_t bytes);
  ApertureOutcome publish() { return publish(0, size()); }
  /// The pages of the range go, after what was changed in them is written: the next access fetches them anew:
  /// an acquire.
  ApertureOutcome refresh(std::uint64_t offset, std::uint64_t bytes);
  ApertureOutcome refresh() { return refresh(0, size()); }
  /// The same, but changes of these bytes that are not written yet are forgotten; those of other bytes of the
  /// same pages are written.
  ApertureOutcome discard(std::uint64_t offset, std::uint64_t bytes);
  /// Begins to fetch pages of the range that are not there, as far as the limit lets it, and does not wait.
  ApertureOutcome prefetch(std::uint64_t offset, std::uint64_t bytes);
  /// Fetches the range, and keeps it until release(), refresh() or discard(): it can be touched without a
  /// fault, also by system calls, for stores if they are asked for (which needs a writable aperture). Nothing
  /// stops such stores while publish() or a periodic write-back copies the pages. With publish() it is all
  /// that is needed where the kernel delivers no faults.
  ApertureOutcome fetch(std::uint64_t offset, std::uint64_t bytes,
                        ApertureAccess access = ApertureAccess::kStore);
  /// The pages of the range may go again.
  ApertureOutcome release(std::uint64_t offset, std::uint64_t bytes);

  ApertureCounters counters() const;

  /// Writes back what is changed, unless the policy is kOnPublish, and gives the range up. Later calls are
  /// refused.
  ApertureOutcome unmap();

 private:
  class Inside;
  explicit Aperture(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

/// What this kernel lets this process do, as `wharf doctor` says it.
struct ApertureSupport {
  ApertureMode mode = ApertureMode::kExplicit;  ///< The best one here.
  bool write_protect = false;                   ///< Clean pages can be protected; else they are compared.
  std::string sentence{};                       ///< What works, and what to do for more.
};
ApertureSupport aperture_support();

}  // namespace wharf::live
