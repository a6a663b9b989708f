/* thumbnail.c - Thumbnail.of(picture) returns every fourth pixel of a picture. */
#include <ruby.h>
#include <stdlib.h>
#include <string.h>

#define PIXEL 4
#define STEP 4

/* Returns the pixels in a block from malloc, as a library that knows nothing of Ruby would. */
static char *
scale(const char *picture, size_t pixels)
{
    char *small = malloc(pixels * PIXEL);

    for (size_t i = 0; small && i < pixels; i++)
        memcpy(small + i * PIXEL, picture + i * STEP * PIXEL, PIXEL);
    return small;
}

static VALUE
thumbnail_of(VALUE self, VALUE picture)
{
    size_t pixels;
    char *small;

    StringValue(picture);
    pixels = (size_t)RSTRING_LEN(picture) / PIXEL / STEP;
    small = scale(RSTRING_PTR(picture), pixels);
    if (!small) rb_memerror();
    return rb_str_new(small, (long)(pixels * PIXEL));
}

void
Init_thumbnail(void)
{
    rb_define_singleton_method(rb_define_module("Thumbnail"), "of", thumbnail_of, 1);
}
