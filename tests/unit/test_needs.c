/* Needs: what stages computed together evaluate and read, and where, computed by hand. */
#include "graph_testing.h"
#include "plan/needs.h"

typedef struct Case {
    const Graph *g;
    Plan *p;
    PlanFacts *f;
    Needs needs;
    const NeedBox *box;
} Case;

static StageId named(const Graph *g, const char *name)
{
    StageId found = { 0 };
    GRAPH_FOREACH_STAGE (g, id)
        if (tessi_streq(tessi_stage(g, id)->name, name))
            found = id;
    assert_true(found.v > 0);
    return found;
}

/* What the stages `roots` need, names with a space between them, with those of `inlined` inlined. */
static Case needs_of(Arena *a, const char *stages, const char *inlined, const char *roots)
{
    const char *head = "graph t param M, N image X[M, N] float stage X[M, N] float = image X ";
    Case c = { .g = testing_read(a, tessi_sprintf(a, "%s%s", head, stages), NULL) };
    StageList list = { 0 };
    c.f = tessi_plan_facts(a, c.g);
    c.p = tessi_plan_naive(a, c.g, tessi_machine_default(a));
    GRAPH_FOREACH_STAGE (c.g, id) {
        const char *name = tessi_sprintf(a, " %s ", tessi_stage(c.g, id)->name);
        if (strstr(tessi_sprintf(a, " %s ", inlined), name))
            c.p->stage[id.v].placement = PLACE_INLINE;
        if (strstr(tessi_sprintf(a, " %s ", roots), name))
            VEC_PUSH(a, &list, id);
    }
    tessi_needs(c.f, a, c.p, list.at, list.n, &c.needs);
    c.box = tessi_needs_boxes(c.f, a, &c.needs);
    return c;
}

static const NeedBox *box_of(const Case *c, const char *name)
{
    const Need *need = tessi_need_of(&c->needs, named(c->g, name));
    assert_non_null(need);
    return &c->box[need - c->needs.at.at];
}

static void assert_dim(const Case *c, const char *name, int d, int scale, int64_t lo, int64_t hi)
{
    const AccessRange *r = &box_of(c, name)->dim[d];
    assert_false(r->dynamic);
    assert_int_equal(r->src, d);
    assert_int_equal(r->scale, scale);
    assert_int_equal(r->base.v, 0);
    assert_int_equal(r->lo, lo);
    assert_int_equal(r->hi, hi);
}

/* At constant distances, rows and columns so far. */
static void assert_box(const Case *c, const char *name, int64_t up, int64_t down, int64_t left,
                       int64_t right)
{
    assert_true(box_of(c, name)->reached);
    assert_int_equal(box_of(c, name)->loose.v, 0);
    assert_dim(c, name, 0, 1, up, down);
    assert_dim(c, name, 1, 1, left, right);
}

static void assert_loose(const Case *c, const char *name, const char *reader)
{
    assert_string_equal(tessi_stage(c->g, box_of(c, name)->loose)->name, reader);
}

static bool is_needed(const Case *c, const char *name)
{
    return tessi_need_of(&c->needs, named(c->g, name)) != NULL;
}

static const char chain[] = "stage a[M, N] float = X@[-1,0]:clamp + X@[0,2]:clamp "
                            "stage b[M, N] float = a@[0,-1]:mirror + a@[3,1]:mirror "
                            "stage c[M, N] float = b@[1,0]:wrap output c[M, N] float = c";

static void chains_add_up_through_what_is_inlined(void **state)
{
    const Case all = needs_of(*state, chain, "a b", "c");
    assert_box(&all, "b", 1, 1, 0, 0);
    assert_box(&all, "a", 1, 4, -1, 1);
    assert_box(&all, "X", 0, 4, -1, 3);
    assert_int_equal(all.needs.at.n, 4);
    assert_string_equal(tessi_stage(all.g, all.needs.at.at[0].stage)->name,
                        "c"); /* readers first */
    assert_true(all.needs.at.at[0].root && all.needs.at.at[0].computed);
    assert_int_equal(all.needs.stored.n, 1);
    const Case apart = needs_of(*state, chain, "a", "c");
    assert_false(is_needed(&apart, "a")); /* b is in memory, and what it reads another's */
    assert_false(is_needed(&apart, "X"));
    assert_box(&apart, "b", 1, 1, 0, 0);
    assert_false(tessi_need_of(&apart.needs, named(apart.g, "b"))->computed);
}

