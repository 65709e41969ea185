// The jobs of the bench in Halide, each with a family of schedules whose parameters come from halide_schedules.txt.
//   halide_jobs JOB K HEIGHT THREADS FILE.o [name=value ...]     writes an object whose function is `job(in, weights, out)`
// Inputs are extended by BoundaryConditions::repeat_edge. Stages in between are computed beyond the edge as far as they are read,
// so harris, canny and night differ from Tessera (which extends every stage by its own rule) in a few pixels along the edges.
#include <Halide.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using namespace Halide;
using std::string;

static Var x("x"), y("y"), c("c"), x_tile("x_tile"), y_strip("y_strip"), x_in("x_in"), y_in("y_in"), x_block("x_block"),
    y_block("y_block");

struct Schedule {
    std::map<string, string> values;
    int height = 0, threads = 1;
    string text(const char *name, const char *otherwise) const
    {
        auto i = values.find(name);
        return i == values.end() ? otherwise : i->second;
    }
    int number(const char *name, int otherwise) const
    {
        string t = text(name, "");
        return t == "share" ? height / threads : t.empty() ? otherwise : atoi(t.c_str());
    }
    bool stores(const char *stage) const { return ("," + text("store", "") + ",").find("," + string(stage) + ",") != string::npos; }
};

struct Job {
    ImageParam in, weights{ Float(32), 1, "weights" };
    Func source, out{ "result" };
    std::vector<Func> stored; // stages that the schedule keeps, in order
    int k;
    bool scheduled = false;
};

// ---- Building blocks ----
static Expr gradient_x(Func f)
{
    return f(x + 1, y - 1) - f(x - 1, y - 1) + 2 * (f(x + 1, y) - f(x - 1, y)) + f(x + 1, y + 1) - f(x - 1, y + 1);
}
static Expr gradient_y(Func f)
{
    return f(x - 1, y + 1) - f(x - 1, y - 1) + 2 * (f(x, y + 1) - f(x, y - 1)) + f(x + 1, y + 1) - f(x + 1, y - 1);
}
static Expr around(Func f)
{
    return f(x - 1, y - 1) + f(x, y - 1) + f(x + 1, y - 1) + f(x - 1, y) + f(x, y) + f(x + 1, y) + f(x - 1, y + 1) + f(x, y + 1)
        + f(x + 1, y + 1);
}

// Chains of stencils: full rows or column tiles, cut into strips that the threads share; the stored stages slide down the strip or
// are computed for each tile. `rows` output rows are computed together, `unroll` rows of the stored stages.
static void schedule_chain(Job &j, const Schedule &s, int natural, bool planes)
{
    int vec = s.number("vec", natural), stage_vec = s.number("stage_vec", vec), strip = s.number("strip", 32);
    int rows = s.number("rows", 1), tile = s.number("tile", 0), unroll = s.number("unroll", 1);
    LoopLevel store, compute;
    j.out.split(y, y_strip, y, strip);
    if (tile)
        j.out.split(x, x_tile, x, tile);
    j.out.split(y, y, y_in, rows).split(x, x, x_in, vec).vectorize(x_in).unroll(y_in);
    if (tile)
        j.out.reorder(x_in, y_in, x, y, x_tile, y_strip);
    else
        j.out.reorder(x_in, y_in, x, y, y_strip);
    if (planes) {
        j.out.fuse(y_strip, c, c).parallel(c);
        store = LoopLevel(j.out, c);
    } else {
        j.out.parallel(y_strip);
        store = LoopLevel(j.out, y_strip);
    }
    compute = LoopLevel(j.out, y);
    if (tile)
        store = LoopLevel(j.out, x_tile);
    if (tile && s.text("slide", "yes") == "no")
        compute = store;
    for (Func f : j.stored) {
        Var sx = f.args()[0], sy = f.args()[1], inner("inner");
        f.store_at(store).compute_at(compute).vectorize(sx, stage_vec, TailStrategy::RoundUp);
        if (s.number("align_bounds", 0))
            f.align_bounds(sx, stage_vec);
        if (unroll > 1 && f.name().find("repeat_edge") == string::npos)
            f.split(sy, sy, inner, unroll, TailStrategy::RoundUp).reorder(inner, sx, sy).unroll(inner);
    }
}

