/* wordcount.c - WordCount.new(text) counts how often each word is in a text, in a table of words.
 *
 *     count["word"]      how often
 *     count.size         how many different words
 */
#include <ruby.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MOST 63

struct word {
    struct word *next;
    long count;
    char text[WORD_MOST + 1];
};

struct words {
    struct word *first;
    long size;
};

static void
words_free(void *data)
{
    free(data);
}

static const rb_data_type_t words_type = {
    "WordCount", { NULL, words_free }, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY
};

static struct words *
words_of(VALUE self)
{
    struct words *words;
    TypedData_Get_Struct(self, struct words, &words_type, words);
    return words;
}

static VALUE
words_allocate(VALUE class)
{
    struct words *words = calloc(1, sizeof(*words));
    if (!words) rb_memerror();
    return TypedData_Wrap_Struct(class, &words_type, words);
}

static struct word *
find(const struct words *words, const char *text)
{
    struct word *word = words->first;
    while (word && strcmp(word->text, text) != 0) word = word->next;
    return word;
}

static void
add(struct words *words, const char *text)
{
    struct word *word = find(words, text);

    if (!word) {
        word = calloc(1, sizeof(*word));
        if (!word) rb_memerror();
        strcpy(word->text, text);
        word->next = words->first;
        words->first = word;
        words->size++;
    }
    word->count++;
}

/* strtok gets a copy of the text, because it writes to it. */
static VALUE
words_initialize(VALUE self, VALUE text)
{
    struct words *words = words_of(self);
    char *copy, *rest;

    copy = strdup(StringValueCStr(text));
    if (!copy) rb_memerror();
    for (char *word = strtok_r(copy, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        if (strlen(word) > WORD_MOST)
            rb_raise(rb_eArgError, "a word is longer than %d bytes", WORD_MOST);
        add(words, word);
    }
    free(copy);
    return self;
}

static VALUE
words_count(VALUE self, VALUE text)
{
    const struct word *word = find(words_of(self), StringValueCStr(text));
    return LONG2NUM(word ? word->count : 0);
}

static VALUE
words_size(VALUE self)
{
    return LONG2NUM(words_of(self)->size);
}

void
Init_wordcount(void)
{
    VALUE class = rb_define_class("WordCount", rb_cObject);

    rb_define_alloc_func(class, words_allocate);
    rb_define_method(class, "initialize", words_initialize, 1);
    rb_define_method(class, "[]", words_count, 1);
    rb_define_method(class, "size", words_size, 0);
}
