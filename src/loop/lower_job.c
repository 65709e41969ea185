/* Computed stages: what the loops of a group evaluate, and where it is stored. */
#include "loop/lower_job.h"

void tessi_comment_stages(Lower *l, const StageId *stage, uint32_t n)
{
    Text text = tessi_text_new(l->arena);
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

/* The place in its stage of a point of a piece. */
static LExprId on_lattice(Lower *l, const Piece *piece, uint8_t d, LExprId at)
{
    at = tessi_l_op(l, OP_MUL, at, tessi_l_int(l, piece->step[d]));
    return tessi_l_op(l, OP_ADD, at, tessi_lower_size(l, piece->offset[d]));
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
        place[job->n + d] = coord[d].e;
        if (job->piece && job->n == 1)
            place[job->n + d] = on_lattice(l, job->piece, d, coord[d].e);
    }
}

/* The piece of the job that gives the points of the same rows as piece i, from that column of the lattice on; job->n:
 * none. */
static uint32_t piece_beside(const Lower *l, const Nest *nest, uint32_t i, int64_t column)
{
    const Job *job = nest->user;
    uint32_t k = 0;
    for (; k < job->n; k++) {
        bool beside = job->stage[k].v == job->stage[i].v;
        for (uint8_t d = 0; d < nest->n_dims; d++) {
            int64_t at = -1;
            beside =
                beside && tessi_size_is_const(l->g, job->piece[k].offset[d], &at)
                && (d + 1 == nest->n_dims ? at == column
                                          : job->piece[k].offset[d].v == job->piece[i].offset[d].v);
        }
        if (beside)
            break;
    }
    return k;
}

/* So many elements side by side, from the index on. */
static void store_together(Lower *l, LBufferId to, const LExprId *index, uint8_t n_index,
                           const LExprId *value, uint32_t n)
{
    const LBuffer b = l->p->buffers.at[to.v];
    const LBufferId line = tessi_new_line(l, tessi_sprintf(l->arena, "%s_line", b.name), b.type, n);
    for (uint32_t k = 0; k < n; k++) {
        const LExprId at = tessi_l_int(l, k);
        tessi_scope_store(l, line, &at, 1, value[k]);
    }
    tessi_scope_move(l, to, line, index, n_index);
}

/* Pieces of a lattice: those that give neighbours in a row are stored together. */
static void piece_stores(Lower *l, const Nest *nest, const LExprId *place)
{
    const Job *job = nest->user;
    const uint32_t step = (uint32_t)job->piece->step[nest->n_dims - 1];
    for (uint32_t i = 0; i < job->n; i++) {
        const LBufferId to = l->buffer[job->stage[i].v];
        const bool vectors =
            l->plan->gpu && step > 1 && tessi_vector_elements(l, to, step) == step; /* at most 16 */
        LExprId index[MAX_DIMS], value[PLAN_MAX_OUTPUTS];
        uint32_t n = 0;
        for (uint8_t d = 0; d < nest->n_dims; d++)
            index[d] = on_lattice(l, &job->piece[i], d, place[job->n + d]);
        for (uint32_t k; vectors && n < step; value[n++] = place[k])
            if ((k = piece_beside(l, nest, i, n)) == job->n)
                break;
        if (n < step)
            tessi_scope_store(l, to, index, nest->n_dims, place[i]);
        else if (piece_beside(l, nest, i, 0) == i)
            store_together(l, to, index, nest->n_dims, value, step);
    }
}

