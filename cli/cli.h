/* The command-line tool: what its files share. The tool sees the library only through tessera.h. */
#ifndef TESSERA_CLI_CLI_H
#define TESSERA_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tessera.h"

enum { EXIT_OK = 0, EXIT_DIAGNOSED = 1, EXIT_USAGE = 2 };

typedef enum CommandId {
#define COMMAND(id, name, letter, arguments, help, example) CMD_##id,
#include "cli/commands.def"
#undef COMMAND
    N_COMMANDS
} CommandId;

typedef enum Switch { SWITCH_AUTO, SWITCH_ALWAYS, SWITCH_NEVER } Switch;

/* The command line, taken apart. */
/* Values that say that there is none; names are owned. */
typedef struct Nodata {
    tess_constant *at;
    size_t n;
} Nodata;

typedef struct Team Team; /* team.h */

typedef struct CommandLine {
    CommandId command;
    Team *team;               /* that this process is one of; NULL: it is alone */
    bool keeps;               /* its images stay in the memory of the team (team_images.h) */
    const char *program;      /* path, or - */
    const char *program_text; /* instead of a file of that name; or NULL */
    const char **words;       /* INPUT and NAME=VALUE in order */
    size_t n_words;
    const char **outputs; /* -o, in order */
    char **names;         /* memory for outputs without their depth */
    int *depths;          /* of `-o FILE:DEPTH`, or else of --depth; one for each output */
    size_t n_outputs;
    tess_options options; /* plan and machine still empty: see paths */
    const char *plan_path, *machine_path, *dump, *video;
    const char *from_loops; /* --from=loops or loops:PASS: that word */
    int runs;
    bool audit;
    int side, plans; /* of audits; side 0: not said */
    bool has_plans;
    double seconds;
    double memory; /* bytes; 0: not said; -1: half of what is free, said */
    bool has_device, all_devices;
    bool regret;
    bool size, clear; /* of the cache */
    bool check;       /* of fmt */
    int page;         /* of stacks; 0: not chosen */
    int depth;        /* 8 or 16; 0: not said */
    bool scale, strict, resume;
    int tile; /* of TIFF; 0: strips */
    tess_compression compress;
    bool pyramid; /* and then there is a tile */
    bool no_metadata, no_orient, srgb;
    tess_typed *types; /* --type, in order; their names are owned */
    size_t n_types;
    Nodata nodata;        /* --nodata=VALUE, --nodata=NAME=VALUE */
    bool nodata_of_files; /* --nodata alone */
    bool gray, each_channel, drop_alpha, verify, time, json, json_diagnostics, verbose, quiet;
    bool says_first; /* --first */
    Switch color;
} CommandLine;

/* args.c: false after saying what is wrong, or after printing help; *status is the exit status then. */
bool cli_parse(int argc, char **argv, CommandLine *line, int *status);
void cli_free(CommandLine *line);

