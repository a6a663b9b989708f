/* child.c - how each child of ours begins (graph_child.c, native_leaks.c). */
#include "ruby/ruby.h"
#include "vm/graph/child.h"
#include <signal.h>

void
rb_heapprof_child_take_no_signals(void)
{
    static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    sigset_t none;

    for (int i = 1; i < NSIG; i++) signal(i, SIG_IGN);
    for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++) signal(ending[i], SIG_DFL);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}
