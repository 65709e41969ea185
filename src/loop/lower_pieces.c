/* Pieces of stages: which of their points are there, what they cover between them, and which lie between one another,
 * each with the points of one class modulo the steps of a lattice. */
#include "loop/lower_job.h"

void tessi_piece_range(Lower *l, const Stage *s, const Piece *piece, Nest *nest)
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

bool tessi_pieces_cover(const Lower *l, const Stage *s)
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

static bool same_lattice(const Stage *s, const Piece *a, const Piece *b)
{
    for (uint8_t d = 0; d < s->n_dims; d++)
        if (a->step[d] != b->step[d])
            return false;
    return true;
}

uint32_t tessi_pieces_together(Lower *l, const Stage *s, uint32_t first)
{
    enum { MOST_CLASSES = 64 };
    const Piece *lattice = &s->pieces.at[first];
    int64_t classes = 1;
    uint64_t seen = 0;
    uint32_t n = 0;
    for (uint8_t d = 0; d < s->n_dims && classes <= MOST_CLASSES; d++)
        classes *= lattice->step[d];
    while (classes <= MOST_CLASSES && first + n < s->pieces.n) {
        const Piece *piece = lattice + n;
        const int of = same_lattice(s, lattice, piece) ? residue_of(l, s, piece) : -1;
        if (of < 0 || (seen >> of & 1))
            break;
        seen |= (uint64_t)1 << of;
        n++;
    }
    return n ? n : 1;
}
