/* Statements that a function has several times, but for what surrounds them (loop/loop_same.h): one static function
 * for all of them, which takes what differs as arguments; and large statements of long functions, the same way. */
#include <string.h>

#include "emit/c_file.h"

/* ---- What is used ---------------------------------------------------------------------------- */

/* A statement's own uses are told apart from those of the function around it, and added to those of all that call
 * it. */
struct CUses {
    bool *param, *scalar, *buffer, *pitch, parts;
    CImage *inputs, *outputs;
};

static void *copy(CWriter *w, const void *of, size_t n, size_t size)
{
    void *to = tessi_alloc_array(w->arena, n, size);
    memcpy(to, of, n * size);
    return to;
}

static const CUses *uses_of(CWriter *w)
{
    const LoopProgram *p = w->p;
    CUses *uses = ARENA_NEW(w->arena, CUses);
    uses->parts = w->parts_used;
    uses->param = copy(w, w->param_used, p->params.n + 1, sizeof *uses->param);
    uses->scalar = copy(w, w->scalar_used, p->scalars.n + 1, sizeof *uses->scalar);
    uses->buffer = copy(w, w->buffer_used, p->buffers.n, sizeof *uses->buffer);
    uses->inputs = copy(w, w->inputs, p->inputs.n + 1, sizeof *uses->inputs);
    uses->outputs = copy(w, w->outputs, p->outputs.n + 1, sizeof *uses->outputs);
    uses->pitch = ARENA_NEW_ARRAY(w->arena, bool, w->pitches.n + 1);
    for (uint32_t i = 0; i < w->pitches.n; i++)
        uses->pitch[i] = w->pitches.at[i].used;
    return uses;
}

static void add_image_uses(CImage *to, const CImage *from)
{
    to->used = to->used || from->used;
    to->written = to->written || from->written;
    for (int d = 0; d < LOOP_MAX_DIMS; d++)
        to->stride_used[d] = to->stride_used[d] || from->stride_used[d];
}

static void add_uses(CWriter *w, const CUses *uses)
{
    const LoopProgram *p = w->p;
    for (uint32_t i = 0; i < p->params.n; i++)
        w->param_used[i] = w->param_used[i] || uses->param[i];
    for (uint32_t i = 0; i < p->scalars.n; i++)
        w->scalar_used[i] = w->scalar_used[i] || uses->scalar[i];
    for (uint32_t i = 0; i < p->buffers.n; i++)
        w->buffer_used[i] = w->buffer_used[i] || uses->buffer[i];
    for (uint32_t i = 0; i < p->inputs.n; i++)
        add_image_uses(&w->inputs[i], &uses->inputs[i]);
    for (uint32_t i = 0; i < p->outputs.n; i++)
        add_image_uses(&w->outputs[i], &uses->outputs[i]);
    for (uint32_t i = 0; i < w->pitches.n; i++)
        w->pitches.at[i].used = w->pitches.at[i].used || uses->pitch[i];
    w->parts_used = w->parts_used || uses->parts;
}

/* The same at a call, which uses images of its own in the place of the first one's. */
static void add_uses_of_call(CWriter *w, const LoopCall *call, const CUses *uses)
{
    bool *before = copy(w, w->buffer_used, w->p->buffers.n, sizeof *before);
    add_uses(w, uses);
    VEC_FOREACH (const LoopTwin, twin, &call->twins)
        w->buffer_used[twin->first.v] = before[twin->first.v];
    VEC_FOREACH (const LoopTwin, twin, &call->twins)
        w->buffer_used[twin->here.v] = w->buffer_used[twin->here.v] || uses->buffer[twin->first.v];
}

/* ---- Definitions ----------------------------------------------------------------------------- */

/* An array of the function around: a pointer to its rows, or to its elements. */
static void array_parameter(CWriter *w, CParameters *list, LBufferId id)
{
    const LBuffer *b = &w->p->buffers.at[id.v];
    Text text = tessi_text_new(w->arena);
    tessi_text_addf(&text, b->n_dims > 1 ? "%s (*restrict %s)" : "%s *restrict %s",
                    tessi_c_element(b->type), w->buffer[id.v]);
    for (int d = 1; d < b->n_dims; d++)
        tessi_text_addf(&text, "[%lld]", (long long)tessi_lexpr(w->p, b->size[d])->value.i);
    VEC_PUSH(w->arena, list,
             ((CParameter){ .declaration = tessi_text_str(&text), .name = w->buffer[id.v] }));
}

/* Its parameters: values and arrays, then what any function of the program is given. */
static void find_parameters(CWriter *w, const LoopPart *part, CPart *out)
{
    VEC_FOREACH (const LoopValue, value, &part->values) {
        const LVarId id = value->first;
        const char *name = w->var[id.v], *type = tessi_c_type(w, w->p->vars.at[id.v].type);
        if (w->needs.var[id.v])
            VEC_PUSH(w->arena, &out->list,
                     ((CParameter){ .declaration = tessi_sprintf(w->arena, "%s %s", type, name),
                                    .name = name }));
    }
    VEC_FOREACH (const LoopTwin, array, &part->arrays)
        if (w->p->buffers.at[array->first.v].kind == LBUF_LOCAL && w->needs.buffer[array->first.v])
            array_parameter(w, &out->list, array->first);
    const CParameters rest = tessi_c_parameters(w, C_USED);
    VEC_APPEND(w->arena, &out->list, &rest);
}

