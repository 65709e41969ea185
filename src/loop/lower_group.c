/* Computed stages: what the loops of a group evaluate, and where it is stored. */
#include "loop/lower_copy.h"

void tessi_comment_stages(Lower *l, const StageId *stage, uint32_t n)
{
    Text text;
    tessi_text_init(&text, l->arena);
    for (uint32_t i = 0; i < n; i++)
        tessi_text_addf(&text, "%s%s", i ? ", " : "", tessi_stage(l->g, stage[i])->name);
    tessi_scope_stmt(l, LSTMT_COMMENT)->text = tessi_text_str(&text);
}

void tessi_places_wrap(Lower *l, const PlanRegions *regions)
{
    GRAPH_FOREACH_STAGE (l->g, id)
        for (int d = 0; d < MAX_DIMS; d++)
            l->place[id.v].wraps[d] = regions->wraps[id.v][d];
}

void tessi_places_forget(Lower *l)
{
    GRAPH_FOREACH_STAGE (l->g, id)
        l->place[id.v] = (Place){ 0 };
}

/* The stage stands in scratch memory already. */
static bool is_copied(const Lower *l, const Job *job, uint32_t i)
{
    return !job->to_scratch && l->place[job->stage[i].v].scratch.v;
}

/* What one row (or one point) of a job comes to: the values, then the indices to store them at. */
static void job_values(Lower *l, const Nest *nest, const Coord *coord, Eval *ev, LExprId *place)
{
    const Job *job = nest->user;
    for (uint32_t i = 0; i < job->n; i++) {
        ScalarType t = tessi_stage(l->g, job->stage[i])->type;
        if (is_copied(l, job, i)) {
            place[i] = tessi_eval_stage(l, job->stage[i], coord, false);
            continue;
        }
        place[i] = job->roots ? tessi_eval_expr(l, ev, job->roots[i])
                              : tessi_lexpr_const(l->p, t, (Value){ 0 });
    }
    for (uint8_t d = 0; d < nest->n_dims; d++) {
        LExprId index = coord[d].e;
        if (job->piece) {
            LExprId at = tessi_l_op(l, OP_MUL, index, tessi_l_int(l, job->piece->step[d]));
            index = tessi_l_op(l, OP_ADD, at, tessi_lower_size(l, job->piece->offset[d]));
        }
        place[job->n + d] = index;
    }
}

static void job_stores(Lower *l, const Nest *nest, const LExprId *place)
{
    const Job *job = nest->user;
    for (uint32_t i = 0; i < job->n; i++) {
        const Place *at = &l->place[job->stage[i].v];
        if (!job->to_scratch) {
            tessi_scope_store(l, l->buffer[job->stage[i].v], place + job->n, nest->n_dims, place[i])
                ->b = l->stream;
            continue;
        }
        LExprId index[MAX_DIMS];
        for (uint8_t d = 0; d < nest->n_dims; d++)
            index[d] = tessi_place_index(l, at, nest->n_dims, d, place[job->n + d]);
        tessi_scope_store(l, at->scratch, index, nest->n_dims, place[i]);
    }
}

static Eval *job_eval(Lower *l, const Nest *nest, const Coord *coord)
{
    const Job *job = nest->user;
    Eval *ev = tessi_eval_new(l, job->roots, job->roots ? job->n : 0, nest->n_dims);
    ev->pinned = nest->pinned;
    for (uint8_t d = 0; d < nest->n_dims; d++)
        ev->coord[d] = coord[d];
    return ev;
}

static void job_body(Lower *l, const Nest *nest, const Coord *coord, Eval *ev)
{
    const Job *job = nest->user;
    uint32_t n = job->n + nest->n_dims;
    LExprId *place = ARENA_NEW_ARRAY(l->arena, LExprId, n);
    job_values(l, nest, coord, ev ? ev : job_eval(l, nest, coord), place);
    tessi_scope_place(l, place, n);
    job_stores(l, nest, place);
}

typedef struct Rows {
    Lower *l;
    const Nest *nest;
    uint32_t left; /* to be stored; what comes after them is for the next step */
} Rows;

static void store_row(void *user, LExprId *place)
{
    Rows *rows = user;
    if (!rows->left)
        return;
    rows->left--;
    job_stores(rows->l, rows->nest, place);
}

