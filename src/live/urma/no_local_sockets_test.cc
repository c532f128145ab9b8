// SPDX-License-Identifier: Apache-2.0
// A system that forbids local sockets: UDP works as ever, and shared memory is missing where nobody asked for
// it.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#include "live/urma/include/urma_api.h"

namespace wharf::live::urma {
namespace {

/// From now on this process has none; false: the system cannot be told so.
bool forbid_local_sockets() {
  std::array<sock_filter, 6> program{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 3),
      // The lower half of the first argument; no machine that this runs on is big-endian.
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{program.size(), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

std::string said;
void keep(int level, char* text) {
  said += std::to_string(level);
  said += text;
}

/// What `act` gives, in a process without local sockets.
template <typename Act>
int without_local_sockets(Act&& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!forbid_local_sockets()) ::_exit(100);
    urma_register_log_func(keep);
    urma_log_set_level(URMA_VLOG_LEVEL_WARNING);
    ::_exit(act());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(NoLocalSockets, LeaveADeviceOverUdp) {
  EXPECT_EQ(without_local_sockets([] {
              ::unsetenv("WHARF_URMA_DEVICES");
              if (urma_init(nullptr) != URMA_SUCCESS) return 1;
              int count = 0;
              urma_device_t** const devices = urma_get_device_list(&count);
              if (devices == nullptr || count != 1) return 2;
              if (std::string_view(devices[0]->name) != "ub_lo") return 3;
              return said.find("4liburma: there is no device ub_shm: ") == std::string::npos ? 4 : 0;
            }),
            0);
}

TEST(NoLocalSockets, RefuseADeviceThatWasAskedFor) {
  EXPECT_EQ(without_local_sockets([] {
              ::setenv("WHARF_URMA_DEVICES", "lo,shm", 1);
              return urma_init(nullptr) == URMA_SUCCESS ? 1 : 0;
            }),
            0);
}

}  // namespace
}  // namespace wharf::live::urma