static void define(CWriter *w, const LoopPart *part, CPart *out)
{
    Text *around = w->out, body;
    const int indent = w->indent;
    const bool streamed = w->streamed;
    const CUses *before = uses_of(w);
    tessi_c_forget_uses(w);
    body = tessi_text_new(w->arena);
    w->out = &body;
    w->indent = 1;
    w->streamed = false;
    out->is_open = true;
    VEC_FOREACH (const LoopValue, value, &part->values)
        if (value->first.v == w->stream_if.v) /* only loops in vectors use it */
            tessi_c_line(w, "(void)%s;", w->var[value->first.v]);
    tessi_c_statement(w, part->stmt);
    out->is_open = false;
    out->streams = w->streamed;
    find_parameters(w, part, out);
    w->out = &w->split->text;
    w->indent = 0;
    if (part->is_apart)
        tessi_text_add(w->out, "\n/* Apart, since compilers take long over long functions. */\n");
    else
        tessi_text_addf(w->out, "\n/* Called %u times, with other arrays and places. */\n",
                        (unsigned)part->n_calls);
    tessi_c_signature(w, "TESS_PART void ", out->name, &out->list, "");
    tessi_text_addf(w->out, "{\n%s}\n", tessi_text_str(&body));
    out->uses = uses_of(w);
    tessi_c_forget_uses(w);
    add_uses(w, before);
    w->out = around;
    w->indent = indent;
    w->streamed = streamed;
    out->is_defined = true;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* What stands for the image `im` at the call. */
static const char *shifted(CWriter *w, const LoopCall *call, LBufferKind kind, uint32_t image)
{
    const CImage *im = kind == LBUF_INPUT ? &w->inputs[image] : &w->outputs[image];
    VEC_FOREACH (const LoopShift, shift, &call->shifts)
        if (shift->kind == kind && shift->image == image && shift->channels)
            return tessi_sprintf(w->arena, "%s + %lld", im->name, (long long)shift->channels);
    return im->name;
}

static const char *argument(CWriter *w, const LoopCall *call, const char *parameter)
{
    VEC_FOREACH (const LoopValue, value, &call->values)
        if (parameter == w->var[value->first.v])
            return w->var[value->here.v];
    VEC_FOREACH (const LoopTwin, twin, &call->twins)
        if (parameter == w->buffer[twin->first.v])
            return w->buffer[twin->here.v];
    for (uint32_t i = 0; i < w->p->inputs.n; i++)
        if (parameter == w->inputs[i].name)
            return shifted(w, call, LBUF_INPUT, i);
    for (uint32_t i = 0; i < w->p->outputs.n; i++)
        if (parameter == w->outputs[i].name)
            return shifted(w, call, LBUF_OUTPUT, i);
    return parameter;
}

static bool is_call_of(void *user, uint32_t number)
{
    const CWriter *w = user;
    return w->split->parts->calls.at[number - 1].stmt == w->split->wanted;
}

bool tessi_c_part_call(CWriter *w, const LStmt *s)
{
    CSplit *split = w->split;
    if (!split || !split->parts->calls.n || (s->kind != LSTMT_FOR && s->kind != LSTMT_IF))
        return false;
    split->wanted = s;
    const uint32_t number = tessi_idmap_find(&split->calls, (uintptr_t)s, is_call_of, w);
    if (!number)
        return false;
    const LoopCall *call = &split->parts->calls.at[number - 1];
    CPart *part = &split->part[call->part];
    if (!part->name || part->is_open)
        return false;
    if (!part->is_defined)
        define(w, &split->parts->parts.at[call->part], part);
    add_uses_of_call(w, call, part->uses);
    tessi_text_addf(&w->line, "%s(", part->name);
    for (uint32_t i = 0; i < part->list.n; i++)
        tessi_text_addf(&w->line, "%s%s", i ? ", " : "", argument(w, call, part->list.at[i].name));
    tessi_text_add(&w->line, ");");
    tessi_c_end_line(w);
    w->streamed = w->streamed || part->streams;
    return true;
}

/* ---- Before a function is written ------------------------------------------------------------ */

/* The first array or image that the statement stores to, which names it. */
static LBufferId result_of(const LBlock *block)
{
    LBufferId found = { 0 };
    for (uint32_t i = 0; i < block->n && !found.v; i++) {
        const LStmt *s = block->at[i];
        found = s->kind == LSTMT_STORE ? s->buffer : result_of(&s->body);
        if (!found.v)
            found = result_of(&s->orelse);
    }
    return found;
}

CSplit *tessi_c_split(CWriter *w, const LoopParts *parts, const char *function)
{
    CSplit *split = ARENA_NEW(w->arena, CSplit);
    split->parts = parts;
    split->part = ARENA_NEW_ARRAY(w->arena, CPart, parts->parts.n + 1);
    split->text = tessi_text_new(w->arena);
    for (uint32_t i = 0; i < parts->parts.n; i++) {
        const LoopPart *part = &parts->parts.at[i];
        if (part->n_calls < 2 && !part->is_apart)
            continue;
        const LBufferId id = result_of(&part->stmt->body);
        const char *of = id.v ? w->p->buffers.at[id.v].name : NULL;
        split->part[i].name =
            tessi_c_name(w->names, tessi_sprintf(w->arena, "%s_%s", function, of ? of : "part"));
    }
    for (uint32_t i = 0; i < parts->calls.n; i++)
        tessi_idmap_add(w->arena, &split->calls, (uintptr_t)parts->calls.at[i].stmt, i + 1);
    return split;
}
