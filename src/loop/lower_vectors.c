/* Moves in vectors: loads of neighbours in a row become moves of whole vectors into lines, and values of a row are
 * stored so. */
#include "loop/lower_vectors.h"
#include "loop/lower_copy.h"

enum { VECTOR_BYTES = 16 };

/* Elements that move at once; 1 when none do. */
uint32_t tessi_vector_elements(const Lower *l, LBufferId id, uint32_t columns)
{
    const LBuffer *b = &l->p->buffers.at[id.v];
    uint32_t bytes = tessi_type_info(b->type)->bytes, n = VECTOR_BYTES / bytes;
    const LImage *im = tessi_loop_image(l->p, b);
    const bool rows =
        im ? im->pixel_bytes == bytes && (b->type != TYPE_BOOL || b->kind == LBUF_OUTPUT)
           : b->kind == LBUF_TEMP || b->kind == LBUF_LOCAL;
    if (!rows || b->held || b->n_dims < 2)
        return 1; /* in registers, pixels of several channels, any byte for `true`, or no row to be aligned */
    while (n > 1 && columns % n)
        n /= 2;
    return n;
}

/* The same, channels of pixels side by side counted one by one. */
static uint32_t elements_at_once(const Lower *l, LBufferId id, uint32_t columns)
{
    const uint32_t channels = tessi_loop_channels(l->p, id);
    const LBuffer *b = &l->p->buffers.at[id.v];
    if (channels == 1)
        return tessi_vector_elements(l, id, columns);
    if (b->n_dims < 2 || b->type == TYPE_BOOL)
        return 1;
    for (uint32_t c = 0; c < channels && b->kind != LBUF_INPUT; c++)
        if (!tessi_loop_channel(l->p, id, c).v)
            return 1; /* results that are given otherwise have no buffer */
    uint32_t n = VECTOR_BYTES / tessi_type_info(b->type)->bytes;
    while (n > 1 && columns * channels % n)
        n /= 2;
    return n;
}

static uint32_t channel_of(const Lower *l, LBufferId id)
{
    return tessi_loop_channels(l->p, id) > 1 ? l->p->buffers.at[id.v].channel : 0;
}

/* Channel c of the image; one of an input that nobody reads has no buffer yet. */
static LBufferId channel_buffer(Lower *l, LBufferId id, uint32_t c)
{
    const LBufferId found = tessi_loop_channel(l->p, id, c);
    LBuffer b = l->p->buffers.at[id.v];
    if (found.v || b.kind != LBUF_INPUT)
        return found;
    const LImage *image = &l->p->inputs.at[b.image];
    b.channel = c;
    b.name = tessi_sprintf(l->arena, "%s.%s", image->name, image->channel_name[c]);
    return tessi_loop_buffer(l->p, &b);
}

/* index = x + c with from <= c < to. */
bool tessi_column_of(const Lower *l, LExprId index, LExprId x, int64_t from, int64_t to, int64_t *c)
{
    *c = 0;
    if (index.v == x.v)
        return true;
    const LExpr *e = tessi_lexpr(l->p, index);
    if (e->kind != LEXPR_OP || e->op != OP_ADD || e->arg[0].v != x.v)
        return false;
    const LExpr *k = tessi_lexpr(l->p, e->arg[1]);
    if (k->kind != LEXPR_CONST || k->value.i < from || k->value.i >= to)
        return false;
    *c = k->value.i;
    return true;
}

/* Loads of one vector: of a buffer, or of channels that stand side by side, in a row, from element `first` on. */
typedef struct VectorUse {
    LBufferId buffer; /* of the first load found */
    LExprId x;        /* `first` is counted from here */
    int64_t first;
    uint32_t n, n_found;
    LExprId load[VECTOR_BYTES]; /* by element; none = not loaded */
} VectorUse;
typedef VEC(VectorUse) VectorUses;

bool tessi_same_row(const Lower *l, LExprId a, LExprId b)
{
    const LExpr *x = tessi_lexpr(l->p, a), *y = tessi_lexpr(l->p, b);
    for (int d = 0; d + 1 < x->n_args; d++)
        if (x->arg[d].v != y->arg[d].v)
            return false;
    return true;
}

