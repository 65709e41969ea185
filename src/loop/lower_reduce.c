/* Whole-image reductions. The order of a reduction is fixed by docs/internals/reductions.md: 16
 * partial results a row, combined in pairs, then the rows in order. Rows are therefore independent, and a vector of
 * partial results is what a CPU wants. */
#include <string.h>

#include "graph/graph_fold.h"
#include "loop/lower_bins.h"
#include "loop/lower_few.h"
#include "loop/lower_group.h"
#include "loop/lower_lines.h"
#include "loop/template.h"
#include "plan/plan_base.h"

/* ---- Reductions: templates/reduce.loops ------------------------------------------------------ */

enum {
    PARTIALS = 16,
    ROWS_A_BLOCK = 8,
    LINES_A_BLOCK = 16,
    LINES_OF_THREADS = 128,
    FEW_TOTALS = 8
};
enum { LINES_BESIDE = 256, LINES_OF_INTEGERS = 512 };

typedef struct Reducer {
    StageId id;
    const Stage *stage, *source;
    ScalarType acc;
    Op op;
    FewSums few;
} Reducer;

/* The reductions of a group that are computed in one round, whose results stand side by side. */
typedef struct Reducers {
    Lower *l;
    const Nest *nest;  /* of what they reduce */
    const Lines *line; /* NULL: rows of the whole image */
    uint8_t dim;       /* that they go along */
    Coord coord[MAX_DIMS];
    LExprId n_rows; /* lines, or rows of the whole image */
    uint32_t n;
    Reducer *at;
    LBufferId *rows; /* results of rows */
    VEC(TemplateArg) args;
} Reducers;

/* All of a group: those of later rounds read what those of earlier ones come to, line by line. */
typedef struct Rounds {
    Reducers *at;
    uint32_t n;
} Rounds;

static Reducer reducer_of(Lower *l, StageId id)
{
    const Stage *s = tessi_stage(l->g, id);
    Reducer r = { .id = id, .stage = s, .source = tessi_stage(l->g, s->source) };
    r.op = tessi_reduction_op(s->reduction);
    r.acc = tessi_accumulator_type(s->reduction, r.source->type);
    r.few = tessi_few_sums(l, s);
    return r;
}

/* The reduction whose number an argument of the template is. */
static const Reducer *reducer(const Reducers *all, LExprId number)
{
    return &all->at[tessi_lexpr(all->l->p, number)->value.i];
}

static LExprId start(void *user, const LExprId *arg)
{
    const Reducers *all = user;
    const Reducer *r = reducer(all, arg[0]);
    return tessi_lexpr_const(all->l->p, r->acc,
                             tessi_reduction_identity(r->stage->reduction, r->acc));
}

/* For extrema the new value stands first: min(v, old) passes over a NaN. */
static LExprId both(void *user, const LExprId *arg)
{
    const Reducers *all = user;
    const Op op = reducer(all, arg[0])->op;
    return op == OP_ADD || op == OP_MUL ? tessi_l_op(all->l, op, arg[2], arg[1])
                                        : tessi_l_op(all->l, op, arg[1], arg[2]);
}

/* Of strips: the lane, and which of the middle dimension. */
static void go_to_line(Reducers *all, const LExprId *arg)
{
    tessi_lines_lane(all->line, arg[0], all->coord);
    tessi_lines_middle(all->line, arg[1], all->coord);
}

/* The value at a point of the row or line, to be accumulated in a type. */
static LExprId value_as(Reducers *all, const Reducer *r, ScalarType type, const LExprId *arg)
{
    if (all->nest->n_dims)
        all->coord[all->dim].e = arg[1];
    if (all->line && all->line->lanes)
        go_to_line(all, &arg[3]);
    LExprId v =
        tessi_few_value(all->l, tessi_eval_stage(all->l, r->stage->source, all->coord, false));
    if (all->n > 1 && !tessi_known(all->l, v)->let) /* others may reduce it too */
        tessi_scope_define(all->l, v, tessi_scope_place1(all->l, v));
    if (r->stage->reduction == REDUCE_COUNT)
        v = tessi_lexpr_cast(all->l->p, TYPE_BOOL, v);
    return tessi_lexpr_cast(all->l->p, type, v);
}