/* say.c: sentences on standard error */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
int cli_fail(const char *fmt, ...); /* "tessera: ..."; returns EXIT_DIAGNOSED */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void cli_warn(const char *fmt, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void cli_tell(const char *fmt, ...); /* what is neither: without "tessera: " */
/* Until the next call, what this thread has to say is kept, with the file that it is about in front of sentences that
 * do not name it. NULL: it is said at once again. */
typedef struct Said {
    char *text;  /* for standard error; owned */
    char *shown; /* for standard output; owned */
} Said;
void cli_collect(Said *said, const char *about);
const char *cli_collecting(void);                /* what it is about; NULL: nothing is kept */
void cli_say_collected(Said *said);              /* and empties it */
void cli_show(const char *text);                 /* on standard output, or to be kept */
void cli_note(void *user, const char *sentence); /* a warning, as tess_options.note */
void cli_say_json(bool json); /* sentences as diagnostics are: --diagnostics=json */
/* A sentence of the library about a file, with the file in front unless it is in the sentence, and what can be done
 * about it ("" or "; --gray makes it grey") behind. */
int cli_fail_about(const char *path, const char *sentence, const char *remedy);
void cli_show_diagnostics(const CommandLine *line, tess_diags *diags, bool warnings_too);
/* progress.c: one line on a terminal that says what takes long, from the first second on */
void cli_progress_start(const CommandLine *line);
void cli_progress_stop(void);
/* What is being done now, and with what: "reading", "photo.png". NULL: nothing that is worth a line. */
void cli_progress(const char *what, const char *about);
void cli_progress_phase(void *user, const char *what); /* as tess_options.phase */
void cli_progress_bar(const char *text); /* that, whatever is done, until cli_progress(NULL) */
void cli_progress_clear(void);           /* before anything else is written there */
void cli_progress_abandon(void);         /* from a handler of signals, before the end */

/* ending.c: signals that end the tool. Between cli_hold(NULL, 1) and cli_hold(NULL, -1) they wait
 * (tess_options.hold). */
void cli_catch_signals(void);
int cli_hold(void *user, int change);
bool cli_is_ending(void);
void cli_at_signal(void (*act)(void)); /* what a signal does at once, in its handler */

/* inputs.c: what a run is given */
typedef struct Inputs Inputs;
struct Inputs {
    tess_args *args;
    DLTensor **images;    /* one per input of the program, NULL where none; owned */
    tess_meta **meta;     /* likewise: what their files say besides the pixels */
    const Inputs *shared; /* bound too, and owned by others; or NULL */
    size_t n;
    bool has_pages; /* one of them is a stack */
    double read_ms;
};
/* With nothing bound, or what is bound to `shared` (may be NULL). False after saying why; to be freed then too. */
bool cli_inputs_new(tess_program *p, const Inputs *shared, Inputs *in);
void cli_inputs_free(Inputs *in);
/* The input that each word of the line is for: by name, else the next image. False after saying why there is none. */
bool cli_place_words(const CommandLine *line, const tess_program *p, size_t *input);
/* Reads a file for an image, which is in->images[input] then. False after saying why. */
bool cli_read_input(const CommandLine *line, Inputs *in, size_t input, const tess_info *info,
                    const char *path);
/* Binds a number, or reads a file and binds it. False after saying why. */
bool cli_bind(const CommandLine *line, tess_program *p, Inputs *in, size_t input,
              const char *value);
/* All words of the line, to new inputs, of which `p` may become an instance: the program for the types that they
 * have. */
bool cli_bind_words(const CommandLine *line, tess_program **p, Inputs *in);
/* The same of `n` words, each for its input. */
bool cli_bind_these(const CommandLine *line, tess_program **p, Inputs *in, const size_t *input,
                    const char *const *value, size_t n);
/* The same where input `other`, which has no value among these (NULL), will get images of this shape. */
bool cli_bind_beside(const CommandLine *line, tess_program **p, Inputs *in, const size_t *input,
                     const char *const *value, size_t n, size_t other, DLTensor *shape);
bool cli_check_page(const CommandLine *line, const Inputs *in); /* whether --page was of use */
bool cli_check_constants(const CommandLine *line, const tess_program *p);
bool cli_is_image(const tess_program *p, size_t input);
size_t cli_name_length(const char *word);     /* of NAME in NAME=VALUE; 0 when the word is a file */
const char *cli_word_value(const char *word); /* what stands behind the = */
bool cli_parse_number(const char *word, double *value);

/* nodata.c: values that say that there is none */
bool cli_add_nodata(CommandLine *line, const char *word); /* word: NULL for --nodata alone */
void cli_nodata_free(Nodata *nodata);
bool cli_check_nodata(const Nodata *nodata, const tess_program *p); /* the values can occur */
/* Says which results have a no-data value of their own. */
void cli_say_nodata(const Nodata *nodata, const tess_program *p);
/* --nodata alone: the values of the line, and those that its files say. */
bool cli_find_nodata(const CommandLine *line, const tess_program *p, Nodata *found);
/* Whether the file of an input says what was found; where not, after saying so. */
bool cli_same_nodata(const Nodata *found, const tess_program *p, const Inputs *in, size_t input,
                     const char *path);
/* False after saying that no pixel of the input, or no coefficient of the mask, read from `path` counts. */
bool cli_check_valid(const CommandLine *line, const Inputs *in, size_t input, const tess_info *info,
                     const char *path);
/* What is said twice and differently of an input: by its file, or by that and --nodata; and what counts. */
void cli_say_doubts(const CommandLine *line, const tess_meta *meta, const tess_info *info,
                    const char *path);
/* All points of a result hold its no-data value. */
bool cli_nothing_valid(const tess_info *result, const DLTensor *t);
void cli_add_result_nodata(const CommandLine *line, const tess_info *result,
                           tess_image_store *store);

/* any.c: types that inputs declared `any` have */
bool cli_is_open(const tess_program *p); /* a type is missing */
/* "uint16", "uint8x3", "photo:float", as --type takes them. False when it is none. */
bool cli_add_type(CommandLine *line, const char *word);
bool cli_check_types(const CommandLine *line, const tess_program *p); /* --type is of use */
/* The program for the images that have been read. False after saying why there is none. */
bool cli_instantiate(const CommandLine *line, tess_program **p, const Inputs *in);

/* session.c: a program and the inputs of a run, read from files */
typedef struct Session {
    char *folder, *text, *plan_text, *machine_text;
    tess_constant *constants;
    tess_program *compiled; /* owned */
    tess_program *program;  /* that, or its instance for what is bound */
    Inputs in;
    Nodata nodata; /* of --nodata alone: what files said */
} Session;
bool cli_compile(const CommandLine *line,
                 Session *s); /* the program alone; false after saying why */
/* The same, and binds inputs and numbers when `bind`, else looks at them. */
bool cli_open(const CommandLine *line, Session *s, bool bind);
void cli_close(Session *s);
char *cli_read_program(const char *path, size_t *n); /* likewise; what is no text is refused */
char *cli_read_text(const char *path,
                    size_t *n); /* whole file or standard input; NULL after saying why */

/* Whether the outputs can be written, as far as that can be known before; false after saying why not. */
bool cli_can_write(const char *const *outputs, size_t n);
char *cli_with_suffix(const char *path, const char *suffix); /* likewise */
char *cli_folder_of(const char *path); /* owned by the caller; NULL without memory */

/* job.c: one run of a program. Each false after saying why. */
typedef struct Job {
    tess_program *program;
    Inputs in;
    const char *const *outputs; /* where the results go, as many as on the line */
    tess_timing timing;         /* of all channels together */
    DLTensor **made; /* results put together of channels, owned; NULL: they are those of in.args */
} Job;
bool cli_run(const CommandLine *line, Job *job);
bool cli_result(const Job *job, size_t output, const DLTensor **t, tess_info *info);
void cli_job_clear(Job *job); /* what the run has made */

/* text.c: *text (NULL at first, freed by the caller) grows; without memory it stays */
void cli_append(char **text, const char *more);
void cli_append_json(char **text, const char *s); /* a string with its quotes */

/* numbers.c: results of one pixel, which are printed where no file is given for them */
size_t cli_n_numbers(const tess_program *p);
/* The number of the output on the line that a result goes to; SIZE_MAX: it is printed. */
size_t cli_output_of(const CommandLine *line, const tess_program *p, size_t result);
void cli_add_number(const CommandLine *line, const tess_info *info, const DLTensor *t, char **text);
void cli_print_numbers(const CommandLine *line, char *numbers); /* all that were added */

/* results.c: images to files */
/* Result `number` of the job goes to output number `output`. */
typedef bool WriteResult(const CommandLine *line, const Job *job, size_t number, size_t output,
                         const DLTensor *t, const tess_info *info, void *user);
/* Has each image written, until one cannot be, and prints those that are numbers and go to no file. */
bool cli_each_result(const CommandLine *line, const Job *job, WriteResult *write, void *user);
bool cli_write_results(const CommandLine *line, const Job *job, double *ms);
/* How output number `output` of the line is written, as the options say. */
void cli_init_store(const CommandLine *line, size_t output, tess_image_store *store);
/* What became of values in a file that was written; `doubt` is a sentence or empty. */
void cli_say_stored(const CommandLine *line, const char *path, const char *doubt,
                    const tess_image_store *store);
void cli_print_times(const tess_timing *t, double read_ms, double write_ms); /* --time */
/* What can be known to be wrong before a long run: as many outputs as results, no file twice (else EXIT_USAGE), and
 * their formats. Returns an exit status. */
int cli_check_outputs(const CommandLine *line, const tess_program *p);

int cli_check_counts(const CommandLine *line, const tess_program *p); /* the same but for formats */

/* video.c: whether one of the inputs is a video, and a run on all its frames; an exit status */
bool cli_is_video(const CommandLine *line);
int cli_run_video(const CommandLine *line, Session *s);

double cli_clock_ms(void);

/* metadata.c: what the file of a result says besides its pixels. `provenance` has 200 bytes. */
void cli_add_metadata(const CommandLine *line, const Job *job, size_t output,
                      tess_image_store *store, tess_geometry *geometry, char *provenance);

/* channels.c: colour */
DLTensor *cli_channel(const DLTensor *t,
                      int64_t channel); /* copy of one channel; NULL without memory */
DLTensor *cli_interleave(const DLTensor *const *plane, int64_t n);
DLTensor *cli_copy(const DLTensor *t); /* of an image without gaps; NULL: out of memory */

/* cmd_tune.c: prints the regret of the chosen plan and what the best plan does otherwise. */
bool cli_regret(const CommandLine *line, Session *s);

/* cmd_filters.c: the operator of that name; NULL after saying that there is none */
/* The filter that a word names, by its name or that of others; NULL: none. */
const char *cli_filter_of_word(const char *word);
const tess_operator *cli_find_operator(const tess_library *library, const char *name);

/* The commands. Each returns an exit status. */
int cmd_run(const CommandLine *line);
int cli_run_program(const CommandLine *line);         /* what cmd_run does */
int cli_run_one(const CommandLine *line, Session *s); /* of it, one run in memory */
int cli_main(int argc, char **argv, Team *team);      /* main.c: the tool; an exit status */
int cmd_check(const CommandLine *line);
int cmd_explain(const CommandLine *line);
int cmd_build(const CommandLine *line);
int cmd_bench(const CommandLine *line);
int cmd_tune(const CommandLine *line);
int cmd_machine(const CommandLine *line);
int cmd_apply(const CommandLine *line);
int cmd_filters(const CommandLine *line);
int cmd_watch(const CommandLine *line);
int cmd_fmt(const CommandLine *line);
int cmd_cache(const CommandLine *line);
int cmd_borders(const CommandLine *line);
int cmd_info(const CommandLine *line);

#endif
