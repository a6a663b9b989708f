#ifndef ATTACH_ACTIVITY_H
#define ATTACH_ACTIVITY_H
/* What the threads of a look are doing, and whose stacks are wanted for that. */
#include "attach/look.h"

enum { ATTACH_ACTIVITY_MANY = 32 }; /* threads: so many are not read one by one without need */

/* The tid of its native thread in our pid namespace; 0 if it has none. */
pid_t attach_activity_tid(struct attach_looks *looks, const struct attach_thread *thread);

/* True if the VM collects garbage. Then a thread with the GVL does it. */
bool attach_activity_collecting_p(struct attach_looks *looks);

/* Begins to read the kernel's accounts of the threads. */
void attach_activity_begin(struct attach_looks *looks);

/* Reads the accounts that are wanted. Must be done before threads are stopped: a stop is a state of
 * its own, and to come to it a thread has to run. */
void attach_activity_read(struct attach_looks *looks);

/* Which threads wait for a processor, in mode cpu. The reader may have taken it from them, so it
 * goes to another one for the next look. */
void attach_activity_ask(struct attach_looks *looks);

/* What the thread is doing, and whether its stack is wanted. */
void attach_activity_tell(struct attach_looks *looks, struct attach_look_stack *stack);

/* True if the thread had to wait for a processor since its account was read. Then its stack is not
 * wanted, for where it lost its processor is no random place (attach/processor.h). */
bool attach_activity_turned_p(struct attach_looks *looks, struct attach_look_stack *stack);

/* What has been counted is not counted again. */
void attach_activity_settle(struct attach_looks *looks, const struct attach_look_stack *stack);

#endif
