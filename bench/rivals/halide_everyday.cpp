// Jobs of bench/everyday in Halide, each with a schedule written by hand and under Halide's autoschedulers.
//   halide_everyday JOB HOW THREADS IN.. OUT..     HOW: hand, or the name of an autoscheduler (Mullapudi2016, Adams2019)
// Inputs are NumPy files, and so are the results. Prints the milliseconds of the quickest batch. Sums are in the order that the
// programs write; results differ from ours by roundings alone, and along edges where a stage in between would follow a rule.
#include <Halide.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <dlfcn.h>

using namespace Halide;
using std::string;
using std::vector;

typedef Runtime::Buffer<> Image;

// ---- NumPy files: dimensions are the other way round in Halide ----
struct Kind {
    const char *descr;
    halide_type_t type;
};
static const Kind kinds[] = { { "<f4", halide_type_t(halide_type_float, 32) }, { "|u1", halide_type_t(halide_type_uint, 8) },
                              { "<u2", halide_type_t(halide_type_uint, 16) },  { "<i2", halide_type_t(halide_type_int, 16) },
                              { "<i4", halide_type_t(halide_type_int, 32) } };

static void fail(const string &why)
{
    fprintf(stderr, "halide_everyday: %s\n", why.c_str());
    exit(1);
}

static Image read(const string &path)
{
    std::ifstream file(path, std::ios::binary);
    vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (bytes.size() < 10)
        fail("no image in " + path);
    size_t n = (uint8_t)bytes[8] | (size_t)(uint8_t)bytes[9] << 8;
    string head(&bytes[10], n);
    vector<int> sizes;
    size_t at = head.find('(', head.find("shape")) + 1, end = head.find(')', at);
    for (char *p = &head[at]; p < &head[end];) {
        sizes.insert(sizes.begin(), (int)strtol(p, &p, 10));
        while (p < &head[end] && (*p == ',' || *p == ' '))
            p++;
    }
    for (const Kind &k : kinds)
        if (head.find(k.descr) != string::npos) {
            Image image(k.type, sizes);
            memcpy(image.data(), &bytes[10 + n], image.size_in_bytes());
            return image;
        }
    fail("no type that is known in " + path);
    return Image();
}

static void write(const string &path, Image &image)
{
    string descr, shape;
    for (const Kind &k : kinds)
        if (k.type == image.type())
            descr = k.descr;
    for (int d = image.dimensions(); d-- > 0;)
        shape += std::to_string(image.dim(d).extent()) + ", ";
    string head = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    head.resize((head.size() + 11 + 63) / 64 * 64 - 11, ' ');
    head += '\n';
    std::ofstream file(path, std::ios::binary);
    file.write("\x93NUMPY\x01\x00", 8);
    file.put((char)(head.size() & 255)).put((char)(head.size() >> 8));
    file << head;
    file.write((const char *)image.data(), (std::streamsize)image.size_in_bytes());
}

// ---- Jobs ----
static Var x("x"), y("y"), z("z"), c("c"), xo("xo"), yo("yo"), xi("xi"), yi("yi"), t("t");

struct Job {
    vector<ImageParam> in;
    vector<Func> out;
    vector<vector<int>> sizes; // of the results
    std::function<void()> schedule;
};

static ImageParam &input(Job &j, Type type, int dims)
{
    j.in.push_back(ImageParam(type, dims, "in" + std::to_string(j.in.size())));
    return j.in.back();
}

static Job transpose_f32(const vector<Image> &in)
{
    Job j;
    ImageParam a = input(j, Float(32), 2);
    Func out("out"), block("block");
    block(x, y) = a(y, x);
    out(x, y) = block(x, y);
    j.out = { out };
    j.sizes = { { in[0].dim(1).extent(), in[0].dim(0).extent() } };
    j.schedule = [=]() mutable {
        out.tile(x, y, xo, yo, xi, yi, 16, 16).parallel(yo).vectorize(xi, 16).unroll(yi);
        block.compute_at(out, xo).vectorize(y, 16).unroll(x).reorder_storage(y, x);
    };
    return j;
}

