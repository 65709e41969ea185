/* Runs programs that come on standard input, one after the other in one process, and answers on standard output:
 * what test_meaning.py compares with NumPy. A request is lines of a word and its values; texts and images follow
 * their line as so many bytes:
 *
 *     text N            the program                     machine N          a description to plan for; 0: this machine
 *     target NAME       interp, loops, c or opencl      plan chosen        or: small, naive, preset NAME, random SEED,
 *                                                                              drawn SEED WORD: a random one with that
 *                                                                                word in it
 *     fp NAME           default, strict or fast         scalar NAME VALUE  a number of the run; constant: one when
 *                       compiling
 *     image NAME CODE BITS N D0 D1 ..                   an input of N dimensions (CODE as in DLPack)
 *     run
 *
 * The answer is `ok`, `plan N` with the plan's text and for each result `result CODE BITS N D0 D1 ..` with its
 * elements; or `failed N` with a sentence. Then comes `end`. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "support.h"

enum { MOST_IMAGES = 16, MOST_NUMBERS = 32, MOST_DRAWN = 40, WORD = 64 };

typedef struct Request {
    Arena arena;
    char *text, *machine, plan[WORD], word[WORD]; /* word: of a plan that is drawn; empty: any */
    uint64_t seed;
    tess_target target;
    tess_fp fp;
    int n_images, n_scalars, n_constants;
    char image_name[MOST_IMAGES][WORD];
    DLTensor image[MOST_IMAGES];
    tess_constant scalar[MOST_NUMBERS], constant[MOST_NUMBERS];
} Request;

static void refuse(const char *what)
{
    fprintf(stderr, "driver: a request that nobody makes: %s\n", what);
    exit(2);
}

static void expect(bool holds, const char *what)
{
    if (!holds)
        refuse(what);
}

/* ---- Requests -------------------------------------------------------------------------------- */
static char *read_bytes(Request *r, size_t n)
{
    char *bytes = tessi_alloc(&r->arena, n + 1);
    expect(fread(bytes, 1, n, stdin) == n, "cut off");
    bytes[n] = 0;
    return bytes;
}

static char *read_text(Request *r)
{
    size_t n = 0;
    expect(scanf("%zu", &n) == 1 && getchar() == '\n', "a text without its length");
    return read_bytes(r, n);
}

static int read_number_of(const char *const *names, const char *what)
{
    char word[WORD];
    expect(scanf("%63s", word) == 1, what);
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], word) == 0)
            return i;
    refuse(word);
    return 0;
}

static void read_image(Request *r)
{
    expect(r->n_images < MOST_IMAGES, "many images");
    DLTensor *t = &r->image[r->n_images];
    unsigned code, bits;
    expect(scanf("%63s %u %u %d", r->image_name[r->n_images++], &code, &bits, &t->ndim) == 4
               && t->ndim >= 1 && t->ndim <= MAX_DIMS + 1,
           "image");
    size_t bytes = bits / 8;
    t->shape = tessi_alloc(&r->arena, (size_t)t->ndim * sizeof *t->shape);
    for (int d = 0; d < t->ndim; d++) {
        expect(scanf("%" SCNd64, &t->shape[d]) == 1, "shape");
        bytes *= (size_t)t->shape[d];
    }
    expect(getchar() == '\n', "image");
    t->data = read_bytes(r, bytes);
    t->dtype = (DLDataType){ (uint8_t)code, (uint8_t)bits, 1 };
    t->device = (DLDevice){ kDLCPU, 0 };
}

static void read_constant(Request *r, tess_constant *into, int *n)
{
    char name[WORD];
    expect(*n < MOST_NUMBERS && scanf("%63s %lf", name, &into[*n].value) == 2, "number");
    into[(*n)++].name = tessi_strdup(&r->arena, name);
}

static void read_plan(Request *r)
{
    expect(scanf("%63s", r->plan) == 1, "plan");
    if (strcmp(r->plan, "random") == 0) {
        expect(scanf("%" SCNu64, &r->seed) == 1, "seed");
    } else if (strcmp(r->plan, "drawn") == 0) {
        expect(scanf("%" SCNu64 "%63s", &r->seed, r->word) == 2, "seed and word");
    } else if (strcmp(r->plan, "preset") == 0) {
        char name[WORD / 2];
        expect(scanf("%31s", name) == 1, "preset");
        snprintf(r->plan, sizeof r->plan, "preset %s", name);
    }
}

/* False at the end of the input. */
static bool read_request(Request *r)
{
    static const char *const targets[] = { "auto", "c", "cuda", "opencl", "interp", "loops", NULL };
    static const char *const modes[] = { "default", "strict", "fast", NULL };
    char word[WORD];
    while (scanf("%63s", word) == 1) {
        if (strcmp(word, "run") == 0)
            return true;
        if (strcmp(word, "text") == 0)
            r->text = read_text(r);
        else if (strcmp(word, "machine") == 0)
            r->machine = read_text(r);
        else if (strcmp(word, "target") == 0)
            r->target = (tess_target)read_number_of(targets, "target");
        else if (strcmp(word, "fp") == 0)
            r->fp = (tess_fp)read_number_of(modes, "fp");
        else if (strcmp(word, "plan") == 0)
            read_plan(r);
        else if (strcmp(word, "image") == 0)
            read_image(r);
        else if (strcmp(word, "scalar") == 0)
            read_constant(r, r->scalar, &r->n_scalars);
        else if (strcmp(word, "constant") == 0)
            read_constant(r, r->constant, &r->n_constants);
        else
            refuse(word);
    }
    return false;
}

/* ---- Answers --------------------------------------------------------------------------------- */
static void answer_text(const char *word, const char *text)
{
    printf("%s %zu\n%s", word, strlen(text), text);
}

