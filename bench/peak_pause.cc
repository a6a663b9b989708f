// peak_pause.cc - how long it takes to keep the peak: peak_pause [SAMPLES] [SITES...]
//
// SAMPLES live samples (a million) of so many sites (1,000, 10,000, 100,000), half of which are of
// blocks. Prints the median of 101 times.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <time.h>
#include <vector>

extern "C" {
#include "profiler/tables.h"
}

namespace {

uint8_t block_filter[HEAPPROF_BLOCK_FILTER_SIZE];

double
Now()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

void
Fill(heapprof_tables *tables, uint32_t samples, uint32_t sites)
{
    static uint32_t head;

    head = 0;
    for (uint32_t i = 0; i < samples; i++) {
        uint32_t line = i % sites;
        uint32_t stack = rb_heapprof_stacks_push(&tables->stacks, 0, 1, 1 + line);
        uint32_t site = rb_heapprof_sites_intern(&tables->sites, stack,
                                                 1 | (line % 2 ? HEAPPROF_SITE_OF_BLOCKS : 0), 0);
        rb_heapprof_sites_count_alloc(&tables->sites, site, 1, 40);
        if (line % 2 == 0) {
            heapprof_sample sample = { site, 1, 1, 40, 40 };
            rb_heapprof_live_table_add(&tables->live, &head, 0x10000 + i * 40ul, &sample);
            continue;
        }
        heapprof_piece piece = {};
        piece.asked_bytes = 40;
        piece.site = site;
        piece.weight = 1;
        rb_heapprof_blocks_add(&tables->blocks, 0x10000 + i * 64ul, &piece);
    }
}

double
Median(uint32_t samples, uint32_t sites)
{
    heapprof_mem mem;
    static heapprof_tables tables;
    std::vector<double> times;

    rb_heapprof_mem_init(&mem, SIZE_MAX);
    rb_heapprof_tables_init(&tables, &mem, block_filter);
    rb_heapprof_tables_keep(&tables, true, true);
    Fill(&tables, samples, sites);
    for (int i = 0; i < 101; i++) {
        double begun = Now();
        rb_heapprof_tables_keep_peak(&tables, rb_heapprof_sites_alive(&tables.sites), 1, 1);
        times.push_back(Now() - begun);
    }
    rb_heapprof_tables_free(&tables);
    std::nth_element(times.begin(), times.begin() + 50, times.end());
    return times[50];
}

} // namespace

int
main(int argc, char **argv)
{
    uint32_t samples = argc > 1 ? static_cast<uint32_t>(strtoul(argv[1], nullptr, 10)) : 1000000;
    std::vector<uint32_t> sites = { 1000, 10000, 100000 };

    if (argc > 2) sites.clear();
    for (int i = 2; i < argc; i++)
        sites.push_back(static_cast<uint32_t>(strtoul(argv[i], nullptr, 10)));
    for (uint32_t count : sites) {
        double ms = Median(samples, count);
        printf("%8u samples of %7u sites: the peak is kept in %.3f ms\n", samples, count, ms);
    }
    return 0;
}
