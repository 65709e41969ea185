/* Rows that a step of a vector loop reads at several places less than a vector apart, as stencils do: they are named once, and
 * prelude/c_vector.h decides by the processor how to read from them. */
#include "emit/c_private.h"

enum { HIDES_A_LOAD = 3 }; /* operations on values from caches */
enum { ROW_BYTES = 64 };   /* the widest vector, and so how far from its middle a row is read */

/* A place of the loop without the constant in its last index. */
typedef struct Place {
    LBufferId buffer;
    const LExpr *load;
    LExprId base;
    int64_t offset;
} Place;

static Place place_of(const CWriter *w, const LExpr *load)
{
    Place place = { load->buffer, load, load->arg[load->n_args - 1], 0 };
    const LExpr *e = tessi_lexpr(w->p, place.base);
    if (e->kind == LEXPR_OP && e->op == OP_ADD) {
        const LExpr *c = tessi_lexpr(w->p, e->arg[1]);
        if (c->kind == LEXPR_CONST) {
            place.base = e->arg[0];
            place.offset = c->value.i;
        }
    }
    return place;
}

static CRow *find_row(CWriter *w, const Place *place)
{
    VEC_FOREACH (CRow, row, &w->vector.rows) {
        bool same = row->load->buffer.v == place->buffer.v && row->base.v == place->base.v;
        for (int d = 0; same && d < place->load->n_args - 1; d++)
            same = row->load->arg[d].v == place->load->arg[d].v;
        if (same)
            return row;
    }
    return NULL;
}

/* ---- Finding ---------------------------------------------------------------------------------------------------------------- */

typedef struct Finder {
    CWriter *w;
    uint32_t *n_loads, *n_operations;
} Finder;

static bool is_constant(const Finder *f, LExprId id)
{
    const LExpr *e = tessi_lexpr(f->w->p, id);
    if (e->kind == LEXPR_LOAD || (e->kind == LEXPR_VAR && f->w->vector.changed[e->var.v]))
        return false;
    for (int i = 0; i < e->n_args; i++)
        if (!is_constant(f, e->arg[i]))
            return false;
    return true;
}

static void note(const Finder *f, const LExpr *e)
{
    CWriter *w = f->w;
    const LBuffer *b = &w->p->buffers.at[e->buffer.v];
    uint32_t bytes = tessi_type_info(b->type)->bytes;
    const bool fits = w->vector.pairs ? bytes == 1 : bytes >= 4 && bytes == w->vector.lane_bytes;
    if (w->vector.stored[e->buffer.v] || !fits)
        return;
    for (int d = 0; d < e->n_args; d++)
        if (!is_constant(f, e->arg[d]))
            return;
    const Place place = place_of(w, e);
    const int64_t most = ROW_BYTES / bytes;
    if (place.offset < -most || place.offset > most)
        return;
    CRow *row = find_row(w, &place);
    if (!row) {
        const CRow fresh = {
            .load = e, .base = place.base, .min = place.offset, .max = place.offset
        };
        VEC_PUSH(w->arena, &w->vector.rows, fresh);
        return;
    }
    row->min = place.offset < row->min ? place.offset : row->min;
    row->max = place.offset > row->max ? place.offset : row->max;
}

static void find_in_expr(const Finder *f, LExprId id)
{
    CWriter *w = f->w;
    if (!id.v || tessi_c_shape(w, id) != C_LANES)
        return;
    const LExpr *e = tessi_lexpr(w->p, id);
    if (w->vector.noted[id.v] == w->vector.stamp)
        return;
    w->vector.noted[id.v] = w->vector.stamp;
    ++*(e->kind == LEXPR_LOAD ? f->n_loads : f->n_operations);
    if (e->kind == LEXPR_LOAD)
        note(f, e);
    for (int i = 0; i < e->n_args; i++)
        find_in_expr(f, e->arg[i]);
}

static void find_in_block(const Finder *f, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        find_in_expr(f, s->a);
        find_in_expr(f, s->b);
        find_in_block(f, &s->body);
        find_in_block(f, &s->orelse);
    }
}

static bool stores_to_image(const CWriter *w, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        if ((s->kind == LSTMT_STORE && w->p->buffers.at[s->buffer.v].kind != LBUF_LOCAL)
            || stores_to_image(w, &s->body) || stores_to_image(w, &s->orelse))
            return true;
    }
    return false;
}

