/* Kernels of warps (plan_warp.c): the threads of a warp go down the rows of a tile side by side. What they read of
 * images and compute of the passes is held in registers: of the rows of a step and of some rows before it, their own
 * columns and some of their neighbours'.
 *
 *   for blocks: for steps: for threads: the rows of the images that this step adds
 *                          for threads: columns of neighbours, then a pass, `outputs` columns and rows of points,
 *                            straight-line
 *                          ...
 *                          for threads: columns of neighbours, then the members; the points that are the warp's own are
 *                            stored
 *                          for threads: the last rows become those before the next step
 *
 * Above the tile and at both ends of a warp values are of no account: they come from zeros, or from the thread
 * itself, and are used for no result. Blocks lie inside with all they read, and answer no rules; what they leave is
 * a frame. */
#include "loop/lower_warp.h"
#include "loop/lower_group.h"

/* ---- Parts ----------------------------------------------------------------------------------- */

/* Pass number i; the members come after the last, those that are not in passes. */
static void find_part(const Warps *t, uint32_t i)
{
    Lower *l = t->l;
    const PlanGroup *group = t->group;
    Part *part = &t->part[i];
    StageList stages = { 0 };
    const bool members = i == group->passes.n;
    if (members)
        tessi_plan_own_members(l->arena, group, &stages);
    else
        stages = group->passes.at[i].stages;
    *part = (Part){ .delay = t->warp.delay[i] };
    part->job = (Job){ .stage = stages.at, .n = stages.n, .to_scratch = true, .part = "" };
    part->job.roots = tessi_bodies(l, stages.at, stages.n);
    const StageId lead = members ? group->members.at[0] : stages.at[0];
    for (int k = 0; k < 2 && !members && !t->warp.planes; k++) {
        part->lo[k] = t->regions.at[lead.v].lo[t->y + k];
        part->hi[k] = t->regions.at[lead.v].hi[t->y + k];
    }
    for (int k = 0; k < 2; k++)
        part->around[k] = t->warp.around[i][k];
    tessi_nest_whole(l, tessi_stage(l->g, lead), &part->nest);
    tessi_job_nest(l, group, 1, &part->nest, &part->job);
}

static Warps new_warps(Lower *l, const PlanGroup *group)
{
    Warps t = { .l = l, .group = group, .n_dims = group->n_dims, .n_parts = group->passes.n + 1 };
    t.y = tessi_plan_march_dim(group);
    t.rows = tessi_plan_warp_rows(group);
    t.columns = tessi_level_outputs(&group->levels, 0);
    tessi_plan_regions(tessi_lower_facts(l), l->plan, group, &l->regions);
    t.regions = l->regions;
    tessi_plan_warp(tessi_lower_facts(l), l->plan, group, &t.warp);
    t.lines = t.warp.lines;
    t.edges = tessi_plan_warp_has_edges(group);
    if (t.edges) {
        tessi_plan_warp_rules(tessi_lower_facts(l), l->plan, group, &t.warp);
        GRAPH_FOREACH_STAGE (l->g, id)
            for (int d = 0; d < MAX_DIMS; d++)
                l->place[id.v].passes[d] = t.warp.passes[id.v][d];
    }
    t.part = ARENA_NEW_ARRAY(l->arena, Part, t.n_parts);
    tessi_lower_dims(l, t.n_dims);
    return t;
}

/* ---- What is held ---------------------------------------------------------------------------- */

static LBufferId new_held(const Warps *t, StageId id, ScalarType type, int64_t rows, int64_t lines,
                          int64_t columns)
{
    Lower *l = t->l;
    const Stage *s = tessi_stage(l->g, id);
    LBuffer b = { .name = s->name, .kind = LBUF_LOCAL, .held = true, .type = type };
    b.n_dims = s->n_dims;
    for (uint8_t d = 0; d < t->y; d++)
        b.size[d] = tessi_l_int(l, 1);
    b.size[t->y] = tessi_l_int(l, rows);
    if (t->warp.planes)
        b.size[t->y + 1] = tessi_l_int(l, lines);
    b.size[t->n_dims - 1] = tessi_l_int(l, columns);
    return tessi_loop_buffer(l->p, &b);
}

