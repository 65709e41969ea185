/* Sums of products of bytes with small whole weights on GPUs, by products of matrices: templates/product.loops. */
#include "graph/graph_product.h"
#include "loop/loop_lanes.h"
#include "loop/lower_gather.h"
#include "loop/lower_group.h"
#include "loop/template.h"

#include <math.h>

typedef struct Product {
    Lower *l;
    const PlanGroup *group;
    ByteProduct what;
    ProductTile tile;
    Gather read;
} Product;

static void begin_block(void *user, const LExprId *arg)
{
    Product *m = user;
    Lower *l = m->l;
    m->read = tessi_gather_new(l, tessi_access(l->g, m->what.read), TYPE_U8);
    for (int d = 0; d < 2; d++) {
        LExprId first =
            tessi_l_op(l, OP_ADD, arg[d], tessi_lower_size(l, m->read.read->dim[d].add));
        first = tessi_l_op(l, OP_ADD, first, tessi_l_int(l, m->what.first[d]));
        m->read.first[d] = tessi_scope_let(l, d ? "x_first" : "y_first", first);
    }
}

/* All that the block copies lies inside the image. */
static LExprId inside(void *user, const LExprId *arg)
{
    const Product *m = user;
    Lower *l = m->l;
    const int64_t size[2] = { m->tile.rows, 4 * m->tile.read };
    LExprId from[2], to[2], all = { 0 };
    (void)arg;
    for (int d = 0; d < 2; d++) {
        from[d] = tessi_l_op(l, OP_LE, tessi_l_int(l, 0), m->read.first[d]);
        to[d] = tessi_l_op(l, OP_ADD, m->read.first[d], tessi_l_int(l, size[d]));
        to[d] = tessi_l_op(l, OP_LE, to[d], m->read.size[d]);
        all = tessi_and_also(l, all, tessi_l_op(l, OP_AND, from[d], to[d]));
    }
    return all;
}

/* The same loaded at once; none where bytes of neighbours do not lie side by side. */
static LExprId four_of(const Product *m, const LExprId *arg)
{
    Lower *l = m->l;
    const LExprId x = tessi_l_op(l, OP_MUL, arg[1], tessi_l_int(l, 4));
    const LExprId byte =
        tessi_gather_value(&m->read, tessi_l_op(l, OP_ADD, m->read.first[0], arg[0]),
                           tessi_l_op(l, OP_ADD, m->read.first[1], x));
    const LExpr *load = tessi_lexpr(l->p, byte);
    const bool dense =
        load->kind == LEXPR_LOAD && !load->ref && tessi_loop_is_dense(l->p, load->buffer);
    return dense ? tessi_lexpr_load_lanes(l->p, 0, LLOAD_FOURS, load->buffer, load->arg)
                 : (LExprId){ 0 };
}

/* Word `arg[1]` of a row of the block; where the block lies inside without rules. Behind what is read stands anything.
 */
static LExprId word_of(const Product *m, const LExprId *arg, bool inside)
{
    Lower *l = m->l;
    LExprId word = inside ? four_of(m, arg) : (LExprId){ 0 };
    if (word.v)
        return word;
    for (int k = 0; k < 4; k++) {
        LExprId x = tessi_l_op(l, OP_MUL, arg[1], tessi_l_int(l, 4));
        x = tessi_l_op(l, OP_ADD, x, tessi_l_int(l, k));
        LExprId byte;
        if (inside) {
            byte = tessi_gather_value(&m->read, tessi_l_op(l, OP_ADD, m->read.first[0], arg[0]),
                                      tessi_l_op(l, OP_ADD, m->read.first[1], x));
        } else {
            x = tessi_l_op(l, OP_MIN, x, tessi_l_int(l, m->tile.wide - 1));
            byte = tessi_gather_answered(&m->read, arg[0], x);
        }
        byte = tessi_lexpr_cast(l->p, TYPE_U32, byte);
        const LExprId by = tessi_lexpr_const(l->p, TYPE_U32, tessi_value_int(8 * k));
        word = k ? tessi_l_op(l, OP_ADD, word, tessi_l_op(l, OP_SHL, byte, by)) : byte;
    }
    return word;
}

