/* generate_shrink: a failing program made small. Every step copies the program, changes one thing, and keeps the
 * copy when the failure is still there; it stops when no step helps. Steps that cut much come first. */
#include <string.h>

#include "prop/generate.h"

#include <stdlib.h>

typedef struct Shrinker {
    GenProgram *best, *trial;
    bool (*fails)(const GenProgram *, void *);
    void *user;
    int budget;
    bool progress;
} Shrinker;

static GenProgram *start(Shrinker *s)
{
    *s->trial = *s->best;
    return s->trial;
}

/* True when the changed copy still fails: it is the best now. */
static bool keep(Shrinker *s)
{
    for (int k = 0; k < s->trial->n_stages; k++)
        if (s->trial->stage[k].alive && s->trial->stage[k].kind == MAKE_STENCIL)
            gen_drop_unread_tables(&s->trial->stage[k]);
    if (s->budget <= 0 || !gen_analyze(s->trial))
        return false;
    s->budget--;
    if (!s->fails(s->trial, s->user))
        return false;
    *s->best = *s->trial;
    s->progress = true;
    return true;
}

static bool is_used(const GenProgram *p, int id)
{
    for (int i = 0; i < p->n_results; i++)
        if (p->result[i] == id)
            return true;
    for (int k = 0; k < p->n_stages; k++) {
        const GenStage *s = &p->stage[k];
        if (!s->alive)
            continue;
        for (int i = 0; i < s->n_args; i++)
            if (s->arg[i].image == id && !s->arg[i].fill)
                return true;
        for (int i = 0; i < s->n_scalars; i++)
            if (s->scalar[i] == id)
                return true;
        if (s->mask_input == id)
            return true;
    }
    return false;
}

static void replace_image(GenProgram *p, int from, int to)
{
    for (int i = 0; i < p->n_results; i++)
        if (p->result[i] == from)
            p->result[i] = to;
    for (int k = 0; k < p->n_stages; k++)
        for (int i = 0; i < p->stage[k].n_args; i++)
            if (p->stage[k].arg[i].image == from)
                p->stage[k].arg[i].image = to;
}

static void shrink_stages(Shrinker *s)
{
    for (int i = s->best->n_results - 1; i >= 0 && s->best->n_results > 1; i--) {
        GenProgram *p = start(s);
        for (int j = i; j + 1 < p->n_results; j++)
            p->result[j] = p->result[j + 1];
        p->n_results--;
        keep(s);
    }
    for (int k = s->best->n_stages - 1; k >= 0; k--) {
        int id = GEN_INPUTS + k;
        if (!s->best->stage[k].alive)
            continue;
        if (!is_used(s->best, id)) {
            start(s)->stage[k].alive = false;
            if (keep(s))
                continue;
        }
        for (int to = 0; to < id; to++) { /* every user reads an earlier image instead */
            const GenImage *image = &s->best->image[to];
            if (!image->valid || image->is_scalar || image->is_mask
                || image->n_dims != s->best->image[id].n_dims)
                continue;
            GenProgram *p = start(s);
            replace_image(p, id, to);
            p->stage[k].alive = false;
            if (keep(s))
                break;
        }
        GenProgram *p = start(s); /* an earlier result alone */
        p->n_results = 1;
        p->result[0] = id;
        for (int later = k + 1; later < p->n_stages; later++)
            p->stage[later].alive = false;
        bool same = s->best->n_results == 1 && s->best->result[0] == id;
        if (!same && !s->best->image[id].is_scalar)
            keep(s);
    }
}

