/* suggest.c - compares words by typos: a letter too many, too few, or wrong, or two that changed
 * places.
 *
 * A candidate is like a word if a third of its letters or fewer are wrong, or if it begins with
 * the word. The distance is computed by rows of the usual table, of which three are kept.
 */
#include "cli/suggest.h"

#include <stdbool.h>
#include <string.h>

enum { LENGTH_MOST = 31 };

static unsigned
least_of(unsigned one, unsigned other)
{
    return one < other ? one : other;
}

/* Both words have LENGTH_MOST letters or fewer. */
static unsigned
count_typos(const char *one, const char *other)
{
    unsigned rows[3][LENGTH_MOST + 1], *before = rows[0], *above = rows[1], *row = rows[2];
    size_t length = strlen(other);

    for (size_t j = 0; j <= length; j++) above[j] = (unsigned)j;
    for (size_t i = 1; one[i - 1]; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= length; j++) {
            unsigned wrong = one[i - 1] != other[j - 1];
            row[j] = least_of(least_of(above[j], row[j - 1]) + 1, above[j - 1] + wrong);
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
                row[j] = least_of(row[j], before[j - 2] + 1);
            }
        }
        unsigned *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[length];
}

void
cli_suggest(struct cli_suggestion *suggestion, const char *candidate)
{
    size_t length = strlen(suggestion->word), other = strlen(candidate);

    if (length < 2 || length > LENGTH_MOST || other > LENGTH_MOST) return;
    bool begins = length >= 3 && !strncmp(candidate, suggestion->word, length);
    unsigned typos = begins ? 1 : count_typos(suggestion->word, candidate);
    size_t longer = length > other ? length : other;
    if (typos > longer / 3 || (suggestion->nearest && typos >= suggestion->typos)) return;
    suggestion->nearest = candidate;
    suggestion->typos = typos;
}