static Job gauss9_u8(const vector<Image> &in)
{
    static const int g[9] = { 1, 8, 28, 56, 70, 56, 28, 8, 1 };
    Job j;
    ImageParam a = input(j, UInt(8), 2);
    Func f = BoundaryConditions::mirror_interior(a), rows("rows"), out("out");
    Expr r = cast<uint16_t>(0), s = cast<uint32_t>(32768);
    for (int k = 0; k < 9; k++)
        r += cast<uint16_t>(g[k]) * cast<uint16_t>(f(x + k - 4, y));
    rows(x, y) = r;
    for (int k = 0; k < 9; k++)
        s += cast<uint32_t>(g[k]) * cast<uint32_t>(rows(x, y + k - 4));
    out(x, y) = cast<uint8_t>(s >> 16);
    j.out = { out };
    j.sizes = { { in[0].dim(0).extent(), in[0].dim(1).extent() } };
    j.schedule = [=]() mutable {
        out.split(y, yo, yi, 128).parallel(yo).vectorize(x, 32);
        rows.store_at(out, yo).compute_at(out, yi).fold_storage(y, 16).vectorize(x, 32);
        f.compute_at(rows, y).vectorize(f.args()[0], 64);
    };
    return j;
}

static Job sobel_i16(const vector<Image> &in)
{
    Job j;
    ImageParam a = input(j, UInt(8), 2);
    Func f = BoundaryConditions::repeat_edge(a), w("w"), across("across"), down("down");
    w(x, y) = cast<int16_t>(f(x, y));
    Expr two = cast<int16_t>(2);
    across(x, y) = w(x + 1, y - 1) + two * w(x + 1, y) + w(x + 1, y + 1) - w(x - 1, y - 1) - two * w(x - 1, y) - w(x - 1, y + 1);
    down(x, y) = w(x - 1, y + 1) + two * w(x, y + 1) + w(x + 1, y + 1) - w(x - 1, y - 1) - two * w(x, y - 1) - w(x + 1, y - 1);
    j.out = { across, down };
    j.sizes.assign(2, { in[0].dim(0).extent(), in[0].dim(1).extent() });
    j.schedule = [=]() mutable {
        for (Func o : { across, down })
            o.split(y, yo, yi, 64).parallel(yo).vectorize(x, 32);
        down.compute_with(across, x);
        w.store_at(across, yo).compute_at(across, yi).fold_storage(y, 4).vectorize(x, 32);
    };
    return j;
}

static Job haar_forward(const vector<Image> &in)
{
    Job j;
    ImageParam a = input(j, Float(32), 2);
    Expr p = a(2 * x, 2 * y), q = a(2 * x + 1, 2 * y), r = a(2 * x, 2 * y + 1), s = a(2 * x + 1, 2 * y + 1);
    const Expr value[4] = { (p + q + r + s) / 2, (p - q + r - s) / 2, (p + q - r - s) / 2, (p - q - r + s) / 2 };
    for (int k = 0; k < 4; k++) {
        j.out.push_back(Func("out" + std::to_string(k)));
        j.out[k](x, y) = value[k];
        j.sizes.push_back({ in[0].dim(0).extent() / 2, in[0].dim(1).extent() / 2 });
    }
    vector<Func> out = j.out;
    j.schedule = [=]() mutable {
        for (Func o : out)
            o.split(y, yo, yi, 32).parallel(yo).vectorize(x, 16);
        for (int k = 1; k < 4; k++)
            out[k].compute_with(out[k - 1], x);
    };
    return j;
}

/* Bands of rows that go down the planes; what windows of planes and rows need is kept in rings of `ring`. */
static std::function<void()> down_planes(Func out, Func columns, Func rows, int ring)
{
    return [=]() mutable {
        out.split(y, yo, yi, 32).reorder(x, yi, z, yo).parallel(yo).vectorize(x, 16);
        columns.store_at(out, yo).compute_at(out, z).fold_storage(z, ring).vectorize(x, 16);
        rows.compute_at(columns, y).store_at(columns, z).fold_storage(y, ring).vectorize(x, 16);
    };
}

