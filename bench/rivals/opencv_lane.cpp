// OpenCV's lane. call=plain: the calls that a user would write. call=strips: the best that the same calls reach when the picture is cut
// into strips of rows that the threads share; the height of the strips is tried out.
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "../lane.h"

using namespace cv;
static const int EDGE = BORDER_REPLICATE;

typedef std::function<void(const Mat &in, Mat &out)> Filter;

struct Job {
    Filter filter;
    int halo = 0; // rows beyond a strip that the filter must see as its own; single calls look beyond by themselves
    double scale = 1; // what makes the result that of the other lanes
};

static Filter filter2d(const Mat &mask)
{
    return [mask](const Mat &in, Mat &out) { filter2D(in, out, -1, mask, Point(-1, -1), 0, EDGE); };
}

static Job job_of(const Lane &lane)
{
    std::string name = lane.job;
    static const float laplace[25] = { 0, 0, -1, 0, 0, 0, -1, -2, -1, 0, -1, -2, 16, -2, -1, 0, -1, -2, -1, 0, 0, 0, -1, 0, 0 };
    static const float gauss[25] = { 2, 4, 5, 4, 2, 4, 9, 12, 9, 4, 5, 12, 15, 12, 5, 4, 9, 12, 9, 4, 2, 4, 5, 4, 2 };
    auto values = [](const float *v, int rows, int columns) { return Mat(rows, columns, CV_32F, const_cast<float *>(v)).clone(); };
    int k = lane.k;
    if (name == "blur" || name == "box3_u8")
        return { [](const Mat &in, Mat &out) { blur(in, out, Size(3, 3), Point(-1, -1), EDGE); } };
    if (name == "gauss3")
        return { [](const Mat &in, Mat &out) { GaussianBlur(in, out, Size(3, 3), 0, 0, EDGE); } };
    if (name == "gauss5_u8")
        return { [](const Mat &in, Mat &out) { GaussianBlur(in, out, Size(5, 5), 0, 0, EDGE); } };
    if (name == "laplace5")
        return { filter2d(values(laplace, 5, 5)) };
    if (name == "gauss159_u8")
        return { filter2d(values(gauss, 5, 5) / 159) };
    if (name == "conv2d" || name == "conv2d_given")
        return { filter2d(values(lane.weights, k, k)) };
    if (name == "median_u8")
        return { [k](const Mat &in, Mat &out) { medianBlur(in, out, k); }, k / 2 };
    if (name == "separable") {
        Mat row = values(lane.weights, 1, k), column = values(lane.weights + k, 1, k);
        return { [row, column](const Mat &in, Mat &out) { sepFilter2D(in, out, -1, row, column, Point(-1, -1), 0, EDGE); } };
    }
    if (name == "sobel")
        return { [](const Mat &in, Mat &out) {
            static thread_local Mat gx, gy;
            Sobel(in, gx, CV_32F, 1, 0, 3, 1, 0, EDGE);
            Sobel(in, gy, CV_32F, 0, 1, 3, 1, 0, EDGE);
            magnitude(gx, gy, out);
        } };
    if (name == "sobel_u8")
        return { [](const Mat &in, Mat &out) {
            static thread_local Mat gx, gy, fx, fy, m;
            Sobel(in, gx, CV_16S, 1, 0, 3, 1, 0, EDGE);
            Sobel(in, gy, CV_16S, 0, 1, 3, 1, 0, EDGE);
            gx.convertTo(fx, CV_32F);
            gy.convertTo(fy, CV_32F);
            magnitude(fx, fy, m);
            m.convertTo(out, CV_8U);
        } };
    if (name == "harris") // OpenCV divides each derivative by 4 * 3
        return { [](const Mat &in, Mat &out) { cornerHarris(in, out, 3, 3, 0.04, EDGE); }, 1, 12. * 12 * 12 * 12 };
    if (name == "unsharp")
        return { [](const Mat &in, Mat &out) {
            static thread_local Mat smooth;
            GaussianBlur(in, smooth, Size(7, 7), 1.5, 1.5, EDGE);
            addWeighted(in, 1.7, smooth, -0.7, 0, out);
        } };
    lane_fail("OpenCV has no call with this result");
    return {};
}

struct Run {
    Job job;
    std::vector<Mat> in, out; // a plane each
    int strip = 0;            // rows; 0 = the whole picture in one call
};

static void run_strip(const Job &job, const Mat &in, Mat &out, int begin, int end)
{
    Mat to = out.rowRange(begin, end);
    if (!job.halo)
        return job.filter(in.rowRange(begin, end), to);
    static thread_local Mat wide;
    int above = std::max(0, begin - job.halo), below = std::min(in.rows, end + job.halo);
    job.filter(in.rowRange(above, below), wide);
    wide.rowRange(begin - above, end - above).copyTo(to);
}

static bool run(void *user)
{
    Run *r = static_cast<Run *>(user);
    for (size_t p = 0; p < r->in.size(); p++) {
        if (!r->strip) {
            r->job.filter(r->in[p], r->out[p]);
            continue;
        }
        int rows = r->in[p].rows, n = (rows + r->strip - 1) / r->strip;
        parallel_for_(Range(0, n), [&](const Range &range) {
            for (int i = range.start; i < range.end; i++)
                run_strip(r->job, r->in[p], r->out[p], i * r->strip, std::min(rows, (i + 1) * r->strip));
        });
    }
    return true;
}

static int best_strip(Run &r, const Lane &lane)
{
    double least = 1e30;
    int best = 0;
    for (int strip : { (lane.height + lane.threads - 1) / lane.threads, 256, 128, 64, 32, 16, 8 }) {
        r.strip = std::min(strip, lane.height);
        for (int i = 0; i < 5; i++) {
            double start = lane_now_ms();
            run(&r);
            double ms = lane_now_ms() - start;
            if (ms < least && i > 0) {
                least = ms;
                best = r.strip;
            }
            if (ms > 500 && i > 0)
                break;
        }
    }
    return best;
}

int main(int argc, char **argv)
{
    Lane lane;
    lane_open(&lane, argc, argv);
    setNumThreads(lane.threads);
    int type = std::string(lane.dtype) == "uint8" ? CV_8U : CV_32F;
    char *in = static_cast<char *>(lane.in), *out = static_cast<char *>(lane_memory(lane.bytes));
    size_t plane = lane.bytes / static_cast<size_t>(lane.planes);
    Run r;
    for (int p = 0; p < lane.planes; p++) {
        r.in.emplace_back(lane.height, lane.width, type, in + plane * static_cast<size_t>(p));
        r.out.emplace_back(lane.height, lane.width, type, out + plane * static_cast<size_t>(p));
    }
    r.job = job_of(lane);
    if (std::string(lane_option(&lane, "call", "plain")) == "strips")
        r.strip = best_strip(r, lane);
    run(&r);
    Mat shown(lane.height * lane.planes, lane.width, type, out);
    Mat scaled = r.job.scale == 1 ? shown : Mat(shown.clone() * r.job.scale);
    return lane_serve(&lane, run, &r, scaled.data, lane.bytes, 0);
}
