#ifndef ATTACH_RIGHTS_H
#define ATTACH_RIGHTS_H
/* What the reader may read, and what it says if it may not. */
#include "attach/peer.h"
#include "attach/target.h"

/* Writes to error why the target may not be read, and what helps: whose it is, what Yama forbids,
 * which capability or which setting of the container is missing. */
void attach_rights_explain(const struct attach_target *target, char error[ATTACH_TARGET_ERROR_MAX]);

/* Returns true if the kernel would let a process of the peer's user read that process as we do
 * (ptrace(2)), judged by what /proc shows. Root may read all that we may. If false, error says why.
 * The answer holds only while the pid belongs to that process. So it must be asked before the
 * process is read, and again before the result is given away. */
bool attach_rights_of_peer(const struct attach_peer *peer, pid_t pid,
                           char error[ATTACH_TARGET_ERROR_MAX]);

/* Gives up for ever the rights that reading does not need, in this thread and in those that it
 * creates. If a command is to be run, it has to be started before: otherwise it would inherit the
 * loss.
 *
 *   - A program that is executed later gets no more rights (no_new_privs).
 *   - Only root may read our memory, which holds the target's, and no core file of us is written
 *     (not dumpable).
 *   - The capabilities that let us read targets and write results stay: CAP_SYS_PTRACE,
 *     CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE; and one more, if the caller says so. */
enum attach_rights_kept {
    ATTACH_RIGHTS_READ,
    ATTACH_RIGHTS_SIGNAL, /* CAP_KILL */
    ATTACH_RIGHTS_ALARMS  /* CAP_PERFMON (attach/alarms.h) */
};
void attach_rights_drop(enum attach_rights_kept kept);

#endif
