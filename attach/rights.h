#ifndef ATTACH_RIGHTS_H
#define ATTACH_RIGHTS_H
/* What the reader may do, and what it says when it may not. */
#include "attach/peer.h"
#include "attach/target.h"

/* Writes to error why the target may not be read, and what helps: whose it is, what Yama forbids, which capability
 * or which setting of the container is missing. */
void attach_rights_explain(const struct attach_target *target, char error[ATTACH_TARGET_ERROR_MAX]);

/* Whether a process of another user could read that process as we do: what the kernel would say of it (ptrace(2)), told
 * apart by what /proc shows. Root may read all that we may. False: error says why not. Sound only while the number is that
 * process's: to be asked before it is read, and once more before what was read is given away. */
bool attach_rights_of_peer(const struct attach_peer *peer, pid_t pid, char error[ATTACH_TARGET_ERROR_MAX]);

/* Gives up for ever what reading does not need, in this thread and those it creates; to be called after a
 * command that is to be run has been started, for it would inherit.
 *
 *   - no program that is executed from now on gets more rights (no_new_privs);
 *   - nobody who is not root reads our memory, which has the target's in it, and no core file of us is written
 *     (not dumpable);
 *   - of the capabilities those stay that let us read targets and write the results: CAP_SYS_PTRACE,
 *     CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE; with signals also CAP_KILL. */
void attach_rights_drop(bool signals);

#endif
