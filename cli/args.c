/* Taking the command line apart, from the tables options.def and commands.def. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/tables.h"

enum { LONG_ONLY = 256 }; /* getopt's value of option k is LONG_ONLY + k */

static bool usage(int *status, const char *fmt, const char *what)
{
    char sentence[1000];
    snprintf(sentence, sizeof sentence, fmt, what);
    cli_fail("%s; see tessera --help", sentence);
    *status = EXIT_USAGE;
    return false;
}

static bool find_command(const char *name, CommandId *command)
{
    for (int c = 0; c < N_COMMANDS; c++) {
        if (strcmp(cli_commands[c].name, name) == 0) {
            *command = (CommandId)c;
            return true;
        }
    }
    return false;
}

/* A choice among words: its number, or -1. */
static int choice(const char *word, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

enum { MOST_NUMBER = 1000000 };

static bool whole_number(const char *word, int least, int *out)
{
    char *end;
    errno = 0;
    long n = strtol(word, &end, 10);
    if (errno || end == word || *end || n < least || n > MOST_NUMBER)
        return false;
    *out = (int)n;
    return true;
}

/* "0", "0,1" or "all", of which the target decides how many that are. */
static bool read_devices(const char *word, CommandLine *line)
{
    tess_options *o = &line->options;
    char number[16];
    line->has_device = true;
    line->all_devices = strcmp(word, "all") == 0;
    o->n_devices = 0;
    while (!line->all_devices) {
        const size_t n = strcspn(word, ",");
        if (n >= sizeof number || o->n_devices == TESS_MAX_DEVICES)
            return false;
        memcpy(number, word, n);
        number[n] = 0;
        if (!whole_number(number, 0, &o->devices[o->n_devices++]))
            return false;
        if (!word[n])
            break;
        word += n + 1;
    }
    o->device = o->n_devices ? o->devices[0] : 0;
    return true;
}

static void count_devices(tess_options *o)
{
    char *text;
    for (o->n_devices = 0; o->n_devices < TESS_MAX_DEVICES; o->n_devices++) {
        if (tess_device_text(o->target, o->n_devices, &text, NULL, 0) != TESS_OK)
            break;
        tess_text_free(text);
        o->devices[o->n_devices] = o->n_devices;
    }
}

/* The same of targets, which the library knows. */
enum { MOST_TARGETS = 16 };
static const char *const *target_words(const char *words[MOST_TARGETS])
{
    int n = 0;
    while (n + 1 < MOST_TARGETS && (words[n] = tess_target_name((tess_target)n)))
        n++;
    words[n] = NULL;
    return words;
}

/* The words of an option; NULL: it takes something else. */
static const char *const *words_of(OptionId k, const char *targets[MOST_TARGETS])
{
    return k == OPT_TARGET ? target_words(targets) : cli_words(k);
}

/* "800M", in bytes; K, M, G and T are powers of 1024. */
static bool parse_size(const char *word, double *bytes)
{
    static const char units[] = "KMGT";
    char *end;
    *bytes = strtod(word, &end);
    const char *unit = *end ? strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end) : NULL;
    if (end == word || (*end && (!unit || end[1])) || !(*bytes > 0 && *bytes < 1e15))
        return false;
    for (long k = unit ? unit - units + 1 : 0; k > 0; k--)
        *bytes *= 1024;
    return *bytes >= 1;
}