static LExprId with(void *user, const LExprId *arg)
{
    const Reducer *r = reducer(user, arg[0]);
    return both(user, (LExprId[]){ arg[0], value_as(user, r, r->acc, arg), arg[2] });
}

/* Narrow partial results: no value, one more, two of them, and a part added to the total. */
static LExprId nothing(void *user, const LExprId *arg)
{
    const Reducers *all = user;
    return tessi_lexpr_const(all->l->p, reducer(all, arg[0])->few.type, (Value){ 0 });
}

static LExprId more(void *user, const LExprId *arg)
{
    Reducers *all = user;
    const Reducer *r = reducer(all, arg[0]);
    return tessi_l_op(all->l, OP_ADD, arg[2], value_as(all, r, r->few.type, arg));
}

static LExprId two(void *user, const LExprId *arg)
{
    const Reducers *all = user;
    const ScalarType half = reducer(all, arg[0])->few.half;
    return tessi_l_op(all->l, OP_ADD, tessi_lexpr_cast(all->l->p, half, arg[1]),
                      tessi_lexpr_cast(all->l->p, half, arg[2]));
}

static LExprId carry(void *user, const LExprId *arg)
{
    const Reducers *all = user;
    return tessi_l_op(all->l, OP_ADD, arg[2],
                      tessi_lexpr_cast(all->l->p, reducer(all, arg[0])->acc, arg[1]));
}

/* What the rows come to: the mean's division, the conversion to the stage's type. */
static LExprId finish(void *user, const LExprId *arg)
{
    const Reducers *all = user;
    const Reducer *r = reducer(all, arg[0]);
    Lower *l = all->l;
    LExprId total = arg[1];
    if (r->stage->reduction == REDUCE_MEAN) {
        LExprId points = tessi_lexpr_const(l->p, TYPE_F64, tessi_value_real(1));
        for (uint8_t d = 0; d < r->source->n_dims; d++)
            if (!all->line || d == all->dim)
                points = tessi_l_op(
                    l, OP_MUL, points,
                    tessi_lexpr_cast(l->p, TYPE_F64, tessi_lower_size(l, r->source->size[d])));
        total = tessi_l_op(l, OP_DIV, tessi_lexpr_cast(l->p, TYPE_F64, total), points);
    }
    return tessi_lexpr_cast(l->p, r->stage->type, total);
}

static void begin_row(void *user, const LExprId *arg)
{
    Reducers *all = user;
    if (all->line)
        tessi_lines_number(all->l, all->line, arg[0], all->coord);
    else
        tessi_nest_row_coords(all->l, all->nest, arg[0], all->coord);
}

/* The result of a line. */
static void give_line(void *user, const LExprId *arg)
{
    Reducers *all = user;
    const Reducer *r = reducer(all, arg[0]);
    if (all->line->lanes)
        go_to_line(all, &arg[2]);
    tessi_lines_store(all->l, all->line, r->id, all->coord, finish(user, arg));
}

static void add_arg(Reducers *all, TemplateArg arg)
{
    VEC_PUSH(all->l->arena, &all->args, arg);
}

/* Partial results of a row on a CPU. Integers are the same in every order: several vectors of them do not wait for
 * each other, and the narrow ones have more lanes than the order has. Beside reals of their width they stay in the loop
 * of these, for what is reduced is computed once for both. */
static uint32_t partials_of(const Reducers *all, const Reducer *r)
{
    const uint32_t bytes = tessi_type_info(r->acc)->bytes;
    bool beside_reals = false;
    for (uint32_t i = 0; bytes >= 4 && i < all->n; i++)
        beside_reals =
            beside_reals
            || (tessi_is_real(all->at[i].acc) && tessi_type_info(all->at[i].acc)->bytes == bytes);
    return tessi_is_integer(r->acc) && !beside_reals ? PARTIAL_BYTES / bytes : PARTIALS;
}

