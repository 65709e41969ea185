/* Inside lowering: the kinds of groups, and who makes their loops. */
#ifndef TESSERA_LOOP_LOWER_GROUP_H
#define TESSERA_LOOP_LOWER_GROUP_H

#include "loop/lower_kernel.h"

/* ---- lower_group.c ---- */
void tessi_lower_group(Lower *l, const PlanGroup *group);
/* ---- lower_point.c ---- */
/* Every point of the nest by a thread of its own; block[0] threads along the last dimension. Reads are tested
 * everywhere, or only in blocks or warps that do not lie inside. */
void tessi_kernel_points(Lower *l, const Nest *nest, const uint16_t *block, Split split,
                         const PlanGroup *copies);
/* A function that copies a stage. */
/* lower_repeat.c: the memory of all images that repeats carry. */
void tessi_repeat_rings(Lower *l);
/* The groups of a repeat from group `begin` of the plan on, each by `add`; returns the group behind them. */
uint32_t tessi_lower_repeat(Lower *l, uint32_t number, uint32_t begin,
                            void (*add)(Lower *l, const PlanGroup *group));
void tessi_lower_copy(Lower *l, StageId from, LBufferId to, const char *name, const char *comment);
/* ---- lower_tiles.c, lower_frame.c ---- */
/* A block computes a tile of the members after its passes, which are in shared memory; or, of a group without passes,
 * of a nest. `part` distinguishes the kernels of a group. */
void tessi_kernel_tiles(Lower *l, const PlanGroup *group, const Nest *nest, const char *part);
/* The kernels of the frame of a group, from the points inside on. */
void tessi_kernel_frame(Lower *l, const PlanGroup *group, const Frame *frame);
/* ---- lower_warp.c ---- */
/* A warp goes down the rows of a tile of the members, what it computes of the passes in the registers of its
 * threads. */
void tessi_kernel_warps(Lower *l, const PlanGroup *group);
/* ---- lower_rolling.c ---- */
/* A thread goes down the rows of pixels, and adds each to the sums of all the rows of the result that read it, or of
 * those that it has. */
void tessi_kernel_sums(Lower *l, const Nest *nest, const PlanGroup *group);
/* ---- lower_transform.c ---- */
void tessi_lower_transform(Lower *l, const PlanGroup *group);
/* ---- lower_spectrum.c ---- */
void tessi_kernel_transform(Lower *l, const PlanGroup *group);
/* ---- lower_general.c ---- */
/* Adds the parameters of general code, when all buffers are there. */
void tessi_general_interface(Lower *l);
/* The group's sum; false when it has none. */
bool tessi_lower_general(Lower *l, const PlanGroup *group);
/* ---- lower_median.c ---- */
void tessi_lower_median(Lower *l, const PlanGroup *group);
/* ---- lower_median_kernel.c ---- */
void tessi_kernel_median(Lower *l, const PlanGroup *group);
/* ---- lower_product.c ---- */
void tessi_kernel_product(Lower *l, const PlanGroup *group);
/* ---- lower_tile.c ---- */
void tessi_lower_tiles(Lower *l, const PlanGroup *group);
/* ---- lower_reduce.c ---- */
void tessi_lower_reduction(Lower *l, const PlanGroup *group);
/* ---- lower_histogram.c ---- */
void tessi_lower_histogram(Lower *l, const PlanGroup *group);
/* ---- lower_scan.c ---- */
void tessi_lower_scan(Lower *l, const PlanGroup *group);

#endif
