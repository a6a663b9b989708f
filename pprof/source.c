/* source.c - unpacks the bytes that come, into a window.
 *
 *     more() --> packed[] --inflate--> window   ....[begin ........ end).....capacity
 *
 *  I1  begin <= end <= capacity.
 *  I2  After an error or the end, more() is not called again.
 *
 * The window doubles only if it is full of bytes that have come. So a length that a file claims
 * costs nothing. Memory is from malloc.
 */
#include "pprof/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"

#define PACKED_BYTES 65536
#define WINDOW_BYTES 262144
#define WINDOW_BITS_GZIP (15 + 16)

struct heapprof_source {
    heapprof_more_i *more;
    void          *data;
    unsigned char  packed[PACKED_BYTES];
    size_t         packed_at, packed_end;
    z_stream       stream;
    bool           started;     /* it is known whether the bytes are gzip'd */
    bool           gzip;
    bool           in_member;   /* inside a member, whose end has to come */
    bool           ended;       /* no more bytes will come */
    unsigned char *window;
    size_t         begin, end, capacity;
    uint64_t       position;
    char           error[160];  /* "": no error */
};

static void
fail(struct heapprof_source *source, const char *what, const char *detail)
{
    snprintf(source->error, sizeof(source->error), "%s%s%s", what, detail ? ": " : "",
             detail ? detail : "");
    source->ended = true;
}

/* ---- packed bytes ---- */

/* Asks once for more bytes, behind those in packed. */
static bool
ask_more(struct heapprof_source *source)
{
    ptrdiff_t got;

    do {
        got = source->more(source->data, source->packed + source->packed_end,
                           sizeof(source->packed) - source->packed_end);
    } while (got < 0 && errno == EINTR);
    if (got < 0) fail(source, "cannot be read", strerror(errno));
    if (got > 0) source->packed_end += (size_t)got;
    return got > 0;
}

/* Returns whether packed has bytes, and asks for some if it has not. */
static bool
refill(struct heapprof_source *source)
{
    if (source->packed_at < source->packed_end) return true;
    source->packed_at = source->packed_end = 0;
    return ask_more(source);
}

/* A pipe may give one byte first. Two bytes tell gzip. */
static bool
start(struct heapprof_source *source)
{
    source->started = true;
    if (!refill(source)) {
        if (!source->ended) fail(source, "is empty", NULL);
        return false;
    }
    if (source->packed_end == 1) ask_more(source);
    source->gzip =
        source->packed_end >= 2 && source->packed[0] == 0x1f && source->packed[1] == 0x8b;
    if (source->gzip && inflateInit2(&source->stream, WINDOW_BITS_GZIP) != Z_OK) {
        source->gzip = false;
        fail(source, "no memory", NULL);
    }
    return !source->ended;
}

/* ---- into the window ---- */

static size_t
copy_some(struct heapprof_source *source, unsigned char *out, size_t room)
{
    size_t size = source->packed_end - source->packed_at;

    if (size > room) size = room;
    memcpy(out, source->packed + source->packed_at, size);
    source->packed_at += size;
    return size;
}

static size_t
inflate_some(struct heapprof_source *source, unsigned char *out, size_t room)
{
    z_stream *stream = &source->stream;
    uInt size = room < PACKED_BYTES * 16 ? (uInt)room : PACKED_BYTES * 16;
    int status;

    stream->next_in = source->packed + source->packed_at;
    stream->avail_in = (uInt)(source->packed_end - source->packed_at);
    stream->next_out = out;
    stream->avail_out = size;
    source->in_member = true;
    status = inflate(stream, Z_NO_FLUSH);
    source->packed_at = source->packed_end - stream->avail_in;
    if (status == Z_STREAM_END) {
        source->in_member = false;
        inflateReset(stream);
    }
    else if (status == Z_MEM_ERROR) {
        fail(source, "no memory", NULL);
    }
    else if (status != Z_OK && status != Z_BUF_ERROR) {
        fail(source, "gzip'd data is damaged", stream->msg);
    }
    return size - stream->avail_out;
}

/* zlib may have bytes left after it has taken all packed ones. So zlib is asked before more(). */
static size_t
unpack_some(struct heapprof_source *source, unsigned char *out, size_t room)
{
    size_t size = source->gzip && source->in_member ? inflate_some(source, out, room) : 0;

    if (size > 0 || source->ended) return size;
    if (!refill(source)) {
        if (source->in_member && !source->ended) fail(source, "gzip'd data is cut short", NULL);
        source->ended = true;
        return 0;
    }
    return source->gzip ? inflate_some(source, out, room) : copy_some(source, out, room);
}

static bool
make_room(struct heapprof_source *source)
{
    if (source->begin > 0) {
        memmove(source->window, source->window + source->begin, source->end - source->begin);
        source->end -= source->begin;
        source->begin = 0;
    }
    if (source->end < source->capacity) return true;
    if (HEAPPROF_ARRAY_GROW(source->window, source->capacity, source->capacity + 1)) return true;
    fail(source, "no memory", NULL);
    return false;
}

size_t
rb_heapprof_source_need(struct heapprof_source *source, size_t count, const unsigned char **bytes)
{
    if (!source->started) start(source);
    while (source->end - source->begin < count && !source->ended) {
        if (source->end == source->capacity && !make_room(source)) break;
        source->end +=
            unpack_some(source, source->window + source->end, source->capacity - source->end);
    }
    *bytes = source->window + source->begin;
    return source->end - source->begin;
}

void
rb_heapprof_source_skip(struct heapprof_source *source, size_t count)
{
    source->begin += count;
    source->position += count;
}

uint64_t
rb_heapprof_source_position(const struct heapprof_source *source)
{
    return source->position;
}

const char *
rb_heapprof_source_error(const struct heapprof_source *source)
{
    return source->error[0] ? source->error : NULL;
}

/* ---- life ---- */

struct heapprof_source *
rb_heapprof_source_open(heapprof_more_i *more, void *data)
{
    struct heapprof_source *source = calloc(1, sizeof(*source));

    if (!source) return NULL;
    source->more = more;
    source->data = data;
    source->capacity = WINDOW_BYTES;
    source->window = malloc(source->capacity);
    if (source->window) return source;
    free(source);
    return NULL;
}

void
rb_heapprof_source_close(struct heapprof_source *source)
{
    if (!source) return;
    if (source->gzip) inflateEnd(&source->stream);
    free(source->window);
    free(source);
}