static Job stack_gauss5(const vector<Image> &in)
{
    static const float g[5] = { 1 / 16.f, 4 / 16.f, 6 / 16.f, 4 / 16.f, 1 / 16.f };
    Job j;
    ImageParam a = input(j, Float(32), 3);
    Func f = BoundaryConditions::mirror_image(a), rows("rows"), columns("columns"), out("out");
    Expr r = 0.f, s = 0.f, u = 0.f;
    for (int k = 0; k < 5; k++)
        r += g[k] * f(x + k - 2, y, z);
    rows(x, y, z) = r;
    for (int k = 0; k < 5; k++)
        s += g[k] * rows(x, y + k - 2, z);
    columns(x, y, z) = s;
    for (int k = 0; k < 5; k++)
        u += g[k] * columns(x, y, z + k - 2);
    out(x, y, z) = u;
    j.out = { out };
    j.sizes = { { in[0].dim(0).extent(), in[0].dim(1).extent(), in[0].dim(2).extent() } };
    j.schedule = down_planes(out, columns, rows, 8);
    return j;
}

static Job depthwise3x3_c16(const vector<Image> &in)
{
    Job j;
    ImageParam a = input(j, Float(32), 3), w = input(j, Float(32), 3);
    Func f = BoundaryConditions::constant_exterior(a, 0.f, { { Expr(), Expr() }, { a.dim(1).min(), a.dim(1).extent() }, { a.dim(2).min(), a.dim(2).extent() } });
    Func out("out");
    Expr s = 0.f;
    for (int i = -1; i <= 1; i++)
        for (int k = -1; k <= 1; k++)
            s += w(c, k + 1, i + 1) * f(c, x + k, y + i);
    out(c, x, y) = max(s, 0.f);
    j.out = { out };
    j.sizes = { { in[0].dim(0).extent(), in[0].dim(1).extent(), in[0].dim(2).extent() } };
    j.schedule = [=]() mutable {
        a.dim(0).set_bounds(0, 16);
        w.dim(0).set_bounds(0, 16);
        out.bound(c, 0, 16).split(y, yo, yi, 16).parallel(yo).vectorize(c, 16).unroll(x, 4);
    };
    return j;
}

static Job erode31_u8(const vector<Image> &in)
{
    Job j;
    ImageParam a = input(j, UInt(8), 2);
    Func f = BoundaryConditions::repeat_edge(a), out("out");
    vector<Func> down(5), across(5); // least of 2, 4, 8, 16, 31
    for (int k = 0; k < 5; k++) {
        const int step = k == 4 ? 15 : 1 << k;
        Func before = k ? down[k - 1] : f;
        down[k] = Func("down" + std::to_string(k));
        down[k](x, y) = min(before(x, y), before(x, y + step));
    }
    for (int k = 0; k < 5; k++) {
        const int step = k == 4 ? 15 : 1 << k;
        Func before = k ? across[k - 1] : down[4];
        across[k] = Func("across" + std::to_string(k));
        across[k](x, y) = min(before(x, y), before(x + step, y));
    }
    out(x, y) = across[4](x - 15, y - 15);
    j.out = { out };
    j.sizes = { { in[0].dim(0).extent(), in[0].dim(1).extent() } };
    j.schedule = [=]() mutable {
        out.tile(x, y, xo, yo, xi, yi, 512, 128).parallel(yo).vectorize(xi, 64);
        f.compute_at(out, xo).vectorize(f.args()[0], 64);
        for (int k = 0; k < 5; k++)
            down[k].compute_at(out, xo).vectorize(x, 64);
        for (int k = 0; k < 4; k++)
            across[k].compute_at(out, yi).vectorize(x, 64);
    };
    return j;
}

static Job rgb_curves_u8(const vector<Image> &in)
{
    Job j;
    ImageParam a = input(j, UInt(8), 3), r = input(j, UInt(8), 1), g = input(j, UInt(8), 1), b = input(j, UInt(8), 1);
    Func out("out");
    Expr value = cast<int>(a(c, x, y));
    out(c, x, y) = mux(c, { r(value), g(value), b(value) });
    j.out = { out };
    j.sizes = { { 3, in[0].dim(1).extent(), in[0].dim(2).extent() } };
    j.schedule = [=]() mutable {
        a.dim(0).set_bounds(0, 3).set_stride(1);
        a.dim(1).set_stride(3);
        out.output_buffer().dim(0).set_bounds(0, 3).set_stride(1);
        out.output_buffer().dim(1).set_stride(3);
        out.bound(c, 0, 3).reorder(c, x, y).unroll(c).split(y, yo, yi, 64).parallel(yo).vectorize(x, 32);
    };
    return j;
}

