/* Repeats of loop programs from their text, and where functions stand in them. */
#include "loop/loop_read.h"

/* `until` buffer `every` N, `unless met`, `loop` N `by` N */
static bool read_condition(LoopReader *r, LRepeat *repeat)
{
    if (tessi_loop_accept_word(r, "until")
        && (!tessi_loop_read_buffer(r, &repeat->until) || !tessi_loop_accept_word(r, "every")
            || !tessi_loop_read_natural(r, &repeat->every)))
        return tessi_loop_fault(r, "a condition is 'until BUFFER every N'");
    repeat->unless_met = tessi_loop_accept_word(r, "unless");
    if (repeat->unless_met && !tessi_loop_accept_word(r, "met"))
        return tessi_loop_fault(r, "expected 'unless met'");
    return !tessi_loop_accept_word(r, "loop")
           || (tessi_loop_read_natural(r, &repeat->loop) && tessi_loop_accept_word(r, "by")
               && tessi_loop_read_natural(r, &repeat->by))
           || tessi_loop_fault(r, "expected 'loop N by N'");
}

/* `repeat` name `versions` N `turns` expression, `behind` expression, a condition */
bool tessi_loop_read_repeat(LoopReader *r)
{
    LoopToken name;
    LRepeat repeat = { 0 };
    if (!tessi_loop_expect_name(r, &name))
        return false;
    repeat.name = name.name;
    if (!tessi_loop_accept_word(r, "versions") || !tessi_loop_read_natural(r, &repeat.n_versions)
        || !tessi_loop_accept_word(r, "turns"))
        return tessi_loop_fault(r, "a repeat has 'versions N turns' and an expression");
    repeat.turns = tessi_loop_read_typed(r, TYPE_INDEX);
    if (!repeat.turns.v)
        return false;
    if (tessi_loop_accept_word(r, "behind")) {
        repeat.behind = tessi_loop_read_typed(r, TYPE_INDEX);
        if (!repeat.behind.v)
            return false;
    }
    if (!read_condition(r, &repeat))
        return false;
    VEC_PUSH(r->arena, &r->p->repeats, repeat);
    return true;
}

/* `of` NUMBER `version` N and `once`, `test`, `met` or nothing; or nothing */
bool tessi_loop_read_place(LoopReader *r, LPlace *place)
{
    if (!tessi_loop_accept_word(r, "of"))
        return true;
    if (!tessi_loop_read_natural(r, &place->repeat) || !tessi_loop_accept_word(r, "version")
        || !tessi_loop_read_natural(r, &place->version))
        return tessi_loop_fault(r, "expected 'of NUMBER version N'");
    if (tessi_loop_accept_word(r, "once"))
        place->when = LWHEN_ONCE;
    else if (tessi_loop_accept_word(r, "test"))
        place->when = LWHEN_TEST;
    else if (tessi_loop_accept_word(r, "met"))
        place->when = LWHEN_MET;
    return true;
}