// Convolutions: a block of vectors and rows is accumulated in registers.
static void schedule_block(Job &j, const Schedule &s, Func sum, const std::vector<RVar> &loops)
{
    int vec = s.number("vec", 16), columns = s.number("columns", 2), rows = s.number("rows", 4);
    j.out.split(y, y_strip, y, s.number("strip", 32)).split(x, x_tile, x, s.number("tile", 256));
    j.out.split(x, x_block, x_in, columns * vec).split(y, y_block, y_in, rows);
    j.out.reorder(x_in, y_in, x_block, y_block, x_tile, y_strip).vectorize(x_in, vec).unroll(x_in).unroll(y_in).parallel(y_strip);
    sum.compute_at(j.out, x_block).store_in(MemoryType::Register).vectorize(x, vec).unroll(x).unroll(y);
    std::vector<VarOrRVar> order = { x, y };
    order.insert(order.end(), loops.begin(), loops.end());
    sum.update().reorder(order).vectorize(x, vec).unroll(x).unroll(y);
    if (s.number("unroll", 0) > 1)
        sum.update().unroll(loops[0], s.number("unroll", 0));
    if (s.text("source", "") == "tile")
        j.source.compute_at(j.out, x_tile).vectorize(j.source.args()[0], 16, TailStrategy::RoundUp);
    j.scheduled = true;
}

// ---- Jobs on floats ----
static void blur(Job &j, const Schedule &)
{
    Func rows("rows");
    Expr third = 1.0f / 3;
    rows(x, y) = (j.source(x - 1, y) + j.source(x, y) + j.source(x + 1, y)) * third;
    j.out(x, y) = (rows(x, y - 1) + rows(x, y) + rows(x, y + 1)) * third;
    j.stored.push_back(rows);
}

static void sobel(Job &j, const Schedule &)
{
    Func gx("gx"), gy("gy");
    gx(x, y) = gradient_x(j.source);
    gy(x, y) = gradient_y(j.source);
    j.out(x, y) = sqrt(gx(x, y) * gx(x, y) + gy(x, y) * gy(x, y));
}

static void laplace5(Job &j, const Schedule &)
{
    Func f = j.source;
    j.out(x, y) = 16.0f * f(x, y) - 2.0f * (f(x - 1, y) + f(x + 1, y) + f(x, y - 1) + f(x, y + 1))
        - (f(x - 2, y) + f(x + 2, y) + f(x, y - 2) + f(x, y + 2) + f(x - 1, y - 1) + f(x + 1, y - 1) + f(x - 1, y + 1) + f(x + 1, y + 1));
}

static void gauss3(Job &j, const Schedule &s)
{
    Func sums("sums");
    sums(x, y) = 0.25f * (j.source(x - 1, y) + j.source(x + 1, y)) + 0.5f * j.source(x, y);
    j.out(x, y) = 0.25f * (sums(x, y - 1) + sums(x, y + 1)) + 0.5f * sums(x, y);
    if (s.stores("sums"))
        j.stored.push_back(sums);
}

static void harris(Job &j, const Schedule &s)
{
    Func smooth("smooth"), step("step"), gx("gx"), gy("gy"), xx("xx"), xy("xy"), yy("yy"), sxx("sxx"), sxy("sxy"), syy("syy");
    smooth(x, y) = j.source(x - 1, y) + 2 * j.source(x, y) + j.source(x + 1, y);
    step(x, y) = j.source(x + 1, y) - j.source(x - 1, y);
    gy(x, y) = smooth(x, y + 1) - smooth(x, y - 1);
    gx(x, y) = step(x, y - 1) + 2 * step(x, y) + step(x, y + 1);
    xx(x, y) = gx(x, y) * gx(x, y);
    xy(x, y) = gx(x, y) * gy(x, y);
    yy(x, y) = gy(x, y) * gy(x, y);
    sxx(x, y) = around(xx);
    sxy(x, y) = around(xy);
    syy(x, y) = around(yy);
    Expr trace = sxx(x, y) + syy(x, y);
    j.out(x, y) = sxx(x, y) * syy(x, y) - sxy(x, y) * sxy(x, y) - 0.04f * trace * trace;
    if (s.stores("sums"))
        j.stored.insert(j.stored.end(), { smooth, step });
    if (s.stores("gradients"))
        j.stored.insert(j.stored.end(), { gx, gy });
    if (s.stores("products"))
        j.stored.insert(j.stored.end(), { xx, xy, yy });
}

