// SPDX-License-Identifier: Apache-2.0
// RDMO over UCX for C programs: a worker near somebody's memory appends to it, flushes and scatters.
//
// Three kinds of object, each used by one thread at a time:
//   worker     serves targets and initiators; most often `wharf rdmo worker` is one
//   target     owns memory, and grants it through a worker
//   initiator  asks the worker for operations on one target's memory
//
// A function that can fail returns WHARF_RDMO_OK or what went wrong; wharf_rdmo_error() then is a sentence
// that says it. Places are offsets into the target's memory. Its first 8 bytes hold the tail of a log, whose
// first record therefore lies at WHARF_RDMO_FIRST. Addresses are "HOST:PORT" or "HOST", IPv4.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(WHARF_RDMO_BUILDS)
#define WHARF_RDMO_API __attribute__((visibility("default")))
#else
#define WHARF_RDMO_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended. */
enum wharf_rdmo_result {
  WHARF_RDMO_OK = 0,
  WHARF_RDMO_BAD_ARGUMENT = 1, /* An argument makes no sense; nothing was done. */
  WHARF_RDMO_FULL = 2,         /* Too much is under way: again after an outcome. */
  WHARF_RDMO_LOST = 3,         /* The connection has ended; everything under way has an outcome. */
  WHARF_RDMO_ENVIRONMENT = 4,  /* The machine, the network or the other side refuses. */
  WHARF_RDMO_STALLED = 5       /* The other side did not answer in time. */
};

/* How an operation ended. */
enum wharf_rdmo_status {
  WHARF_RDMO_DONE = 0,
  WHARF_RDMO_MALFORMED = 1,
  WHARF_RDMO_UNKNOWN_CLIENT = 2,
  WHARF_RDMO_BAD_KEY = 3,     /* The memory was withdrawn. */
  WHARF_RDMO_BAD_ADDRESS = 4, /* Outside the target's memory. */
  WHARF_RDMO_NO_ROOM = 5,     /* The record would pass the end of the memory; `place` is the tail. */
  WHARF_RDMO_TAIL_MOVED = 6,  /* The tail is not the expected one; `place` is the tail. */
  WHARF_RDMO_MEMORY_FAILED = 7,
  WHARF_RDMO_TARGET_LOST = 8,
  WHARF_RDMO_SENDER_LOST = 9,
  WHARF_RDMO_TOO_LONG = 10,
  WHARF_RDMO_NO_CREDIT = 11,
  WHARF_RDMO_BAD_SEQUENCE = 12,
  WHARF_RDMO_DAMAGED = 13,        /* An earlier failure left the log without a trustworthy tail. */
  WHARF_RDMO_EARLIER_FAILED = 14, /* Flush: a request before it failed; `place` is how many. */
  WHARF_RDMO_STOPPED = 15,        /* The worker stops. */
  WHARF_RDMO_TIMED_OUT = 16,      /* No answer in time; the connection has ended. */
  WHARF_RDMO_CONNECTION_LOST = 17 /* The worker is gone; whether the operation was done is not known. */
};

enum { WHARF_RDMO_FIRST = 8 };

/* Flags of operations. */
enum {
  WHARF_RDMO_FENCE = 1, /* Starts when all earlier operations of this initiator have ended. */
  WHARF_RDMO_QUIET = 2, /* Append: done when it has been sent; a failure is told by the next flush. */
  WHARF_RDMO_EXPECT = 4 /* Append: only if the tail is `expected`. */
};

/* Why the last call of this thread failed; "" before one did. Stays until the next call that fails. */
WHARF_RDMO_API const char* wharf_rdmo_error(void);
/* "no room", "tail moved", ...; "unknown status" for other numbers. */
WHARF_RDMO_API const char* wharf_rdmo_status_name(int status);

/* --- Worker -------------------------------------------------------------------------------------------- */

typedef struct wharf_rdmo_worker wharf_rdmo_worker;

/* Begin with WHARF_RDMO_WORKER_CONFIG. Text that is NULL is the default. */
typedef struct {
  size_t size;            /* sizeof this. */
  const char* listen;     /* Where targets come; "127.0.0.1:18516". Port 0: one that is free. */
  const char* transports; /* UCX's; "tcp,self". Dead peers go unnoticed without tcp; posix, sysv and cma
                             trust whoever comes. */
  int once;               /* Not 0: ends when its last target has left. */
} wharf_rdmo_worker_config;
#define WHARF_RDMO_WORKER_CONFIG \
  { sizeof(wharf_rdmo_worker_config), NULL, NULL, 0 }

WHARF_RDMO_API int wharf_rdmo_worker_open(const wharf_rdmo_worker_config* config, wharf_rdmo_worker** worker);
WHARF_RDMO_API uint16_t wharf_rdmo_worker_port(const wharf_rdmo_worker* worker);
/* Serves until wharf_rdmo_worker_stop(), then ends in order: WHARF_RDMO_OK. WHARF_RDMO_ENVIRONMENT: out of
 * memory. */
WHARF_RDMO_API int wharf_rdmo_worker_run(wharf_rdmo_worker* worker);
/* From any thread, or from a signal handler. */
WHARF_RDMO_API void wharf_rdmo_worker_stop(wharf_rdmo_worker* worker);
/* NULL is nothing to close, here and below. */
WHARF_RDMO_API void wharf_rdmo_worker_close(wharf_rdmo_worker* worker);

/* --- Target -------------------------------------------------------------------------------------------- */

typedef struct wharf_rdmo_target wharf_rdmo_target;

