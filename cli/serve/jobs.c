/* jobs.c - each job has a worker, when its turn has come.
 *
 *     begin ---> waits ---> runs ---> done
 *                  |          |
 *                leave      leave ---> its worker is killed ---> its place is free
 *
 *   I1  A job that runs has a worker, and is in running. Its place in the queue is free only when
 *       the worker has ended: so the queue bounds the processes. */
#include "cli/serve/jobs.h"

#include <stdlib.h>

enum { ANSWERED = 200, FAILED = 500, BUSY = 503 };

/* How long a worker may use a processor, beyond the time that the request is for. */
enum { CPU_SECONDS = 300, DESCRIPTORS = 64 };

/* So heaps that are read do not delay looks and answers. */
enum { HEAP_PRIORITY = 10 };

void
cli_jobs_init(struct cli_jobs *jobs, cli_jobs_done_i *done)
{
    *jobs = (struct cli_jobs){.done = done};
    TAILQ_INIT(&jobs->running);
    cli_queue_init(&jobs->queue);
}

static void
free_job(struct cli_jobs *jobs, struct cli_job *job)
{
    if (job->ticket.state == CLI_TICKET_RUNS) TAILQ_REMOVE(&jobs->running, job, next);
    cli_queue_leave(&jobs->queue, &job->ticket);
    cli_party_release(job->ticket.party);
    cli_worker_free(&job->worker);
    free(job);
}

/* Ends the job with that answer. */
static void
end_job(struct cli_jobs *jobs, struct cli_job *job, struct cli_answer answer)
{
    void *data = job->data;

    free_job(jobs, job);
    jobs->done(data, answer);
}

static struct cli_answer
answer_busy(void)
{
    struct cli_answer answer = cli_answer_line(
        BUSY, "too many requests: %d wait already; ask again in %d seconds", CLI_QUEUE_MOST,
        CLI_JOBS_RETRY_SECONDS);

    answer.retry_seconds = CLI_JOBS_RETRY_SECONDS;
    return answer;
}

/* ---- starting ---- */

static enum cli_pool
pool_of(const struct cli_wanted *wanted)
{
    switch (wanted->kind) {
      case CLI_WANTED_HEAP:
      case CLI_WANTED_ALLOCS: return wanted->seconds > 0 ? CLI_POOL_CHANGE : CLI_POOL_HEAP;
      case CLI_WANTED_PROFILE: return CLI_POOL_RECORD;
      case CLI_WANTED_INDEX:
      case CLI_WANTED_TARGETS: return CLI_POOL_LIST;
      default: return CLI_POOL_LOOK;
    }
}

static bool
start(struct cli_job *job)
{
    enum cli_pool pool = job->ticket.pool;
    bool heap = pool == CLI_POOL_HEAP || pool == CLI_POOL_CHANGE;
    const struct cli_confinement confinement = {
        .priority = heap ? HEAP_PRIORITY : 0,
        .cpu_seconds = CPU_SECONDS + (int)job->reading.wanted.seconds,
        .descriptors = DESCRIPTORS,
    };

    return cli_worker_start(&job->worker, cli_reading_run, &job->reading, &confinement);
}

void
cli_jobs_start(struct cli_jobs *jobs)
{
    struct cli_ticket *ticket;

    while ((ticket = cli_queue_next(&jobs->queue))) {
        struct cli_job *job = (struct cli_job *)ticket; /* its first member */
        TAILQ_INSERT_TAIL(&jobs->running, job, next);
        if (!start(job)) end_job(jobs, job, cli_answer_line(FAILED, "no process can be started"));
    }
}

struct cli_job *
cli_job_begin(struct cli_jobs *jobs, const struct cli_reading *reading, struct cli_party *party,
              void *data)
{
    struct cli_job *job = calloc(1, sizeof(*job));

    if (!job) {
        jobs->done(data, cli_answer_line(FAILED, "no memory"));
        return NULL;
    }
    *job = (struct cli_job){
        .ticket = { .party = party, .pool = pool_of(&reading->wanted) },
        .reading = *reading,
        .worker = { .fd = -1 },
        .data = data,
    };
    party->holders++;
    struct cli_ticket *out = cli_queue_enter(&jobs->queue, &job->ticket);
    if (out) end_job(jobs, (struct cli_job *)out, answer_busy());
    return out == &job->ticket ? NULL : job;
}

void
cli_job_leave(struct cli_jobs *jobs, struct cli_job *job)
{
    job->data = NULL;
    if (job->ticket.state == CLI_TICKET_RUNS) cli_worker_kill(&job->worker);
    else free_job(jobs, job);
}

/* ---- ending ---- */

static struct cli_answer
answer_of(struct cli_job *job, int status, size_t size, const char *error)
{
    struct cli_answer answer = { .status = status,
                                 .type = cli_answer_text,
                                 .fd = job->worker.fd,
                                 .offset = CLI_WORKER_BODY,
                                 .size = size };

    if (!status && job->ticket.pool == CLI_POOL_LIST)
        return cli_answer_line(FAILED, "the processes: %s", error);
    if (!status)
        return cli_answer_line(FAILED, "process %d: %s", (int)job->reading.wanted.pid, error);
    if (status == ANSWERED) {
        answer.type = cli_reading_type(&job->reading.wanted);
        answer.download = cli_reading_download(&job->reading.wanted);
    }
    job->worker.fd = -1;
    return answer;
}

static void
reap(struct cli_jobs *jobs, struct cli_job *job)
{
    char error[CLI_WORKER_ERROR_MAX];
    size_t size;
    int status;

    if (!cli_worker_poll(&job->worker, &status, &size, error)) return;
    if (job->data) end_job(jobs, job, answer_of(job, status, size, error));
    else free_job(jobs, job);
}

void
cli_jobs_reap(struct cli_jobs *jobs)
{
    struct cli_job *job, *next;

    for (job = TAILQ_FIRST(&jobs->running); job; job = next) {
        next = TAILQ_NEXT(job, next);
        reap(jobs, job);
    }
    cli_jobs_start(jobs);
}

void
cli_jobs_free(struct cli_jobs *jobs)
{
    struct cli_job *job;

    while ((job = (struct cli_job *)TAILQ_FIRST(&jobs->queue.tickets))) free_job(jobs, job);
    while ((job = TAILQ_FIRST(&jobs->running))) {
        cli_worker_kill(&job->worker);
        free_job(jobs, job);
    }
}