static void canny(Job &j, const Schedule &s)
{
    Func p2("p2"), p1("p1"), p0("p0"), e2("e2"), e1("e1"), calm("calm"), gx("gx"), gy("gy"), m("m"), f = j.source;
    e2(x, y) = f(x - 2, y) + f(x + 2, y);
    e1(x, y) = f(x - 1, y) + f(x + 1, y);
    p2(x, y) = 2.f * e2(x, y) + 4.f * e1(x, y) + 5.f * f(x, y);
    p1(x, y) = 4.f * e2(x, y) + 9.f * e1(x, y) + 12.f * f(x, y);
    p0(x, y) = 5.f * e2(x, y) + 12.f * e1(x, y) + 15.f * f(x, y);
    calm(x, y) = (p2(x, y - 2) + p2(x, y + 2) + p1(x, y - 1) + p1(x, y + 1) + p0(x, y)) * (1.0f / 159);
    gx(x, y) = gradient_x(calm);
    gy(x, y) = gradient_y(calm);
    m(x, y) = abs(gx(x, y)) + abs(gy(x, y));
    Expr ax = abs(gx(x, y)), ay = abs(gy(x, y)), falling = select(gx(x, y) < 0, -gy(x, y), gy(x, y)) > 0;
    Expr rival = select(ay <= 0.41421356f * ax, max(m(x - 1, y), m(x + 1, y)), ay > 2.4142136f * ax, max(m(x, y - 1), m(x, y + 1)),
                        falling, max(m(x - 1, y - 1), m(x + 1, y + 1)), max(m(x + 1, y - 1), m(x - 1, y + 1)));
    j.out(x, y) = select(m(x, y) > rival, m(x, y), 0.0f);
    if (s.stores("sums"))
        j.stored.insert(j.stored.end(), { p2, p1, p0 });
    j.stored.push_back(calm);
    if (s.stores("gradients"))
        j.stored.insert(j.stored.end(), { gx, gy });
    if (s.stores("m"))
        j.stored.push_back(m);
}

static void unsharp(Job &j, const Schedule &)
{
    Func rows("rows"), smooth("smooth"), f = j.source;
    float w[4], total = 0;
    for (int i = 0; i < 4; i++)
        total += (i ? 2 : 1) * (w[i] = expf(-(float)(i * i) / 4.5f));
    for (float &v : w)
        v /= total;
    Expr r = w[0] * f(x, y, c);
    for (int i = 1; i < 4; i++)
        r = r + w[i] * (f(x - i, y, c) + f(x + i, y, c));
    rows(x, y, c) = r;
    Expr v = w[0] * rows(x, y, c);
    for (int i = 1; i < 4; i++)
        v = v + w[i] * (rows(x, y - i, c) + rows(x, y + i, c));
    smooth(x, y, c) = v;
    j.out(x, y, c) = j.in(x, y, c) + 0.7f * (j.in(x, y, c) - smooth(x, y, c));
    j.stored.push_back(rows);
    j.in.dim(2).set_bounds(0, 3);
    j.out.bound(c, 0, 3);
}

static void bilateral(Job &j, const Schedule &s)
{
    Buffer<float> near(13, 13);
    for (int b = -6; b <= 6; b++)
        for (int a = -6; a <= 6; a++)
            near(a + 6, b + 6) = expf(-(float)(a * a + b * b) / 18.0f);
    RDom r(0, 13, 0, 13, "r");
    Func sum("sum");
    Expr v = j.source(x + r.x - 6, y + r.y - 6), d = v - j.source(x, y), e = -50.0f * d * d;
    Expr w = near(r.x, r.y) * (s.text("exp", "exact") == "fast" ? fast_exp(e) : exp(e));
    sum(x, y) = Tuple(0.f, 0.f);
    sum(x, y) = Tuple(sum(x, y)[0] + w * v, sum(x, y)[1] + w);
    j.out(x, y) = sum(x, y)[0] / sum(x, y)[1];
    schedule_block(j, s, sum, { r.x, r.y });
}

static void night(Job &j, const Schedule &s)
{
    Func before = j.source;
    for (int step = 1; step <= 8; step *= 2) {
        Func pass("pass" + std::to_string(step));
        Expr weights = 4.0f, values = 4.0f * before(x, y);
        for (int b = -1; b <= 1; b++)
            for (int a = -1; a <= 1; a++) {
                if (!a && !b)
                    continue;
                Expr v = before(x + a * step, y + b * step), d = v - before(x, y);
                Expr e = -100.0f * d * d, w = (a && b ? 1.0f : 2.0f) * (s.text("exp", "exact") == "fast" ? fast_exp(e) : exp(e));
                weights = weights + w;
                values = values + w * v;
            }
        pass(x, y) = values / weights;
        j.stored.push_back(pass);
        before = pass;
    }
    j.out(x, y) = s.text("exp", "exact") == "fast" ? fast_pow(before(x, y), 0.6f) : pow(before(x, y), 0.6f);
}

