/* Where a shortage of memory ends up: back at the public function that was called. */
#include "api/api.h"

static void jump_out(void *user) TESS_NORETURN;
static void jump_out(void *user)
{
    longjmp(((Guard *)user)->out, 1);
}

void tessi_guard_arena(Guard *guard, Arena *arena)
{
    arena->fail = jump_out;
    arena->fail_user = guard;
}