static void shrink_args(Shrinker *s, int k)
{
    for (int i = 0; i < s->best->stage[k].n_args; i++) {
        for (int d = 0; d < GEN_DIMS; d++) {
            const GenArg *a = &s->best->stage[k].arg[i];
            if (a->scale[d] > 1) {
                start(s)->stage[k].arg[i].scale[d] = 1;
                keep(s);
            }
            if (a->lo[d]) {
                GenProgram *p = start(s);
                p->stage[k].arg[i].hi[d] -= p->stage[k].arg[i].lo[d];
                p->stage[k].arg[i].lo[d] = 0;
                keep(s);
            }
        }
        if (s->best->stage[k].arg[i].missing) {
            start(s)->stage[k].arg[i].missing = 0;
            keep(s);
        }
        if (s->best->stage[k].arg[i].per_dimension) {
            GenProgram *p = start(s);
            p->stage[k].arg[i].per_dimension = false;
            for (int d = 1; d < GEN_DIMS; d++)
                p->stage[k].arg[i].rule[d] = p->stage[k].arg[i].rule[0];
            keep(s);
        }
        if (s->best->stage[k].arg[i].rule[0] != GEN_UNNAMED) {
            GenProgram *p = start(s);
            p->stage[k].arg[i].per_dimension = false;
            for (int d = 0; d < GEN_DIMS; d++)
                p->stage[k].arg[i].rule[d] = GEN_UNNAMED;
            keep(s);
        }
    }
    GenStageKind kind = s->best->stage[k].kind;
    for (int i = s->best->stage[k].n_args - 1; i > 0 && kind == MAKE_COMPOSE; i--) {
        GenStage *stage = &start(s)->stage[k];
        for (int j = i; j + 1 < stage->n_args; j++)
            stage->arg[j] = stage->arg[j + 1];
        stage->n_args--;
        keep(s);
    }
}

/* Replaces the node at id (everywhere below the roots) by one of its children, or by a plain number. */
static void shrink_node(Shrinker *s, int k, int id)
{
    const GenNode now = s->best->stage[k].node[id];
    for (int i = 0; i < now.n_children; i++) {
        if (s->best->stage[k].node[now.child[i]].cls != now.cls
            && !(now.cls == GEN_NUMBER && s->best->stage[k].node[now.child[i]].cls == GEN_INTEGER))
            continue;
        GenProgram *p = start(s);
        bool local = now.local && p->stage[k].node[now.child[i]].n_children > 0;
        p->stage[k].node[id] = p->stage[k].node[now.child[i]];
        p->stage[k].node[id].local = local;
        if (keep(s))
            return;
    }
    if (now.local) {
        start(s)->stage[k].node[id].local = false;
        keep(s);
    }
    if (now.kind == NODE_READ) {
        for (int d = 0; d < GEN_DIMS; d++) {
            if (now.coef[d]) {
                start(s)->stage[k].node[id].coef[d] = 0;
                keep(s);
            }
            if (now.offset[d]) {
                start(s)->stage[k].node[id].offset[d] = 0;
                if (!keep(s) && abs(now.offset[d]) > 1) {
                    start(s)->stage[k].node[id].offset[d] = now.offset[d] / 2;
                    keep(s);
                }
            }
        }
    } else if (now.kind == NODE_WINDOW) {
        if (now.has_where) {
            GenNode *node = &start(s)->stage[k].node[id];
            node->has_where = false;
            node->n_children = 1;
            keep(s);
        }
        for (int d = 0; d < now.n_vars; d++)
            if (now.lo[d] < now.hi[d]) {
                start(s)->stage[k].node[id].lo[d]++;
                keep(s);
                start(s)->stage[k].node[id].hi[d]--;
                if (s->trial->stage[k].node[id].lo[d] <= s->trial->stage[k].node[id].hi[d])
                    keep(s);
            }
    } else if (now.kind == NODE_CONVOLVE) {
        GenNode *node = &start(s)->stage[k].node[id];
        node->flip = node->long_form = false;
        node->dilation = 1;
        keep(s);
    } else if ((now.cls == GEN_NUMBER || now.cls == GEN_INTEGER) && now.kind != NODE_INT) {
        start(s)->stage[k].node[id] =
            (GenNode){ .kind = NODE_INT, .cls = GEN_INTEGER, .field = -1, .value = 1 };
        keep(s);
    }
}

static void shrink_nodes(Shrinker *s, int k, int id)
{
    shrink_node(s, k, id);
    for (int i = 0; i < s->best->stage[k].node[id].n_children; i++)
        shrink_nodes(s, k, s->best->stage[k].node[id].child[i]);
}