static void two_readers_need_the_hull(void **state)
{
    static const char text[] = "stage a[M, N] float = X@[0,-5]:clamp "
                               "stage b[M, N] float = X@[2,0]:clamp + a "
                               "stage c[M, N] float = X@[-1,0]:mirror + a@[0,1]:clamp "
                               "output b[M, N] float = b output c[M, N] float = c";
    const Case both = needs_of(*state, text, "a", "b c");
    assert_box(&both, "a", 0, 0, 0, 1);
    assert_box(&both, "X", -1, 2, -5, 0);
    assert_true(box_of(&both, "X")->rules.mixed);
    assert_int_equal(box_of(&both, "a")->rules.rule[1], BORDER_CLAMP);
    assert_int_equal(box_of(&both, "a")->rules.rule[0], BORDER_INSIDE);
    const StageId twice[2] = { named(both.g, "b"), named(both.g, "b") };
    Needs again = { 0 };
    tessi_needs(both.f, *state, both.p, twice, 2, &again);
    assert_int_equal(again.at.n, 3); /* b, a and X */
    const Case one = needs_of(*state, text, "a", "c");
    assert_box(&one, "X", -1, 0, -4, 0);
    const Need *need = tessi_need_of(&one.needs, named(one.g, "c"));
    assert_int_equal(need->n, 2);
    assert_int_equal(one.needs.reads.at[need->first].of + one.needs.reads.at[need->first + 1].of,
                     1 + 2); /* entries 1 and 2: a and X */
}

static void windows_and_the_value_outside(void **state)
{
    const Case c = needs_of(*state,
                            "stage a[M, N] float = "
                            "sum($i = -4..1, $j = 0..2 : X@[$i,5 - 2*$j]:constant(7.0f)) "
                            "stage b[M, N] float = a@[1,0]:wrap + a@[2,1]:wrap "
                            "output b[M, N] float = b",
                            "a", "b");
    assert_box(&c, "X", -3, 3, 1, 6);
    const AccessRules *rules = &box_of(&c, "X")->rules;
    assert_int_equal(rules->rule[1], BORDER_CONSTANT);
    assert_int_equal(tessi_expr(c.g, rules->outside)->kind, EXPR_CONST);
    assert_int_equal(box_of(&c, "a")->rules.rule[0], BORDER_WRAP);
}

static void sampling_is_composed(void **state)
{
    static const char text[] = "stage a[M, N] float = X@[(1,2),0]:clamp "
                               "stage b[M, N] float = a@[(-1,2),3]:clamp "
                               "stage c[M, N] float = b@[(2,-1),(0,1)]:clamp "
                               "output c[M, N] float = c";
    const Case c = needs_of(*state, text, "a b", "c");
    assert_dim(&c, "b", 0, -1, 2, 2);
    assert_dim(&c, "a", 0, -2, 3, 3); /* 2 * (2 - y) - 1 */
    assert_dim(&c, "X", 0, -4, 7, 7); /* 2 * (3 - 2 y) + 1 */
    assert_dim(&c, "X", 1, 1, 3, 3);
    assert_loose(&c, "a", "c"); /* it was before b read it */
    assert_loose(&c, "X", "c");
    const Case windows = needs_of(*state,
                                  "stage a[M, N] float = X@[(0,3),0]:clamp "
                                  "stage b[M, N] float = sum($i = -1..2 : a@[-2*$i,0]:clamp) "
                                  "output b[M, N] float = b",
                                  "a", "b");
    assert_dim(&windows, "X", 0, 3, -12, 6); /* 3 * (y + -4..2) */
    assert_loose(&windows, "X", "a");
}

static void other_dimensions_and_fixed_places(void **state)
{
    static const char text[] = "stage t[N, M] float = X@[(2,1,1),(0,1,0)]:clamp "
                               "stage b[M, N] float = t@[(1,1,1),(5,1,0)]:clamp + X@[=3,0]:clamp "
                               "output b[M, N] float = b";
    const Case c = needs_of(*state, text, "t", "b");
    assert_int_equal(box_of(&c, "t")->dim[0].src, 1);
    assert_int_equal(box_of(&c, "t")->dim[1].lo, 5);
    assert_true(box_of(&c, "X")->dim[0].dynamic); /* y + 7, and row 3 */
    assert_dim(&c, "X", 1, 1, 0, 1);
    const Case row = needs_of(*state,
                              "stage a[M, N] float = X@[=N - 1,-2]:clamp "
                              "stage b[M, N] float = a@[4,1]:clamp output b[M, N] float = b",
                              "a", "b");
    const NeedBox *x = box_of(&row, "X");
    assert_false(x->dim[0].dynamic);
    assert_int_equal(x->dim[0].src, -1);
    assert_int_equal(x->dim[0].scale, 0);
    assert_true(x->dim[0].base.v > 0); /* row N - 1, whatever the point */
    assert_dim(&row, "X", 1, 1, -1, -1);
    assert_loose(&row, "X", "a");
}

static void computed_places_are_anywhere(void **state)
{
    const Case c = needs_of(*state,
                            "stage a[M, N] float = X@[{cast<int32>(X)},1]:clamp "
                            "stage b[M, N] float = a@[0,1]:clamp output b[M, N] float = b",
                            "a", "b");
    assert_true(box_of(&c, "X")->dim[0].dynamic);
    assert_dim(&c, "X", 1, 1, 1, 2);
    assert_loose(&c, "X", "a");
    assert_box(&c, "a", 0, 0, 1, 1);
}