/* The arguments of reduction number r. */
static void add_reducer(Reducers *all, uint32_t r, StageId id)
{
    Arena *a = all->l->arena;
    const Reducer *at = &all->at[r];
    add_arg(all, (TemplateArg)ARG_TYPE(tessi_sprintf(a, "acc%u", r), at->acc));
    add_arg(all, (TemplateArg)ARG_NUMBER(tessi_sprintf(a, "bytes%u", r),
                                         tessi_type_info(at->acc)->bytes));
    const uint32_t partials = partials_of(all, at);
    const bool few = at->few.lanes && partials != PARTIALS;
    add_arg(all, (TemplateArg)ARG_NUMBER(tessi_sprintf(a, "partials%u", r), few ? 0 : partials));
    add_arg(all, (TemplateArg)ARG_NUMBER(tessi_sprintf(a, "lanes%u", r), few ? at->few.lanes : 0));
    add_arg(all, (TemplateArg)ARG_TYPE(tessi_sprintf(a, "few%u", r), at->few.type));
    add_arg(all, (TemplateArg)ARG_TYPE(tessi_sprintf(a, "half%u", r), at->few.half));
    add_arg(all, (TemplateArg)ARG_WORDS(tessi_sprintf(a, "name%u", r), at->stage->name));
    if (all->rows[r].v)
        add_arg(all, (TemplateArg)ARG_BUFFER(tessi_sprintf(a, "rows%u", r), all->rows[r]));
    add_arg(all, (TemplateArg)ARG_BUFFER(tessi_sprintf(a, "result%u", r), all->l->buffer[id.v]));
}

static void instance(Reducers *all, const char *name, LExprId row)
{
    const uint32_t n = all->args.n;
    add_arg(all, (TemplateArg)ARG_EXPR("row", row));
    add_arg(all, (TemplateArg)ARG_END);
    tessi_template(all->l, name, NULL, all->args.at, all);
    all->args.n = n;
}

static void rows_on_cores(Reducers *all)
{
    Lower *l = all->l;
    const bool many = all->nest->n_dims > 1;
    const uint8_t flags = all->nest->parallel ? LFOR_PARALLEL : 0;
    LExprId row = many ? tessi_nest_rows(l, all->nest, all->coord, flags) : tessi_l_int(l, 0);
    instance(all, "reduce_row", row);
    if (many)
        tessi_scope_close(l);
    instance(all, "reduce_total", row);
}

/* All of them are integers: the same in every order. */
static bool are_integers(const Reducers *all)
{
    for (uint32_t r = 0; r < all->n; r++)
        if (!tessi_is_integer(all->at[r].acc))
            return false;
    return true;
}

static void lines_on_cores(Rounds *rounds)
{
    Reducers *first = &rounds->at[0];
    Lower *l = first->l;
    const uint32_t depth = tessi_scope_depth(l);
    Coord coord[MAX_DIMS];
    memcpy(coord, first->coord, sizeof coord);
    const LExprId strip = tessi_lines_open(l, first->line, first->nest->parallel, coord);
    for (uint32_t q = 0; q < rounds->n; q++) {
        Reducers *all = &rounds->at[q];
        memcpy(all->coord, coord, sizeof coord);
        add_arg(all, (TemplateArg)ARG_EXPR("strip", strip));
        instance(all,
                 strip.v             ? "reduce_strip"
                 : are_integers(all) ? "reduce_line"
                                     : "reduce_row",
                 tessi_l_int(l, 0));
    }
    tessi_scope_close_to(l, depth);
}

/* Whether all of them give the same bits however their operands are grouped, as long as the order stays: all but sums
 * and products of reals. */
static bool is_free(const Reducers *all)
{
    for (uint32_t r = 0; r < all->n; r++)
        if (tessi_is_real(all->at[r].acc) && (all->at[r].op == OP_ADD || all->at[r].op == OP_MUL))
            return false;
    return true;
}

/* The lines of a thread, round after round. */
static void thread_rounds(void *user, const LExprId *arg)
{
    Rounds *rounds = user;
    for (uint32_t q = 0; q < rounds->n; q++) {
        Reducers *all = &rounds->at[q];
        tessi_lines_number(all->l, all->line, arg[0], all->coord);
        instance(all, "reduce_alone", tessi_l_int(all->l, 0));
    }
}

static void lines_alone(Rounds *rounds)
{
    const TemplateArg args[] = { ARG_EXPR("n_rows", rounds->at[0].n_rows),
                                 ARG_PART("rounds", thread_rounds), ARG_END };
    tessi_template(rounds->at[0].l, "reduce_threads", NULL, args, rounds);
}