static Expr bilinear(Func f, Expr v, Expr u)
{
    Expr i = cast<int>(floor(v)), k = cast<int>(floor(u)), b = v - floor(v), a = u - floor(u);
    Expr top = f(k, i) + (f(k + 1, i) - f(k, i)) * a, bottom = f(k, i + 1) + (f(k + 1, i + 1) - f(k, i + 1)) * a;
    return top + (bottom - top) * b;
}

static Job warp_field(const vector<Image> &in)
{
    Job j;
    ImageParam a = input(j, Float(32), 2), dy = input(j, Float(32), 2), dx = input(j, Float(32), 2);
    Func f = BoundaryConditions::repeat_edge(a), out("out");
    out(x, y) = bilinear(f, cast<float>(y) + 16 * dy(x, y) - 8, cast<float>(x) + 16 * dx(x, y) - 8);
    j.out = { out };
    j.sizes = { { in[0].dim(0).extent(), in[0].dim(1).extent() } };
    j.schedule = [=]() mutable { out.split(y, yo, yi, 32).parallel(yo).vectorize(x, 16); };
    return j;
}

static Job resize_27(const vector<Image> &in)
{
    Job j;
    ImageParam a = input(j, Float(32), 2);
    Func f = BoundaryConditions::repeat_edge(a), rows("rows"), out("out");
    Expr u = (cast<float>(x) + 0.5f) / 2.7f - 0.5f, v = (cast<float>(y) + 0.5f) / 2.7f - 0.5f;
    Expr k = cast<int>(floor(u)), i = cast<int>(floor(v));
    rows(x, y) = f(k, y) + (f(k + 1, y) - f(k, y)) * (u - floor(u));
    out(x, y) = rows(x, i) + (rows(x, i + 1) - rows(x, i)) * (v - floor(v));
    j.out = { out };
    j.sizes = { { in[0].dim(0).extent() * 27 / 10, in[0].dim(1).extent() * 27 / 10 } };
    j.schedule = [=]() mutable {
        out.split(y, yo, yi, 32).parallel(yo).vectorize(x, 16);
        rows.store_at(out, yo).compute_at(out, yi).fold_storage(y, 4).vectorize(x, 16);
    };
    return j;
}

static Job rotate10(const vector<Image> &in)
{
    Job j;
    ImageParam a = input(j, Float(32), 2);
    Func f = BoundaryConditions::constant_exterior(a, 0.f), out("out");
    const float middle_x = (float)(in[0].dim(0).extent() / 2), middle_y = (float)(in[0].dim(1).extent() / 2);
    Expr v = cast<float>(y) - middle_y, u = cast<float>(x) - middle_x;
    out(x, y) = bilinear(f, 0.98481f * v + 0.17365f * u + middle_y, 0.98481f * u - 0.17365f * v + middle_x);
    j.out = { out };
    j.sizes = { { in[0].dim(0).extent(), in[0].dim(1).extent() } };
    j.schedule = [=]() mutable { out.tile(x, y, xo, yo, xi, yi, 64, 32).parallel(yo).vectorize(xi, 16); };
    return j;
}