static void find_changed(const LBlock *block, bool *changed)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        if (s->kind == LSTMT_SET)
            changed[s->var.v] = true;
        find_changed(&s->body, changed);
        find_changed(&s->orelse, changed);
    }
}

void tessi_c_vector_find_rows(CWriter *w, const LStmt *loop)
{
    find_changed(&loop->body, w->vector.changed);
    w->vector.rows.n = w->vector.named_rows.n = 0;
    w->vector.stamp++; /* of what was noted; shapes are found again */
    uint32_t n_loads = 0, n_operations = 0;
    find_in_block(&(Finder){ w, &n_loads, &n_operations }, &loop->body);
    if (!w->vector.pairs && n_operations >= HIDES_A_LOAD * n_loads
        && !stores_to_image(w, &loop->body))
        w->vector.rows.n = 0; /* what lies in two lines is there in time */
}

/* Read at several places, the one that the row is named by among them or between them. */
static bool is_window(const CRow *row)
{
    return row->min < row->max && row->min <= 0 && row->max >= 0;
}

bool tessi_c_vector_has_rows(const CWriter *w)
{
    VEC_FOREACH (const CRow, row, &w->vector.rows)
        if (is_window(row))
            return true;
    return false;
}

/* ---- Printing --------------------------------------------------------------------------------------------------------------- */

/* The row as lines in registers. */
static void declare_row(CWriter *w, const CRow *row, const LExprId *index, const char *name)
{
    const LBuffer *b = &w->p->buffers.at[row->load->buffer.v];
    const char *brief = tessi_type_info(b->type)->brief, *lanes = tessi_c_lanes(w);
    tessi_c_use_row(w, b->type);
    tessi_text_init(&w->line, w->arena);
    tessi_text_addf(&w->line, "const tess_%s%s_row %s = tess_row_%s%s(&", brief, lanes, name, brief,
                    lanes);
    tessi_c_place(w, row->load->buffer, index);
    tessi_text_add(&w->line, ", ");
    tessi_c_expr(w, row->base, C_LOOSE);
    tessi_text_add(&w->line, ", ");
    tessi_c_expr(w, b->size[b->n_dims - 1], C_LOOSE);
    tessi_text_add(&w->line, ");");
}

/* Of bytes in pairs, where it is. */
static void point_to_row(CWriter *w, const CRow *row, const LExprId *index, const char *name)
{
    tessi_text_init(&w->line, w->arena);
    tessi_text_addf(&w->line, "const %s *const %s = &",
                    tessi_c_element(w->p->buffers.at[row->load->buffer.v].type), name);
    tessi_c_place(w, row->load->buffer, index);
    tessi_text_add(&w->line, ";");
}

/* Declares the row before the statement that is being put together. */
static const char *name_row(CWriter *w, const CRow *row)
{
    const LBuffer *b = &w->p->buffers.at[row->load->buffer.v];
    LExprId index[LOOP_MAX_DIMS];
    for (int d = 0; d < b->n_dims; d++)
        index[d] = row->load->arg[d];
    index[b->n_dims - 1] = row->base;
    const char *name = tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_row", b->name));
    Text line = w->line;
    (w->vector.pairs ? point_to_row : declare_row)(w, row, index, name);
    tessi_c_end_line(w);
    w->line = line;
    VEC_PUSH(w->arena, &w->vector.named_rows,
             ((CNamedRow){ row->load, row->base, w->vector.copy, name }));
    return name;
}
bool tessi_c_vector_row(CWriter *w, const LExpr *load)
{
    const Place place = place_of(w, load);
    const CRow *row = find_row(w, &place);
    if (!row || !is_window(row) || place.offset < row->min || place.offset > row->max)
        return false;
    const char *name = NULL;
    VEC_FOREACH (const CNamedRow, known, &w->vector.named_rows)
        if (known->load == row->load && known->base.v == row->base.v
            && (w->vector.pairs || known->copy == w->vector.copy))
            name = known->name;
    if (!name)
        name = name_row(w, row);
    if (w->vector.pairs) {
        tessi_c_pairs_at(w, row, place.offset, name);
        return true;
    }
    tessi_text_addf(&w->line, "tess_at_%s%s(%s, %lld)",
                    tessi_type_info(w->p->buffers.at[load->buffer.v].type)->brief, tessi_c_lanes(w),
                    name, (long long)place.offset);
    return true;
}
