#ifndef ATTACH_PROCESSOR_H
#define ATTACH_PROCESSOR_H
/* Whether a thread of another process has a processor at this moment, or waits for one.
 *
 * Where a thread has lost its processor is no random place: the kernel likes to take it at the end
 * of a system call. So a profile of CPU time that counts where threads wait in the queue shows
 * system calls:
 *
 *     work work work work write | work work work work write |       | the kernel takes the processor
 *                             ^ always seen here
 *
 * Only a thread that is seen on its processor is seen at a random place. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* True if the thread could run and has no processor. turns says how often it has got one
 * (attach/cpu.h), read before. False if the kernel does not say, or if the thread may use one
 * processor only: then it is the reader who has taken it. */
bool attach_processor_queued_p(pid_t pid, pid_t tid, uint64_t turns);

/* The calling thread leaves its processor, if it may use another one: a thread that it looks at may
 * wait for this one. */
void attach_processor_leave(void);

/* The calling thread runs on that processor and no other. If it may not use that one, or if the
 * number is -1, it runs on any that it may use. */
void attach_processor_use(int processor);

/* From now on the calling thread gets a processor as soon as it wakes up, before threads that
 * compute; until attach_processor_as_others, or until it has computed for a fifth of a second
 * without a sleep. Does nothing if the kernel does not allow it: it must be asked before
 * attach_rights_drop. Processes that it makes are as before. */
void attach_processor_at_once(void);
void attach_processor_as_others(void);

#endif