static Job rgb_matrix_u8(const vector<Image> &in)
{
    static const float m[3][3] = { { 1.62f, -0.48f, -0.14f }, { -0.21f, 1.51f, -0.30f }, { 0.02f, -0.55f, 1.53f } };
    Job j;
    ImageParam a = input(j, UInt(8), 3);
    Func out("out");
    vector<Expr> value;
    for (int k = 0; k < 3; k++) {
        Expr v = 0.f;
        for (int i = 0; i < 3; i++)
            v += m[k][i] * cast<float>(a(i, x, y));
        value.push_back(cast<uint8_t>(clamp(v, 0.f, 255.f) + 0.5f));
    }
    out(c, x, y) = mux(c, value);
    j.out = { out };
    j.sizes = { { 3, in[0].dim(1).extent(), in[0].dim(2).extent() } };
    j.schedule = [=]() mutable {
        a.dim(0).set_bounds(0, 3).set_stride(1);
        a.dim(1).set_stride(3);
        out.output_buffer().dim(0).set_bounds(0, 3).set_stride(1);
        out.output_buffer().dim(1).set_stride(3);
        out.bound(c, 0, 3).reorder(c, x, y).unroll(c).split(y, yo, yi, 64).parallel(yo).vectorize(x, 16);
    };
    return j;
}

static Job rgba_over_f32(const vector<Image> &in)
{
    Job j;
    ImageParam a = input(j, Float(32), 3), b = input(j, Float(32), 3);
    Func out("out");
    out(c, x, y) = a(c, x, y) + (1.f - a(3, x, y)) * b(c, x, y);
    j.out = { out };
    j.sizes = { { 4, in[0].dim(1).extent(), in[0].dim(2).extent() } };
    j.schedule = [=]() mutable {
        for (ImageParam p : { a, b })
            p.dim(0).set_bounds(0, 4).set_stride(1), p.dim(1).set_stride(4);
        out.output_buffer().dim(0).set_bounds(0, 4).set_stride(1);
        out.output_buffer().dim(1).set_stride(4);
        out.bound(c, 0, 4).reorder(c, x, y).vectorize(c, 4).unroll(x, 4).split(y, yo, yi, 64).parallel(yo);
    };
    return j;
}

static Job haar_inverse(const vector<Image> &in)
{
    Job j;
    ImageParam m = input(j, Float(32), 2), a = input(j, Float(32), 2);
    ImageParam d = input(j, Float(32), 2), b = input(j, Float(32), 2);
    Func out("out");
    Expr u = x / 2, v = y / 2, p = m(u, v), q = a(u, v), r = d(u, v), s = b(u, v);
    Expr even = select(x % 2 == 0, p + q + r + s, p - q + r - s);
    Expr odd = select(x % 2 == 0, p + q - r - s, p - q - r + s);
    out(x, y) = select(y % 2 == 0, even, odd) / 2;
    j.out = { out };
    j.sizes = { { 2 * in[0].dim(0).extent(), 2 * in[0].dim(1).extent() } };
    j.schedule = [=]() mutable {
        out.align_bounds(x, 2).align_bounds(y, 2).tile(x, y, xo, yo, xi, yi, 2, 2).unroll(xi).unroll(yi);
        out.vectorize(xo, 16).split(yo, y, t, 32).parallel(y);
    };
    return j;
}

static Job stack_smooth27(const vector<Image> &in)
{
    Job j;
    ImageParam a = input(j, UInt(16), 3);
    Func f = BoundaryConditions::repeat_edge(a), rows("rows"), columns("columns"), out("out");
    rows(x, y, z) = cast<int>(f(x - 1, y, z)) + cast<int>(f(x, y, z)) + cast<int>(f(x + 1, y, z));
    columns(x, y, z) = rows(x, y - 1, z) + rows(x, y, z) + rows(x, y + 1, z);
    Expr total = columns(x, y, z - 1) + columns(x, y, z) + columns(x, y, z + 1);
    out(x, y, z) = cast<uint16_t>(cast<float>(total) * (1 / 27.f) + 0.5f);
    j.out = { out };
    j.sizes = { { in[0].dim(0).extent(), in[0].dim(1).extent(), in[0].dim(2).extent() } };
    j.schedule = down_planes(out, columns, rows, 4);
    return j;
}