/* Lines that are held of it. */
int64_t tessi_warp_lines(const Warps *t, const PlanHeld *h)
{
    return h->line + t->lines + h->below;
}

static void find_places(Warps *t)
{
    Lower *l = t->l;
    t->held = ARENA_NEW_ARRAY(l->arena, LBufferId, t->warp.held.n + 1);
    t->result = ARENA_NEW_ARRAY(l->arena, LBufferId, t->group->members.n);
    for (uint32_t i = 0; i < t->warp.held.n; i++) {
        const PlanHeld *h = &t->warp.held.at[i];
        t->held[i] = new_held(t, h->stage, tessi_warp_type(t, h), h->row + t->rows,
                              tessi_warp_lines(t, h), h->column + t->columns + h->right);
        l->place[h->stage.v].scratch = t->held[i];
        t->n_images += h->is_image;
    }
    if (tessi_level_march(&t->group->levels).ahead && !t->warp.planes)
        t->ahead = ARENA_NEW_ARRAY(l->arena, LBufferId, t->n_images + 1);
    for (uint32_t i = 0; i < t->n_images && t->ahead; i++)
        t->ahead[i] =
            new_held(t, t->warp.held.at[i].stage, tessi_stage(l->g, t->warp.held.at[i].stage)->type,
                     t->rows, tessi_warp_lines(t, &t->warp.held.at[i]), t->columns);
    for (uint32_t i = 0; i < t->group->members.n; i++) {
        Place *place = &l->place[t->group->members.at[i].v];
        t->result[i] = place->scratch;
        if (place->scratch.v) /* of a pass */
            continue;
        const StageId id = t->group->members.at[i];
        t->result[i] = new_held(t, id, tessi_stage(l->g, id)->type, t->rows, t->lines, t->columns);
        place->scratch = t->result[i];
    }
}

void tessi_warp_element(const Warps *t, const PlanHeld *h, Cell at, LExprId *index)
{
    for (uint8_t d = 0; d < t->y; d++)
        index[d] = tessi_l_int(t->l, 0);
    index[t->y] = tessi_l_int(t->l, h->row + at.row);
    if (t->warp.planes)
        index[t->y + 1] = tessi_l_int(t->l, h->line + at.line);
    index[t->n_dims - 1] = tessi_l_int(t->l, h->column + at.column);
}

LStmt *tessi_warp_put(const Warps *t, LStmtKind kind, LBufferId to, const LExprId *index, LExprId a)
{
    const ScalarType type = tessi_value_type(t->l->p->buffers.at[to.v].type);
    LStmt *s = tessi_scope_store(t->l, to, index, t->n_dims, tessi_lexpr_cast(t->l->p, type, a));
    s->kind = kind;
    return s;
}

LExprId tessi_warp_load(const Warps *t, uint32_t number, Cell at)
{
    LExprId index[MAX_DIMS];
    tessi_warp_element(t, &t->warp.held.at[number], at, index);
    return tessi_lexpr_load(t->l->p, t->held[number], index, t->n_dims);
}

void tessi_warp_store(const Warps *t, uint32_t number, Cell at, LExprId value)
{
    LExprId index[MAX_DIMS];
    tessi_warp_element(t, &t->warp.held.at[number], at, index);
    tessi_warp_put(t, LSTMT_STORE, t->held[number], index, value);
}

LExprId tessi_warp_size(const Warps *t, int k)
{
    return t->part[t->n_parts - 1].nest.to[k ? t->n_dims - k : t->y];
}

