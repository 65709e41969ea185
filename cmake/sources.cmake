# The sources by name: a new file is added here (tests/unit/test_layers.py compares the lists with the folders).
set(TESSERA_SOURCES
    src/analysis/analysis_cost.c src/analysis/analysis_footprint.c src/analysis/analysis_geometry.c
    src/analysis/analysis_indices.c
    src/analysis/part_drift.c src/analysis/part_find.c src/analysis/part_turns.c src/analysis/part_write.c
    src/analysis/analysis_low.c src/analysis/analysis_mask.c src/analysis/analysis_print.c
    src/analysis/analysis_range.c src/analysis/const_eval.c
    src/analysis/pass_bytes.c src/analysis/pass_common.c src/analysis/pass_copies.c
    src/analysis/pass_median.c src/analysis/pass_narrow.c src/analysis/pass_phases.c src/analysis/pass_pixels.c
    src/analysis/pass_same.c
    src/analysis/pass_short.c src/analysis/pass_whole.c src/analysis/passes.c
    src/analysis/shape.c
    src/api/args.c src/api/backend.c src/api/backend_c.c src/api/backend_cuda.c src/api/backend_interp.c
    src/api/backend_opencl.c
    src/api/backend_vm.c src/api/bind.c src/api/build.c src/api/cache.c src/api/compile.c src/api/convolve.c
    src/api/convolve_text.c src/api/device_image.c src/api/devices.c src/api/diags.c src/api/dump.c src/api/ends.c
    src/api/first.c src/api/format.c src/api/known.c
    src/api/general.c src/api/geometry.c
    src/api/gpu_backend.c src/api/gpu_call.c src/api/gpu_code.c src/api/gpu_context.c
    src/api/gpu_general.c src/api/gpu_image.c src/api/gpu_modules.c src/api/gpu_run.c
    src/api/gpu_strips.c src/api/guard.c src/api/image.c src/api/info.c src/api/instance.c
    src/api/library.c src/api/look.c src/api/meta.c src/api/module.c src/api/part.c
    src/api/part_apart.c src/api/part_fold.c src/api/part_lines.c src/api/part_pass.c
    src/api/part_reduce.c src/api/part_text.c src/api/passes.c src/api/reach.c
    src/api/rounds.c src/api/run.c src/api/shares.c
    src/api/shares_make.c src/api/stream.c
    src/api/time.c src/api/tune.c src/api/tune_c.c src/api/tune_gpu.c src/api/types.c src/api/variant.c
    src/api/video.c
    src/base/arena.c src/base/diag.c src/base/diag_render.c src/base/eval.c src/base/number.c src/base/rounding.c
    src/base/scalar.c src/base/text.c
    src/emit/c_calls.c src/emit/c_expr.c src/emit/c_join.c src/emit/c_names.c src/emit/c_negate.c src/emit/c_params.c
    src/emit/c_needs.c src/emit/c_parts.c src/emit/c_pixels.c src/emit/c_plan.c src/emit/c_program.c
    src/emit/c_selftest.c
    src/emit/c_sign.c src/emit/c_stmt.c src/emit/c_text.c src/emit/c_values.c src/emit/c_vector_expr.c
    src/emit/c_vector_uses.c src/emit/gpu_file.c src/emit/gpu_host.c src/emit/gpu_program.c src/emit/gpu_stmt.c
    src/emit/prelude.c src/emit/prelude_items.c src/emit/prelude_macros.c src/emit/target_c.c
    src/emit/target_cuda.c src/emit/target_opencl.c
    src/front/ast_print.c src/front/check_any.c src/front/check_apply.c src/front/check_border.c
    src/front/check_call.c
    src/front/check_const.c src/front/check_declared.c src/front/check_expr.c src/front/check_family.c
    src/front/check_function.c src/front/check_instance.c src/front/check_mask.c
    src/front/check_missing.c src/front/check_narrow.c src/front/check_op.c src/front/check_place.c
    src/front/check_program.c src/front/check_read.c
    src/front/check_scan.c src/front/check_scope.c src/front/check_statistic.c src/front/check_stmt.c
    src/front/check_turns.c src/front/check_type.c
    src/front/check_uncalled.c src/front/check_unknown.c src/front/check_used.c
    src/front/check_vector.c src/front/check_warn.c
    src/front/check_whole.c src/front/check_window.c src/front/format.c src/front/lex.c src/front/lex_number.c
    src/front/lower_expr.c
    src/front/lower_fill.c src/front/lower_holes.c src/front/lower_local.c src/front/lower_nodata.c
    src/front/lower_pass.c src/front/lower_place.c src/front/lower_program.c src/front/lower_read.c
    src/front/lower_shape.c src/front/lower_stage.c src/front/lower_static.c src/front/lower_valid.c
    src/front/lower_window.c src/front/lower_written.c
    src/front/parse.c src/front/parse_decl.c src/front/parse_define.c src/front/parse_expr.c src/front/parse_foreign.c
    src/front/parse_forma.c src/front/parse_list.c src/front/parse_stmt.c src/front/parse_token.c
    src/front/static_eval.c src/front/typed_print.c src/front/use_named.c
    src/graph/access.c src/graph/graph_affine.c src/graph/graph_build.c src/graph/graph_copy.c src/graph/graph_eval.c
    src/graph/graph_expr.c src/graph/graph_fold.c src/graph/graph_forms.c src/graph/graph_lex.c
    src/graph/graph_low_rank.c src/graph/graph_masks.c src/graph/graph_names.c src/graph/graph_network.c
    src/graph/graph_pass_constants.c src/graph/graph_product.c
    src/graph/graph_pass_inside.c src/graph/graph_pass_masks.c src/graph/graph_pass_rounding.c
    src/graph/graph_pass_turn.c
    src/graph/graph_pass_unroll.c src/graph/graph_print.c src/graph/graph_print_expr.c
    src/graph/graph_rank.c src/graph/graph_read.c
    src/graph/graph_read_expr.c src/graph/graph_read_size.c src/graph/graph_rewrite.c src/graph/graph_simplify.c
    src/graph/graph_size.c src/graph/graph_size_order.c src/graph/graph_sizes.c src/graph/graph_taps_find.c
    src/graph/graph_taps_fold.c src/graph/graph_taps_parts.c src/graph/graph_taps_runs.c
    src/graph/graph_transform.c src/graph/graph_verify.c src/graph/graph_verify_expr.c src/graph/graph_walk.c
    src/graph/graph_repeat.c src/graph/graph_repeat_find.c src/graph/graph_repeat_make.c
    src/graph/graph_repeat_print.c
    src/graph/graph_repeat_read.c src/graph/graph_repeat_time.c
    src/interp/graph_interp.c src/interp/graph_load.c src/interp/graph_reduce.c src/interp/graph_scan.c
    src/interp/graph_transform.c
    src/interp/loop_eval.c src/interp/loop_interp.c src/interp/loop_memory.c
    src/loop/channels_match.c src/loop/channels_rewrite.c
    src/loop/loop_bound.c src/loop/loop_build.c src/loop/loop_index.c src/loop/loop_interleave.c
    src/loop/loop_kernel.c
    src/loop/loop_lanes.c src/loop/loop_layout.c src/loop/loop_lex.c src/loop/loop_needs.c src/loop/loop_passes.c
    src/loop/loop_print.c src/loop/loop_read.c src/loop/loop_read_expr.c
    src/loop/loop_read_lanes.c src/loop/loop_read_repeat.c src/loop/loop_repeat.c src/loop/loop_same.c
    src/loop/loop_share.c
    src/loop/loop_simplify.c src/loop/loop_template.c src/loop/loop_types.c src/loop/loop_verify.c
    src/loop/loop_verify_lanes.c src/loop/lower.c src/loop/lower_bins.c src/loop/lower_blocks.c src/loop/lower_carry.c
    src/loop/lower_coord.c src/loop/lower_copies.c src/loop/lower_copy.c src/loop/lower_dots.c
    src/loop/lower_product.c src/loop/lower_expr.c
    src/loop/lower_facts.c src/loop/lower_few.c src/loop/lower_fourier.c src/loop/lower_frame.c
    src/loop/lower_gather.c
    src/loop/lower_general.c src/loop/lower_given.c src/loop/lower_group.c
    src/loop/lower_histogram.c src/loop/lower_job.c
    src/loop/lower_kernel.c
    src/loop/lower_line.c src/loop/lower_lines.c src/loop/lower_march.c src/loop/lower_median.c
    src/loop/lower_median_kernel.c src/loop/lower_nest.c src/loop/lower_pack.c src/loop/lower_patch.c
    src/loop/lower_pieces.c src/loop/lower_point.c src/loop/lower_points.c
    src/loop/lower_read.c src/loop/lower_reduce.c
    src/loop/lower_repeat.c src/loop/lower_rolling.c src/loop/lower_rows.c src/loop/lower_scan.c
    src/loop/lower_scope.c
    src/loop/lower_select.c src/loop/lower_size.c src/loop/lower_spectrum.c src/loop/lower_staged.c
    src/loop/lower_state.c src/loop/lower_runs.c src/loop/lower_strip.c src/loop/lower_sums.c src/loop/lower_taps.c
    src/loop/lower_tile.c src/loop/lower_tiles.c src/loop/lower_transform.c src/loop/lower_vectors.c
    src/loop/lower_warp.c src/loop/lower_warp_edges.c src/loop/lower_warp_frame.c
    src/loop/lower_warp_give.c src/loop/lower_warp_images.c src/loop/lower_window.c
    src/loop/lower_words.c src/loop/dots_match.c src/loop/pass.c src/loop/pass_channels.c
    src/loop/pass_both.c src/loop/pass_chains.c src/loop/pass_dots.c src/loop/pass_lanes.c src/loop/pass_late.c
    src/loop/pass_near.c src/loop/pass_pairs.c src/loop/pass_rows.c
    src/loop/pass_sampled.c src/loop/pass_slide.c src/loop/pass_turn.c src/loop/sampled_values.c
    src/loop/turn_square.c src/loop/vector_check.c
    src/loop/vector_index.c src/loop/vector_steps.c src/loop/vector_value.c
    src/plan/machine_print.c src/plan/machine_read.c src/plan/needs.c src/plan/plan_adaptive.c src/plan/plan_banks.c
    src/plan/plan_bins.c
    src/plan/plan_base.c src/plan/plan_bound.c src/plan/plan_carry.c
    src/plan/plan_choose.c src/plan/plan_copy.c src/plan/plan_cost.c src/plan/plan_edits.c
    src/plan/plan_estimate.c src/plan/plan_explain.c
    src/plan/plan_extent.c src/plan/plan_frame.c src/plan/plan_fuse.c src/plan/plan_gpu.c src/plan/plan_gpu_cost.c
    src/plan/plan_gpu_explain.c src/plan/plan_gpu_memory.c
    src/plan/plan_gpu_reads.c src/plan/plan_gpu_tile.c src/plan/plan_group_cost.c
    src/plan/plan_groups.c
    src/plan/plan_keep.c src/plan/plan_knobs.c src/plan/plan_levels.c
    src/plan/plan_lines.c src/plan/plan_isp.c src/plan/plan_median.c
    src/plan/plan_median_gpu.c src/plan/plan_naive.c src/plan/plan_neighbours.c src/plan/plan_pairs.c
    src/plan/plan_product.c
    src/plan/plan_passes.c src/plan/plan_preset.c src/plan/plan_print.c src/plan/plan_random.c src/plan/plan_read.c
    src/plan/plan_read_levels.c src/plan/plan_read_words.c src/plan/plan_region.c src/plan/plan_rolling.c
    src/plan/plan_rolling_cost.c src/plan/plan_rows.c src/plan/plan_runs.c
    src/plan/plan_scheme.c src/plan/plan_shared.c src/plan/plan_stream.c
    src/plan/plan_staged.c src/plan/plan_tile_copy.c src/plan/plan_tile_cost.c src/plan/plan_time.c
    src/plan/plan_transform.c
    src/plan/plan_turns.c src/plan/plan_verify.c
    src/plan/plan_verify_levels.c src/plan/plan_verify_tile.c src/plan/plan_warp.c src/plan/plan_warp_cost.c
    src/plan/plan_warp_rules.c
    src/plan/plan_window.c
    src/rt/build.c
    src/rt/bytes.c src/rt/cache.c src/rt/cache_folder.c src/rt/cc.c
    src/rt/cc_pieces.c src/rt/cpu.c src/rt/cuda.c src/rt/cuda_build.c
    src/rt/cuda_load.c src/rt/cuda_stage.c src/rt/device.c src/rt/detached.c
    src/rt/device_describe.c src/rt/digest.c src/rt/env.c src/rt/file.c
    src/rt/image.c src/rt/image_colour.c src/rt/image_convert.c src/rt/image_decode.c src/rt/image_file.c
    src/rt/image_gdal.c src/rt/image_jpeg.c
    src/rt/image_jxl.c
    src/rt/image_meta.c src/rt/image_npy.c src/rt/image_pfm.c src/rt/image_png.c src/rt/image_pnm.c
    src/rt/image_pseudo.c src/rt/image_raw.c src/rt/image_rows.c src/rt/image_stack.c src/rt/image_text.c
    src/rt/image_tiff.c
    src/rt/image_tiff_meta.c src/rt/image_tiff_plain.c src/rt/image_tiff_pyramid.c src/rt/image_tiff_tiles.c
    src/rt/image_turn.c src/rt/image_webp.c src/rt/input.c src/rt/kernel.c src/rt/library.c src/rt/machine_detect.c
    src/rt/machine_lines.c
    src/rt/machine_measure.c src/rt/machine_others.c src/rt/machine_vectors.c src/rt/memory.c src/rt/meta.c
    src/rt/meta_doubts.c src/rt/meta_ifd.c src/rt/meta_map.c src/rt/module.c src/rt/opencl.c src/rt/opencl_build.c
    src/rt/opencl_load.c
    src/rt/output.c src/rt/process.c src/rt/stream_read.c
    src/rt/stream_write.c src/rt/thread.c src/rt/video.c
    src/vm/vm_exec.c src/vm/vm_expr.c src/vm/vm_index.c src/vm/vm_kernels_any.c src/vm/vm_kernels_avx2.c
    src/vm/vm_kernels_avx512.c src/vm/vm_loops.c src/vm/vm_pick.c src/vm/vm_print.c src/vm/vm_run.c src/vm/vm_slots.c
    src/vm/vm_stmt.c src/vm/vm_sum.c src/vm/vm_team.c)
