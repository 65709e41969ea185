/* Inside the pass `channels`: loops that treat all channels of their pixels alike.
 *
 *   pass_channels.c      which buffers are the channels of an image, and which loops change
 *   channels_match.c     whether a loop does the same to each channel
 *   channels_rewrite.c   the loops over elements, and images in between with their channels side by side */
#ifndef TESSERA_LOOP_CHANNELS_H
#define TESSERA_LOOP_CHANNELS_H

#include "loop/pass.h"

enum { CHANNELS_MOST = 8 };

/* An image in between, whose channels are buffers of their own. */
typedef struct ChannelGroup {
    uint32_t n;
    LBufferId of[CHANNELS_MOST];
    LBufferId all; /* what takes their place */
    bool dropped;  /* they stay as they are */
} ChannelGroup;

/* Variables of a loop: one of what is computed for the first channel, and the same of another. */
typedef struct ChannelTwins {
    LVarId first, other;
    uint32_t k;
} ChannelTwins;
typedef VEC(ChannelTwins) TwinList;

typedef struct ChannelLoop {
    LStmt *stmt;
    uint32_t n; /* channels that it treats alike; 0: it does not */
    TwinList twins;
} ChannelLoop;

/* Where a variable of the loop in hand is defined. */
typedef struct ChannelPlace {
    LStmt *stmt;
    uint32_t number; /* of the statement, in the order of the text */
} ChannelPlace;

typedef struct ChannelItem {
    LStmt *stmt;
    const LBlock *block;
} ChannelItem;
typedef VEC(ChannelItem) ChannelItemList;

typedef struct Channels {
    LoopProgram *p;
    Arena *scratch;
    uint32_t n_exprs, n_vars; /* of the program as it came, and so of the tables */
    VEC(ChannelGroup) groups;
    uint32_t *group; /* by LBufferId: number of its group, from 1 */
    VEC(ChannelLoop) loops;
    VEC(LBufferId) fixed; /* which other statements need as they are */
    bool changed;
    uint32_t *seen, stamp; /* by LExprId */

    /* The loop in hand. */
    LVarId x;
    uint32_t n;                        /* of its channels */
    ChannelItemList items;             /* its statements, in the order of the text */
    bool *varies;                      /* by LVarId: from point to point */
    ChannelPlace *place;               /* by LVarId */
    uint8_t *value_varies;             /* by LExprId, */
    uint32_t *value_seen, value_stamp; /* where the stamp says so */
    LExprId *twin_value;               /* by LExprId: of channel `k`, */
    uint32_t *twin_seen, twin_stamp;   /* where the stamp says so */
    uint32_t k;
    TwinList twins;
} Channels;

/* ---- pass_channels.c ---- */
/* The channels of the image that the buffer is one of; 0: of none. */
uint32_t tessi_channels_of(const Channels *c, LBufferId id);
bool tessi_channels_pair(Channels *c, LBufferId first, LBufferId b, uint32_t k, uint32_t n);
/* ---- channels_match.c ---- */
/* The channels that the loop treats alike, or 0; its variables that belong together. */
uint32_t tessi_channels_match(Channels *c, LStmt *loop, TwinList *twins);
/* Marks the variables that differ from point to point. */
void tessi_channels_note(Channels *c, LStmt *loop);
bool tessi_channels_varies(Channels *c, LExprId id);
/* ---- channels_rewrite.c ---- */
void tessi_channels_rewrite(Channels *c);

#endif