static Job diffuse_20(const vector<Image> &in)
{
    enum { STEPS = 20, FUSED = 4 };
    Job j;
    ImageParam a = input(j, Float(32), 2);
    vector<Func> before, step;
    for (int k = 0; k < STEPS; k++) {
        Func made("step" + std::to_string(k));
        before.push_back(k ? step.back() : Func(BoundaryConditions::mirror_interior(a)));
        if (k && k % FUSED == 0) // a new pass over memory, with its edges
            before.back() = BoundaryConditions::mirror_interior(step.back(), { { 0, a.width() }, { 0, a.height() } });
        Func f = before.back();
        Expr n = f(x, y - 1) - f(x, y), s = f(x, y + 1) - f(x, y);
        Expr e = f(x + 1, y) - f(x, y), w = f(x - 1, y) - f(x, y);
        Expr down = n / (1 + 25 * n * n) + s / (1 + 25 * s * s), across = e / (1 + 25 * e * e) + w / (1 + 25 * w * w);
        made(x, y) = f(x, y) + 0.2f * (down + across);
        step.push_back(made);
    }
    j.out = { step.back() };
    j.sizes = { { in[0].dim(0).extent(), in[0].dim(1).extent() } };
    j.schedule = [=]() mutable {
        for (int k = 0; k < STEPS; k++)
            if (k % FUSED == FUSED - 1) {
                Func pass = step[k];
                if (k < STEPS - 1)
                    pass.compute_root();
                pass.split(y, yo, yi, 64).parallel(yo).vectorize(x, 16);
                for (int i = k - FUSED + 1; i < k; i++)
                    step[i].store_at(pass, yo).compute_at(pass, yi).fold_storage(y, 8).vectorize(x, 16);
                Func edges = before[k - FUSED + 1];
                edges.store_at(pass, yo).compute_at(pass, yi).fold_storage(edges.args()[1], 8);
                edges.vectorize(edges.args()[0], 16);
            }
    };
    return j;
}

static Job layer3x3_c16(const vector<Image> &in)
{
    Job j;
    ImageParam a = input(j, Float(32), 3), w = input(j, Float(32), 4);
    const Region inside = { { Expr(), Expr() }, { a.dim(1).min(), a.dim(1).extent() },
                            { a.dim(2).min(), a.dim(2).extent() } };
    Func f = BoundaryConditions::constant_exterior(a, 0.f, inside);
    Func sums("sums"), out("out");
    RDom r(0, 16, 0, 3, 0, 3);
    sums(c, x, y) = 0.f;
    sums(c, x, y) += w(c, r.x, r.y, r.z) * f(r.x, x + r.y - 1, y + r.z - 1);
    out(c, x, y) = max(a(c, x, y) + sums(c, x, y), 0.f);
    j.out = { out };
    j.sizes = { { in[0].dim(0).extent(), in[0].dim(1).extent(), in[0].dim(2).extent() } };
    j.schedule = [=]() mutable {
        a.dim(0).set_bounds(0, 16);
        w.dim(0).set_bounds(0, 16);
        out.bound(c, 0, 16).split(x, xo, xi, 16).reorder(c, xi, xo, y);
        out.split(y, yo, yi, 16).parallel(yo).vectorize(c, 16);
        sums.compute_at(out, xo).vectorize(c, 16).unroll(x);
        sums.update().reorder(c, x, r.x, r.y, r.z).vectorize(c, 16).unroll(x).unroll(r.y);
        f.store_at(out, yo).compute_at(out, yi).fold_storage(f.args()[2], 4).vectorize(f.args()[0], 16);
    };
    return j;
}

static Job table1024_f32(const vector<Image> &in)
{
    Job j;
    ImageParam a = input(j, Float(32), 2), curve = input(j, Float(32), 1);
    Func f = BoundaryConditions::repeat_edge(a), smooth("smooth"), out("out");
    smooth(x, y) = (f(x - 1, y) + 2 * f(x, y) + f(x + 1, y)) / 4;
    Expr at = clamp(smooth(x, y), 0.f, 1.f) * 1022, k = clamp(cast<int>(at), 0, 1022), t = at - k;
    out(x, y) = curve(k) + (curve(k + 1) - curve(k)) * t;
    j.out = { out };
    j.sizes = { { in[0].dim(0).extent(), in[0].dim(1).extent() } };
    j.schedule = [=]() mutable {
        out.split(y, yo, yi, 64).parallel(yo).vectorize(x, 16);
        smooth.compute_at(out, yi).vectorize(x, 16);
        f.compute_at(out, yi).vectorize(f.args()[0], 16);
    };
    return j;
}