static void assert_load(const Case *c, const char *name, NeedLoad load, double passed)
{
    const Need *need = tessi_need_of(&c->needs, named(c->g, name));
    assert_non_null(need);
    assert_int_equal(need->load, load);
    assert_true(need->passed == passed);
}

/* How what is read lies in memory, and how much of it a point passes over, also through what is inlined. */
static void loads_and_what_they_pass(void **state)
{
    Case c = needs_of(*state,
                      "stage a[M, N] float = X@[0,1]:clamp + X@[(0,1,1),(0,1,0)]:clamp "
                      "stage b[M, N] float = a@[1,0]:clamp output b[M, N] float = b",
                      "a", "b");
    assert_load(&c, "X", NEED_CROSSED, 1);
    c = needs_of(*state,
                 "stage a[M/2, N/2] float = X@[(0,2),(1,2)]:clamp "
                 "stage b[M/2/3, N/2] float = a@[(0,3),0]:clamp output b[M/2/3, N/2] float = b",
                 "a", "b");
    assert_load(&c, "a", NEED_DENSE, 3);
    assert_load(&c, "X", NEED_STRIDED, 12);
    c = needs_of(*state,
                 "stage a[M, N] float = X@[{cast<int32>(X)},0]:clamp "
                 "stage b[M, N] float = a + X@[=3,0]:clamp output b[M, N] float = b",
                 "", "a");
    assert_load(&c, "X", NEED_GATHERED, 1);
    c = needs_of(*state, "stage b[M, N] float = X@[-1,3]:clamp output b[M, N] float = b", "", "b");
    assert_load(&c, "X", NEED_DENSE, 1);
}

static void parts_and_reductions_are_read_anywhere(void **state)
{
    const Case c = needs_of(*state,
                            "stage a[M, N] float = X@[0,1]:clamp "
                            "stage o[2*M, N] float "
                            "piece [0, 0] step [2, 1] count [M, N] = X "
                            "piece [1, 0] step [2, 1] count [M, N] = a "
                            "output o[2*M, N] float = o",
                            "", "o");
    assert_true(box_of(&c, "a")->dim[0].dynamic); /* its rows are not those of o */
    assert_loose(&c, "a", "o");
    const Case sum = needs_of(*state,
                              "stage a[M, N] float = X@[0,1]:clamp stage r double = reduce sum a "
                              "stage b[M, N] float = X - cast<float>(r) output b[M, N] float = b",
                              "a r", "b r");
    assert_true(box_of(&sum, "a")->dim[0].dynamic);
    assert_loose(&sum, "a", "r");
    assert_loose(&sum, "X", "r");                    /* through a */
    assert_int_equal(box_of(&sum, "r")->loose.v, 0); /* a number is read at every point alike */
}

static void readers_are_those_with_memory_of_their_own(void **state)
{
    static const char text[] = "stage a[M, N] float = X stage b[M, N] float = a@[0,1]:clamp "
                               "stage c[M, N] float = a@[1,0]:clamp + b "
                               "stage d[M, N] float = c output d[M, N] float = d";
    const Case c = needs_of(*state, text, "a c", "d");
    StageList *readers = tessi_plan_readers(c.f, c.p);
    const StageId b = named(c.g, "b"), d = named(c.g, "d"), x = named(c.g, "X");
    assert_int_equal(readers[x.v].n, 2); /* b and d, through a, and d through c */
    assert_int_equal(readers[x.v].at[0].v, b.v);
    assert_int_equal(readers[x.v].at[1].v, d.v);
    assert_int_equal(readers[b.v].n, 1);
    assert_int_equal(readers[named(c.g, "a").v].n, 0); /* it is found nowhere */
    assert_true(tessi_plan_share_reads(c.f, c.p, b, d, false));
    assert_false(tessi_plan_share_reads(c.f, c.p, x, d, false));
    PlanGroup group = { .n_dims = 2 };
    PlanPass pass = { 0 };
    tessi_levels_one_by_one(&pass.levels, 0);
    VEC_PUSH((Arena *)*state, &pass.stages, b);
    VEC_PUSH((Arena *)*state, &group.passes, pass);
    VEC_PUSH((Arena *)*state, &group.members, d);
    Needs needs = { 0 };
    tessi_needs_of_group(c.f, *state, c.p, &group, &needs);
    assert_int_equal(needs.at.n, 5); /* d, c, b, a, X */
    assert_int_equal(needs.stored.n, 1);
    assert_true(tessi_need_of(&needs, b)->root);
    assert_false(tessi_need_of(&needs, named(c.g, "a"))->root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(chains_add_up_through_what_is_inlined),
        GRAPH_TEST(two_readers_need_the_hull),
        GRAPH_TEST(windows_and_the_value_outside),
        GRAPH_TEST(sampling_is_composed),
        GRAPH_TEST(other_dimensions_and_fixed_places),
        GRAPH_TEST(computed_places_are_anywhere),
        GRAPH_TEST(loads_and_what_they_pass),
        GRAPH_TEST(parts_and_reductions_are_read_anywhere),
        GRAPH_TEST(readers_are_those_with_memory_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