/* Several rows: placed together, so that what two rows share is computed once, and one after the other, so that
 * little is waiting in registers. */
static void job_block(Lower *l, const Nest *nest, Coord (*coord)[MAX_DIMS], uint32_t rows)
{
    const Job *job = nest->user;
    const uint32_t n = job->n + nest->n_dims, n_all = n * rows;
    const uint32_t n_next = l->carried ? tessi_carry_count(nest) : 0;
    LExprId *place = ARENA_NEW_ARRAY(l->arena, LExprId, (size_t)n_all + n_next);
    Eval **ev = ARENA_NEW_ARRAY(l->arena, Eval *, rows);
    for (uint32_t r = 0; r < rows; r++)
        ev[r] = job_eval(l, nest, coord[r]);
    ExprList wanted = { 0 };
    for (uint32_t i = 0; i < job->n; i++)
        if (job->roots && !is_copied(l, job, i))
            VEC_PUSH(l->arena, &wanted, job->roots[i]);
    tessi_eval_rows(l, ev, rows, wanted.at, wanted.n);
    for (uint32_t r = 0; r < rows; r++)
        job_values(l, nest, coord[r], ev[r], place + (size_t)n * r);
    if (n_next)
        tessi_carry_next(l, nest, coord[rows - 1], place + n_all);
    Rows all = { l, nest, rows };
    const Turns turns = { n, false, store_row, &all };
    tessi_scope_place_in_turns(l, place, n_all + n_next, &turns);
    if (n_next)
        tessi_carry_set(l, nest, place + n_all);
}

typedef struct TileStores {
    Lower *l;
    const Nest *nest;
    uint32_t columns, column; /* of a row; of the point that comes next */
    const uint8_t *bytes;     /* by member: of what is stored as words; 0: it is not */
    LBufferId *line;          /* by member: elements of a vector that are not stored yet */
} TileStores;

/* So many columns of a row of a tile from t->column on; words when the row is complete. */
static void store_columns(TileStores *t, const LExprId *place, uint32_t columns)
{
    Lower *l = t->l;
    const Job *job = t->nest->user;
    const uint32_t n = job->n + t->nest->n_dims, end = t->column + columns;
    const LExprId *row = place - (size_t)n * t->column;
    for (uint32_t i = 0; i < job->n; i++) {
        const StageId id = job->stage[i];
        const LBufferId to = job->to_scratch ? l->place[id.v].scratch : l->buffer[id.v];
        const TileRow stored = { to, row + job->n, row + i, t->nest->n_dims, n, t->columns };
        for (uint32_t c = t->column; c < end && !t->bytes[i]; c++)
            tessi_tile_give(l, &stored, c, &t->line[i]);
        if (t->bytes[i] && end == t->columns)
            tessi_words_give(l, to, row + job->n, t->nest->n_dims, row + i, n, t->columns);
    }
    t->column = end % t->columns;
}

static void store_point(void *user, LExprId *place)
{
    store_columns(user, place, 1);
}

/* Machine code of this has branches: a division one for operands at the ends of the range, others many. (Square
 * roots have one as well; tiles of nothing else that branches are no faster point by point.) */
static bool has_branches(Lower *l, const LExprId *root, uint32_t n)
{
    const LExprList list = tessi_scope_reach(l, root, n);
    VEC_FOREACH (const LExprId, id, &list) {
        const LExpr *e = tessi_lexpr(l->p, *id);
        if (e->kind == LEXPR_OP && tessi_is_real(e->type)
            && (e->op == OP_DIV || e->op == OP_MOD || e->op == OP_POW))
            return true;
    }
    return false;
}

/* A tile of columns and rows in a kernel, what points share computed once. Compilers put straight-line code in the
 * order that suits registers and what is on its way, but leave on its side of a branch what is written there: such
 * code comes point by point, after what it loads. */
