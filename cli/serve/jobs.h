#ifndef HEAPPROF_CLI_JOBS_H
#define HEAPPROF_CLI_JOBS_H
/* Requests that need a worker: they wait for their turn, are read, and are answered. This file
 * knows no sockets. */
#include "cli/serve/answers.h"
#include "cli/serve/queue.h"
#include "cli/serve/reading.h"

/* What is said of how busy the server is, and when to ask again. */
enum { CLI_JOBS_RETRY_SECONDS = 10 };

typedef void cli_jobs_done_i(void *data, struct cli_answer answer);

struct cli_job {
    struct cli_ticket ticket;
    TAILQ_ENTRY(cli_job) next;     /* while it runs */
    struct cli_reading reading;
    struct cli_worker worker;
    void *data;                    /* for done; NULL: nobody waits for the answer */
};

struct cli_jobs {
    struct cli_queue queue;
    TAILQ_HEAD(, cli_job) running;
    cli_jobs_done_i *done;
};

/* done is called with each answer, which it has to free. The job is over then. */
void cli_jobs_init(struct cli_jobs *jobs, cli_jobs_done_i *done);

/* Ends all workers. Calls done for nobody. */
void cli_jobs_free(struct cli_jobs *jobs);

/* Begins a job for that party; cli_jobs_start starts it. Returns NULL, after it has called done, if
 * there is no room. */
struct cli_job *cli_job_begin(struct cli_jobs *jobs, const struct cli_reading *reading,
                              struct cli_party *party, void *data);

/* Starts the workers of those whose turn it is. May call done. */
void cli_jobs_start(struct cli_jobs *jobs);

/* Nobody waits for this job any more. Ends its worker. done is not called. */
void cli_job_leave(struct cli_jobs *jobs, struct cli_job *job);

/* Takes the results of workers that have ended, and starts others. Is called when a child has
 * ended. */
void cli_jobs_reap(struct cli_jobs *jobs);

#endif