static void conv2d(Job &j, const Schedule &s)
{
    int r = j.k / 2;
    Func sum("sum");
    RDom columns(0, j.k, "k");
    sum(x, y) = 0.f;
    Expr e = sum(x, y);
    for (int b = 0; b < j.k; b++) // the rows of the mask in the expression, its columns in a loop
        e = e + j.weights(columns + b * j.k) * j.source(x + columns - r, y + b - r);
    sum(x, y) = e;
    j.out(x, y) = sum(x, y);
    schedule_block(j, s, sum, { columns });
}

static void separable(Job &j, const Schedule &s)
{
    int r = j.k / 2, vec = 16, columns = s.number("columns", 1), row_columns = s.number("row_columns", 4);
    Func rows("rows"), row_sum("row_sum"), column_sum("column_sum");
    RDom k(0, j.k, "k");
    bool row_loop = s.text("row", "unrolled") == "loop", column_loop = s.text("column", "unrolled") == "loop";
    Expr e = j.weights(0) * j.source(x - r, y);
    for (int a = 1; a < j.k; a++)
        e = e + j.weights(a) * j.source(x + a - r, y);
    row_sum(x, y) = 0.f;
    row_sum(x, y) += j.weights(k) * j.source(x + k - r, y);
    rows(x, y) = row_loop ? row_sum(x, y) : e;
    e = j.weights(j.k) * rows(x, y - r);
    for (int b = 1; b < j.k; b++)
        e = e + j.weights(j.k + b) * rows(x, y + b - r);
    column_sum(x, y) = 0.f;
    column_sum(x, y) += j.weights(j.k + k) * rows(x, y + k - r);
    j.out(x, y) = column_loop ? column_sum(x, y) : e;

    j.out.split(y, y_strip, y, s.number("strip", 128)).split(y, y_block, y_in, s.number("rows", 8)).split(x, x_block, x_in, columns * vec);
    j.out.reorder(x_in, y_in, x_block, y_block, y_strip).vectorize(x_in, vec).unroll(x_in).unroll(y_in).parallel(y_strip);
    rows.store_at(j.out, y_strip).compute_at(j.out, y_block);
    if (column_loop) {
        column_sum.compute_at(j.out, x_block).store_in(MemoryType::Register).vectorize(x, vec).unroll(x).unroll(y);
        column_sum.update().reorder(x, y, k).vectorize(x, vec).unroll(x).unroll(y);
        if (s.number("column_unroll", 0) > 1)
            column_sum.update().unroll(k, s.number("column_unroll", 0));
    }
    Var outer("outer"), inner("inner");
    rows.split(x, outer, inner, row_columns * vec, TailStrategy::RoundUp).vectorize(inner, vec).unroll(inner);
    if (row_loop) {
        row_sum.compute_at(rows, outer).store_in(MemoryType::Register).vectorize(x, vec).unroll(x);
        row_sum.update().reorder(x, y, k).vectorize(x, vec).unroll(x);
        if (s.number("row_unroll", 0) > 1)
            row_sum.update().unroll(k, s.number("row_unroll", 0));
    }
    if (s.text("source", "") == "row")
        j.source.compute_at(rows, y).vectorize(j.source.args()[0], 16, TailStrategy::RoundUp);
    j.scheduled = true;
}

// ---- Jobs on bytes ----
static Expr wide(Func f, Expr a, Expr b) { return cast<uint16_t>(f(a, b)); }
static Expr u16(int v) { return cast<uint16_t>(v); }

static void blur_u8(Job &j, const Schedule &)
{
    Func rows("rows"), f = j.source;
    rows(x, y) = cast<uint8_t>((wide(f, x - 1, y) + wide(f, x, y) + wide(f, x + 1, y)) / u16(3));
    j.out(x, y) = cast<uint8_t>((wide(rows, x, y - 1) + wide(rows, x, y) + wide(rows, x, y + 1)) / u16(3));
    j.stored.push_back(rows);
}

static void box3_u8(Job &j, const Schedule &)
{
    Func rows("rows"), f = j.source;
    rows(x, y) = wide(f, x - 1, y) + wide(f, x, y) + wide(f, x + 1, y);
    j.out(x, y) = cast<uint8_t>((rows(x, y - 1) + rows(x, y) + rows(x, y + 1) + u16(4)) / u16(9));
    j.stored.push_back(rows);
}

static void gauss5_u8(Job &j, const Schedule &)
{
    Func rows("rows"), f = j.source;
    rows(x, y) = wide(f, x - 2, y) + wide(f, x + 2, y) + u16(4) * (wide(f, x - 1, y) + wide(f, x + 1, y)) + u16(6) * wide(f, x, y);
    j.out(x, y) = cast<uint8_t>((rows(x, y - 2) + rows(x, y + 2) + u16(4) * (rows(x, y - 1) + rows(x, y + 1)) + u16(6) * rows(x, y) + u16(128)) >> u16(8));
    j.stored.push_back(rows);
}

