/* places.c - cuts addresses into chunks of 64 KB, which is one heap page of MRI, with one bit
 * for every 8 bytes: a street map where a house number is found by counting houses. Only words
 * of 64 bits that have objects are kept.
 *
 *     place   | chunk: 19 bits | 8 bytes of it: 13 bits |
 *                  |                     |
 *              first object    +    objects before it in the chunk     =    number
 *
 * So an object costs 2 % of its slot whatever its address is, and at most 10 bytes and a chunk. A
 * reference costs 4 bytes before and after its object is known. 19 bits of chunks are 32 GB of
 * heap pages.
 *
 * I1  The objects of a chunk are numbered by address, without a gap, from chunk.first on. */
#include "graph/places.h"

#include <string.h>

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
    GRAPH_SPACE_RELEASE(places->space, places->words, places->word_capacity);
    GRAPH_SPACE_RELEASE(places->space, places->before, places->before_capacity);
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
    uint32_t number = places->recent[address % GRAPH_RECENT_CHUNKS];

    if (number < places->chunk_count && places->chunks[number].address == address) return number;
    for (uint64_t probe = rb_heapprof_index_hash(address);
         (number = rb_heapprof_index_at(&places->index, probe)) != 0; probe++) {
        if (places->chunks[number - 1].address == address) return number - 1;
    }
    return UINT32_MAX;
}

static uint32_t
add_chunk(struct graph_places *places, uint64_t address)
{
    if (places->chunk_count == GRAPH_CHUNKS_MOST ||
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

uint32_t
graph_places_enter(struct graph_places *places, uint64_t address)
{
    uint64_t number = address >> GRAPH_CHUNK_BITS;
    uint32_t chunk = find_chunk(places, number);

    if (chunk == UINT32_MAX) chunk = add_chunk(places, number);
    if (chunk == UINT32_MAX) return GRAPH_NO_PLACE_AT;
    places->recent[number % GRAPH_RECENT_CHUNKS] = chunk;
    return chunk << GRAPH_INSIDE_BITS | graph_inside(address);
}

uint64_t
graph_places_address(const struct graph_places *places, uint32_t place)
{
    uint64_t chunk = places->chunks[place >> GRAPH_INSIDE_BITS].address;

    return chunk << GRAPH_CHUNK_BITS | (uint64_t)graph_inside((uint64_t)place << 3) << 3;
}

/* How many bits are set (Knuth 7.1.3). Without an instruction of its own, which not all machines
 * have, this is shorter than a call. */
static inline uint32_t
bits_set(uint64_t word)
{
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(word * UINT64_C(0x0101010101010101) >> 56);
}

/* True if the chunk has that word. */
static inline bool
used_p(const struct graph_chunk *chunk, uint32_t word)
{
    return chunk->used[word / 64] >> word % 64 & 1;
}

/* The index of one of the chunk's words; UINT32_MAX if the chunk does not have it. */
static inline uint32_t
index_of(const struct graph_chunk *chunk, uint32_t word)
{
    uint64_t below;

    if ((chunk->used[0] & chunk->used[1]) == UINT64_MAX) return chunk->word + word;
    if (!used_p(chunk, word)) return UINT32_MAX;
    below = chunk->used[word / 64] & ((UINT64_C(1) << word % 64) - 1);
    return chunk->word + bits_set(below) + (word < 64 ? 0 : bits_set(chunk->used[0]));
}

/* Adds a word behind the last one. */
static bool
add_word(struct graph_places *places, struct graph_chunk *chunk, uint32_t word)
{
    size_t count = (size_t)places->word_count + 1;

    if (!GRAPH_SPACE_GROW(places->space, places->words, places->word_capacity, count) ||
        !GRAPH_SPACE_GROW(places->space, places->before, places->before_capacity, count))
        return false;
    places->words[places->word_count] = 0;
    places->before[places->word_count++] = (uint16_t)(places->count + 1 - chunk->first);
    chunk->used[word / 64] |= UINT64_C(1) << word % 64;
    return true;
}

enum graph_places_added
graph_places_add(struct graph_places *places, uint32_t place)
{
    struct graph_chunk *chunk = &places->chunks[place >> GRAPH_INSIDE_BITS];
    uint32_t at = graph_inside((uint64_t)place << 3);

    if (!chunk->first) {
        chunk->first = places->count + 1;
        chunk->word = places->word_count;
    }
    else if (place >> GRAPH_INSIDE_BITS != places->last >> GRAPH_INSIDE_BITS ||
             place <= places->last) return GRAPH_PLACE_TWICE;
    if (!used_p(chunk, at / 64) && !add_word(places, chunk, at / 64)) return GRAPH_PLACE_NO_MEMORY;
    places->words[places->word_count - 1] |= UINT64_C(1) << at % 64;
    places->last = place;
    places->count++;
    return GRAPH_PLACED;
}

uint32_t
graph_places_object(const struct graph_places *places, uint32_t place)
{
    const struct graph_chunk *chunk = &places->chunks[place >> GRAPH_INSIDE_BITS];
    uint32_t at = graph_inside((uint64_t)place << 3), index = index_of(chunk, at / 64);
    uint64_t word = index == UINT32_MAX ? 0 : places->words[index];

    if (!(word >> at % 64 & 1)) return 0;
    return chunk->first + places->before[index] + bits_set(word & ((UINT64_C(1) << at % 64) - 1));
}

uint32_t
graph_places_find(const struct graph_places *places, uint64_t address)
{
    uint32_t chunk = find_chunk(places, address >> GRAPH_CHUNK_BITS);

    if (chunk == UINT32_MAX || address % 8) return 0;
    return graph_places_object(places, chunk << GRAPH_INSIDE_BITS | graph_inside(address));
}
