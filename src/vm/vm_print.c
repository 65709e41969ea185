/* The code of the strip machine as text. */
#include "vm/vm_code.h"

static const char *const names[] = { "kernel", "sum",     "row",   "near", "load",
                                     "fetch",  "place",   "flush", "put",  "offsets",
                                     "gather", "scatter", "add",   "sort", "move",
                                     "local",  "loop",    "if",    "jump" };

static void print_loop(const VmCode *code, const VmLoop *loop, Text *out)
{
    tessi_text_addf(out, " $%u from $%u to $%u step %lld", loop->var, loop->from, loop->to,
                    (long long)loop->step);
    if (loop->strip)
        tessi_text_addf(out, ", strips of %u, once to %u", loop->lanes, loop->body);
    if (loop->parallel)
        tessi_text_add(out, ", parallel");
    tessi_text_addf(out, ", until %u", loop->end);
    (void)code;
}

void tessi_vm_print(const VmCode *code, Text *out)
{
    for (uint32_t i = 0; i < code->ins.n; i++) {
        const VmIns *ins = &code->ins.at[i];
        VEC_FOREACH (const VmFunction, f, &code->functions)
            if (f->first == i)
                tessi_text_add(out, "function\n");
        tessi_text_addf(out, "%5u %s%s", i, names[ins->code], ins->strip ? " strip" : "");
        if (ins->code == VM_LOOP)
            print_loop(code, &code->loops.at[ins->imm], out);
        else
            tessi_text_addf(out, " $%u, $%u, $%u, $%u; %lld", ins->d, ins->a, ins->b, ins->c,
                            (long long)ins->imm);
        tessi_text_add(out, "\n");
    }
}

void tessi_vm_print_scalar(const VmCode *code, Text *out)
{
    VEC_FOREACH (const VmLoop, loop, &code->loops)
        if (loop->scalar)
            tessi_text_addf(out, "%s\n", loop->scalar);
}

const char *tessi_vm_lacks(const VmCode *code)
{
    return code->lacks;
}