static void job_stores(Lower *l, const Nest *nest, const LExprId *place)
{
    const Job *job = nest->user;
    if (job->piece && job->n > 1) {
        piece_stores(l, nest, place);
        return;
    }
    for (uint32_t i = 0; i < job->n; i++) {
        const Place *at = &l->place[job->stage[i].v];
        if (!job->to_scratch) {
            tessi_scope_store(l, l->buffer[job->stage[i].v], place + job->n, nest->n_dims, place[i])
                ->b = l->stream;
            continue;
        }
        LExprId index[MAX_DIMS];
        for (uint8_t d = 0; d < nest->n_dims; d++)
            index[d] = tessi_place_index(l, at, d, place[job->n + d]);
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
    /* by member: of the first channel of pixels that are stored whole, the members that are their channels */
    uint32_t **pixels;
    bool *in_pixel; /* by member: it is stored with the first channel */
} TileStores;

/* Finds the images of which the members are all channels. */
static void find_pixels(TileStores *t)
{
    const Job *job = t->nest->user;
    t->pixels = ARENA_NEW_ARRAY(t->l->arena, uint32_t *, job->n);
    t->in_pixel = ARENA_NEW_ARRAY(t->l->arena, bool, job->n);
    for (uint32_t i = 0; i < job->n; i++)
        t->in_pixel[i] = t->bytes[i];
    if (!job->to_scratch)
        tessi_pixels_find(t->l, job->stage, job->n, t->columns, t->pixels, t->in_pixel);
    for (uint32_t i = 0; i < job->n; i++)
        t->in_pixel[i] = t->in_pixel[i] && !t->bytes[i];
}

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
        for (uint32_t c = t->column; c < end && !t->bytes[i] && !t->in_pixel[i]; c++)
            tessi_tile_give(l, &stored, c, &t->line[i]);
        if (t->pixels[i] && end == t->columns) {
            const TileRow pixels = { to, row + job->n, row, t->nest->n_dims, n, t->columns };
            tessi_pixels_give(l, &pixels, t->pixels[i]);
        }
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

/* What the points of a tile come to: of each its values, then the indices to store them at. */
typedef struct Tile {
    LExprId *place;
    uint32_t n, rows, columns; /* n: cells of a point */
} Tile;

/* The pieces of a whole lattice give the points of a denser tile of its stages. */
static Tile dense_tile(Lower *l, const Nest *nest, const Tile *tile, const Job *dense)
{
    const Job *job = nest->user;
    const uint8_t x = (uint8_t)(nest->n_dims - 1), y = (uint8_t)(x - 1);
    const uint32_t down = (uint32_t)job->piece->step[y], across = (uint32_t)job->piece->step[x];
    Tile out = { .n = dense->n + nest->n_dims,
                 .rows = tile->rows * down,
                 .columns = tile->columns * across };
    out.place = ARENA_NEW_ARRAY(l->arena, LExprId, (size_t)out.n * out.rows * out.columns);
    for (uint32_t k = 0; k < tile->rows * tile->columns; k++) {
        const LExprId *from = tile->place + (size_t)tile->n * k;
        for (uint32_t i = 0; i < job->n; i++) {
            int64_t at[MAX_DIMS] = { 0 };
            for (uint8_t d = y; d <= x; d++)
                tessi_size_is_const(l->g, job->piece[i].offset[d], &at[d]);
            const size_t row = (size_t)(k / tile->columns) * down + (size_t)at[y],
                         column = (size_t)(k % tile->columns) * across + (size_t)at[x];
            LExprId *to = out.place + out.n * (row * out.columns + column);
            to[i % dense->n] = from[i];
            for (uint8_t d = 0; d < nest->n_dims; d++)
                to[dense->n + d] = on_lattice(l, &job->piece[i], d, from[job->n + d]);
        }
    }
    return out;
}

/* A tile of columns and rows in a kernel, what points share computed once. Compilers put straight-line code in the
 * order that suits registers and what is on its way, but leave on its side of a branch what is written there: such
 * code comes point by point, after what it loads. */
static void job_tile(Lower *l, const Nest *nest, Coord (*coord)[MAX_DIMS], uint32_t rows,
                     uint32_t columns)
{
    const Job *job = nest->user;
    Tile tile = { .n = job->n + nest->n_dims, .rows = rows, .columns = columns };
    const uint32_t points = rows * columns;
    const Place *first = &l->place[job->stage[0].v];
    tile.place = ARENA_NEW_ARRAY(l->arena, LExprId, (size_t)tile.n * points);
    for (uint32_t k = 0; k < points; k++) {
        LExprId *values = tile.place + (size_t)tile.n * k;
        Eval *ev = job_eval(l, nest, coord[k]);
        ev->pinned = true; /* the tile is whole */
        job_values(l, nest, coord[k], ev, values);
        for (uint8_t d = 0; d < nest->n_dims && job->to_scratch; d++)
            values[job->n + d] = tessi_place_index(l, first, d, values[job->n + d]);
    }
    Job dense = { .stage = job->stage };
    Nest of_dense = *nest;
    if (job->lattice) {
        dense.n = job->n / job->lattice;
        tile = dense_tile(l, nest, &tile, &dense);
        of_dense.user = job = &dense;
        nest = &of_dense;
    }
    const uint32_t cells = tile.n * tile.rows * tile.columns;
    tessi_share_runs(l, tile.place, cells);
    const int64_t beside = l->inside_last ? columns : 0;
    const TileColumns own = { .x = coord[0][nest->n_dims - 1].e,
                              .y = nest->rows_aligned ? coord[0][nest->n_dims - 2].e
                                                      : (LExprId){ 0 },
                              .aligned = columns,
                              .rows = rows,
                              .from = -beside,
                              .to = columns + beside };
    uint8_t *bytes = ARENA_NEW_ARRAY(l->arena, uint8_t, job->n); /* of what is stored as words */
    if (nest->packed && columns % 2 == 0 && !dense.n) {
        for (uint32_t i = 0; i < job->n; i++)
            if (tessi_words_hold(l, l->buffer[job->stage[i].v], columns))
                bytes[i] = tessi_type_info(tessi_stage(l->g, job->stage[i])->type)->bytes;
        PackTile t = { tile.place, job->n, tile.n, rows, columns, bytes, &own };
        tessi_pack_tile(l, &t);
    }
    tessi_tile_takes(l, tile.place, cells, nest->tile_columns ? nest->tile_columns : &own);
    TileStores stores = { .l = l, .nest = nest, .columns = tile.columns, .bytes = bytes };
    stores.line = ARENA_NEW_ARRAY(l->arena, LBufferId, job->n);
    find_pixels(&stores);
    if (has_branches(l, tile.place, cells)) {
        const Turns turns = { tile.n, true, store_point, &stores };
        tessi_scope_place_in_turns(l, tile.place, cells, &turns);
        return;
    }
    tessi_scope_place(l, tile.place, cells);
    for (uint32_t r = 0; r < tile.rows; r++)
        store_columns(&stores, tile.place + (size_t)tile.n * tile.columns * r, tile.columns);
}

const ExprId *tessi_bodies(Lower *l, const StageId *stage, uint32_t n)
{
    ExprId *body = ARENA_NEW_ARRAY(l->arena, ExprId, n);
    for (uint32_t i = 0; i < n; i++)
        body[i] = tessi_stage(l->g, stage[i])->pieces.at[0].body;
    return body;
}

static uint32_t count_windows(Lower *l, const Nest *nest)
{
    uint32_t n = 0;
    ExprList list = tessi_reach(l, nest->roots, nest->n_roots);
    for (uint32_t i = 0; i < list.n; i++)
        n += tessi_expr(l->g, list.at[i])->kind == EXPR_WINDOW;
    return n;
}

/* The vectors that a step takes where the plan says nothing of windows: one accumulator would be one chain of
 * operations that wait for each other, and more than these would not stay in registers. */
static uint8_t vectors_of_windows(uint32_t windows)
{
    enum { ACCUMULATORS = 8, MOST = 4 };
    const uint32_t room = windows > ACCUMULATORS ? 1 : ACCUMULATORS / windows;
    return (uint8_t)(room < MOST ? room : MOST);
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
    nest->vector = tessi_level_vector(&group->levels);
    nest->split = group->split != SPLIT_NONE && job->roots;
    nest->roots = job->roots;
    nest->n_roots = job->roots ? job->n : 0;
    nest->stage = job->stage;
    nest->rows = rows;
    const uint32_t windows = nest->roots ? count_windows(l, nest) : 0;
    nest->windows = windows > 0;
    nest->columns = windows || !nest->tiled ? tessi_level_columns(&group->levels) : 1;
    if (windows && rows <= 1 && nest->columns <= 1 && nest->vector && !tessi_wants_strips(l, nest))
        nest->columns = vectors_of_windows(windows);
    nest->packed = group->packed;
    nest->carries = carries_of(l, job);
    nest->band = job->band;
    nest->body = job_body;
    nest->block = job_block;
    nest->tile = job_tile;
    nest->user = job;
}