static LExprId some_load(const VectorUse *u)
{
    uint32_t k = 0;
    while (!u->load[k].v)
        k++;
    return u->load[k];
}

static bool same_image(const Lower *l, LBufferId a, LBufferId b)
{
    const LBuffer *x = &l->p->buffers.at[a.v], *y = &l->p->buffers.at[b.v];
    return a.v == b.v
           || (tessi_loop_channels(l->p, a) > 1 && x->kind == y->kind && x->image == y->image);
}

static VectorUse *vector_use(Lower *l, VectorUses *uses, LExprId load, LExprId x, int64_t first,
                             uint32_t n)
{
    const LExpr *e = tessi_lexpr(l->p, load);
    VEC_FOREACH (VectorUse, u, uses) {
        if (same_image(l, u->buffer, e->buffer) && u->x.v == x.v && u->first == first
            && tessi_same_row(l, some_load(u), load))
            return u;
    }
    VEC_PUSH(l->arena, uses, ((VectorUse){ .buffer = e->buffer, .x = x, .first = first, .n = n }));
    return &uses->at[uses->n - 1];
}

LBufferId tessi_new_line(Lower *l, const char *name, ScalarType t, uint32_t n)
{
    const int64_t size = n;
    return tessi_scope_local(l, name, t, 1, &size);
}

LBufferId tessi_line_of_row(Lower *l, LExprId load, LExprId x, int64_t first, const char *kind,
                            ScalarType t, uint32_t n)
{
    const LExpr e = *tessi_lexpr(l->p, load);
    const uint32_t channels = tessi_loop_channels(l->p, e.buffer);
    for (uint32_t c = 0; c < channels; c++)
        channel_buffer(l, e.buffer, c);
    const int64_t pixel = tessi_floordiv(first, channels);
    const LBufferId from = channel_buffer(l, e.buffer, (uint32_t)(first - pixel * channels));
    LExprId index[MAX_DIMS];
    for (int d = 0; d + 1 < e.n_args; d++)
        index[d] = e.arg[d];
    index[e.n_args - 1] = tessi_l_op(l, OP_ADD, x, tessi_l_int(l, pixel));
    tessi_scope_place(l, index, e.n_args);
    const LBuffer *b = &l->p->buffers.at[from.v];
    const char *name = channels == 1 ? b->name : tessi_loop_image(l->p, b)->name;
    LBufferId line = tessi_new_line(l, tessi_sprintf(l->arena, "%s_%s", name, kind), t, n);
    tessi_scope_move(l, line, from, index, e.n_args);
    return line;
}

static void take(Lower *l, const VectorUse *u)
{
    const ScalarType t = l->p->buffers.at[u->buffer.v].type;
    const LBufferId line = tessi_line_of_row(l, some_load(u), u->x, u->first, "line", t, u->n);
    for (uint32_t k = 0; k < u->n; k++) {
        LExprId at = tessi_l_int(l, k);
        if (u->load[k].v)
            tessi_scope_define(l, u->load[k], tessi_lexpr_load(l->p, line, &at, 1));
    }
}

/* The columns of a buffer in shared memory that hold values. */
static int64_t shared_columns(const Lower *l, LBufferId id)
{
    for (uint32_t i = 0; l->copies && i < l->copies->n; i++)
        if (l->copies->at[i].buffer.v == id.v)
            return l->copies->at[i].size[1];
    GRAPH_FOREACH_STAGE (l->g, s)
        if (l->place[s.v].scratch.v == id.v)
            return l->place[s.v].columns;
    return 0;
}

/* Where a load stands in a row: so many columns from x, or from a multiple of it where samples are read, or from the
 * first row of the thread; x is a multiple of `aligned`. */
typedef struct Column {
    LExprId x;
    int64_t c;
    uint32_t aligned;
} Column;

static int64_t times(int64_t end, uint32_t step)
{
    int64_t product;
    return tessi_mul_i64(end, step, &product) ? product : end;
}