static void on_blocks(Rounds *rounds, const PlanGroup *group)
{
    Reducers *all = &rounds->at[0];
    Lower *l = all->l;
    const char *comment = tessi_group_comment(l, group);
    static const char *const ways[] = { "reduce_rows", "reduce_lines", NULL };
    static const uint32_t threads[][2] = { { PARTIALS, ROWS_A_BLOCK },
                                           { LINES_A_BLOCK, PARTIALS },
                                           { LINES_OF_THREADS, 1 } };
    const bool many = all->line && tessi_plan_lines_fill(l->g, all->at[0].stage);
    const int way = all->line && all->dim + 1 < all->nest->n_dims ? 1 + many : 0;
    const char *name = all->line ? group->name : tessi_sprintf(l->arena, "%s_rows", group->name);
    tessi_kernel_open(l, name, comment, threads[way][0], threads[way][1]);
    if (ways[way])
        instance(all, ways[way], tessi_l_int(l, 0));
    else
        lines_alone(rounds);
    tessi_scope_close(l);
    if (all->line)
        return;
    /* Of many no more are in shared memory than what the rows have there. */
    const uint32_t width = all->n <= FEW_TOTALS ? 256 : PARTIALS * ROWS_A_BLOCK;
    tessi_kernel_open(l, group->name, comment, width, 1);
    add_arg(all, (TemplateArg)ARG_NUMBER("width", width));
    add_arg(all, (TemplateArg)ARG_NUMBER("free", is_free(all)));
    instance(all, "reduce_total_block", tessi_l_int(l, 0));
    tessi_scope_close(l);
}

/* The results of rows of reduction number r of a whole image. */
static LBufferId results_of_rows(const Reducers *all, uint32_t r, LExprId n_rows)
{
    Lower *l = all->l;
    LBuffer rows = { .kind = LBUF_TEMP, .type = all->at[r].acc, .n_dims = 1, .size = { n_rows } };
    rows.name = tessi_sprintf(l->arena, "%s_rows", all->at[r].stage->name);
    return tessi_loop_buffer(l->p, &rows);
}

/* Values that one narrow partial result of so many holds, whichever reduction it is of; 0: there is none. */
static int64_t chunk_of(const Reducers *all, uint32_t lanes)
{
    int64_t least = 0;
    for (uint32_t r = 0; r < all->n; r++) {
        const FewSums *few = &all->at[r].few;
        if (few->lanes && (!lanes || few->lanes == lanes)
            && partials_of(all, &all->at[r]) != PARTIALS)
            least = least && least < few->chunk ? least : few->chunk;
    }
    return least;
}

static void add_chunks(Reducers *all)
{
    enum { NO_END = 1 << 30 };
    const int64_t chunk = chunk_of(all, 0);
    add_arg(all, (TemplateArg)ARG_NUMBER("chunk", chunk ? chunk : NO_END));
    add_arg(all,
            (TemplateArg)ARG_NUMBER("beside", all->line ? all->line->lanes * all->line->many : 0));
    for (uint32_t lanes = PARTIAL_BYTES / 4; lanes <= PARTIAL_BYTES; lanes *= 2)
        add_arg(all, (TemplateArg)ARG_NUMBER(tessi_sprintf(all->l->arena, "chunk%u", lanes),
                                             chunk_of(all, lanes)));
    add_arg(all, (TemplateArg)ARG_HOLE("nothing", nothing));
    add_arg(all, (TemplateArg)ARG_HOLE("more", more));
    add_arg(all, (TemplateArg)ARG_HOLE("two", two));
    add_arg(all, (TemplateArg)ARG_HOLE("carry", carry));
}

static void add_args(Reducers *all)
{
    Lower *l = all->l;
    const Nest *nest = all->nest;
    const Lines *line = all->line;
    add_arg(all, (TemplateArg)ARG_NUMBER("count", all->n));
    add_arg(all, (TemplateArg)ARG_NUMBER("along", line != NULL));
    add_arg(all, (TemplateArg)ARG_EXPR("n", nest->n_dims ? nest->to[all->dim] : tessi_l_int(l, 1)));
    add_arg(all, (TemplateArg)ARG_EXPR("n_rows", all->n_rows));
    if (line && line->lanes) {
        add_arg(all, (TemplateArg)ARG_EXPR("width", nest->to[line->lane]));
        add_arg(all, (TemplateArg)ARG_EXPR("wide", line->wide));
        add_arg(all, (TemplateArg)ARG_NUMBER("many", line->many));
        add_arg(all, (TemplateArg)ARG_NUMBER("whole", are_integers(all)));
        add_arg(all, (TemplateArg)ARG_EXPR("middle", line->middle < 0 ? tessi_l_int(l, 1)
                                                                      : nest->to[line->middle]));
    }
    add_arg(all, (TemplateArg)ARG_HOLE("start", start));
    add_arg(all, (TemplateArg)ARG_HOLE("with", with));
    add_arg(all, (TemplateArg)ARG_HOLE("both", both));
    add_arg(all, (TemplateArg)ARG_HOLE("finish", finish));
    add_arg(all, (TemplateArg)ARG_PART("begin", begin_row));
    add_arg(all, (TemplateArg)ARG_PART("give", give_line));
    add_chunks(all);
    for (uint32_t r = 0; r < all->n; r++)
        add_reducer(all, r, all->at[r].id);
}

