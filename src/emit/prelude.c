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
    if (item->members.n)
        ; /* each mentions what it does when it is kept */
    else if (item->kind == ITEM_DEFINE)
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

static void keep_made(Prelude *p, uint32_t number)
{
    while (number != NO_MADE && !p->made.at[number].kept) {
        Made *made = &p->made.at[number];
        made->kept = true;
        p->items.at[made->macro].members.at[made->member].kept = true;
        number = made->within;
        tessi_prelude_mention(p, made->text, strlen(made->text));
    }
}

static void keep_wanted(Prelude *p, uint32_t *done)
{
    for (; *done < p->to_do.n; (*done)++) {
        const uint32_t name = p->to_do.at[*done];
        for (uint32_t i = 0; i < p->names.at[name].definitions.n; i++) {
            const Definition by = p->names.at[name].definitions.at[i];
            if (by.item != NO_ITEM)
                keep(p, by.item);
            keep_made(p, by.made);
        }
    }
}

/* A member that one invocation needs comes with all that are kept, and they mention what it does. */
static bool comes_along(const Prelude *p, const Made *made)
{
    const bool invoked = made->within != NO_MADE
                             ? p->made.at[made->within].kept
                             : made->item == NO_ITEM || p->items.at[made->item].kept;
    return !made->kept && invoked && p->items.at[made->macro].members.at[made->member].kept;
}

static void keep_used(Prelude *p)
{
    uint32_t done = 0;
    bool changed = true;
    while (changed) {
        changed = false;
        keep_wanted(p, &done);
        for (uint32_t i = 0; i < p->made.n; i++)
            if (comes_along(p, &p->made.at[i])) {
                keep_made(p, i);
                changed = true;
            }
    }
}

static void print_item(const Item *item, Text *out)
{
    if (!item->members.n) {
        tessi_text_addf(out, "%.*s\n", (int)item->n, item->text);
        return;
    }
    tessi_text_addf(out, "%.*s", (int)(item->members.at[0].text - item->text), item->text);
    VEC_FOREACH (const Member, member, &item->members)
        if (member->kept)
            tessi_text_addn(out, member->text, member->n);
    tessi_text_add(out, "\n");
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
        print_item(item, out);
    }
}

void tessi_prelude_used(const char *prelude, const char *program, Text *out)
{
    Arena *scratch = tessi_scratch_open(out->arena);
    Prelude p = { .arena = scratch };
    tessi_prelude_split(&p, prelude);
    tessi_prelude_define(&p);
    tessi_prelude_define_program(&p, program);
    keep_lines(&p);
    tessi_prelude_mention(&p, program, strlen(program));
    keep_used(&p);
    print(&p, out);
    tessi_text_add(out, "\n/* ---- The program ---- */\n");
    tessi_scratch_close(scratch);
}