static bool find_column(Lower *l, LExprId index, const TileColumns *at, Column *out)
{
    enum { MOST_STEP = 4 };
    out->aligned = at->rows;
    if (at->y.v && at->y.v != at->x.v
        && tessi_column_of(l, index, at->y, INT64_MIN, INT64_MAX, &out->c)) {
        out->x = at->y;
        return true;
    }
    for (uint32_t step = 1; step <= MOST_STEP; step++) {
        const LExprId x = tessi_l_op(l, OP_MUL, at->x, tessi_l_int(l, step));
        *out = (Column){ .x = x, .aligned = at->aligned * step };
        if (tessi_column_of(l, index, out->x, times(at->from, step), times(at->to, step), &out->c))
            return true;
    }
    return false;
}

/* All that moves with an element when its row is read as vectors is computed: channels of a result may not be yet, and
 * others write them meanwhile. */
static bool neighbours_are_there(const Lower *l, LBufferId id)
{
    const LBuffer *b = &l->p->buffers.at[id.v];
    bool there = true;
    if (b->kind == LBUF_OUTPUT && tessi_loop_channels(l->p, id) > 1)
        VEC_FOREACH (const Channel, c, &l->g->outputs.at[b->image].channels)
            there = there && l->computed[c->stage.v];
    return there;
}

/* Notes the vector that a load is part of, if there are some. */
static void note_load(Lower *l, LExprId load, const TileColumns *at, VectorUses *uses)
{
    const LExpr e = *tessi_lexpr(l->p, load);
    if (e.kind != LEXPR_LOAD || !e.n_args)
        return;
    const LExprId index = e.arg[e.n_args - 1];
    const bool shared = l->p->buffers.at[e.buffer.v].kind == LBUF_LOCAL;
    Column found = { .x = at->shared_x, .aligned = at->shared_aligned };
    if (shared ? !found.x.v || !tessi_column_of(l, index, found.x, INT64_MIN, INT64_MAX, &found.c)
               : !at->x.v || !find_column(l, index, at, &found))
        return;
    const uint32_t width = elements_at_once(l, e.buffer, found.aligned);
    const int64_t element = found.c * tessi_loop_channels(l->p, e.buffer) + channel_of(l, e.buffer);
    const int64_t k = tessi_floormod(element, width);
    if (width < 2 || !neighbours_are_there(l, e.buffer)
        || (shared && at->shared_last + found.c - k + width > shared_columns(l, e.buffer)))
        return;
    VectorUse *u = vector_use(l, uses, load, found.x, element - k, width);
    u->load[k] = load;
    u->n_found++;
}

/* Of each pixel that the vector has a part of, some channel is read: they are all there. */
static bool reads_each_pixel(const Lower *l, const VectorUse *u)
{
    const uint32_t channels = tessi_loop_channels(l->p, u->buffer);
    int64_t next = u->first;
    for (uint32_t k = 0; k < u->n; k++) {
        const int64_t pixel = tessi_floordiv(u->first + k, channels) * channels;
        if (u->load[k].v && pixel <= next)
            next = pixel + channels;
    }
    return channels > 1 && next >= u->first + u->n;
}

void tessi_tile_takes(Lower *l, const LExprId *root, uint32_t n, const TileColumns *columns)
{
    enum { WORTH = 2 }; /* elements of a vector beside the tile that are read */
    VectorUses uses = { 0 };
    LExprList list = tessi_scope_reach(l, root, n);
    for (uint32_t i = 0; i < list.n; i++)
        note_load(l, list.at[i], columns, &uses);
    VEC_FOREACH (const VectorUse, u, &uses) {
        const bool beside =
            u->x.v != columns->y.v && (l->inside_last || u->x.v == columns->shared_x.v);
        if (u->n_found == u->n || ((beside || reads_each_pixel(l, u)) && u->n_found >= WORTH))
            take(l, u);
    }
}

