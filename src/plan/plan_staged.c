/* Copies of images that the blocks of a kernel of points or of tiles only read: in shared memory what they read, or
 * their points alone; in constant memory all of a small image. Which images a kernel only reads is known, since
 * stages never change; what is asked here is how far the reads go, and how many loads a copy saves.
 *
 * A copy of a block of points serves the reads of the members at constant distances, those of inlined stages at the
 * very point included; all other reads find the image itself. That of a tile (plan_tile_copy.c) serves all reads. */
#include "plan/needs.h"

enum { MOST_OFFSETS = 4096 }; /* of a window along one dimension, to be counted */

/* ---- Single reads ---------------------------------------------------------------------------- */

/* The share of the points of a block that find an element of the block at the offsets of a read in one dimension, n
 * of them. */
static double share_inside(const Graph *g, const AccessDim *dim, int64_t n)
{
    int64_t first = 0, from = 0, to = 0, step = 1;
    double found = 0, all = 0;
    tessi_size_is_const(g, dim->add, &first);
    if (dim->n_terms == 1) {
        const Window *w = tessi_window(g, dim->term[0].window);
        from = w->lo[dim->term[0].var];
        to = w->hi[dim->term[0].var];
        step = dim->term[0].coef;
    }
    for (int64_t k = from; k <= to && k - from < MOST_OFFSETS; k++) {
        const int64_t at = first + k * step, distance = at < 0 ? -at : at;
        found += distance < n ? (double)(n - distance) : 0;
        all += (double)n;
    }
    return found / all;
}

/* ---- Reads of a kernel ----------------------------------------------------------------------- */

typedef struct Reader {
    const PlanFacts *f;
    const Plan *p;
    const PlanGroup *group;
    StageId image;
    PlanCopy *copy;
    int64_t block[MAX_DIMS]; /* points of a block in each dimension */
    double points;           /* of a block */
    bool any;                /* some read moves */
} Reader;

/* A read that so many points of a block make. */
static void add_read(Reader *r, const PlanRead *read, double points)
{
    const Graph *g = r->f->g;
    const Access *access = tessi_access(g, read->access);
    int64_t lo[MAX_DIMS], hi[MAX_DIMS];
    double inside = 1;
    if (access->n_dims != r->group->n_dims)
        return;
    for (int d = 0; d < access->n_dims; d++) {
        if (!tessi_access_reach(g, &access->dim[d], d, &lo[d], &hi[d]))
            return;
        inside *= share_inside(g, &access->dim[d], r->block[d]);
    }
    for (int d = 0; d < access->n_dims; d++) {
        if (!r->any || lo[d] < r->copy->lo[d])
            r->copy->lo[d] = lo[d];
        if (!r->any || hi[d] > r->copy->hi[d])
            r->copy->hi[d] = hi[d];
    }
    r->any = true;
    r->copy->loads += points * read->times;
    r->copy->missed += points * read->times * (1 - inside);
    tessi_rules_join(&r->copy->rules, access);
}

/* Of the members and of what is inlined into them and read at the very point. */
static void add_reads(Reader *r)
{
    const StageList *members = &r->group->members;
    Needs needs = { 0 };
    tessi_needs(r->f, r->f->arena, r->p, members->at, members->n, &needs);
    double *points = ARENA_NEW_ARRAY(r->f->arena, double, needs.at.n); /* that evaluate it */
    for (uint32_t i = 0; i < needs.at.n; i++) {
        const Need *need = &needs.at.at[i];
        points[i] += need->root ? r->points : 0;
        NEED_FOREACH (read, &needs, need) {
            if (points[i] <= 0)
                break;
            if (read->read->producer.v == r->image.v && read->read->access.v)
                add_read(r, read->read, points[i]);
            else if (read->read->same_point && needs.at.at[read->of].computed)
                points[read->of] += points[i];
        }
    }
}