# Algorithms in the loop language, which the library carries as texts.
set(TESSERA_TEMPLATES
    src/loop/templates/general.loops src/loop/templates/median.loops src/loop/templates/median_kernel.loops
    src/loop/templates/bins.loops src/loop/templates/product.loops
    src/loop/templates/reduce.loops src/loop/templates/scan.loops)
set(TESSERA_CLI_SOURCES
    cli/any.c cli/args.c cli/audit.c cli/batch.c cli/bench_device.c cli/chain.c cli/channels.c cli/cmd_apply.c
    cli/cmd_bench.c cli/cmd_build.c cli/cmd_cache.c cli/cmd_check.c cli/cmd_explain.c cli/cmd_files.c
    cli/cmd_filters.c
    cli/cmd_fmt.c cli/cmd_info.c cli/cmd_run.c cli/cmd_tune.c cli/cmd_watch.c cli/ending.c cli/help.c cli/help_files.c
    cli/inputs.c cli/job.c cli/main.c cli/metadata.c cli/nodata.c cli/numbers.c cli/pattern.c cli/progress.c
    cli/results.c cli/say.c cli/session.c cli/strips.c cli/strips_plan.c cli/strips_resume.c cli/strips_rounds.c
    cli/strips_team.c cli/strips_turns.c cli/tables.c cli/team.c cli/team_images.c cli/text.c cli/video.c)
# The processes that it is run as.
set(TESSERA_PROCESS_SOURCES cli/alone.c cli/mpi.c)
set(TESSERA_PYTHON_SOURCES
    python/src/memory.c python/src/module.c python/src/program.c python/src/run.c python/src/spline.c
    python/src/tensor.c)