struct Entry {
    const char *name;
    Job (*make)(const vector<Image> &);
};
#define ENTRY(name) { #name, name }
static const Entry entries[] = {
    ENTRY(transpose_f32), ENTRY(gauss9_u8), ENTRY(sobel_i16), ENTRY(haar_forward),
    ENTRY(stack_gauss5), ENTRY(depthwise3x3_c16), ENTRY(erode31_u8), ENTRY(rgb_curves_u8),
    ENTRY(warp_field), ENTRY(resize_27), ENTRY(rotate10), ENTRY(rgb_matrix_u8),
    ENTRY(rgba_over_f32), ENTRY(haar_inverse), ENTRY(stack_smooth27), ENTRY(diffuse_20),
    ENTRY(layer3x3_c16), ENTRY(table1024_f32),
};

// ---- Runs ----
static void choose(Job &j, const string &how, int threads, const vector<Image> &in)
{
    if (how == "hand") {
        j.schedule();
        return;
    }
    string library = how, path = "/usr/lib/x86_64-linux-gnu/halide14/lib";
    std::transform(library.begin(), library.end(), library.begin(), ::tolower);
    string file = library.find("adams") == 0 ? "autoschedule_adams2019" : "autoschedule_mullapudi2016";
    const char *folder = getenv("HALIDE_AUTOSCHEDULERS");
    file = (folder ? folder + string("/lib") : path) + file + ".so";
    if (!dlopen(file.c_str(), RTLD_LAZY))
        fail(dlerror());
    for (size_t i = 0; i < j.in.size(); i++)
        for (int d = 0; d < in[i].dimensions(); d++)
            j.in[i].dim(d).set_estimate(0, in[i].dim(d).extent());
    for (size_t i = 0; i < j.out.size(); i++)
        for (size_t d = 0; d < j.sizes[i].size(); d++)
            j.out[i].set_estimate(j.out[i].args()[d], 0, j.sizes[i][d]);
    Pipeline(j.out).auto_schedule(how, get_host_target(), MachineParams(threads, 32 << 20, 40));
}

static double milliseconds()
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv)
{
    enum { BATCHES = 15 };
    if (argc < 6)
        fail("usage: halide_everyday JOB HOW THREADS IN.. OUT..");
    const int threads = atoi(argv[3]);
    setenv("HL_NUM_THREADS", argv[3], 1);
    for (const Entry &e : entries) {
        if (string(argv[1]) != e.name)
            continue;
        vector<Image> in = { read(argv[4]) };
        Job j = e.make(in);
        for (size_t i = 1; i < j.in.size(); i++)
            in.push_back(read(argv[4 + i]));
        if (argc != (int)(4 + j.in.size() + j.out.size()))
            fail("another number of files is wanted");
        choose(j, argv[2], threads, in);
        vector<Image> out;
        for (size_t i = 0; i < j.out.size(); i++)
            out.push_back(Image(j.out[i].output_types()[0], j.sizes[i]));
        vector<Buffer<>> wrapped;
        for (size_t i = 0; i < j.in.size(); i++)
            j.in[i].set(Buffer<>(Image(in[i])));
        for (Image &o : out)
            wrapped.push_back(Buffer<>(Image(o)));
        Realization all(wrapped);
        Pipeline p(j.out);
        // Halide 14 takes Zen 4 for a processor that has float16 in vectors, and would use instructions that it lacks
        const Target target = get_jit_target_from_environment().without_feature(Target::AVX512_SapphireRapids);
        p.compile_jit(target);
        p.realize(all, target);
        double best = 1e30, start = milliseconds();
        p.realize(all, target);
        const int runs = std::max(1, (int)(20 / std::max(0.01, milliseconds() - start)));
        for (int b = 0; b < BATCHES; b++) {
            start = milliseconds();
            for (int r = 0; r < runs; r++)
                p.realize(all, target);
            best = std::min(best, (milliseconds() - start) / runs);
        }
        for (size_t i = 0; i < out.size(); i++)
            write(argv[4 + j.in.size() + i], out[i]);
        printf("%.4f\n", best);
        return 0;
    }
    fail(string("no job ") + argv[1]);
}