static void answer_results(const tess_program *p, const tess_args *args)
{
    for (size_t i = 0; i < tess_program_outputs(p); i++) {
        const DLTensor *t;
        expect(tess_args_result(args, i, &t) == TESS_OK, "no result");
        size_t bytes = t->dtype.bits / 8;
        printf("result %u %u %d", t->dtype.code, t->dtype.bits, t->ndim);
        for (int d = 0; d < t->ndim; d++) {
            printf(" %" PRId64, t->shape[d]);
            bytes *= (size_t)t->shape[d];
        }
        putchar('\n');
        fwrite((const char *)t->data + t->byte_offset, 1, bytes, stdout);
    }
}

/* ---- Runs ------------------------------------------------------------------------------------ */
static void set_options(const Request *r, tess_options *o)
{
    tess_options_init(o);
    o->target = r->target;
    o->fp = r->fp;
    o->threads = 2;
    o->library = "";
    o->machine = r->machine;
    o->constants = r->constant;
    o->n_constants = (size_t)r->n_constants;
}

static tess_status bind(const Request *r, tess_args *args)
{
    tess_status s = TESS_OK;
    for (int i = 0; s == TESS_OK && i < r->n_images; i++)
        s = tess_args_image(args, r->image_name[i], &r->image[i]);
    for (int i = 0; s == TESS_OK && i < r->n_scalars; i++)
        s = tess_args_scalar(args, r->scalar[i].name, r->scalar[i].value);
    return s;
}

static const char *plan_text(Arena *a, const Plan *plan, const Graph *g)
{
    Text text = tessi_text_new(a);
    tessi_plan_print(plan, g, &text);
    return tessi_text_str(&text);
}

static const char *draw(Request *r, const Variant *v)
{
    const char *text = "";
    for (uint64_t k = 0; k < MOST_DRAWN && !(k && strstr(text, r->word)); k++) {
        const uint64_t seed = tessi_hash_u64(r->seed, k);
        text = plan_text(&r->arena, tessi_plan_random(&r->arena, v->graph, v->machine, seed),
                         v->graph);
    }
    return text;
}

/* The text of a plan that options cannot name, for the graph that the program has with these arguments; NULL with a
 * failure in the program. */
static const char *draw_plan(Request *r, tess_program *p, const tess_args *args)
{
    char *unused = NULL;
    if (tess_dump(p, args, "plan", &unused, NULL) != TESS_OK)
        return NULL;
    tess_text_free(unused);
    const Variant *v = p->variants;
    Arena *a = &r->arena;
    if (strcmp(r->plan, "naive") == 0)
        return plan_text(a, tessi_plan_naive(a, v->graph, v->machine), v->graph);
    if (strcmp(r->plan, "small") == 0)
        return plan_text(a, tessi_plan_choose(a, v->graph, v->analysis, v->machine, PLAN_SMALL),
                         v->graph);
    return draw(r, v);
}

typedef struct Attempt {
    tess_program *program;
    tess_diags *diags;
    tess_args *args;
} Attempt;

static tess_status compile(const Request *r, const tess_options *o, Attempt *t)
{
    tess_status s =
        tess_compile(r->text, strlen(r->text), "random.tess", o, &t->program, &t->diags);
    if (s == TESS_OK)
        s = tess_args_new(t->program, &t->args);
    return s == TESS_OK ? bind(r, t->args) : s;
}

static void forget(Attempt *t)
{
    tess_args_free(t->args);
    tess_program_free(t->program);
    tess_diags_free(t->diags);
    *t = (Attempt){ 0 };
}

static void answer_failure(const Attempt *t, tess_status s)
{
    Arena a;
    support_arena_init(&a);
    Text text = tessi_text_new(&a);
    tessi_text_addf(&text, "%s. ", tess_status_text(s));
    if (t->args)
        tessi_text_add(&text, tess_args_error(t->args));
    if (t->program)
        tessi_text_add(&text, tess_program_error(t->program));
    else if (t->diags)
        tessi_text_add(&text, tess_diags_text(t->diags, 0));
    answer_text("failed", tessi_text_str(&text));
    tessi_arena_dispose(&a);
}

static void answer(Request *r)
{
    Attempt t = { 0 };
    tess_options o;
    set_options(r, &o);
    const bool chosen = strcmp(r->plan, "chosen") == 0;
    tess_status s = TESS_OK;
    if (strncmp(r->plan, "preset ", 7) == 0) {
        o.plan = r->plan;
    } else if (!chosen) {
        s = compile(r, &o, &t);
        o.plan = s == TESS_OK ? draw_plan(r, t.program, t.args) : NULL;
        if (o.plan)
            forget(&t);
        else if (s == TESS_OK)
            s = TESS_ERROR_INTERNAL;
    }
    char *plan = NULL;
    if (s == TESS_OK)
        s = compile(r, &o, &t);
    if (s == TESS_OK)
        s = tess_run(t.program, t.args, NULL);
    if (s == TESS_OK && r->target != TESS_TARGET_INTERP)
        s = tess_dump(t.program, t.args,
                      chosen && r->target == TESS_TARGET_OPENCL ? "small-plan" : "plan", &plan,
                      NULL);
    if (s == TESS_OK) {
        puts("ok");
        answer_text("plan", plan ? plan : "");
        answer_results(t.program, t.args);
    } else {
        answer_failure(&t, s);
    }
    puts("end");
    fflush(stdout);
    tess_text_free(plan);
    forget(&t);
}

int main(void)
{
    bool more = true;
    while (more) {
        Request r = { .target = TESS_TARGET_INTERP, .plan = "chosen" };
        support_arena_init(&r.arena);
        more = read_request(&r);
        if (more)
            answer(&r);
        tessi_arena_dispose(&r.arena);
    }
    return 0;
}
