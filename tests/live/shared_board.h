// SPDX-License-Identifier: Apache-2.0
// What a test and the processes that it starts write for each other.
#pragma once

#include <sys/mman.h>

#include <new>

namespace wharf::test {

/// One `Board` in memory that every child of this process shares. Its members are atomics.
template <typename Board>
class SharedBoard {
 public:
  SharedBoard()
      : board_(new (::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                   Board) {}
  ~SharedBoard() { ::munmap(board_, sizeof(Board)); }
  Board* operator->() const { return board_; }
  Board& operator*() const { return *board_; }

 private:
  Board* board_;
};

}  // namespace wharf::test
