/* Vectors of all elements of pixels, stored one behind the other: one store of whole pixels, where each alone would
 * leave room for those of the others. */
#include "emit/c_private.h"

enum { MOST_ELEMENTS = 4 }; /* of a pixel that the prelude puts together */

/* How many elements the pixels have that the statement stores the first ones of; 0: it does not, or nothing puts them
 * together. */
static uint32_t elements_of(const CWriter *w, const LStmt *s)
{
    if (s->kind != LSTMT_STORE || !tessi_lexpr(w->p, s->a)->lanes)
        return 0;
    const LBuffer *b = &w->p->buffers.at[s->buffer.v];
    const uint32_t n = tessi_loop_channels(w->p, s->buffer);
    const bool good =
        b->kind == LBUF_OUTPUT && b->channel == 0 && n > 1 && n <= MOST_ELEMENTS
        && tessi_loop_can_be_spread(w->p, s->buffer, tessi_lexpr(w->p, s->a)->lanes)
        && w->p->outputs.at[b->image].pixel_bytes == n * tessi_type_info(b->type)->bytes;
    return good ? n : 0;
}

static bool loads_image(const CWriter *w, LExprId id, uint32_t image)
{
    const LExpr *e = tessi_lexpr(w->p, id);
    const LBuffer *b = &w->p->buffers.at[e->buffer.v];
    if (e->kind == LEXPR_LOAD && b->kind == LBUF_OUTPUT && b->image == image)
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (loads_image(w, e->arg[i], image))
            return true;
    return false;
}

/* Stores element number k of the pixels that `first` stores elements of, and what it stores is known before. */
static bool goes_on(const CWriter *w, const LStmt *first, const LStmt *s, uint32_t k)
{
    if (!tessi_loop_same_pixels(w->p, first, s))
        return false;
    const LBuffer *b = &w->p->buffers.at[s->buffer.v];
    return b->channel == k
           && w->p->outputs.at[b->image].channel_offset[k] == k * tessi_type_info(b->type)->bytes
           && tessi_lexpr(w->p, s->a)->lanes == tessi_lexpr(w->p, first->a)->lanes
           && !loads_image(w, s->a, b->image);
}

uint32_t tessi_c_pixel_stores(CWriter *w, const LBlock *block, uint32_t i)
{
    const LStmt *s = block->at[i];
    const uint32_t n = elements_of(w, s);
    LExprId roots[LOOP_MAX_DIMS + MOST_ELEMENTS];
    if (!n || n > block->n - i)
        return 0;
    for (uint32_t k = 0; k < n; k++) {
        if (!goes_on(w, s, block->at[i + k], k))
            return 0;
        roots[s->n_index + k] = block->at[i + k]->a;
    }
    for (int d = 0; d < s->n_index; d++)
        roots[d] = s->index[d];
    tessi_c_prepare(w, roots, s->n_index + n);
    w->lane_bytes = tessi_lexpr(w->p, s->a)->lanes;
    const ScalarType element = w->p->buffers.at[s->buffer.v].type;
    tessi_c_use_join(w, element);
    tessi_text_addf(&w->line, "tess_join%u_%s%s(&", (unsigned)n, tessi_type_info(element)->brief,
                    tessi_c_lanes(w));
    tessi_c_place(w, s->buffer, s->index);
    for (uint32_t k = 0; k < n; k++) {
        tessi_text_add(&w->line, ", ");
        tessi_c_expr(w, block->at[i + k]->a, C_LOOSE);
    }
    tessi_text_add(&w->line, ");");
    tessi_c_end_line(w);
    return n;
}