/* What can stand behind an option: "a, b or c", or of numbers their range. */
static const char *possible(OptionId k, char *text, size_t size)
{
    const char *targets[MOST_TARGETS];
    const char *const *words = words_of(k, targets);
    size_t used = 0;
    text[0] = '\0';
    if (k == OPT_TYPE) {
        snprintf(text, size, "a type of the language, as uint16, uint8x3 or photo:float");
        return text;
    }
    if (k == OPT_NODATA) {
        snprintf(text, size, "a number, nan, or NAME=NUMBER");
        return text;
    }
    if (k == OPT_TILE) {
        snprintf(text, size, "a multiple of 16 up to 4096");
        return text;
    }
    if (k == OPT_MEMORY) {
        snprintf(text, size, "a size as 512K, 800M, 1.5G or 2T, or half (of what is free)");
        return text;
    }
    if (!words) {
        snprintf(text, size,
                 k == OPT_DEVICE ? "all, or whole numbers from %d to %d with commas between them"
                                 : "a whole number from %d to %d",
                 k == OPT_DEVICE || k == OPT_PLANS ? 0 : 1, MOST_NUMBER);
        return text;
    }
    for (int i = 0; words[i]; i++) {
        const char *between = i == 0 ? "" : words[i + 1] ? ", " : " or ";
        const int n = snprintf(text + used, size - used, "%s%s", between, words[i]);
        used += n > 0 && (size_t)n < size - used ? (size_t)n : 0;
    }
    return text;
}

/* "--target=cuda and --target=opencl" */
static const char *targets_with_device(char *text, size_t size)
{
    const char *words[MOST_TARGETS];
    size_t used = 0;
    target_words(words);
    for (int i = 0; words[i]; i++) {
        if (!tess_target_has_device((tess_target)i))
            continue;
        const int n =
            snprintf(text + used, size - used, "%s--target=%s", used ? " and " : "", words[i]);
        used += n > 0 && (size_t)n < size - used ? (size_t)n : 0;
    }
    return text;
}

/* An option that takes one of some words, of which this is number n. */
static void apply_choice(CommandLine *line, OptionId k, int n)
{
    switch (k) {
    case OPT_TARGET: line->options.target = (tess_target)n; break;
    case OPT_FP: line->options.fp = (tess_fp)n; break;
    case OPT_GENERAL: line->options.general = (tess_general)n; break;
    case OPT_EFFORT: line->options.effort = (tess_effort)n; break;
    case OPT_FIRST:
        line->options.first = (tess_first)n;
        line->says_first = true;
        break;
    case OPT_COLOR: line->color = (Switch)n; break;
    case OPT_DIAGNOSTICS:
        line->json_diagnostics = n == 1;
        cli_say_json(n == 1);
        break;
    case OPT_DIALECT: line->options.forma = n == 1; break;
    case OPT_COMPRESS: line->compress = (tess_compression)n; break;
    case OPT_DEPTH: line->depth = atoi(cli_words(OPT_DEPTH)[n]); break;
    default: break;
    }
}

static bool start_from(CommandLine *line, const char *word)
{
    enum { GRAPH_TEXT = 2 };
    const bool graph = strcmp(word, "graph") == 0;
    if (graph)
        line->options.forma = GRAPH_TEXT;
    else
        line->from_loops = word;
    return graph || strcmp(word, "loops") == 0 || strncmp(word, "loops:", 6) == 0;
}

/* Options that are said or not, and where the line keeps that. */
static bool *flag_of(CommandLine *line, OptionId k)
{
    switch (k) {
    case OPT_SCALE: return &line->scale;
    case OPT_PYRAMID: return &line->pyramid;
    case OPT_RESUME: return &line->resume;
    case OPT_STRICT: return &line->strict;
    case OPT_NO_METADATA: return &line->no_metadata;
    case OPT_SRGB: return &line->srgb;
    case OPT_NO_ORIENT: return &line->no_orient;
    case OPT_CHECK: return &line->check;
    case OPT_SIZE: return &line->size;
    case OPT_CLEAR: return &line->clear;
    case OPT_REGRET: return &line->regret;
    case OPT_AUDIT: return &line->audit;
    case OPT_GRAY: return &line->gray;
    case OPT_EACH_CHANNEL: return &line->each_channel;
    case OPT_DROP_ALPHA: return &line->drop_alpha;
    case OPT_VERIFY: return &line->verify;
    case OPT_TIME: return &line->time;
    case OPT_JSON: return &line->json;
    case OPT_VERBOSE: return &line->verbose;
    case OPT_QUIET: return &line->quiet;
    default: return NULL;
    }
}

