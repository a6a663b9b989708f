#ifndef GRAPH_PLACES_H
#define GRAPH_PLACES_H
/* Where objects are: from an address to an object's number and back. places.c has the picture.
 *
 * An address is known by its place, 32 bits, from the moment it is named on, also before it is known whether there
 * is an object. */
#include "base/index.h"
#include "graph/space.h"

#define GRAPH_NO_PLACE_AT UINT32_MAX

struct graph_chunk {
    uint64_t address;            /* divided by the chunk's size */
    uint32_t first;              /* number of its first object; 0: it has none */
    uint32_t bits;               /* in bitmaps, if it has one */
};

struct graph_bitmap {
    uint64_t words[128];         /* a bit for 8 bytes: an object begins there */
    uint16_t before[128];        /* objects before each word's; after finish */
};

struct graph_places {
    struct graph_space *space;
    struct graph_chunk *chunks;
    size_t   chunk_capacity;
    uint32_t chunk_count;
    struct graph_bitmap *bitmaps;
    size_t   bitmap_capacity;
    uint32_t bitmap_count;
    struct heapprof_index index; /* address -> chunk + 1 */
    struct heapprof_mem index_mem;
    uint32_t count;              /* of objects */
    uint32_t last;               /* place of the last object added */
    uint32_t recent;             /* chunk that was asked for last */
};

void graph_places_init(struct graph_places *places, struct graph_space *space);
void graph_places_free(struct graph_places *places);

/* The place of that address, which need be no object's; GRAPH_NO_PLACE_AT: no memory, or objects in more than
 * 32 GB of addresses. */
uint32_t graph_places_at(struct graph_places *places, uint64_t address);

enum graph_places_added {GRAPH_PLACED, GRAPH_PLACE_NO_MEMORY, GRAPH_PLACE_TWICE};

/* There is an object at that place. Its number is one more than that of the last one. Those of one chunk come one
 * after the other, by address. */
enum graph_places_added graph_places_add(struct graph_places *places, uint32_t place);

/* No more objects are added. */
void graph_places_finish(struct graph_places *places);

/* After finish: the object's number, 0: there is none; by place, and by address. */
uint32_t graph_places_object(const struct graph_places *places, uint32_t place);
uint32_t graph_places_find(const struct graph_places *places, uint64_t address);

uint64_t graph_places_address(const struct graph_places *places, uint32_t place);

#endif
