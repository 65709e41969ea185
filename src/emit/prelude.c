/* Prunes preludes: keeps what a program mentions, what that mentions, and so on. */
#include "emit/prelude.h"

#include <string.h>

#include "emit/prelude_items.h"

static void keep(Prelude *p, uint32_t index)
{
    Item *item = &p->items.at[index];
    if (item->kept)
        return;
    item->kept = true;
    if (item->kind == ITEM_DEFINE)
        tessi_prelude_mention(p, item->body, strlen(item->body));
    else
        tessi_prelude_mention(p, item->text, item->n);
    const uint32_t around = p->items.at[index].around;
    if (around == NO_ITEM || p->items.at[around].kept)
        return;
    keep(p, around);
    for (uint32_t i = around + 1; i < p->items.n; i++) {
        const Item *other = &p->items.at[i];
        const bool is_line = other->kind == ITEM_LINE && other->text[1] != 'u';
        if (other->around == around
            && (is_line || other->kind == ITEM_ELSE || other->kind == ITEM_ENDIF))
            keep(p, i);
        if (other->around == around && other->kind == ITEM_ENDIF)
            break;
    }
}

/* A line outside of conditions is always kept but for #undef. */
static void keep_lines(Prelude *p)
{
    for (uint32_t i = 0; i < p->items.n; i++)
        if (p->items.at[i].kind == ITEM_LINE && p->items.at[i].around == NO_ITEM)
            keep(p, i);
}

static void keep_used(Prelude *p)
{
    for (uint32_t done = 0; done < p->to_do.n; done++) {
        const ItemList items = p->names.at[p->to_do.at[done]].items;
        VEC_FOREACH (uint32_t, i, &items)
            keep(p, *i);
    }
}

static void print(const Prelude *p, Text *out)
{
    const Item *section = NULL;
    tessi_text_add(out, "\n/* What this program uses of Tessera's prelude; tess_<operator>_<type> "
                        "are operators. */\n");
    VEC_FOREACH (const Item, item, &p->items) {
        if (item->kind == ITEM_SECTION)
            section = item;
        if (!item->kept)
            continue;
        if (section)
            tessi_text_addf(out, "\n%.*s\n", (int)section->n, section->text);
        else if (item->apart)
            tessi_text_add(out, "\n");
        section = NULL;
        if (item->comment_n)
            tessi_text_addf(out, "%.*s\n", (int)item->comment_n, item->comment);
        tessi_text_addf(out, "%.*s\n", (int)item->n, item->text);
    }
}

void tessi_prelude_used(const char *prelude, const char *program, Text *out)
{
    Arena *scratch = tessi_scratch_open(out->arena);
    Prelude p = { .arena = scratch };
    tessi_prelude_split(&p, prelude);
    tessi_prelude_define(&p);
    keep_lines(&p);
    tessi_prelude_mention(&p, program, strlen(program));
    keep_used(&p);
    print(&p, out);
    tessi_text_add(out, "\n/* ---- The program ---- */\n");
    tessi_scratch_close(scratch);
}
