#ifndef ATTACH_REQUEST_H
#define ATTACH_REQUEST_H
/* Asks a process of this ruby, which may have been started with nothing set, to do something
 * (vm/outside/request.h, contract "requests").
 *
 *     open ---> send ---> look ... look ---> close
 *                            \-> withdraw
 *
 * It is the one part of this room that writes into a target: a request, and into the eventfd of its
 * timer thread, which wakes up. No other thread wakes up, and there is no signal. Only one reader
 * may ask at a time, so the reader holds a lock from open to close; the kernel lets go of it when
 * the reader ends. */
#include "attach/stop.h"
#include "attach/vm.h"

#define ATTACH_REQUEST_TEXT_MAX   4096
#define ATTACH_REQUEST_ANSWER_MAX 512

enum attach_request_what { /* numbers of the contract */
    ATTACH_REQUEST_START = 1,
    ATTACH_REQUEST_STOP = 2,
    ATTACH_REQUEST_DUMP = 3
};

enum attach_request_state {
    ATTACH_REQUEST_ASKED,    /* the process has not heard it */
    ATTACH_REQUEST_HEARD,    /* it waits until a Ruby thread comes to a safe point */
    ATTACH_REQUEST_TAKEN,    /* it does what was asked for */
    /* The rest are ends. */
    ATTACH_REQUEST_DONE,
    ATTACH_REQUEST_REFUSED,  /* answer says why */
    ATTACH_REQUEST_ENDED     /* the process has ended, or executes another program */
};

struct attach_request {
    struct attach_vm *vm;
    int      lock;           /* -1: it is not held */
    int64_t  contract, open_door, locked_door;
    struct attach_global place, comm_fds, event_fd;
    struct attach_field asked, what, until, term, text;
    struct attach_field pid, door, heard, taken, answered, done, answer_text;
    uint32_t bytes;
    uint32_t number;
    int64_t  wake_ns;        /* when it is woken again, unless it has heard */
    enum attach_request_state state;
    char     answer[ATTACH_REQUEST_ANSWER_MAX];
};

/* Whether the process can be asked at present. */
enum attach_request_lock {ATTACH_REQUEST_OPEN, ATTACH_REQUEST_BUSY, ATTACH_REQUEST_IMPOSSIBLE};

/* Takes the lock. BUSY: another reader has it, or the process still does what a reader has asked
 * for that has ended, or its ruby has not started, or has not noticed a fork; the caller may try
 * again. IMPOSSIBLE: it cannot be asked. Unless it is OPEN, error says why. close is called in each
 * case. */
enum attach_request_lock attach_request_open(struct attach_request *request, struct attach_vm *vm,
                                             char error[ATTACH_TARGET_ERROR_MAX]);
void attach_request_close(struct attach_request *request);

/* Writes the request, and wakes the process. It begins nothing after limit_ns from now. A run that
 * it starts ends by itself after for_ms (0: never). Returns false if that is not possible; error
 * says why. */
bool attach_request_send(struct attach_request *request, enum attach_request_what what,
                         const char *text, int64_t limit_ns, uint64_t for_ms,
                         char error[ATTACH_TARGET_ERROR_MAX]);

/* Reads what has become of it; to be called many times a second. */
enum attach_request_state attach_request_look(struct attach_request *request);

/* Takes the request back. Returns true if nothing is done for it, false if the process does it or
 * has done it: then its end can be looked for. */
bool attach_request_withdraw(struct attach_request *request);

#endif