static void job_tile(Lower *l, const Nest *nest, Coord (*coord)[MAX_DIMS], uint32_t rows,
                     uint32_t columns)
{
    const Job *job = nest->user;
    const uint32_t n = job->n + nest->n_dims, points = rows * columns;
    const Place *first = &l->place[job->stage[0].v];
    LExprId *place = ARENA_NEW_ARRAY(l->arena, LExprId, (size_t)n * points);
    for (uint32_t k = 0; k < points; k++) {
        LExprId *values = place + (size_t)n * k;
        Eval *ev = job_eval(l, nest, coord[k]);
        ev->pinned = true; /* the tile is whole */
        job_values(l, nest, coord[k], ev, values);
        for (uint8_t d = 0; d < nest->n_dims && job->to_scratch; d++)
            values[job->n + d] = tessi_l_op(l, OP_SUB, values[job->n + d], first->origin[d]);
    }
    const int64_t beside = l->inside_last ? columns : 0;
    const TileColumns own = { .x = coord[0][nest->n_dims - 1].e,
                              .aligned = columns,
                              .from = -beside,
                              .to = columns + beside };
    uint8_t *bytes = ARENA_NEW_ARRAY(l->arena, uint8_t, job->n); /* of what is stored as words */
    if (nest->packed && columns % 2 == 0) {
        for (uint32_t i = 0; i < job->n; i++)
            if (tessi_words_hold(l, l->buffer[job->stage[i].v], columns))
                bytes[i] = tessi_type_info(tessi_stage(l->g, job->stage[i])->type)->bytes;
        PackTile t = { place, job->n, n, rows, columns, bytes, &own };
        tessi_pack_tile(l, &t);
    }
    tessi_tile_takes(l, place, n * points, nest->tile_columns ? nest->tile_columns : &own);
    TileStores stores = { .l = l, .nest = nest, .columns = columns, .bytes = bytes };
    stores.line = ARENA_NEW_ARRAY(l->arena, LBufferId, job->n);
    if (has_branches(l, place, n * points)) {
        const Turns turns = { n, true, store_point, &stores };
        tessi_scope_place_in_turns(l, place, n * points, &turns);
        return;
    }
    tessi_scope_place(l, place, n * points);
    for (uint32_t r = 0; r < rows; r++)
        store_columns(&stores, place + (size_t)n * columns * r, columns);
}

const ExprId *tessi_bodies(Lower *l, const StageId *stage, uint32_t n)
{
    ExprId *body = ARENA_NEW_ARRAY(l->arena, ExprId, n);
    for (uint32_t i = 0; i < n; i++)
        body[i] = tessi_stage(l->g, stage[i])->pieces.at[0].body;
    return body;
}

void tessi_nest_whole(Lower *l, const Stage *s, Nest *nest)
{
    nest->n_dims = s->n_dims;
    for (uint8_t d = 0; d < s->n_dims; d++) {
        nest->from[d] = tessi_l_int(l, 0);
        nest->to[d] = tessi_lower_size(l, s->size[d]);
        nest->count[d] = s->size[d];
    }
}

/* The piece coordinates whose points are inside the stage. */
static void piece_range(Lower *l, const Stage *s, const Piece *piece, Nest *nest)
{
    nest->n_dims = s->n_dims;
    for (uint8_t d = 0; d < s->n_dims; d++) {
        int64_t step = piece->step[d];
        Lin offset = tessi_lin_size(l->g, piece->offset[d]);
        Lin count = tessi_lin_size(l->g, piece->count[d]);
        Lin size = tessi_lin_size(l->g, s->size[d]);
        Lin room =
            tessi_lin_add_scaled(&size, &offset, -1); /* size - offset - step*(count-1) - 1 */
        room = tessi_lin_add_scaled(&room, &count, -step);
        room.ok = room.ok && tessi_add_i64(room.constant, step - 1, &room.constant);
        LExprId at = tessi_lower_size(l, piece->offset[d]);
        LExprId up = tessi_l_int(l, step - 1), by = tessi_l_int(l, step);
        nest->count[d] = piece->count[d];
        nest->from[d] = tessi_l_int(l, 0);
        if (!tessi_lin_never_negative(l->g, &offset)) {
            LExprId skip = tessi_l_op(l, OP_FLOORDIV, tessi_l_op(l, OP_SUB, up, at), by);
            nest->from[d] = tessi_l_op(l, OP_MAX, skip, nest->from[d]);
        }
        nest->to[d] = tessi_lower_size(l, piece->count[d]);
        if (!tessi_lin_never_negative(l->g, &room)) {
            LExprId end = tessi_l_op(l, OP_SUB, tessi_lower_size(l, s->size[d]), at);
            end = tessi_l_op(l, OP_FLOORDIV, tessi_l_op(l, OP_ADD, end, up), by);
            nest->to[d] = tessi_l_op(l, OP_MIN, end, nest->to[d]);
        }
    }
}

