/* Any bytes through the reader of plans, for one graph that has every kind of stage; what it accepts is printed,
 * read again and lowered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "loop/loop_passes.h"
#include "loop/lower.h"

static const char graph_text[] =
    "graph g param M, N scalar k float image X[M, N] { r uint8, g uint8 } "
    "stage \"X r\"[M, N] uint8 = image X channel 0 stage X.g[M, N] uint8 = image X channel 1 "
    "stage sum[M, N] int32 = cast<int32>(\"X r\") + cast<int32>(X.g) "
    "stage total int64 = reduce sum sum stage mean float = cast<float>(total) / 4.0f "
    "stage h[256] uint32 = histogram sum "
    "stage blur[M, N] float = cast<float>(sum@[0,-1]:mirror + sum@[0,1]:constant(3)) * mean "
    "stage med[M, N] float = median($i = -1..1, $j = -1..1 : blur@[$i,$j]:wrap) "
    "stage both[M, N] float = med + blur@[1,0]:clamp "
    "output a[M, N] float = both output b[256] uint32 = h";

static const char *printed(Arena *a, const Plan *p, const Graph *g)
{
    Text out = tessi_text_new(a);
    tessi_plan_print(p, g, &out);
    return tessi_text_str(&out);
}

static void use_plan(Arena *a, Diags *d, const Plan *p, const Graph *g)
{
    const char *text = printed(a, p, g);
    const Plan *again = tessi_plan_read(a, d, g, text, strlen(text));
    must(again != NULL, "a printed plan was not read back");
    must(strcmp(text, printed(a, again, g)) == 0, "a plan did not read back identically");
    const LoopProgram *loops = tessi_lower_loops(a, g, p, tessi_machine_default(a));
    const char *fault = tessi_loop_verify(loops);
    must(!fault, fault ? fault : "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena;
    SourceMap sources;
    Diags diags;
    if (size > 1 << 16)
        return 0;
    tessi_arena_init(&arena, out_of_memory, NULL);
    tessi_sources_init(&sources, &arena);
    tessi_diags_init(&diags, &arena, &sources);
    Graph *g = tessi_graph_read(&arena, &diags, graph_text, strlen(graph_text));
    must(g != NULL, diags.list.n ? diags.list.at[0].text : "no graph");
    const Plan *p = tessi_plan_read(&arena, &diags, g, (const char *)data, size);
    must((p != NULL) == (diags.n_errors == 0),
         "a fault without a sentence, or a sentence without a fault");
    if (p)
        use_plan(&arena, &diags, p, g);
    tessi_arena_dispose(&arena);
    return 0;
}