/* Puts one option into the line; false when its argument makes no sense. */
static bool apply(CommandLine *line, OptionId k, const char *word)
{
    const char *targets[MOST_TARGETS];
    const char *const *words = words_of(k, targets);
    int n = words ? choice(word, words) : 0;
    if (words && n >= 0)
        apply_choice(line, k, n);
    if (words)
        return n >= 0;
    bool *flag = flag_of(line, k);
    if (flag)
        *flag = true;
    switch (k) {
    case OPT_OUTPUT: line->outputs[line->n_outputs++] = word; break;
    case OPT_PAGE: return whole_number(word, 1, &line->page);
    case OPT_TILE:
        return whole_number(word, 16, &line->tile) && line->tile % 16 == 0 && line->tile <= 4096;
    case OPT_VIDEO: line->video = word; break;
    case OPT_DEVICE: return read_devices(word, line);
    case OPT_DEVICE_MEMORY:
        if (!whole_number(word, 1, &n))
            return false;
        line->options.device_bytes = (uint64_t)n << 20;
        break;
    case OPT_MEMORY:
        line->memory = -1; /* as where nothing is said; to be explained */
        return strcmp(word, "half") == 0 || parse_size(word, &line->memory);
    case OPT_THREADS: return whole_number(word, 1, &line->options.threads);
    case OPT_SECONDS:
        if (!whole_number(word, 1, &n))
            return false;
        line->seconds = n;
        break;
    case OPT_RUNS: return whole_number(word, 1, &line->runs);
    case OPT_NODATA: return cli_add_nodata(line, word);
    case OPT_BORDER: line->options.border = word; break;
    case OPT_PLAN: line->plan_path = word; break;
    case OPT_MACHINE: line->machine_path = word; break;
    case OPT_DUMP: line->dump = word; break;
    case OPT_FROM: return start_from(line, word);
    case OPT_TYPE: return cli_add_type(line, word);
    case OPT_TIME_PASSES: line->dump = "times"; break;
    case OPT_SIDE: return whole_number(word, 1, &line->side);
    case OPT_PLANS: line->has_plans = true; return whole_number(word, 0, &line->plans);
    default: break;
    }
    return true;
}

static void fill_getopt(struct option *longs, char *shorts)
{
    *shorts++ = '-'; /* words in their place, so that options may stand between them */
    *shorts++ = ':';
    for (int k = 0; k < N_OPTIONS; k++) {
        bool argument = cli_options[k].argument[0] != 0;
        const int takes = cli_options[k].argument[0] == '[' ? optional_argument
                          : argument                        ? required_argument
                                                            : no_argument;
        longs[k] = (struct option){ cli_options[k].name, takes, NULL, LONG_ONLY + k };
        if (cli_options[k].brief) {
            *shorts++ = cli_options[k].brief;
            if (argument)
                *shorts++ = ':';
        }
    }
    longs[N_OPTIONS] = (struct option){ 0 };
    *shorts = '\0';
}

/* An option's name behind one dash, which would be taken for letters: -threads. */
static bool is_name_with_one_dash(const char *word)
{
    const size_t n = word[0] == '-' ? strcspn(word + 1, "=") : 0;
    for (int k = 0; n && k < N_OPTIONS; k++)
        if (strlen(cli_options[k].name) == n && strncmp(cli_options[k].name, word + 1, n) == 0)
            return true;
    return false;
}

static bool no_such_option(int *status, const char *word)
{
    char sentence[600];
    const bool lacks_dash = is_name_with_one_dash(word);
    snprintf(sentence, sizeof sentence, "I do not know the option %.250s%s%.250s", word,
             lacks_dash ? "; did you mean -" : "", lacks_dash ? word : "");
    return usage(status, "%s", sentence);
}