/* Without what loops may have besides, one after the other. */
static void shrink_loop(Shrinker *s, int k)
{
    for (int what = 0; what < 6; what++) {
        GenStage *stage = &start(s)->stage[k];
        stage->counted = stage->counted && what != 0;
        stage->down = stage->down && what != 1;
        stage->lag = stage->lag && what != 2;
        stage->asked = stage->asked && what != 3;
        stage->until = what != 4 ? stage->until : 0;
        stage->every = what != 5 ? stage->every : 1;
        if (memcmp(stage, &s->best->stage[k], sizeof *stage) != 0)
            keep(s);
    }
}

static void shrink_stencil(Shrinker *s, int k)
{
    if (s->best->stage[k].repeat != REPEAT_NONE) {
        GenProgram *p = start(s);
        p->stage[k].repeat = REPEAT_NONE;
        if (!keep(s) && s->best->stage[k].times > 2) {
            start(s)->stage[k].times = 2;
            keep(s);
        }
        shrink_loop(s, k);
    }
    if (s->best->stage[k].strukt < 0 && s->best->stage[k].type != GEN_UNKNOWN) {
        start(s)->stage[k].type = GEN_UNKNOWN;
        keep(s);
    }
    for (int i = 0; i < s->best->stage[k].n_roots; i++)
        shrink_nodes(s, k, s->best->stage[k].root[i]);
    for (int i = s->best->stage[k].n_args - 1; i >= 0 && s->best->stage[k].n_args > 1; i--)
        if (!gen_reads_arg(&s->best->stage[k], i)) {
            gen_drop_arg(&start(s)->stage[k], i);
            keep(s);
        }
    if (s->best->stage[k].konst) {
        start(s)->stage[k].konst = false;
        keep(s);
    }
    if (s->best->stage[k].mask_computed) {
        start(s)->stage[k].mask_computed = false;
        keep(s);
    }
    if (s->best->stage[k].mask_input >= 0) {
        start(s)->stage[k].mask_input = -1;
        keep(s);
    }
    for (int d = 0; d < s->best->stage[k].mask_dims; d++)
        if (s->best->stage[k].mask_size[d] > 1 && s->best->stage[k].mask_input < 0) {
            start(s)->stage[k].mask_size[d] = 1;
            keep(s);
        }
}

static void shrink_header(Shrinker *s)
{
    for (int i = 0; i < s->best->n_params; i++) {
        int smaller[] = { 1, 2, s->best->param[i] / 2, s->best->param[i] - 1 };
        for (int t = 0; t < 4; t++) {
            if (smaller[t] < 1 || smaller[t] >= s->best->param[i])
                continue;
            start(s)->param[i] = smaller[t];
            if (keep(s))
                break;
        }
    }
    if (s->best->forma) {
        start(s)->forma = false;
        keep(s);
    }
    if (s->best->literal) {
        start(s)->literal = false;
        keep(s);
    }
    if (s->best->border != GEN_UNNAMED) {
        start(s)->border = GEN_UNNAMED;
        keep(s);
    }
    for (int i = 0; i < s->best->n_inputs; i++)
        for (int d = 0; d < s->best->input[i].n_dims; d++)
            if (s->best->input[i].param[d] >= 0
                && (s->best->input[i].add[d] || s->best->input[i].times[d] > 1)) {
                GenProgram *p = start(s);
                p->input[i].add[d] = 0;
                p->input[i].times[d] = 1;
                keep(s);
            }
    int last = s->best->n_inputs - 1; /* inputs have fixed numbers: only the last can go */
    if (last > 0 && !is_used(s->best, last)) {
        start(s)->n_inputs--;
        keep(s);
    }
}

void gen_shrink(GenProgram *p, bool (*fails)(const GenProgram *, void *), void *user, int budget)
{
    GenProgram *best = malloc(sizeof *best), *trial = malloc(sizeof *trial);
    if (best && trial) {
        *best = *p;
        Shrinker s = {
            .best = best, .trial = trial, .fails = fails, .user = user, .budget = budget
        };
        do {
            s.progress = false;
            shrink_stages(&s);
            for (int k = 0; k < best->n_stages; k++) {
                if (!best->stage[k].alive)
                    continue;
                if (best->stage[k].kind == MAKE_STENCIL)
                    shrink_stencil(&s, k);
                shrink_args(&s, k);
            }
            shrink_header(&s);
        } while (s.progress && s.budget > 0);
        *p = *best;
        gen_analyze(p);
    }
    free(best);
    free(trial);
}