/* Lines that a core goes along side by side, in strips that vectors fill. */
static uint16_t lines_beside(const Rounds *rounds)
{
    const Reducers *first = &rounds->at[0];
    if (first->l->plan->gpu || first->dim + 1 >= first->nest->n_dims)
        return 0;
    for (uint32_t q = 0; q < rounds->n; q++)
        if (!are_integers(&rounds->at[q]))
            return LINES_BESIDE;
    return LINES_OF_INTEGERS;
}

/* The members of a group by the round that computes them. */
static Rounds rounds_of(Lower *l, const PlanGroup *group)
{
    uint32_t *round = ARENA_NEW_ARRAY(l->arena, uint32_t, group->members.n);
    Rounds rounds = { .n = tessi_plan_rounds(tessi_lower_facts(l), l->plan, group, round) };
    rounds.at = ARENA_NEW_ARRAY(l->arena, Reducers, rounds.n);
    for (uint32_t q = 0; q < rounds.n; q++) {
        Reducers *all = &rounds.at[q];
        *all = (Reducers){ .l = l, .coord = { { .dim = -1 } } };
        all->at = ARENA_NEW_ARRAY(l->arena, Reducer, group->members.n);
        all->rows = ARENA_NEW_ARRAY(l->arena, LBufferId, group->members.n);
        for (uint32_t k = 0; k < group->members.n; k++)
            if (round[k] == q)
                all->at[all->n++] = reducer_of(l, group->members.at[k]);
    }
    return rounds;
}

void tessi_lower_reduction(Lower *l, const PlanGroup *group)
{
    const Stage *first = tessi_stage(l->g, group->members.at[0]);
    if (first->keys.v) {
        tessi_lower_bins(l, group);
        return;
    }
    const Stage *source = tessi_stage(l->g, first->source);
    Nest nest = { .parallel = tessi_level_parallel(&group->levels) };
    Lines line;
    Rounds rounds = rounds_of(l, group);
    tessi_nest_whole(l, source, &nest);
    tessi_lower_dims(l, nest.n_dims);
    const uint8_t last = (uint8_t)(nest.n_dims ? nest.n_dims - 1 : 0);
    for (uint32_t q = 0; q < rounds.n; q++) {
        rounds.at[q].nest = &nest;
        rounds.at[q].line = first->along ? &line : NULL;
        rounds.at[q].dim = first->along ? (uint8_t)(first->along - 1) : last;
    }
    LExprId n_rows = tessi_l_int(l, 1);
    if (first->along) {
        tessi_lines_together(l, source, rounds.at[0].dim, lines_beside(&rounds), group->shares,
                             &line);
        n_rows = tessi_lines_count(l, &line);
    } else if (nest.n_dims > 1) {
        n_rows = tessi_nest_row_count(l, &nest);
    }
    for (uint32_t q = 0; q < rounds.n; q++) {
        Reducers *all = &rounds.at[q];
        if (nest.n_dims)
            all->coord[all->dim] = tessi_nest_coord(&nest, all->dim, tessi_l_int(l, 0));
        all->n_rows = n_rows;
        for (uint32_t r = 0; r < all->n && !all->line; r++)
            all->rows[r] = results_of_rows(all, r, n_rows);
        add_args(all);
    }
    if (l->plan->gpu)
        on_blocks(&rounds, group);
    else if (first->along)
        lines_on_cores(&rounds);
    else
        rows_on_cores(&rounds.at[0]);
}