static LExprId answered(void *user, const LExprId *arg)
{
    return word_of(user, arg, false);
}

static LExprId loaded(void *user, const LExprId *arg)
{
    return word_of(user, arg, true);
}

/* The sum as the window has it. */
static void give(void *user, const LExprId *arg)
{
    const Product *m = user;
    Lower *l = m->l;
    const ScalarType type = tessi_expr(l->g, m->what.window)->type;
    LExprId sum = tessi_lexpr_cast(l->p, type, arg[0]);
    if (m->what.exponent)
        sum =
            tessi_l_op(l, OP_MUL, sum,
                       tessi_lexpr_const(l->p, type, tessi_value_real(ldexp(1, m->what.exponent))));
    tessi_give_point(l, m->group, m->what.window, sum, arg[1], arg[2]);
}

/* Columns of a row of weights with the zeros around it. */
static int64_t line_of(const Product *m)
{
    return m->tile.parts * PRODUCT_BYTES + PRODUCT_COLUMNS - 1;
}

static LBufferId weights(const Product *m)
{
    Lower *l = m->l;
    const int64_t line = line_of(m);
    const uint32_t n = m->what.rows * (uint32_t)line;
    LBuffer b = { .name = tessi_sprintf(l->arena, "%s_weights", m->group->name),
                  .kind = LBUF_TABLE,
                  .in_memory = true, /* threads read different ones */
                  .type = TYPE_U8,
                  .n_dims = 1,
                  .size = { tessi_l_int(l, n) },
                  .table = ARENA_NEW_ARRAY(l->p->arena, Value, n),
                  .n_table = n };
    for (uint32_t i = 0; i < n; i++) {
        const int64_t j = i % line - (PRODUCT_COLUMNS - 1);
        const bool in = j >= 0 && j < m->what.cols;
        const int8_t w = in ? m->what.weight[i / line * m->what.cols + j] : 0;
        b.table[i] = tessi_value_int((uint8_t)w);
    }
    return tessi_loop_buffer(l->p, &b);
}

void tessi_kernel_product(Lower *l, const PlanGroup *group)
{
    Product m = { .l = l, .group = group };
    const Stage *stage = tessi_stage(l->g, group->members.at[0]);
    tessi_stage_byte_product(l->g, &l->walk, stage, &m.what);
    m.tile = tessi_product_tile(m.what.rows, m.what.cols, group->strip,
                                tessi_level_threads(&group->levels, 0));
    tessi_lower_dims(l, 2);
    const uint16_t threads = tessi_level_threads(&group->levels, 0);
    tessi_kernel_open(l, group->name, tessi_group_comment(l, group), threads, 1)->resident =
        group->resident;
    const TemplateArg args[] = { ARG_EXPR("height", tessi_lower_size(l, stage->size[0])),
                                 ARG_EXPR("width", tessi_lower_size(l, stage->size[1])),
                                 ARG_NUMBER("rows", group->product),
                                 ARG_NUMBER("strip", group->strip),
                                 ARG_NUMBER("high", m.what.rows),
                                 ARG_NUMBER("parts", m.tile.parts),
                                 ARG_NUMBER("tile_rows", m.tile.rows),
                                 ARG_NUMBER("read", m.tile.read),
                                 ARG_NUMBER("pitch", m.tile.pitch),
                                 ARG_NUMBER("line", line_of(&m)),
                                 ARG_NUMBER("threads", threads),
                                 ARG_NUMBER("across", m.tile.across),
                                 ARG_NUMBER("apart", m.tile.apart),
                                 ARG_BUFFER("weights", weights(&m)),
                                 ARG_PART("begin", begin_block),
                                 ARG_HOLE("inside", inside),
                                 ARG_HOLE("answered", answered),
                                 ARG_HOLE("loaded", loaded),
                                 ARG_PART("give", give),
                                 ARG_END };
    tessi_template(l, "product_blocks", stage->name, args, &m);
    tessi_scope_close(l);
}
