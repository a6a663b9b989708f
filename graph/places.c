/* places.c - cuts addresses into chunks of 64 KB, which is one heap page of MRI, with one bit
 * for every 8 bytes: a street map where a house number is found by counting houses.
 *
 *     place   | chunk: 19 bits | 8 bytes of it: 13 bits |
 *                  |                     |
 *              first object    +    objects before it in the bitmap    =    number
 *
 * So an object costs 2 % of its slot whatever its address is. A reference costs 4 bytes before
 * and after its object is known. 19 bits of chunks are 32 GB of heap pages.
 *
 * I1  The objects of a chunk are numbered by address, without a gap, from chunk.first on. */
#include "graph/places.h"

#include <string.h>

#define CHUNK_SHIFT 16
#define INSIDE_BITS 13
#define CHUNKS_MOST ((1u << (32 - INSIDE_BITS)) - 1) /* the last one's places would be GRAPH_NO_PLACE_AT */

void
graph_places_init(struct graph_places *places, struct graph_space *space)
{
    memset(places, 0, sizeof(*places));
    places->space = space;
    places->last = GRAPH_NO_PLACE_AT;
    rb_heapprof_mem_init(&places->index_mem, SIZE_MAX);
}

void
graph_places_free(struct graph_places *places)
{
    GRAPH_SPACE_RELEASE(places->space, places->chunks, places->chunk_capacity);
    GRAPH_SPACE_RELEASE(places->space, places->bitmaps, places->bitmap_capacity);
    rb_heapprof_index_release(&places->index, &places->index_mem);
}

static uint64_t
hash_chunk(const void *owner, uint32_t number)
{
    const struct graph_places *places = owner;

    return rb_heapprof_index_hash(places->chunks[number - 1].address);
}

/* Returns the chunk of an address; UINT32_MAX if there is none. */
static uint32_t
find_chunk(const struct graph_places *places, uint64_t address)
{
    uint32_t number;

    if (places->chunk_count && places->chunks[places->recent].address == address) return places->recent;
    for (uint64_t probe = rb_heapprof_index_hash(address);
         (number = rb_heapprof_index_at(&places->index, probe)) != 0; probe++) {
        if (places->chunks[number - 1].address == address) return number - 1;
    }
    return UINT32_MAX;
}

static uint32_t
add_chunk(struct graph_places *places, uint64_t address)
{
    if (places->chunk_count == CHUNKS_MOST ||
        !GRAPH_SPACE_GROW(places->space, places->chunks, places->chunk_capacity,
                          (size_t)places->chunk_count + 1) ||
        !rb_heapprof_index_reserve(&places->index, &places->index_mem, places->chunk_count,
                                   hash_chunk, places)) {
        return UINT32_MAX;
    }
    places->chunks[places->chunk_count++] = (struct graph_chunk){.address = address};
    rb_heapprof_index_insert(&places->index, rb_heapprof_index_hash(address), places->chunk_count);
    return places->chunk_count - 1;
}

static uint32_t
inside(uint64_t address)
{
    return (uint32_t)(address >> 3) & ((1u << INSIDE_BITS) - 1);
}

uint32_t
graph_places_at(struct graph_places *places, uint64_t address)
{
    uint32_t chunk = find_chunk(places, address >> CHUNK_SHIFT);

    if (chunk == UINT32_MAX) chunk = add_chunk(places, address >> CHUNK_SHIFT);
    if (chunk == UINT32_MAX) return GRAPH_NO_PLACE_AT;
    places->recent = chunk;
    return chunk << INSIDE_BITS | inside(address);
}

uint64_t
graph_places_address(const struct graph_places *places, uint32_t place)
{
    return places->chunks[place >> INSIDE_BITS].address << CHUNK_SHIFT | (uint64_t)inside((uint64_t)place << 3) << 3;
}

enum graph_places_added
graph_places_add(struct graph_places *places, uint32_t place)
{
    struct graph_chunk *chunk = &places->chunks[place >> INSIDE_BITS];
    uint32_t at = inside((uint64_t)place << 3);

    if (!chunk->first) {
        if (!GRAPH_SPACE_GROW(places->space, places->bitmaps, places->bitmap_capacity,
                              (size_t)places->bitmap_count + 1)) {
            return GRAPH_PLACE_NO_MEMORY;
        }
        chunk->bits = places->bitmap_count++;
        chunk->first = places->count + 1;
    }
    else if (place >> INSIDE_BITS != places->last >> INSIDE_BITS ||
             place <= places->last) return GRAPH_PLACE_TWICE;
    places->bitmaps[chunk->bits].words[at / 64] |= UINT64_C(1) << at % 64;
    places->last = place;
    places->count++;
    return GRAPH_PLACED;
}

void
graph_places_finish(struct graph_places *places)
{
    for (uint32_t i = 0; i < places->bitmap_count; i++) {
        struct graph_bitmap *bitmap = &places->bitmaps[i];
        uint16_t before = 0;
        for (int word = 0; word < 128; word++) {
            bitmap->before[word] = before;
            before = (uint16_t)(before + __builtin_popcountll(bitmap->words[word]));
        }
    }
}

uint32_t
graph_places_object(const struct graph_places *places, uint32_t place)
{
    const struct graph_chunk *chunk = &places->chunks[place >> INSIDE_BITS];
    const struct graph_bitmap *bitmap;
    uint32_t at = inside((uint64_t)place << 3);
    uint64_t bit = UINT64_C(1) << at % 64;

    if (!chunk->first) return 0;
    bitmap = &places->bitmaps[chunk->bits];
    if (!(bitmap->words[at / 64] & bit)) return 0;
    return chunk->first + bitmap->before[at / 64] + (uint32_t)__builtin_popcountll(bitmap->words[at / 64] & (bit - 1));
}

uint32_t
graph_places_find(const struct graph_places *places, uint64_t address)
{
    uint32_t chunk = find_chunk(places, address >> CHUNK_SHIFT);

    if (chunk == UINT32_MAX || address % 8) return 0;
    return graph_places_object(places, chunk << INSIDE_BITS | inside(address));
}