/* The class of points modulo the steps that a piece gives completely, as a number; -1 when it leaves gaps or that is
 * not sure. */
static int residue_of(const Lower *l, const Stage *s, const Piece *piece)
{
    int number = 0;
    for (uint8_t d = 0; d < s->n_dims; d++) {
        int64_t offset, step = piece->step[d];
        if (!tessi_size_is_const(l->g, piece->offset[d], &offset) || offset < 0 || offset >= step)
            return -1;
        Lin count = tessi_lin_size(l->g, piece->count[d]), size = tessi_lin_size(l->g, s->size[d]);
        Lin end = tessi_lin_const(offset); /* offset + step * count reaches the size */
        end = tessi_lin_add_scaled(&end, &count, step);
        end = tessi_lin_add_scaled(&end, &size, -1);
        if (!tessi_lin_never_negative(l->g, &end))
            return -1;
        number = number * (int)step + (int)offset;
    }
    return number;
}

/* Some pieces with the same steps cover the stage between them, so that nothing need be cleared. */
static bool covers_all(const Lower *l, const Stage *s)
{
    enum { MAX_CLASSES = 64 };
    for (uint32_t first = 0; first < s->pieces.n; first++) {
        int64_t classes = 1;
        uint64_t seen = 0;
        for (uint8_t d = 0; d < s->n_dims && classes <= MAX_CLASSES; d++)
            classes *= s->pieces.at[first].step[d];
        if (classes > MAX_CLASSES)
            continue;
        VEC_FOREACH (const Piece, piece, &s->pieces) {
            bool same = true;
            for (uint8_t d = 0; d < s->n_dims; d++)
                same = same && piece->step[d] == s->pieces.at[first].step[d];
            int residue = same ? residue_of(l, s, piece) : -1;
            if (residue >= 0)
                seen |= (uint64_t)1 << residue;
        }
        if (seen == (classes == 64 ? UINT64_MAX : ((uint64_t)1 << classes) - 1))
            return true;
    }
    return false;
}

/* `part` distinguishes the kernels of a group; "" when there is one. */
static void run_kernel(Lower *l, const PlanGroup *group, Nest *nest, const char *part)
{
    if (tessi_plan_kernel(group) == KERNEL_REGISTER) {
        tessi_kernel_tiles(l, group, nest, part);
        return;
    }
    tessi_staged_constants(l, group);
    const PlanThreads block =
        nest->n_dims ? tessi_level_threads_all(&group->levels) : (PlanThreads){ { 1, 1 } };
    tessi_kernel_open(l, tessi_sprintf(l->arena, "%s%s", group->name, part),
                      tessi_group_comment(l, group), block.of[0], block.of[1])
        ->resident = group->resident;
    if (tessi_plan_kernel(group) == KERNEL_ROLLING)
        tessi_kernel_rolling(l, nest, group);
    else if (tessi_plan_kernel(group) == KERNEL_SWEEP)
        tessi_kernel_sweep(l, nest, group);
    else
        tessi_kernel_points(l, nest, block.of, nest->split ? group->split : SPLIT_NONE,
                            nest->roots ? group : NULL);
    tessi_scope_close(l);
}

static bool has_window(Lower *l, const Nest *nest)
{
    ExprList list = tessi_reach(l, nest->roots, nest->n_roots);
    for (uint32_t i = 0; i < list.n; i++)
        if (tessi_expr(l->g, list.at[i])->kind == EXPR_WINDOW)
            return true;
    return false;
}

/* Stages in registers that the job reads; NULL when there are none. */
static const PlanCarries *carries_of(Lower *l, const Job *job)
{
    if (!job->band || !job->roots)
        return NULL;
    StageId *stage = ARENA_NEW_ARRAY(l->arena, StageId, job->n);
    PlanCarries *carries = ARENA_NEW(l->arena, PlanCarries);
    uint32_t n = 0;
    for (uint32_t i = 0; i < job->n; i++)
        if (!is_copied(l, job, i))
            stage[n++] = job->stage[i];
    tessi_plan_carries(tessi_lower_facts(l), l->plan, stage, n, carries);
    return carries->n ? carries : NULL;
}