/* Loads of a block of an image whose reads do not move. */
static void count_still(Reader *r, StageId id)
{
    VEC_FOREACH (const PlanRead, read, &r->f->reads[id.v])
        if (read->producer.v == r->image.v && read->access.v
            && tessi_access_is_fixed(tessi_access(r->f->g, read->access)))
            r->copy->loads += r->points * read->times;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* The elements of an image of constant sizes; -1 of others. */
static int64_t elements_of(const Graph *g, const Stage *s)
{
    int64_t all = 1, n;
    for (uint8_t d = 0; d < s->n_dims; d++)
        if (!tessi_size_is_const(g, s->size[d], &n) || !tessi_mul_i64(all, n, &all))
            return -1;
    return all;
}

static int64_t block_points(const PlanGroup *group, int d)
{
    const int from_last = group->n_dims - 1 - d;
    if (tessi_plan_kernel(group) == KERNEL_TILE)
        return tessi_level_tile(group, d);
    return from_last < 2 ? tessi_level_threads(&group->levels, from_last) : 1;
}

void tessi_plan_copy_shape(const Graph *g, const PlanGroup *group, const PlanStaged *staged,
                           const PlanCopy *copy, int64_t *size)
{
    const Stage *s = tessi_stage(g, staged->image);
    for (uint8_t d = 0; d < s->n_dims; d++) {
        if (copy->whole)
            tessi_size_is_const(g, s->size[d], &size[d]);
        else
            size[d] = block_points(group, d)
                      + (staged->in == STAGED_CENTRE ? 0 : copy->hi[d] - copy->lo[d]);
    }
}

int64_t tessi_plan_copy_pitch(const Graph *g, const PlanGroup *group, const PlanStaged *staged,
                              const int64_t *size)
{
    const Stage *s = tessi_stage(g, staged->image);
    const int64_t vector = 16 / tessi_type_info(tessi_value_type(s->type))->bytes;
    const int64_t row = s->n_dims ? size[s->n_dims - 1] : 1;
    /* Threads of tiles may read several columns as vectors. */
    return (tessi_plan_kernel(group) == KERNEL_TILE ? (row + vector - 1) / vector * vector : row)
           + staged->pad;
}

/* Rows are padded as in any intermediate image. */
static int64_t constant_bytes(const Graph *g, const Stage *s)
{
    enum { VECTOR = 16 };
    int64_t bytes = tessi_type_info(s->type)->bytes;
    for (uint8_t d = s->n_dims; d-- > 0;) {
        int64_t n;
        if (!tessi_size_is_const(g, s->size[d], &n) || !tessi_mul_i64(bytes, n, &bytes)
            || bytes > PLAN_MAX_CONSTANT_BYTES)
            return PLAN_MAX_CONSTANT_BYTES + 1;
        if (d + 1 == s->n_dims)
            bytes = (bytes + VECTOR - 1) / VECTOR * VECTOR;
    }
    return bytes;
}

static const char *read_copy(Reader *r, const PlanStaged *staged)
{
    const Graph *g = r->f->g;
    Arena *a = r->f->arena;
    const Stage *s = tessi_stage(g, staged->image);
    const int64_t all = elements_of(g, s);
    if (staged->in != STAGED_CONSTANT && tessi_plan_kernel(r->group) == KERNEL_TILE) {
        const char *fault = tessi_plan_tile_reads(r->f, r->p, r->group, staged->image, r->copy);
        if (fault)
            return fault;
        r->any = r->copy->loads > 0;
    } else if (staged->in != STAGED_CONSTANT) {
        add_reads(r);
    }
    if (r->copy->rules.mixed)
        return tessi_sprintf(a, "group '%s' reads '%s' by more than one border rule",
                             r->group->name, s->name);
    r->copy->whole = !r->any;
    if (r->any) {
        int64_t size[MAX_DIMS] = { 0 };
        tessi_plan_copy_shape(g, r->group, staged, r->copy, size);
        r->copy->copied = 1;
        for (uint8_t d = 0; d < s->n_dims; d++)
            r->copy->copied *= (double)size[d];
        if (staged->in == STAGED_SHARED)
            r->copy->missed = 0;
        return NULL;
    }
    r->copy->missed = 0;
    for (uint32_t i = 0; i <= r->group->passes.n; i++) {
        const StageList part = tessi_plan_part(r->group, i);
        VEC_FOREACH (const StageId, id, &part)
            count_still(r, *id);
    }
    if (staged->in == STAGED_CONSTANT && all < 1)
        return tessi_sprintf(
            a, "group '%s': '%s' is not of constant size, as all in constant memory is",
            r->group->name, s->name);
    if (staged->in == STAGED_CENTRE || all < 1)
        return tessi_sprintf(
            a, "group '%s' does not read '%s' at constant distances from its points%s",
            r->group->name, s->name,
            staged->in == STAGED_CENTRE ? "" : ", and its sizes are not constant");
    r->copy->copied = (double)all;
    return NULL;
}

const char *tessi_plan_copied(const PlanFacts *f, const Plan *p, const PlanGroup *group,
                              const PlanStaged *staged, PlanCopy *out)
{
    *out = (PlanCopy){ .rules = tessi_rules_none() };
    Reader r = { .f = f, .p = p, .group = group, .image = staged->image, .copy = out, .points = 1 };
    for (uint8_t d = 0; d < group->n_dims; d++) {
        r.block[d] = block_points(group, d);
        r.points *= (double)r.block[d];
    }
    return read_copy(&r, staged);
}

/* ---- Is it legal? ---------------------------------------------------------------------------- */

static bool reads_image(const PlanFacts *f, const Plan *p, const PlanGroup *group, StageId image)
{
    Needs needs = { 0 };
    tessi_needs_of_group(f, f->arena, p, group, &needs);
    return tessi_need_of(&needs, image) != NULL && !tessi_plan_in_passes(group, image);
}

/* Buffers begin at multiples of a vector. */
static int64_t bytes_of_copy(const PlanFacts *f, const PlanGroup *group, const PlanStaged *staged,
                             const PlanCopy *copy)
{
    const Stage *s = tessi_stage(f->g, staged->image);
    int64_t size[MAX_DIMS] = { 0 }, bytes = 0;
    tessi_plan_copy_shape(f->g, group, staged, copy, size);
    if (s->n_dims)
        size[s->n_dims - 1] = tessi_plan_copy_pitch(f->g, group, staged, size);
    tessi_plan_add_bytes(&bytes, tessi_type_info(tessi_value_type(s->type))->bytes, size,
                         s->n_dims);
    return bytes > PLAN_MAX_TILE * (int64_t)PLAN_MAX_SHARED_BYTES ? bytes : (bytes + 15) / 16 * 16;
}

int64_t tessi_plan_staged_bytes(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    int64_t all = 0;
    VEC_FOREACH (const PlanStaged, staged, &group->staged) {
        PlanCopy copy;
        if (staged->in == STAGED_CONSTANT || tessi_plan_copied(f, p, group, staged, &copy))
            continue;
        if (!tessi_add_i64(all, bytes_of_copy(f, group, staged, &copy), &all))
            return INT64_MAX;
    }
    return all;
}

int64_t tessi_plan_block_bytes(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    PlanRegions regions = { 0 };
    int64_t all = tessi_plan_staged_bytes(f, p, group);
    if (tessi_plan_kernel(group) != KERNEL_TILE
        || tessi_plan_regions(f, p, group, &regions) != NULL)
        return all;
    PlanExtent *extent = ARENA_NEW_ARRAY(f->arena, PlanExtent, group->passes.n + 1);
    tessi_plan_extents(group, &regions, extent);
    return tessi_add_i64(all, tessi_plan_shared_bytes(f, group, extent), &all) ? all : INT64_MAX;
}

const char *tessi_plan_check_staged(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    Arena *a = f->arena;
    if (!group->staged.n)
        return NULL;
    bool plain = (tessi_plan_kernel(group) == KERNEL_POINT && group->n_dims > 0
                  && !tessi_split_is_by_warp(group->split))
                 || tessi_plan_kernel(group) == KERNEL_TILE;
    bool constants = tessi_plan_kernel(group) == KERNEL_ROLLING;
    VEC_FOREACH (const PlanStaged, staged, &group->staged) {
        constants = constants && staged->in == STAGED_CONSTANT;
        if (staged->pad > PLAN_MAX_PAD || (staged->pad && staged->in == STAGED_CONSTANT))
            return tessi_plan_fault(a, group, "rows in shared memory have 1 to %d elements more",
                                    PLAN_MAX_PAD);
        if (staged->in == STAGED_CENTRE && tessi_plan_kernel(group) == KERNEL_TILE)
            return tessi_plan_fault(a, group, "copies of centres are for kernels of points");
    }
    VEC_FOREACH (const StageId, id, &group->members)
        plain = plain && tessi_stage_is_plain(f->g, tessi_stage(f->g, *id));
    if (!plain && !constants)
        return tessi_plan_fault(
            a, group,
            "copies of images are for kernels of points and of tiles of whole stages, not split by "
            "warps, and of rolling sums in constant memory");
    VEC_FOREACH (const PlanStaged, staged, &group->staged) {
        const Stage *s = tessi_stage(f->g, staged->image);
        VEC_FOREACH (const PlanStaged, other, &group->staged)
            if (other < staged && other->image.v == staged->image.v)
                return tessi_sprintf(a, "group '%s' copies '%s' twice", group->name, s->name);
        if (p->stage[staged->image.v].placement != PLACE_MEMORY
            || !reads_image(f, p, group, staged->image))
            return tessi_sprintf(a, "group '%s' does not read '%s' from memory", group->name,
                                 s->name);
        PlanCopy copy;
        const char *fault = tessi_plan_copied(f, p, group, staged, &copy);
        if (fault)
            return fault;
    }
    return tessi_plan_block_bytes(f, p, group) > PLAN_MAX_SHARED_BYTES
               ? tessi_sprintf(a, "group '%s' needs more than %d bytes of shared memory",
                               group->name, PLAN_MAX_SHARED_BYTES)
               : NULL;
}

const char *tessi_plan_check_constants(const PlanFacts *f, const Plan *p)
{
    int64_t all = 0;
    uint32_t *seen = f->mark, now = ++f->mark[0];
    VEC_FOREACH (const PlanGroup, group, &p->groups) {
        VEC_FOREACH (const PlanStaged, staged, &group->staged) {
            if (staged->in != STAGED_CONSTANT || seen[staged->image.v] == now)
                continue;
            seen[staged->image.v] = now;
            all += constant_bytes(f->g, tessi_stage(f->g, staged->image));
        }
    }
    return all > PLAN_MAX_CONSTANT_BYTES
               ? tessi_sprintf(f->arena, "the plan puts more than %d bytes into constant memory",
                               PLAN_MAX_CONSTANT_BYTES)
               : NULL;
}