static void gauss159_u8(Job &j, const Schedule &)
{
    Func p2("p2"), p1("p1"), p0("p0"), e2("e2"), e1("e1"), f = j.source;
    e2(x, y) = wide(f, x - 2, y) + wide(f, x + 2, y);
    e1(x, y) = wide(f, x - 1, y) + wide(f, x + 1, y);
    p2(x, y) = u16(2) * e2(x, y) + u16(4) * e1(x, y) + u16(5) * wide(f, x, y);
    p1(x, y) = u16(4) * e2(x, y) + u16(9) * e1(x, y) + u16(12) * wide(f, x, y);
    p0(x, y) = u16(5) * e2(x, y) + u16(12) * e1(x, y) + u16(15) * wide(f, x, y);
    j.out(x, y) = cast<uint8_t>((p2(x, y - 2) + p2(x, y + 2) + p1(x, y - 1) + p1(x, y + 1) + p0(x, y) + u16(79)) / u16(159));
    j.stored.insert(j.stored.end(), { p2, p1, p0 });
}

static void sobel_u8(Job &j, const Schedule &)
{
    Func f("as16");
    f(x, y) = cast<int16_t>(j.source(x, y));
    Expr two = cast<int16_t>(2);
    Expr gx = f(x + 1, y - 1) - f(x - 1, y - 1) + two * (f(x + 1, y) - f(x - 1, y)) + f(x + 1, y + 1) - f(x - 1, y + 1);
    Expr gy = f(x - 1, y + 1) - f(x - 1, y - 1) + two * (f(x, y + 1) - f(x, y - 1)) + f(x + 1, y + 1) - f(x + 1, y - 1);
    Expr a = cast<float>(gx), b = cast<float>(gy);
    j.out(x, y) = cast<uint8_t>(cast<int32_t>(min(sqrt(a * a + b * b) + 0.5f, 255.f)));
}

struct Entry {
    const char *name;
    void (*make)(Job &, const Schedule &);
};
static const Entry entries[] = {
    { "blur", blur }, { "sobel", sobel }, { "laplace5", laplace5 }, { "gauss3", gauss3 }, { "harris", harris }, { "canny", canny },
    { "unsharp", unsharp }, { "bilateral", bilateral }, { "night", night }, { "conv2d", conv2d }, { "separable", separable },
    { "blur_u8", blur_u8 }, { "box3_u8", box3_u8 }, { "gauss5_u8", gauss5_u8 }, { "gauss159_u8", gauss159_u8 }, { "sobel_u8", sobel_u8 },
};

// What the caller promises: whole vectors in every row, on aligned memory.
static void promise(Job &j, int natural)
{
    for (auto dims : { OutputImageParam(j.in), j.out.output_buffer() }) {
        dims.set_host_alignment(64);
        dims.dim(0).set_min(0).set_extent(dims.dim(0).extent() / natural * natural);
        dims.dim(1).set_min(0).set_stride(dims.dim(1).stride() / natural * natural);
    }
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return fprintf(stderr, "usage: halide_jobs JOB K HEIGHT THREADS FILE.o [name=value ...]\n"), 1;
    string name = argv[1];
    Schedule s;
    s.height = atoi(argv[3]);
    s.threads = atoi(argv[4]);
    for (int i = 6; i < argc; i++) {
        string t = argv[i];
        s.values[t.substr(0, t.find('='))] = t.substr(t.find('=') + 1);
    }
    bool bytes = name.size() > 3 && name.substr(name.size() - 3) == "_u8", planes = name == "unsharp";
    int natural = bytes ? 64 : 16;
    Job j;
    j.k = atoi(argv[2]);
    j.in = ImageParam(bytes ? UInt(8) : Float(32), planes ? 3 : 2, "in");
    Region edges = { { j.in.dim(0).min(), j.in.dim(0).extent() }, { j.in.dim(1).min(), j.in.dim(1).extent() } };
    j.source = BoundaryConditions::repeat_edge(j.in, edges);
    if (s.stores("source"))
        j.stored.push_back(j.source);
    for (const Entry &e : entries) {
        if (name != e.name)
            continue;
        e.make(j, s);
        if (!j.scheduled)
            schedule_chain(j, s, natural, planes);
        promise(j, natural);
        Pipeline(j.out).compile_to({ { OutputFileType::object, argv[5] } }, { j.in, j.weights }, "job", get_host_target());
        return 0;
    }
    return fprintf(stderr, "halide_jobs: no job '%s'\n", argv[1]), 1;
}