typedef struct {
  size_t size;            /* sizeof this. */
  const char* worker;     /* Of the worker; "127.0.0.1:18516". */
  const char* listen;     /* Where initiators come; "127.0.0.1:18515". Port 0: one that is free. */
  const char* transports; /* UCX's; "tcp,self". A worker of this machine and user gets the memory itself. */
  uint64_t id;            /* Among the targets of its worker. */
  uint64_t bytes;         /* Of its memory, at least 64; 1 MiB. */
  uint32_t patience_ms;   /* For each answer of the worker or of an initiator that comes, at least 1; 10 s. */
} wharf_rdmo_target_config;
#define WHARF_RDMO_TARGET_CONFIG \
  { sizeof(wharf_rdmo_target_config), NULL, NULL, NULL, 0, 1 << 20, 10000 }

WHARF_RDMO_API int wharf_rdmo_target_open(const wharf_rdmo_target_config* config, wharf_rdmo_target** target);
/* Where it listens. */
WHARF_RDMO_API uint16_t wharf_rdmo_target_port(const wharf_rdmo_target* target);
/* All of its memory, filled with zeros but for the tail; valid until it is closed. */
WHARF_RDMO_API void* wharf_rdmo_target_memory(wharf_rdmo_target* target, size_t* bytes);
/* The tail that the log shows: all bytes before it are there. */
WHARF_RDMO_API uint64_t wharf_rdmo_target_tail(const wharf_rdmo_target* target);
/* Begins the log anew. Only between a flush and the next append: the worker holds no tail then. */
WHARF_RDMO_API void wharf_rdmo_target_reset(wharf_rdmo_target* target);
/* Lets initiators in that have come, and does UCX's work, without waiting for any of them. Call it often: in
 * a loop, or from a thread of its own. An initiator that breaks the rules or does not answer within
 * `patience_ms` is the failure of one call, and of nothing else. WHARF_RDMO_LOST: the worker is gone. */
WHARF_RDMO_API int wharf_rdmo_target_progress(wharf_rdmo_target* target);
/* Takes the memory back: what was appended is written back first, later operations end with
 * WHARF_RDMO_BAD_KEY. WHARF_RDMO_LOST: the worker is gone, and has the memory no more. */
WHARF_RDMO_API int wharf_rdmo_target_withdraw(wharf_rdmo_target* target);
WHARF_RDMO_API void wharf_rdmo_target_close(wharf_rdmo_target* target);

/* --- Initiator ----------------------------------------------------------------------------------------- */

typedef struct wharf_rdmo_initiator wharf_rdmo_initiator;

typedef struct {
  size_t size;            /* sizeof this. */
  const char* target;     /* Where the target listens; "127.0.0.1:18515". */
  const char* transports; /* UCX's; "tcp,self". */
  int published;          /* Not 0: the published form of messages, without answers, flags and places. */
  uint32_t in_flight;     /* Messages under way at most, 1 to 65536; 64. */
  uint32_t batch_records; /* Appends that may go as one message, 1 to 65535; 1. Published: 1. */
  uint32_t batch_bytes;   /* Bytes of such a message, 1 to 1 MiB; 4096. */
  uint32_t patience_ms;   /* For an answer, at least 1; 10 s. Without one the connection ends. Counted while
                             the library is called: of a longer absence, 100 ms. */
} wharf_rdmo_initiator_config;
#define WHARF_RDMO_INITIATOR_CONFIG \
  { sizeof(wharf_rdmo_initiator_config), NULL, NULL, 0, 64, 1, 4096, 10000 }

/* Meets the target and connects to its worker. The target makes progress meanwhile. */
WHARF_RDMO_API int wharf_rdmo_initiator_open(const wharf_rdmo_initiator_config* config,
                                             wharf_rdmo_initiator** initiator);

/* Each operation that was taken has exactly one outcome. `cookie` comes back in it. */
typedef struct {
  uint64_t cookie;
  int status; /* enum wharf_rdmo_status. Published appends and scatters are done when they have been sent. */
  uint64_t
      place; /* Append, done: where the record lies. Not known in the published form, and of quiet ones: 0. */
} wharf_rdmo_outcome;

/* `data` stays as it is until the outcome, or until the initiator is closed: nothing reads it afterwards.
 * Published: no flag but WHARF_RDMO_FENCE. */
WHARF_RDMO_API int wharf_rdmo_append(wharf_rdmo_initiator* initiator, const void* data, size_t bytes,
                                     unsigned flags, uint64_t expected, uint64_t cookie);
/* One place of a scatter. */
typedef struct {
  uint64_t place;
  const void* data;
  size_t bytes; /* At most 65535. */
} wharf_rdmo_piece;
/* Copies the data. All of it is written, or nothing when a piece is refused; pieces have no order. */
WHARF_RDMO_API int wharf_rdmo_scatter(wharf_rdmo_initiator* initiator, const wharf_rdmo_piece* pieces,
                                      size_t count, unsigned flags, uint64_t cookie);
/* Done when all operations before it are done and visible. */
WHARF_RDMO_API int wharf_rdmo_flush(wharf_rdmo_initiator* initiator, uint64_t cookie);
/* Lets appends go that wait for a full batch. wharf_rdmo_wait() and wharf_rdmo_flush() do, too;
   wharf_rdmo_poll() does not. */
WHARF_RDMO_API void wharf_rdmo_push(wharf_rdmo_initiator* initiator);

/* Sends what was asked for and takes what came. Returns 1 with an outcome, 0 without. */
WHARF_RDMO_API int wharf_rdmo_poll(wharf_rdmo_initiator* initiator, wharf_rdmo_outcome* outcome);
/* The same, and waits. Returns 0 only when nothing is under way. */
WHARF_RDMO_API int wharf_rdmo_wait(wharf_rdmo_initiator* initiator, wharf_rdmo_outcome* outcome);
WHARF_RDMO_API void wharf_rdmo_initiator_close(wharf_rdmo_initiator* initiator);

#ifdef __cplusplus
}
#endif
