/* Inside the loop interpreter: buffers with their shadows. */
#ifndef TESSERA_INTERP_LOOP_MEMORY_H
#define TESSERA_INTERP_LOOP_MEMORY_H

#include "interp/interp.h"
#include "loop/loop.h"

/* Who touched an element during one execution of a parallel loop: the number of an iteration + 1, 0 = nobody, MANY. */
typedef struct Touch {
    uint32_t stamp; /* of the execution that the others belong to */
    uint32_t writer, reader, adder;
} Touch;

/* The shadow of a buffer for the parallel loops at one depth. */
typedef struct TouchLevel {
    Touch *at; /* one for each element; NULL = none yet */
    uint64_t execution;
    uint32_t life, stamp;
} TouchLevel;

typedef struct LoopBuffer LoopBuffer;
struct LoopBuffer {
    const LBuffer *buffer;
    int64_t size[LOOP_MAX_DIMS], stride[LOOP_MAX_DIMS]; /* bytes */
    int64_t bytes;                                      /* of an element's type */
    int64_t lanes; /* of an element; an index of elements that are vectors has the lane behind it */
    uint64_t n;
    /* HELD: one for each thread of a block, and whose is meant; else 1 and 0. */
    uint64_t copies, copy;
    uint64_t n_copy; /* elements of a copy */
    unsigned char *data;
    void *owned;      /* what to free: TEMP and LOCAL */
    uint32_t *stored; /* by element: the life in which it was stored; NULL for INPUT and TABLE */
    uint32_t life;    /* a LOCAL has a new one each time it comes into being */
    TouchLevel level[LOOP_MAX_NESTING];
    /* Of an image whose channels side by side are a buffer too: that one, which has the shadows of both, and how many
     * they are. NULL: its own. */
    LoopBuffer *flat;
    uint32_t channels;
};

/* A parallel or SIMD loop that is being executed. */
typedef struct ActiveLoop {
    uint64_t execution; /* differs from every other one */
    uint32_t iteration; /* counts from 1 */
} ActiveLoop;

/* SAME: what is stored there already */
typedef enum TouchKind { TOUCH_READ, TOUCH_WRITE, TOUCH_SAME, TOUCH_ADD } TouchKind;

/* Memory and shadow for a buffer whose sizes and copies are set. False when memory is short. */
bool tessi_loop_buffer_make(LoopBuffer *b);
void tessi_loop_buffer_free(LoopBuffer *b);
/* The element's number, and where it is; -1 when an index is outside. */
static inline int64_t tessi_loop_buffer_element(const LoopBuffer *b, const int64_t *index,
                                                unsigned char **at)
{
    int64_t element = 0, offset = 0;
    for (int d = 0; d < b->buffer->n_dims; d++) {
        if (index[d] < 0 || index[d] >= b->size[d])
            return -1;
        element = element * b->size[d] + index[d];
        offset += index[d] * b->stride[d];
    }
    if (b->lanes > 1) {
        element = element * b->lanes + index[b->buffer->n_dims];
        offset += index[b->buffer->n_dims] * b->bytes;
    }
    *at = b->data + offset + (int64_t)(b->copy * b->n_copy) * b->bytes;
    return element + (int64_t)(b->copy * b->n_copy);
}
/* The buffer that has the shadow of the element, and the element's number there. */
static inline LoopBuffer *tessi_loop_buffer_shadow(const LoopBuffer *b, int64_t *element)
{
    if (!b->flat)
        return (LoopBuffer *)b;
    *element = *element * b->channels + b->buffer->channel;
    return b->flat;
}
/* Whether the element was stored in the life of the buffer; notes that it is. Not of INPUT and TABLE. */
static inline bool tessi_loop_buffer_is_stored(const LoopBuffer *b, int64_t element)
{
    const LoopBuffer *shadow = tessi_loop_buffer_shadow(b, &element);
    return shadow->stored[element] == shadow->life;
}
static inline void tessi_loop_buffer_note_store(LoopBuffer *b, int64_t element)
{
    LoopBuffer *shadow = tessi_loop_buffer_shadow(b, &element);
    shadow->stored[element] = shadow->life;
}
/* Notes the touch in the loops around it. Returns the depth of a loop of which another iteration touched the element
 * in a way that does not agree, -1 when there is none, -2 when memory is short. */
int tessi_loop_buffer_touch_in(LoopBuffer *b, int64_t element, TouchKind kind,
                               const ActiveLoop *loops, int n_loops, uint32_t *next_stamp);
static inline int tessi_loop_buffer_touch(LoopBuffer *b, int64_t element, TouchKind kind,
                                          const ActiveLoop *loops, int n_loops,
                                          uint32_t *next_stamp)
{
    return n_loops ? tessi_loop_buffer_touch_in(b, element, kind, loops, n_loops, next_stamp) : -1;
}

#endif
