/* fault.c - the handler of SIGSEGV: an access to a page of dead objects is noted, and goes on; any
 * other is for the handler that was there before. Compiled inside gc.c.
 *
 *     access --> fault --> on_fault --> touch (gc/quarantine/cover.c): accessible from here on
 *        ^                    |                 |-- the program's --> use_found
 *        '--------------------+-----------------'
 *                             '--> not of dead objects --> MRI's handler: stack overflow, crash
 *
 * It runs on the alternate signal stack, which MRI gives each thread (16 KB): what it calls takes
 * some 6 KB. No other signal comes meanwhile. MRI's read barrier of compaction puts a handler in
 * front of this one for a while, and takes it away.
 */
#include "gc/uses/uses.h"
#include "gc/quarantine/quarantine.h"
#include <signal.h>
#include <ucontext.h>

static struct sigaction fault_before; /* what SIGSEGV did before */
static bool faults_are_handled;

#if defined(__x86_64__) && defined(__linux__)
HEAPPROF_COLD static struct fault
fault_of(const siginfo_t *info, const ucontext_t *context)
{
    enum { written = 2 }; /* in the error code of a page fault */
    const greg_t *registers = context->uc_mcontext.gregs;

    return (struct fault){
        .address = (uintptr_t)info->si_addr, .instruction = (uintptr_t)registers[REG_RIP],
        .access = registers[REG_ERR] & written ? HEAPPROF_WRITE : HEAPPROF_READ,
    };
}
#elif defined(__aarch64__) && defined(__linux__)
HEAPPROF_COLD static struct fault
fault_of(const siginfo_t *info, const ucontext_t *context)
{
    return (struct fault){ .address = (uintptr_t)info->si_addr,
                           .instruction = (uintptr_t)context->uc_mcontext.pc };
}
#else
HEAPPROF_COLD static struct fault
fault_of(const siginfo_t *info, const ucontext_t *context)
{
    return (struct fault){ .address = (uintptr_t)info->si_addr };
}
#endif

/* MRI's handler may jump out, so it is called with the signals that it would be called with. */
HEAPPROF_COLD static void
pass_on(int signal, siginfo_t *info, void *context)
{
    if (fault_before.sa_flags & SA_SIGINFO) fault_before.sa_sigaction(signal, info, context);
    else if (fault_before.sa_handler == SIG_DFL || fault_before.sa_handler == SIG_IGN)
        sigaction(SIGSEGV, &fault_before, NULL); /* the access faults again */
    else fault_before.sa_handler(signal);
}

HEAPPROF_COLD static void
on_fault(int signal, siginfo_t *info, void *context)
{
    int error = errno;
    struct fault fault = fault_of(info, context);
    sigset_t all;

    switch (info->si_code == SEGV_ACCERR ? touch(fault.address) : TOUCHED_ELSEWHERE) {
      case TOUCHED_ELSEWHERE:
        pass_on(signal, info, context);
        break;
      case TOUCHED_BY_PROGRAM:
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, NULL); /* the end of the handler undoes that */
        use_found(&fault);
        break;
      case TOUCHED_BY_COLLECTOR:
        break;
    }
    errno = error;
}

HEAPPROF_COLD static void
handle_faults(void)
{
    struct sigaction action = { .sa_flags = SA_SIGINFO | SA_ONSTACK };

    action.sa_sigaction = on_fault;
    sigemptyset(&action.sa_mask);
    faults_are_handled = sigaction(SIGSEGV, &action, &fault_before) == 0;
}

/* Another handler may stand in front by now: then this one stays, and passes all on. */
HEAPPROF_COLD static void
handle_faults_no_more(void)
{
    struct sigaction now;

    if (!faults_are_handled || sigaction(SIGSEGV, NULL, &now) != 0) return;
    if (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != on_fault) return;
    sigaction(SIGSEGV, &fault_before, NULL);
    faults_are_handled = false;
}

HEAPPROF_COLD static void
uses_start(void)
{
    memset(&waiting_uses, 0, sizeof(waiting_uses));
    quarantine_start();
    if (quarantine_faults_p() && !faults_are_handled) handle_faults();
}

HEAPPROF_COLD static void
uses_stop(void)
{
    settle_uses();
    quarantine_stop();
    handle_faults_no_more();
}
