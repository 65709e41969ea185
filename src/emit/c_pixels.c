/* Vectors of all elements of pixels, stored one behind the other: one store of whole pixels, where each alone would
 * leave room for those of the others. */
#include "emit/c_private.h"
#include "loop/pass.h"

enum { MOST_ELEMENTS = 2 * LOOP_MOST_JOINED };

/* How many elements the pixels have, or the points of a lattice, that the statement stores some of; 0: it does not, or
 * nothing puts them together. */
static uint32_t elements_of(const CWriter *w, const LStmt *s)
{
    const uint8_t lanes = s->kind == LSTMT_STORE ? tessi_lexpr(w->p, s->a)->lanes : 0;
    return lanes && tessi_loop_can_be_spread(w->p, s->buffer, lanes)
               ? tessi_loop_joined(w->p, s->buffer, tessi_store_apart(s))
               : 0;
}

static bool loads(const CWriter *w, LExprId id, const LBuffer *stored)
{
    PASS_PARTS (e, w->p, NULL, 0, id) {
        const LBuffer *b = &w->p->buffers.at[e->buffer.v];
        const bool image = stored->kind == LBUF_OUTPUT && b->kind == LBUF_OUTPUT;
        if (e->kind == LEXPR_LOAD && (image ? b->image == stored->image : b == stored))
            return true;
    }
    return false;
}

/* Finds the stores of all n elements of the pixels that the first of these statements stores some of. What they store
 * is known before the first. */
static bool find_elements(const CWriter *w, LStmt *const *first, uint32_t n, const LStmt **element)
{
    const LStmt *s = first[0];
    const int64_t apart = tessi_store_apart(s);
    for (uint32_t i = 0; i < n; i++) {
        if (tessi_store_apart(first[i]) != apart
            || !tessi_loop_same_pixels(w->p, s, first[i], apart))
            return false;
        const uint32_t k = tessi_loop_element(w->p, first[i], apart);
        if (k >= n || element[k] || first[i]->b.v != s->b.v
            || tessi_lexpr(w->p, first[i]->a)->lanes != tessi_lexpr(w->p, s->a)->lanes
            || loads(w, first[i]->a, &w->p->buffers.at[s->buffer.v]))
            return false;
        element[k] = first[i];
    }
    return true;
}

uint32_t tessi_c_pixel_stores(CWriter *w, const LBlock *block, uint32_t i)
{
    const uint32_t n = elements_of(w, block->at[i]);
    const LStmt *element[MOST_ELEMENTS] = { NULL };
    LExprId roots[LOOP_MAX_DIMS + MOST_ELEMENTS];
    if (!n || n > block->n - i || !find_elements(w, block->at + i, n, element))
        return 0;
    const LStmt *s = element[0];
    for (uint32_t k = 0; k < n; k++)
        roots[s->n_index + k] = element[k]->a;
    for (int d = 0; d < s->n_index; d++)
        roots[d] = s->index[d];
    tessi_c_prepare(w, roots, s->n_index + n);
    w->lane_bytes = tessi_lexpr(w->p, s->a)->lanes;
    const ScalarType type = w->p->buffers.at[s->buffer.v].type;
    const uint32_t channels = tessi_loop_channels(w->p, s->buffer);
    const bool pairs = channels > 1 && channels < n;
    tessi_c_use_join(w, type, pairs);
    tessi_text_addf(&w->line, "tess_join%s%u_%s%s(&", pairs ? "_pairs" : "",
                    (unsigned)(pairs ? channels : n), tessi_type_info(type)->brief,
                    tessi_c_lanes(w));
    tessi_c_place(w, s->buffer, s->index);
    for (uint32_t k = 0; k < n; k++) {
        tessi_text_add(&w->line, ", ");
        tessi_c_expr(w, element[k]->a, C_LOOSE);
    }
    tessi_text_add(&w->line, ", ");
    if (s->b.v)
        tessi_c_expr(w, s->b, C_LOOSE);
    tessi_text_add(&w->line, s->b.v ? ");" : "false);");
    w->streamed = w->streamed || s->b.v;
    tessi_c_end_line(w);
    return n;
}
