/* all.c - the files of this folder in the order they are compiled in, inside gc.c, after the
 * collector (0002-track.patch). A new file is named here and nowhere else. */
#include "track.c"
#include "walk.c"
#include "stack.c"
#include "newobj.c"
#include "malloc.c"
#include "owners.c"
#include "free.c"
#include "move.c"
#include "verify.c"
#include "pages.c"
#include "run.c"