void tessi_tile_give(Lower *l, const TileRow *row, uint32_t c, LBufferId *line)
{
    const LBuffer b = l->p->buffers.at[row->to.v];
    const uint32_t width = tessi_vector_elements(l, row->to, row->columns);
    const LExprId *index = row->index + (size_t)c * row->stride;
    if (width > 1 && c % width == 0)
        *line = tessi_new_line(l, tessi_sprintf(l->arena, "%s_line", b.name), b.type, width);
    LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
    s->a = row->value[(size_t)c * row->stride];
    s->buffer = width > 1 ? *line : row->to;
    s->n_index = width > 1 ? 1 : row->n_index;
    for (uint8_t d = 0; d < row->n_index; d++)
        s->index[d] = d + 1 == row->n_index ? index[d] : row->index[d];
    if (width > 1)
        s->index[0] = tessi_l_int(l, c % width);
    if (width < 2 || c % width != width - 1)
        return;
    LExprId at[MAX_DIMS];
    for (uint8_t d = 0; d < row->n_index; d++)
        at[d] =
            d + 1 == row->n_index ? (index - (size_t)(width - 1) * row->stride)[d] : row->index[d];
    tessi_scope_move(l, row->to, *line, at, row->n_index);
}

void tessi_tile_gives(Lower *l, LBufferId to, const LExprId *index, uint8_t n_index,
                      const LExprId *value, uint32_t stride, uint32_t columns)
{
    const TileRow row = { to, index, value, n_index, stride, columns };
    LBufferId line = { 0 };
    for (uint32_t c = 0; c < columns; c++)
        tessi_tile_give(l, &row, c, &line);
}

bool tessi_pixels_hold(const Lower *l, LBufferId to, uint32_t columns)
{
    const uint32_t channels = tessi_loop_channels(l->p, to);
    for (uint32_t c = 0; c < channels; c++)
        if (!tessi_loop_channel(l->p, to, c).v)
            return false;
    return channels > 1 && elements_at_once(l, to, columns) > 1;
}

/* The number of the stage that is stored to the buffer; n: none. */
static uint32_t stored_to(const Lower *l, const StageId *stage, uint32_t n, LBufferId to)
{
    uint32_t i = 0;
    while (i < n && l->buffer[stage[i].v].v != to.v)
        i++;
    return i;
}

void tessi_pixels_find(Lower *l, const StageId *stage, uint32_t n, uint32_t columns,
                       uint32_t **pixels, bool *in_pixel)
{
    for (uint32_t i = 0; i < n; i++) {
        const LBufferId to = l->buffer[stage[i].v];
        const uint32_t channels = tessi_loop_channels(l->p, to);
        if (in_pixel[i] || !tessi_pixels_hold(l, to, columns))
            continue;
        uint32_t *cell = ARENA_NEW_ARRAY(l->arena, uint32_t, channels);
        bool all = true;
        for (uint32_t c = 0; c < channels; c++) {
            cell[c] = stored_to(l, stage, n, tessi_loop_channel(l->p, to, c));
            all = all && cell[c] < n && !in_pixel[cell[c]];
        }
        for (uint32_t c = 0; c < channels && all; c++)
            in_pixel[cell[c]] = true;
        pixels[i] = all ? cell : NULL;
    }
}

void tessi_pixels_give(Lower *l, const TileRow *row, const uint32_t *cell)
{
    const LBuffer b = l->p->buffers.at[row->to.v];
    const uint32_t channels = tessi_loop_channels(l->p, row->to);
    const uint32_t width = elements_at_once(l, row->to, row->columns);
    const char *name = tessi_sprintf(l->arena, "%s_line", l->p->outputs.at[b.image].name);
    for (uint32_t first = 0; first < row->columns * channels; first += width) {
        const LBufferId line = tessi_new_line(l, name, b.type, width);
        for (uint32_t k = 0; k < width; k++) {
            const uint32_t column = (first + k) / channels, c = (first + k) % channels;
            const LExprId at = tessi_l_int(l, k);
            tessi_scope_store(l, line, &at, 1, row->value[(size_t)column * row->stride + cell[c]]);
        }
        LExprId at[MAX_DIMS];
        for (uint8_t d = 0; d < row->n_index; d++)
            at[d] = row->index[d];
        at[row->n_index - 1] =
            row->index[(size_t)(first / channels) * row->stride + row->n_index - 1];
        tessi_scope_move(l, tessi_loop_channel(l->p, row->to, first % channels), line, at,
                         row->n_index);
    }
}
