/* The identity of the build at hand, from the note that linkers write into what they make. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr under -std=c11 */
#endif
#include "rt/build.h"

#if defined(__linux__) && defined(__ELF__)
#include <elf.h>
#include <link.h>
#include <string.h>

typedef struct Search {
    uintptr_t address; /* of something in the build */
    RtBuild *build;
    bool found;
} Search;

static size_t padded(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

/* The notes of one segment. */
static void read_notes(Search *s, const uint8_t *at, size_t n)
{
    ElfW(Nhdr) note;
    while (n >= sizeof note) {
        memcpy(&note, at, sizeof note);
        const size_t name = padded(note.n_namesz),
                     whole = sizeof note + name + padded(note.n_descsz);
        if (whole > n)
            return;
        const uint8_t *value = at + sizeof note + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU"
            && memcmp(at + sizeof note, "GNU", sizeof "GNU") == 0 && note.n_descsz >= 8
            && note.n_descsz <= sizeof s->build->at) {
            memcpy(s->build->at, value, note.n_descsz);
            s->build->n = note.n_descsz;
            s->found = true;
            return;
        }
        at += whole;
        n -= whole;
    }
}

static int look(struct dl_phdr_info *object, size_t size, void *user)
{
    Search *s = user;
    bool is_ours = false;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        is_ours =
            is_ours
            || (p->p_type == PT_LOAD && s->address - object->dlpi_addr - p->p_vaddr < p->p_memsz);
    }
    for (int i = 0; is_ours && i < object->dlpi_phnum && !s->found; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            read_notes(s, (const uint8_t *)(object->dlpi_addr + p->p_vaddr), p->p_memsz);
    }
    return is_ours;
}

bool tessi_build_identity(RtBuild *build)
{
    static const char here = 0;
    Search s = { (uintptr_t)&here, build, false };
    dl_iterate_phdr(look, &s);
    return s.found;
}
#else
bool tessi_build_identity(RtBuild *build)
{
    build->n = 0;
    return false;
}
#endif