static bool no_such_command(int *status, const char *word)
{
    char sentence[600];
    const bool is_file = access(word, F_OK) == 0;
    const char *filter = is_file ? NULL : cli_filter_of_word(word);
    snprintf(sentence, sizeof sentence, "there is no command '%.250s'%s%.250s", word,
             is_file  ? "; to run that file: tessera run "
             : filter ? "; for the filter: tessera apply "
                      : "",
             is_file  ? word
             : filter ? filter
                      : "");
    return usage(status, "%s", sentence);
}

static OptionId option_of(int value)
{
    if (value >= LONG_ONLY)
        return (OptionId)(value - LONG_ONLY);
    for (int k = 0; k < N_OPTIONS; k++)
        if (cli_options[k].brief == value)
            return (OptionId)k;
    return N_OPTIONS;
}

/* Takes the depth off names as x.png:16, where what is left is a name that can be written. */
static void split_depths(CommandLine *line)
{
    for (size_t i = 0; i < line->n_outputs; i++) {
        const char *path = line->outputs[i], *colon = strrchr(path, ':');
        const int n = colon ? choice(colon + 1, cli_words(OPT_DEPTH)) : -1;
        line->depths[i] = line->depth;
        line->names[i] = n >= 0 ? strndup(path, (size_t)(colon - path)) : NULL;
        if (line->names[i] && tess_image_can_write(line->names[i], NULL, 0) == TESS_OK) {
            line->outputs[i] = line->names[i];
            line->depths[i] = atoi(cli_words(OPT_DEPTH)[n]);
        }
    }
}

/* Options and words behind the command. False when that is all: help, or something said. */
static bool read_options(int argc, char **argv, CommandLine *line, int *status)
{
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_name_with_one_dash(argv[i]))
            return no_such_option(status, argv[i]);
    struct option longs[N_OPTIONS + 1];
    char shorts[2 * N_OPTIONS + 3];
    fill_getopt(longs, shorts);
    opterr = 0;
    optind = 2;
    for (int value, at = optind; (value = getopt_long(argc, argv, shorts, longs, NULL)) != -1;
         at = optind) {
        if (value == 1) { /* a word */
            line->words[line->n_words++] = optarg;
            continue;
        }
        if (value == ':')
            return usage(status, "%s needs an argument", argv[at]);
        if (value == '?')
            return no_such_option(status, argv[at]);
        OptionId k = option_of(value);
        if (k == OPT_HELP) {
            cli_print_command_help(line->command);
            return false;
        }
        if (k == OPT_VERSION) {
            printf("tessera %s\n", tess_version());
            return false;
        }
        if (!cli_takes(line->command, k))
            return usage(status, "this command takes no --%s", cli_options[k].name);
        if (!apply(line, k, optarg)) {
            char words[200];
            cli_fail("--%s takes %s, not '%s'; see tessera --help", cli_options[k].name,
                     possible(k, words, sizeof words), optarg);
            *status = EXIT_USAGE;
            return false;
        }
    }
    for (; optind < argc; optind++) /* after -- */
        line->words[line->n_words++] = argv[optind];
    return true;
}

/* Nobody waits for a compiler who did not say so, where the result comes sooner without. */
static bool choose_first(CommandLine *line, int *status)
{
    const char *said = getenv("TESSERA_FIRST");
    const int n = said && *said ? choice(said, cli_words(OPT_FIRST)) : TESS_FIRST_AUTO;
    if (line->says_first || line->verify || !cli_takes(line->command, OPT_FIRST)
        || line->command == CMD_BENCH)
        return true;
    if (n < 0)
        return usage(status, "TESSERA_FIRST is wait, now or auto, not '%.200s'", said);
    line->options.first = (tess_first)n;
    return true;
}

static bool make_room(CommandLine *line, size_t n)
{
    line->words = calloc(n, sizeof *line->words);
    line->outputs = calloc(n, sizeof *line->outputs);
    line->names = calloc(n, sizeof *line->names);
    line->depths = calloc(n, sizeof *line->depths);
    line->types = calloc(n, sizeof *line->types);
    line->nodata.at = calloc(n, sizeof *line->nodata.at);
    return line->words && line->outputs && line->names && line->depths && line->types
           && line->nodata.at;
}