static void bring_into_being(const Warps *t)
{
    for (uint32_t i = 0; i < t->warp.held.n; i++)
        tessi_scope_stmt(t->l, LSTMT_LOCAL)->buffer = t->held[i];
    for (uint32_t i = 0; i < t->n_images && t->ahead; i++)
        tessi_scope_stmt(t->l, LSTMT_LOCAL)->buffer = t->ahead[i];
    for (uint32_t i = 0; i < t->group->members.n; i++)
        if (!tessi_plan_in_passes(t->group, t->group->members.at[i]))
            tessi_scope_stmt(t->l, LSTMT_LOCAL)->buffer = t->result[i];
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* Where what is held begins: its first row and line. */
static void set_origin(const Warps *t, Place *place, int64_t row, int64_t line, int64_t column)
{
    Lower *l = t->l;
    for (uint8_t d = 0; d < t->y; d++)
        place->origin[d] = t->outer[d].e;
    place->origin[t->y] = tessi_l_op(l, OP_ADD, t->row, tessi_l_int(l, -row));
    if (t->warp.planes)
        place->origin[t->y + 1] = tessi_l_op(l, OP_ADD, t->line, tessi_l_int(l, -line));
    place->origin[t->n_dims - 1] = tessi_l_op(l, OP_ADD, t->column, tessi_l_int(l, -column));
}

/* Warps of a block stand side by side, or, where they go down planes, one above the other. */
static void open_threads(Warps *t)
{
    Lower *l = t->l;
    const LExprId lanes = tessi_l_int(l, PLAN_WARP);
    LExprId thread =
        tessi_kernel_threads(l, 0, "thread", tessi_level_threads(&t->group->levels, 0));
    l->tile_depth = tessi_scope_depth(l);
    t->lane = tessi_l_op(l, OP_FLOORMOD, thread, lanes);
    LExprId warp = tessi_l_op(l, OP_FLOORDIV, thread, lanes);
    LExprId at = tessi_l_op(l, OP_MUL, t->lane, tessi_l_int(l, t->columns));
    if (t->warp.planes) {
        LExprId line = tessi_l_op(l, OP_MUL, warp, tessi_l_int(l, t->lines));
        t->line = tessi_scope_let(l, tessi_dim_name(t->n_dims, (uint8_t)(t->y + 1)),
                                  tessi_l_op(l, OP_ADD, t->first_line, line));
    } else {
        warp = tessi_l_op(l, OP_MUL, warp, tessi_l_int(l, t->warp.columns));
        at = tessi_l_op(l, OP_ADD, warp, at);
    }
    at = tessi_l_op(l, OP_ADD, at, tessi_l_int(l, -t->warp.left));
    t->column = tessi_l_op(l, OP_ADD, t->first[1], at);
    t->column = tessi_scope_let(l, tessi_dim_name(t->n_dims, (uint8_t)(t->n_dims - 1)), t->column);
    for (uint32_t i = 0; i < t->warp.held.n; i++) {
        const PlanHeld *h = &t->warp.held.at[i];
        set_origin(t, &l->place[h->stage.v], h->delay + h->row, h->line, h->column);
    }
    const Part *last = &t->part[t->n_parts - 1];
    for (uint32_t i = 0; i < last->job.n; i++)
        set_origin(t, &l->place[last->job.stage[i].v], last->delay, 0, 0);
}

/* The points of the thread in this step, `delay` rows up; of planes with lines before its own and behind. */
Patch tessi_warp_patch(Warps *t, const Nest *nest, int64_t delay, const int64_t *around,
                       const TileColumns *vectors)
{
    Lower *l = t->l;
    LExprId row = tessi_l_op(l, OP_ADD, t->row, tessi_l_int(l, -delay));
    Patch patch = { .outer = t->outer,
                    .first = { row, t->column },
                    .rows = (uint32_t)t->rows,
                    .columns = (uint32_t)t->columns,
                    .inside = true,
                    .vectors = vectors };
    if (!t->warp.planes)
        return patch;
    t->outer[t->y] = tessi_nest_coord(nest, t->y, row);
    patch.first[0] = tessi_l_op(l, OP_ADD, t->line, tessi_l_int(l, -around[0]));
    patch.rows = (uint32_t)(around[0] + t->lines + around[1]);
    return patch;
}

TileColumns tessi_warp_vectors(const Warps *t)
{
    return (TileColumns){ .x = t->column,
                          .aligned = (uint32_t)t->columns,
                          .shared_aligned = 1,
                          .from = INT64_MIN,
                          .to = INT64_MAX };
}

/* The columns of neighbours: column c of a thread is column c mod n of the thread c div n farther on. */
static void exchange(const Warps *t, uint32_t number)
{
    Lower *l = t->l;
    const PlanHeld *h = &t->warp.held.at[number];
    LExprId to[MAX_DIMS], from[MAX_DIMS];
    const int64_t lines = tessi_warp_lines(t, h);
    for (int64_t i = 0; i < t->rows * lines; i++) {
        const int64_t row = i / lines - h->late, line = i % lines - h->line;
        for (int64_t c = -h->left; c < t->columns + h->right; c++) {
            if (c >= 0 && c < t->columns)
                continue;
            tessi_warp_element(t, h, (Cell){ row, line, c }, to);
            tessi_warp_element(t, h, (Cell){ row, line, tessi_floormod(c, t->columns) }, from);
            LExprId value = tessi_lexpr_load(l->p, t->held[number], from, t->n_dims);
            tessi_warp_put(t, LSTMT_SHIFT, t->held[number], to, value)->step =
                tessi_floordiv(c, t->columns);
        }
    }
}

static void compute(Warps *t, Part *part)
{
    const TileColumns columns = tessi_warp_vectors(t);
    for (uint8_t d = 0; d < t->n_dims && part->job.n; d++)
        part->nest.beyond[d] = t->answers && t->regions.wraps[part->job.stage[0].v][d];
    const Patch patch = tessi_warp_patch(t, &part->nest, part->delay, part->around, &columns);
    if (part->job.n)
        tessi_patch_compute(t->l, &part->nest, &patch);
}

/* An element of a row before those of the step is kept: columns of neighbours as long as they are read. */
static bool is_kept(const Warps *t, const PlanHeld *h, int64_t row, int64_t c)
{
    const bool own = c >= 0 && c < t->columns;
    return own || (row >= -h->wide && row < -h->late);
}

/* Elements of the rows before those of the step that are kept; how many. */
static uint32_t kept_of(const Warps *t, const PlanHeld *h, Cell **out)
{
    const int64_t columns = h->left + t->columns + h->right;
    uint32_t n = 0;
    *out = ARENA_NEW_ARRAY(t->l->arena, Cell,
                           (size_t)(h->keep * tessi_warp_lines(t, h) * columns + 1));
    for (int64_t row = -h->keep; row < 0; row++)
        for (int64_t line = -h->line; line < t->lines + h->below; line++)
            for (int64_t c = -h->left; c < t->columns + h->right; c++)
                if (is_kept(t, h, row, c))
                    (*out)[n++] = (Cell){ row, line, c };
    return n;
}

/* The last rows become those before the next step. */
static void keep_rows(const Warps *t)
{
    LExprId to[MAX_DIMS], from[MAX_DIMS];
    for (uint32_t i = 0; i < t->warp.held.n; i++) {
        const PlanHeld *h = &t->warp.held.at[i];
        Cell *cell;
        const uint32_t n = kept_of(t, h, &cell);
        for (uint32_t k = 0; k < n; k++) {
            tessi_warp_element(t, h, cell[k], to);
            cell[k].row += t->rows;
            tessi_warp_element(t, h, cell[k], from);
            tessi_warp_put(t, LSTMT_STORE, t->held[i], to,
                           tessi_lexpr_load(t->l->p, t->held[i], from, t->n_dims));
        }
    }
}

/* Rows above those of the first step. */
static void clear_rows(const Warps *t)
{
    Lower *l = t->l;
    LExprId to[MAX_DIMS];
    tessi_kernel_threads(l, 0, "thread", tessi_level_threads(&t->group->levels, 0));
    for (uint32_t i = 0; i < t->warp.held.n; i++) {
        const PlanHeld *h = &t->warp.held.at[i];
        const ScalarType value = tessi_value_type(l->p->buffers.at[t->held[i].v].type);
        Cell *cell;
        const uint32_t n = kept_of(t, h, &cell);
        for (uint32_t k = 0; k < n; k++) {
            tessi_warp_element(t, h, cell[k], to);
            tessi_warp_put(t, LSTMT_STORE, t->held[i], to,
                           tessi_lexpr_const(l->p, value, (Value){ 0 }));
        }
    }
    tessi_scope_close(l);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static void take_images(Warps *t, LExprId row)
{
    const LExprId before = t->row;
    t->row = row;
    open_threads(t);
    tessi_warp_take(t);
    tessi_scope_close(t->l);
    t->row = before;
}

static void fetch_planes(Warps *t)
{
    if (!t->warp.planes || !tessi_level_march(&t->group->levels).ahead)
        return;
    open_threads(t);
    for (uint32_t i = 0; i < t->n_images; i++)
        if (tessi_stage(t->l->g, t->warp.held.at[i].stage)->n_dims == t->n_dims)
            tessi_warp_fetch(t, i);
    tessi_scope_close(t->l);
}

/* The images that the step reads; with those ahead, of the next step, if there is one. */
static void images_of_step(Warps *t, LExprId number)
{
    Lower *l = t->l;
    fetch_planes(t);
    if (!t->ahead) {
        take_images(t, t->row);
        return;
    }
    open_threads(t);
    for (uint32_t i = 0; i < t->n_images; i++)
        tessi_warp_take_from_ahead(t, i);
    tessi_scope_close(l);
    LExprId next = tessi_l_op(l, OP_ADD, number, tessi_l_int(l, 1));
    tessi_scope_if(l, tessi_l_op(l, OP_LT, next, t->steps));
    take_images(t, tessi_l_op(l, OP_ADD, t->row, tessi_l_int(l, t->rows)));
    tessi_scope_close(l);
}

/* Images are read by their rules, but for planes of which threads took all of their columns; those may be exchanged in
 * steps that answer all rules. */
static bool answers_held(const Warps *t, const PlanHeld *h)
{
    return t->answers && (!h->is_image || t->in_planes || (h->late && tessi_warp_has_whole(t)));
}

/* What a part reads that no part before it has: columns of neighbours, and what stands outside. What is outside
 * changes what other threads have taken, so it is answered when all of them have. */
static void exchange_for(Warps *t, uint32_t part, uint32_t *exchanged)
{
    const uint32_t first = *exchanged;
    bool answers = false;
    for (; *exchanged < t->warp.held.n; ++*exchanged) {
        const PlanHeld *h = &t->warp.held.at[*exchanged];
        if (!h->is_image && h->part >= part)
            break;
        exchange(t, *exchanged);
        answers = answers || answers_held(t, h);
    }
    if (!answers)
        return;
    tessi_scope_close(t->l);
    open_threads(t);
    for (uint32_t i = first; i < *exchanged; i++)
        if (answers_held(t, &t->warp.held.at[i]))
            tessi_warp_answer(t, i);
}

/* Steps that stand one behind the other: as many as after which each plane that is held is in the registers again that
 * it was in, so that none are copied. Rows are copied: the loop of a Gaussian of RGB bytes written out seven times, 30
 * KB of code, took no less time for a fifth fewer instructions. */
static uint8_t steps_at_once(const Warps *t)
{
    enum { MOST = 7 };
    int64_t n = 1;
    VEC_FOREACH (const PlanHeld, h, &t->warp.held)
        n = h->keep + 1 > n ? h->keep + 1 : n;
    const bool inside = !t->answers || t->in_planes;
    return t->warp.planes && inside && n <= MOST ? (uint8_t)n : 1;
}

static void step(Warps *t, LExprId number)
{
    Lower *l = t->l;
    uint32_t exchanged = 0;
    images_of_step(t, number);
    if (steps_at_once(t)
        > 1) /* compilers sink loads in long lines of code, and each is waited for alone */
        tessi_scope_keep(l, "taken", tessi_l_op(l, OP_ADD, t->row, tessi_l_int(l, 1)));
    for (uint32_t i = 0; i < t->n_parts; i++) {
        open_threads(t);
        exchange_for(t, i, &exchanged);
        compute(t, &t->part[i]);
        if (i + 1 == t->n_parts)
            tessi_warp_give(t);
        tessi_scope_close(l);
    }
    tessi_kernel_threads(l, 0, "thread", tessi_level_threads(&t->group->levels, 0));
    keep_rows(t);
    tessi_scope_close(l);
}

/* The row at which a step reads what nothing delays. */
static LExprId row_of(const Warps *t, LExprId number)
{
    Lower *l = t->l;
    LExprId row = tessi_l_op(l, OP_MUL, number, tessi_l_int(l, t->rows));
    row = tessi_l_op(l, OP_ADD, row, tessi_l_int(l, -t->warp.above));
    return tessi_l_op(l, OP_ADD, t->first[0], row);
}

/* Steps from one on, before another. */
static void run_steps(Warps *t, LExprId from, LExprId to)
{
    Lower *l = t->l;
    LVarId v = tessi_scope_for(l, "step", from, to, 1, LFOR_ROLLED);
    l->scopes.at[tessi_scope_depth(l)].stmt->vectors = steps_at_once(t);
    const LExprId number = tessi_lexpr_var(l->p, v);
    t->row = tessi_scope_let(l, "row", row_of(t, number));
    step(t, number);
    tessi_scope_close(l);
}

/* Steps inside. A stack is few blocks wide and high: those at the edges of its planes answer for lines and columns. */
static void run_inside(Warps *t, const LExprId *inside)
{
    Lower *l = t->l;
    t->answers = false;
    if (!t->warp.planes) {
        run_steps(t, inside[0], inside[1]);
        return;
    }
    if (!tessi_warp_has_whole(t)) {
        run_steps(t, inside[0], inside[1]);
        return;
    }
    tessi_scope_if(l, tessi_warp_plane_inside(t));
    run_steps(t, inside[0], inside[1]);
    tessi_scope_else(l);
    t->answers = t->in_planes = true;
    run_steps(t, inside[0], inside[1]);
    t->in_planes = false;
    tessi_scope_close(l);
}

/* Steps at the upper edge, inside and at the lower edge: those at edges stand there once for both. */
static void run_thirds(Warps *t, const LExprId *inside)
{
    Lower *l = t->l;
    LVarId v = tessi_scope_for(l, "third", tessi_l_int(l, 0), tessi_l_int(l, 3), 1, LFOR_ROLLED);
    const LExprId third = tessi_lexpr_var(l->p, v);
    LExprId upper = tessi_l_op(l, OP_EQ, third, tessi_l_int(l, 0));
    LExprId middle = tessi_l_op(l, OP_EQ, third, tessi_l_int(l, 1));
    LExprId from = tessi_l_select(l, upper, tessi_l_int(l, 0), inside[1]);
    LExprId to = tessi_l_select(l, upper, inside[0], t->steps);
    from = tessi_scope_let(l, "from", from);
    to = tessi_scope_let(l, "to", to);
    tessi_scope_if(l, middle);
    run_inside(t, inside);
    tessi_scope_else(l);
    t->answers = true;
    run_steps(t, from, to);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* The steps of a strip: where the blocks are the whole image, the first and the last ones answer rules. */
static void run_strip(Warps *t)
{
    Lower *l = t->l;
    LExprId inside[2];
    bring_into_being(t);
    clear_rows(t);
    t->answers = t->edges;
    if (t->ahead)
        take_images(t, row_of(t, tessi_l_int(l, 0)));
    if (!t->edges) {
        run_steps(t, tessi_l_int(l, 0), t->steps);
        return;
    }
    tessi_warp_steps_inside(t, inside);
    run_thirds(t, inside);
}

void tessi_kernel_warps(Lower *l, const PlanGroup *group)
{
    Warps t = new_warps(l, group);
    Frame frame = { 0 };
    tessi_kernel_open(l, group->name, tessi_group_comment(l, group),
                      tessi_level_threads(&group->levels, 0), 1)
        ->resident = group->resident;
    const uint32_t depth = tessi_scope_depth(l);
    find_places(&t);
    for (uint32_t i = 0; i < t.n_parts; i++)
        find_part(&t, i);
    if (!t.edges)
        frame = tessi_warp_frame(&t);
    if (t.y)
        tessi_kernel_outer_dims(l, &t.part[t.n_parts - 1].nest, t.y, t.outer);
    if (t.edges)
        tessi_warp_open_strips(&t);
    else
        tessi_warp_open_frame(&t, &frame);
    run_strip(&t);
    tessi_scope_close_to(l, depth);
    tessi_places_forget(l);
    tessi_scope_close(l);
    if (!t.edges)
        tessi_kernel_frame(l, group, &frame);
}