void tessi_job_nest(Lower *l, const PlanGroup *group, uint8_t rows, Nest *nest, const Job *job)
{
    nest->parallel = tessi_level_parallel(&group->levels) && !nest->tiled;
    nest->strip_rows = nest->tiled ? 0 : tessi_level_dealt(&group->levels);
    nest->vector = tessi_level_vector(&group->levels);
    nest->split = group->split != SPLIT_NONE && job->roots;
    nest->roots = job->roots;
    nest->n_roots = job->roots ? job->n : 0;
    nest->stage = job->stage;
    nest->rows = rows;
    nest->windows = nest->roots && has_window(l, nest);
    nest->columns = nest->windows || !nest->tiled ? tessi_level_columns(&group->levels) : 1;
    nest->packed = group->packed;
    nest->carries = carries_of(l, job);
    nest->band = job->band;
    nest->body = job_body;
    nest->block = job_block;
    nest->tile = job_tile;
    nest->user = job;
}

void tessi_lower_job(Lower *l, const PlanGroup *group, uint8_t rows, Nest *nest, const Job *job)
{
    tessi_job_nest(l, group, rows, nest, job);
    if (l->plan->gpu)
        run_kernel(l, group, nest, job->part);
    else
        tessi_lower_nest(l, nest);
}

/* The results, and as many bytes that they are computed from, leave no room in the last cache. */
static LExprId fills_caches(Lower *l, const PlanGroup *group)
{
    LExprId bytes = tessi_l_int(l, 0);
    VEC_FOREACH (const StageId, id, &group->members) {
        const Stage *s = tessi_stage(l->g, *id);
        LExprId size = tessi_l_int(l, tessi_type_info(s->type)->bytes);
        for (uint8_t d = 0; d < s->n_dims; d++)
            size = tessi_l_op(l, OP_MUL, tessi_lower_size(l, s->size[d]), size);
        bytes = tessi_l_op(l, OP_ADD, bytes, size);
    }
    return tessi_l_op(l, OP_LE, tessi_l_int(l, l->machine->l3_bytes / 2), bytes);
}

void tessi_lower_group(Lower *l, const PlanGroup *group)
{
    l->stream = (LExprId){ 0 };
    if (group->stream && !l->plan->gpu)
        l->stream = tessi_scope_let(l, "stream", fills_caches(l, group));
    const Stage *first = tessi_stage(l->g, group->members.at[0]);
    Nest nest = { 0 };
    if (group->transform || group->median) {
        if (group->median)
            (l->plan->gpu ? tessi_kernel_median : tessi_lower_median)(l, group);
        else
            (l->plan->gpu ? tessi_kernel_transform : tessi_lower_transform)(l, group);
        return;
    }
    if (tessi_level_tile(group, 0)) {
        if (tessi_plan_kernel(group) == KERNEL_WARP)
            tessi_kernel_warps(l, group);
        else if (l->plan->gpu)
            tessi_kernel_tiles(l, group, NULL, "");
        else
            tessi_lower_tiles(l, group);
        return;
    }
    if (tessi_stage_is_plain(l->g, first)) {
        tessi_nest_whole(l, first, &nest);
        Job job = { .stage = group->members.at, .n = group->members.n, .part = "" };
        job.roots = tessi_bodies(l, job.stage, job.n);
        job.band = tessi_level_band(&group->levels);
        tessi_lower_job(l, group, tessi_level_rows(&group->levels), &nest, &job);
        return;
    }
    if (!covers_all(l, first)) {
        Job zeros = { .stage = group->members.at, .n = 1, .part = "_clear" };
        tessi_nest_whole(l, first, &nest);
        tessi_lower_job(l, group, tessi_level_rows(&group->levels), &nest, &zeros);
    }
    VEC_FOREACH (const Piece, piece, &first->pieces) {
        Job job = { .stage = group->members.at, .piece = piece, .n = 1, .roots = &piece->body };
        job.part = tessi_sprintf(l->arena, "_part%d", (int)(piece - first->pieces.at));
        piece_range(l, first, piece, &nest);
        tessi_lower_job(l, group, tessi_level_rows(&group->levels), &nest, &job);
    }
}
