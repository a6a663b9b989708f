#ifndef GRAPH_PLACES_H
#define GRAPH_PLACES_H
/* Translates between addresses and object numbers. places.c has the picture.
 *
 * A place is an address in 32 bits. An address gets its place when the file first names it,
 * even if its object comes later or never. */
#include "base/index.h"
#include "graph/space.h"

#define GRAPH_NO_PLACE_AT UINT32_MAX
#define GRAPH_INSIDE_BITS 13 /* of a place */
#define GRAPH_CHUNK_BITS 16  /* of an address: which byte of a chunk */
#define GRAPH_RECENT_CHUNKS 16 /* a power of two */
/* The places of one more would be GRAPH_NO_PLACE_AT. */
#define GRAPH_CHUNKS_MOST ((1u << (32 - GRAPH_INSIDE_BITS)) - 1)

struct graph_chunk {
    uint64_t address;            /* address divided by the size of a chunk */
    uint64_t used[2];            /* one bit for each of its words: set where objects begin */
    uint32_t first;              /* number of its first object; 0 if it has none */
    uint32_t word;               /* index of its first used word in words and before */
};

struct graph_places {
    struct graph_space *space;
    struct graph_chunk *chunks;
    size_t   chunk_capacity;
    uint32_t chunk_count;
    uint64_t *words;             /* used ones: one bit for 8 bytes, set where an object begins */
    uint16_t *before;            /* of each word: objects of its chunk in the words before */
    size_t   word_capacity, before_capacity;
    uint32_t word_count;
    struct heapprof_index index; /* address -> chunk + 1 */
    struct heapprof_mem index_mem;
    uint32_t count;              /* of objects */
    uint32_t last;               /* place of the last object added */
    uint32_t recent[GRAPH_RECENT_CHUNKS]; /* chunks looked up last, by the low bits of their
                                             addresses */
};

void graph_places_init(struct graph_places *places, struct graph_space *space);
void graph_places_free(struct graph_places *places);

/* Which 8 bytes of its chunk an address is in. */
static inline uint32_t
graph_inside(uint64_t address)
{
    return (uint32_t)(address >> 3) & ((1u << GRAPH_INSIDE_BITS) - 1);
}

/* The same as graph_places_at for a chunk that was not looked up lately. */
uint32_t graph_places_enter(struct graph_places *places, uint64_t address);

/* The place of an address. The address need not be that of an object. Returns GRAPH_NO_PLACE_AT
 * if there is no memory, or if addresses span more than 32 GB of chunks. */
static inline uint32_t
graph_places_at(struct graph_places *places, uint64_t address)
{
    uint64_t number = address >> GRAPH_CHUNK_BITS;
    uint32_t chunk = places->recent[number % GRAPH_RECENT_CHUNKS];

    if (chunk < places->chunk_count && places->chunks[chunk].address == number) {
        return chunk << GRAPH_INSIDE_BITS | graph_inside(address);
    }
    return graph_places_enter(places, address);
}

enum graph_places_added {GRAPH_PLACED, GRAPH_PLACE_NO_MEMORY, GRAPH_PLACE_TWICE};

/* Says that an object begins at this place. Its number is one more than that of the object
 * before. The objects of one chunk must come one after the other, in the order of their
 * addresses. */
enum graph_places_added graph_places_add(struct graph_places *places, uint32_t place);

/* After the last object: the number of the object at a place, or at an address; 0 if there is
 * none. */
uint32_t graph_places_object(const struct graph_places *places, uint32_t place);
uint32_t graph_places_find(const struct graph_places *places, uint64_t address);

uint64_t graph_places_address(const struct graph_places *places, uint32_t place);

#endif