/* Whether the line asks for help or the version alone, which is printed then. */
static bool only_asks(int argc, char **argv, CommandLine *line, int *status)
{
    const char *first = argv[1];
    const bool help = strcmp(first, "help") == 0;
    if (help && argc > 2 && strcmp(argv[2], "files") == 0)
        cli_print_formats();
    else if (help && argc > 2 && find_command(argv[2], &line->command))
        cli_print_command_help(line->command);
    else if (help && argc > 2)
        no_such_command(status, argv[2]);
    else if (help || strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0)
        cli_print_help();
    else if (strcmp(first, "--version") == 0)
        printf("tessera %s\n", tess_version());
    else
        return false;
    return true;
}

/* Options that others demand or exclude. */
static bool options_agree(CommandLine *line, int *status)
{
    char known[200];
    const bool device = tess_target_has_device(line->options.target);
    if (line->options.device_bytes && !device)
        return usage(status, "--device-memory is for %s", targets_with_device(known, sizeof known));
    if ((line->all_devices || line->options.n_devices > 1) && !device)
        return usage(status, "several devices are for %s",
                     targets_with_device(known, sizeof known));
    if (line->all_devices)
        count_devices(&line->options);
    if (line->pyramid && !line->tile)
        line->tile = 256;
    if (!line->audit && (line->side || line->has_plans))
        return usage(status, "%s", "--side and --plans are for --audit");
    if (line->size && line->clear)
        return usage(status, "%s", "--size and --clear are two things to do");
    return true;
}

/* The words behind the command, as the table of commands says what they are. */
static bool take_words(CommandLine *line, int *status)
{
    const char *arguments = cli_commands[line->command].arguments;
    if (strncmp(arguments, "PROGRAM", 7) == 0) {
        if (!line->n_words)
            return usage(status, "which program? tessera %s PROGRAM",
                         cli_commands[line->command].name);
        line->program = line->words[0];
        line->words++;
        line->n_words--;
    } else if (line->command == CMD_INFO && !line->n_words) {
        return usage(status, "%s", "which files? tessera info FILE ...");
    } else if (line->n_words && !arguments[0]) {
        return usage(status, "I do not know what to do with '%s'", line->words[0]);
    }
    const bool takes_files = line->command != CMD_CHECK && line->command != CMD_BUILD;
    for (size_t i = 0; !takes_files && i < line->n_words; i++)
        if (!cli_name_length(line->words[i]))
            return usage(status, "this command takes one program, and no file '%s' besides",
                         line->words[i]);
    return true;
}

bool cli_parse(int argc, char **argv, CommandLine *line, int *status)
{
    memset(line, 0, sizeof *line);
    tess_options_init(&line->options);
    *status = EXIT_OK;
    if (!make_room(line, (size_t)argc + 1)) {
        *status = cli_fail("out of memory");
        return false;
    }
    if (argc < 2)
        return usage(status, "%s", "say what to do");
    if (only_asks(argc, argv, line, status))
        return false;
    if (!find_command(argv[1], &line->command))
        return no_such_command(status, argv[1]);
    if (!read_options(argc, argv, line, status) || !choose_first(line, status))
        return false;

    line->options.note = line->quiet ? NULL : cli_note;
    line->options.hold = cli_hold;
    line->options.phase = cli_progress_phase;
    if (cli_commands[line->command].letter == cli_commands[CMD_RUN].letter)
        split_depths(line);
    return options_agree(line, status) && take_words(line, status);
}

void cli_free(CommandLine *line)
{
    if (line->program) /* words was moved past the program */
        line->words--;
    free(line->words);
    free(line->outputs);
    for (size_t i = 0; line->names && i < line->n_outputs; i++)
        free(line->names[i]);
    free(line->names);
    free(line->depths);
    for (size_t i = 0; i < line->n_types; i++)
        free((char *)line->types[i].name);
    free(line->types);
    cli_nodata_free(&line->nodata);
}
